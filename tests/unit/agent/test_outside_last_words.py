"""Last words written by somebody who did not know the rules: what is announced is asked for, an end is left alone."""

import tomllib
from pathlib import Path
from typing import Any

from localllm.agent.phrases.announcements import announces
from tests.support.each import each

FILES = [Path(__file__).parent / name for name in ("outside-last-words.toml", "blind-last-words.toml")]
MESSAGES: list[dict[str, Any]] = [
    message for file in FILES for message in tomllib.loads(file.read_text(encoding="utf-8"))["message"]
]


@each("message", MESSAGES, ids=[message["name"] for message in MESSAGES])
def test_last_words_are_judged_as_they_are_meant(message: dict[str, Any]) -> None:
    is_right = announces(message["text"]) != message["end"]
    assert is_right == ("limit" not in message), message.get("limit", "")


def test_no_end_is_known_to_be_taken_for_an_announcement() -> None:
    """Asking after a real answer costs the person more than missing an announcement: no limit may be of that kind."""
    assert not [message["name"] for message in MESSAGES if message["end"] and "limit" in message]
    assert sum(message["end"] for message in MESSAGES) > 130
