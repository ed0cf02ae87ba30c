"""From settings to a provider: what cannot work is refused before any server is asked."""

from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError
from localllm.config.schema import LLMSettings, LMStudioSettings, OllamaSettings, OpenAISettings, ProviderName
from localllm.llm.discovery.servers import Server
from localllm.llm.factory import make_provider, provider_for
from localllm.llm.messages import CompletionRequest, UserMessage
from localllm.llm.providers.lmstudio import LMStudio
from localllm.llm.providers.ollama import Ollama
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.wire_server import Reply, WireServer, cassette

OPENAI = LLMSettings(provider="openai")


def test_the_key_is_taken_without_the_line_end_a_file_gave_it() -> None:
    safe = LLMSettings(provider="openai", openai=OpenAISettings(base_url="https://llm.example"))
    provider = make_provider(safe, Path(), {"OPENAI_API_KEY": " sk-SECRET123\n"})
    assert isinstance(provider, OpenAICompatible)
    headers = provider.prepare(CompletionRequest(model="m", messages=())).headers
    assert headers["authorization"] == "Bearer sk-SECRET123"


def test_no_key_goes_unasked_to_what_listens_at_a_port_of_this_machine() -> None:
    provider = make_provider(OPENAI, Path(), {"OPENAI_API_KEY": "sk-SECRET123"})
    assert isinstance(provider, OpenAICompatible)
    assert "authorization" not in provider.prepare(CompletionRequest(model="m", messages=())).headers
    provider.send_key()
    assert "authorization" in provider.prepare(CompletionRequest(model="m", messages=())).headers


@pytest.mark.parametrize("key", ["sk-SECRET\n123", "sk-SECRETé", "sk-SECRET\udcff", "\x1bsk-SECRET"])
def test_a_key_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make_provider(OPENAI, Path(), {"OPENAI_API_KEY": key})
    assert "OPENAI_API_KEY" in caught.value.what
    assert "SECRET" not in repr(caught.value) + str(caught.value)


@pytest.mark.parametrize("address", ["http://localhost:abc", "http://[::1", "http://localhost:99999", "ftp://x"])
def test_an_unusable_address_names_its_setting(address: str) -> None:
    settings = LLMSettings(provider="openai", openai=OpenAISettings(base_url=address))
    with pytest.raises(ConfigurationError) as caught:
        make_provider(settings, Path(), {})
    assert caught.value.key == "llm_address_unusable"
    assert address in caught.value.what
    assert "llm.openai.base_url" in caught.value.fix


@pytest.mark.parametrize(
    ("settings", "kind", "address"),
    [
        (LLMSettings(provider="openai"), OpenAICompatible, "http://localhost:8080/v1"),
        (LLMSettings(provider="lmstudio"), LMStudio, "http://localhost:1234/v1"),
        (LLMSettings(provider="ollama"), Ollama, "http://localhost:11434"),
    ],
)
def test_each_server_is_spoken_to_in_its_own_way(settings: LLMSettings, kind: type, address: str) -> None:
    provider = make_provider(settings, Path(), {})
    assert type(provider) is kind
    assert (provider.name, provider.address) == (settings.provider, address)


def test_lm_studio_gets_its_own_address_and_key() -> None:
    settings = LLMSettings(provider="lmstudio", lmstudio=LMStudioSettings(base_url="box:4321"))
    provider = make_provider(settings, Path(), {"LMSTUDIO_API_KEY": "k", "OPENAI_API_KEY": "other"})
    assert isinstance(provider, LMStudio)
    prepared = provider.prepare(CompletionRequest(model="m", messages=()))
    assert prepared.url == "http://box:4321/v1/chat/completions"
    assert prepared.headers["authorization"] == "Bearer k"


@pytest.mark.anyio
async def test_what_is_set_for_ollama_is_what_it_is_sent() -> None:
    end = Reply((b'{"message": {"content": "hi"}, "done": true}',))
    with WireServer([end], routes={"/api/show": cassette("ollama/show")}) as server:
        ollama = OllamaSettings(base_url=server.url + "/v1", think="low")
        settings = LLMSettings(provider="ollama", context_window=12_345, ollama=ollama)
        provider = make_provider(settings, Path(), {"OLLAMA_API_KEY": "k"})
        assert [chunk async for chunk in provider.stream(CompletionRequest(model="m", messages=(UserMessage("x"),)))]
        await provider.aclose()
    [body] = server.bodies()
    assert (body["options"]["num_ctx"], body["think"]) == (12_345, "low")
    assert server.headers[-1]["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("kind", "made", "address"),
    [
        ("lmstudio", LMStudio, "http://found:1/v1"),
        ("ollama", Ollama, "http://found:1"),
        ("openai", OpenAICompatible, "http://found:1/v1"),
    ],
)
def test_a_server_that_was_found_is_spoken_to_where_it_is(kind: ProviderName, made: type, address: str) -> None:
    provider = provider_for(Server(base_url="http://found:1", provider=kind, state="ready"), LLMSettings(), {})
    assert type(provider) is made
    assert (provider.name, provider.address) == (kind, address)


def test_a_server_that_was_found_gets_a_key_only_where_it_asked_for_one() -> None:
    environ = {"OPENAI_API_KEY": "K1", "LMSTUDIO_API_KEY": "K2"}
    free = Server(base_url="http://found:1", provider="openai", state="ready")
    locked = Server(base_url="http://found:1", provider="openai", state="ready", key_variable="LMSTUDIO_API_KEY")
    keys: list[str | None] = []
    for server in (free, locked):
        provider = provider_for(server, LLMSettings(), environ)
        assert isinstance(provider, OpenAICompatible)
        keys.append(provider.prepare(CompletionRequest(model="m", messages=())).headers.get("authorization"))
    assert keys == [None, "Bearer K2"]


def test_only_servers_are_found() -> None:
    with pytest.raises(ValueError, match="embedded"):
        provider_for(Server(base_url="x", provider="embedded", state="ready"), LLMSettings(), {})


def test_ollama_is_where_its_own_variable_says_unless_the_settings_say_otherwise() -> None:
    environ = {"OLLAMA_HOST": "0.0.0.0:11500"}
    assert make_provider(LLMSettings(provider="ollama"), Path(), environ).address == "http://127.0.0.1:11500"
    settings = LLMSettings(provider="ollama", ollama=OllamaSettings(base_url="http://box:11434"))
    assert make_provider(settings, Path(), environ).address == "http://box:11434"
