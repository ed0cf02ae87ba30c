"""What a one-shot request says that only the chat would understand."""

import pytest

from localllm.cli.chat_words import sent_as_words


@pytest.mark.parametrize(
    ("prompt", "name"),
    [("/todo add x", "todo"), ("／todo　add x", "todo"), (" /TODO", "todo"), ("/?", "help"), ("/daily now", "daily")],
)
def test_a_command_of_the_chat_is_told_from_words(prompt: str, name: str) -> None:
    assert sent_as_words(prompt, {"daily": "Sum up today"}).startswith(f"/{name} is a chat command")


@pytest.mark.parametrize(
    "prompt", ["/etc/hosts is wrong", "/frobnicate it", "/ what is this?", "add /todo to the docs"]
)
def test_other_words_are_none(prompt: str) -> None:
    assert sent_as_words(prompt, {}) == ""
