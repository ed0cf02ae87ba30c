"""Azure's addresses, in the forms people paste them."""

from localllm.llm.providers.azure import NEWEST_DATED, azure_place
from tests.support.each import each

BY_DATE = f"https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version={NEWEST_DATED}"
V1 = "https://r.openai.azure.com/openai/v1/chat/completions"


@each(
    ("endpoint", "version", "url"),
    [
        ("https://r.openai.azure.com", "", V1),
        ("https://r.openai.azure.com/", "", V1),
        (" r.openai.azure.com ", "", V1),
        ("https://r.openai.azure.com/openai", "", V1),
        ("https://r.openai.azure.com", NEWEST_DATED, BY_DATE),
        ("https://r.openai.azure.com/openai/deployments", "", BY_DATE),
        ("https://r.openai.azure.com/openai/deployments/d/", "", BY_DATE),
        (
            "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2025-01-01-preview",
            "",
            "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2025-01-01-preview",
        ),
        (
            "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2025-01-01-preview",
            NEWEST_DATED,
            BY_DATE,
        ),
        ("https://r.openai.azure.com", "v1", V1),
        ("https://r.openai.azure.com", "preview", f"{V1}?api-version=preview"),
        ("https://r.openai.azure.com/openai/v1/", "", V1),
        ("https://r.openai.azure.com/openai/v1/chat/completions?api-version=preview", "", f"{V1}?api-version=preview"),
        ("https://r.openai.azure.com/openai/v1/responses", "", V1),
        ("https://r.openai.azure.com/openai/v1", NEWEST_DATED, BY_DATE),
        (
            "https://r.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview",
            "",
            V1.replace("openai.azure", "services.ai.azure"),
        ),
        ("https://r.services.ai.azure.com/api/projects/p", "v1", V1.replace("openai.azure", "services.ai.azure")),
        ("https://r.cognitiveservices.azure.com/", "", V1.replace("openai.azure", "cognitiveservices.azure")),
        (
            "https://gateway.example/llm",
            "",
            V1.replace("r.openai.azure.com", "gateway.example/llm"),
        ),
        (
            "https://gateway.example/llm/openai/deployments/d/chat/completions?api-version=2024-06-01",
            "",
            "https://gateway.example/llm/openai/deployments/d/chat/completions?api-version=2024-06-01",
        ),
        ("127.0.0.1:1234", "v1", "http://127.0.0.1:1234/openai/v1/chat/completions"),
    ],
)
def test_every_form_leads_to_the_same_place(endpoint: str, version: str, url: str) -> None:
    assert azure_place(endpoint, version).chat_url("d") == url


def test_the_deployment_is_read_from_the_address() -> None:
    assert azure_place("https://r.openai.azure.com/openai/deployments/my%20gpt/chat/completions").deployment == "my gpt"
    assert azure_place("https://r.openai.azure.com/openai/v1").deployment == ""


def test_a_deployment_is_quoted_in_the_address() -> None:
    assert "/deployments/a%2Fb%3F/" in azure_place("https://r.openai.azure.com", NEWEST_DATED).chat_url("a/b?")
