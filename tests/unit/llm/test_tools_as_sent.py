"""What each provider is sent for each tool, word for word: every byte of it is read by the model in every session.

Where a change is meant, `python -m tests.unit.llm.test_tools_as_sent` records it anew.
"""

from pathlib import Path

import msgspec
import pytest

from localllm.llm.http.transport import HttpRequest
from localllm.llm.messages import CompletionRequest, SystemMessage, UserMessage
from localllm.llm.model_profiles import COMPACT
from localllm.llm.providers.azure import Azure
from localllm.llm.providers.gemini import Gemini
from localllm.llm.providers.lmstudio import LMStudio
from localllm.llm.providers.ollama import Ollama
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.tool_calling.dialect import Dialect
from localllm.llm.tool_calling.router import NativeDialect
from localllm.llm.tool_calling.structured import StructuredDialect
from localllm.llm.tool_calling.text_dialect import TextDialect
from localllm.tools.builtin import TOOLS
from tests.support.each import each

RECORDED = Path(__file__).parents[2] / "fixtures" / "tools"
COMPACT_TOOLS = COMPACT.tools or frozenset()
ADDRESS = "http://127.0.0.1:1"
REQUEST = CompletionRequest(
    model="m",
    messages=(SystemMessage("You are an assistant."), UserMessage("Hello.")),
    tools=tuple(sorted((tool.spec for tool in TOOLS), key=lambda spec: spec.name)),
)
BRIEF = msgspec.structs.replace(
    REQUEST,
    tools=tuple(tool.brief for tool in sorted(TOOLS, key=lambda tool: tool.name) if tool.name in COMPACT_TOOLS),
)
NO_LOCAL_SERVER_HAS = {"$ref", "$defs", "oneOf", "allOf", "anyOf", "pattern", "format", "minimum", "maximum", "title"}


def to_openai(dialect: Dialect, request: CompletionRequest = REQUEST) -> HttpRequest:
    provider = OpenAICompatible("openai", ADDRESS, timeout=1, idle_timeout=1)
    return provider.prepare(dialect.encode(request))


def sent() -> dict[str, HttpRequest]:
    return {
        "openai": to_openai(NativeDialect(thinking_is_open=False)),
        "openai-structured": to_openai(StructuredDialect()),
        "openai-text": to_openai(TextDialect()),
        "compact": to_openai(NativeDialect(thinking_is_open=False), BRIEF),
        "compact-structured": to_openai(StructuredDialect(), BRIEF),
        "compact-text": to_openai(TextDialect(), BRIEF),
        "lmstudio": LMStudio(ADDRESS, timeout=1, idle_timeout=1).prepare(REQUEST),
        "ollama": Ollama(ADDRESS, timeout=1, idle_timeout=1).prepare(REQUEST, num_ctx=8192),
        "azure": Azure("https://n.openai.azure.com", timeout=1, idle_timeout=1, api_key="k").prepare(REQUEST),
        "gemini": Gemini(timeout=1, idle_timeout=1, api_key="k").prepare(REQUEST),
    }


def readable(request: HttpRequest) -> str:
    return msgspec.json.format(request.body, indent=1).decode() + "\n"


@each("provider", sorted(sent()))
def test_as_recorded(provider: str) -> None:
    assert readable(sent()[provider]) == (RECORDED / f"{provider}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("provider", ["openai", "lmstudio", "ollama"])
def test_schemas_for_local_servers_are_flat(provider: str) -> None:
    schemas = [tool["function"]["parameters"] for tool in msgspec.json.decode(sent()[provider].body)["tools"]]
    assert len(schemas) == len(TOOLS)
    words = {word for schema in schemas for one in schema["properties"].values() for word in one}
    assert words <= {"type", "description", "enum", "items", "default"}
    assert not words & NO_LOCAL_SERVER_HAS


if __name__ == "__main__":
    RECORDED.mkdir(exist_ok=True)
    for name, request in sent().items():
        (RECORDED / f"{name}.json").write_text(readable(request), encoding="utf-8")
