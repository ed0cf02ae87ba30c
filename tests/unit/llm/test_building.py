"""From settings to a provider: what cannot work is refused before any server is asked."""

from pathlib import Path

import pytest

from localllm.base.config.schema import LLMSettings, OpenAISettings
from localllm.base.errors import ConfigurationError
from localllm.llm.building import make_provider
from localllm.llm.messages import CompletionRequest
from localllm.llm.providers.openai_compatible import OpenAICompatible

OPENAI = LLMSettings(provider="openai")


def test_the_key_is_taken_without_the_line_end_a_file_gave_it() -> None:
    provider = make_provider(OPENAI, Path(), {"OPENAI_API_KEY": " sk-SECRET123\n"})
    assert isinstance(provider, OpenAICompatible)
    headers = provider.prepare(CompletionRequest(model="m", messages=())).headers
    assert headers["authorization"] == "Bearer sk-SECRET123"


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
    assert "llm.openai.base_url" in caught.value.mend
