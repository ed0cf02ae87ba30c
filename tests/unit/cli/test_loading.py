"""The settings as the command line names them."""

import pytest

from localllm.cli.loading import overrides

NONE = dict.fromkeys(["script", "base_url", "provider", "model"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {}),
        ({"base_url": "http://h"}, {"llm.provider": "openai", "llm.openai.base_url": "http://h"}),
        (
            {"base_url": "http://h", "provider": "ollama", "model": "m"},
            {"llm.provider": "ollama", "llm.model": "m", "llm.ollama.base_url": "http://h"},
        ),
        ({"script": "/a.toml"}, {"llm.provider": "scripted", "llm.scripted.file": "/a.toml"}),
    ],
)
def test_an_address_or_a_script_implies_its_provider(options: dict[str, str], expected: dict[str, str]) -> None:
    assert overrides({**NONE, **options}) == expected
