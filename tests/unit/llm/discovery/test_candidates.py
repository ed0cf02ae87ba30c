"""Where servers are looked for."""

import pytest

from localllm.config.schema import LLMSettings, LMStudioSettings, OllamaSettings, OpenAISettings
from localllm.llm.addresses import ollama_address
from localllm.llm.discovery.servers import candidates, same_place
from tests.support.each import each

USUAL = ["http://localhost:1234", "http://localhost:11434", "http://localhost:8080", "http://localhost:8000"]


def test_the_usual_addresses_in_their_order_and_without_keys() -> None:
    found = candidates(LLMSettings(), {"OPENAI_API_KEY": "K1"})
    assert [candidate.base_url for candidate in found] == USUAL
    assert [candidate.provider for candidate in found] == ["lmstudio", "ollama", "openai", "openai"]
    assert not any(candidate.set_by_user or candidate.key_variables for candidate in found)


def test_an_address_the_user_has_set_comes_first_with_its_key() -> None:
    first, *rest = candidates(LLMSettings(openai=OpenAISettings(base_url="gpu.lan:8000/v1")), {})
    assert (first.base_url, first.provider, first.set_by_user) == ("http://gpu.lan:8000/v1", "openai", True)
    assert first.key_variables == ("OPENAI_API_KEY",)
    assert [candidate.base_url for candidate in rest] == [USUAL[0], USUAL[1], USUAL[3]]


def test_a_usual_address_in_other_words_is_not_one_the_user_has_set() -> None:
    found = candidates(LLMSettings(lmstudio=LMStudioSettings(base_url="127.0.0.1:1234/v1/")), {})
    assert not any(candidate.set_by_user for candidate in found)


def test_one_address_for_two_keeps_the_keys_of_both() -> None:
    url = "https://models.example"
    settings = LLMSettings(ollama=OllamaSettings(base_url=url), openai=OpenAISettings(base_url=f"{url}:443/v1"))
    first, *rest = candidates(settings, {})
    assert first.provider == "ollama"
    assert first.key_variables == ("OLLAMA_API_KEY", "OPENAI_API_KEY")
    assert len(rest) == 2


def test_a_key_may_go_to_a_usual_address_its_own_setting_names() -> None:
    """LM Studio's address in the section of another server: that server's key belongs there, LM Studio's does not."""
    first, *_ = candidates(LLMSettings(openai=OpenAISettings(base_url="http://localhost:1234")), {})
    assert (first.provider, first.key_variables) == ("lmstudio", ("OPENAI_API_KEY",))


def test_ollamas_variable_counts_unless_the_settings_say_something_else() -> None:
    environ = {"OLLAMA_HOST": " 'ollama.lan' "}
    first, *_ = candidates(LLMSettings(), environ)
    assert (first.base_url, first.provider, first.set_by_user) == ("http://ollama.lan:11434", "ollama", True)
    chosen = LLMSettings(ollama=OllamaSettings(base_url="http://other:1"))
    assert "ollama.lan" not in str(candidates(chosen, environ))
    assert candidates(LLMSettings(), {"OLLAMA_HOST": ""}) == candidates(LLMSettings(), {})


def test_ollamas_variable_may_name_the_usual_address() -> None:
    """0.0.0.0 is told to the server; for us it is this machine."""
    found = candidates(LLMSettings(), {"OLLAMA_HOST": "0.0.0.0"})
    assert [candidate.base_url for candidate in found if candidate.provider == "ollama"] == ["http://127.0.0.1:11434"]
    assert not any(candidate.set_by_user for candidate in found)


@each(
    ("written", "address"),
    [
        ("ollama.lan", "http://ollama.lan:11434"),
        ("ollama.lan:80", "http://ollama.lan:80"),
        (":11500", "http://127.0.0.1:11500"),
        (":", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:11500", "http://127.0.0.1:11500"),
        ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("http://ollama.lan", "http://ollama.lan:80"),
        ("http://ollama.lan:11434/", "http://ollama.lan:11434"),
        ("https://ollama.lan/prefix", "https://ollama.lan:443/prefix"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:11500", "http://[::1]:11500"),
        ("[::]:11500", "http://[::1]:11500"),
    ],
)
def test_every_form_of_ollamas_variable(written: str, address: str) -> None:
    assert ollama_address(written) == address


@pytest.mark.parametrize("nonsense", ["::::", "http://", "a b", "[", "ollama:port", "http://[::1", "/", "\x1b"])
def test_a_variable_that_means_nothing_is_no_reason_to_fail(nonsense: str) -> None:
    assert len(candidates(LLMSettings(), {"OLLAMA_HOST": nonsense})) == 4


@pytest.mark.parametrize(
    "same",
    ["http://localhost:1234", "127.0.0.1:1234", "http://[::1]:1234/v1", "http://LOCALHOST:1234/v1/chat/completions"],
)
def test_this_machine_is_one_place(same: str) -> None:
    assert same_place(same) == same_place("localhost:1234")


@pytest.mark.parametrize(
    "other", ["localhost:1235", "https://localhost:1234", "http://localhost:1234/llm/v1", "x:1234"]
)
def test_other_ports_schemes_and_prefixes_are_other_places(other: str) -> None:
    assert same_place(other) != same_place("localhost:1234")
