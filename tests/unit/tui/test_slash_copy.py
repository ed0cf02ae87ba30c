"""/copy: what it puts on the clipboard of a terminal, and what it refuses."""

import base64
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localllm.base.errors import ConfigurationError
from localllm.tui.clipboard import MOST_ENCODED, plain_text
from localllm.tui.commands.builtin import COMMANDS
from localllm.tui.commands.registry import SlashRegistry
from tests.support.each import each
from tests.support.slash import said

pytestmark = pytest.mark.anyio

ANSWER = "Do this:\n\n```sh\nmake\nmake test\n```\n\n1. or\n\n   ~~~\n   tox\n   ~~~\n\n```\n```\n"

VARIABLES = (
    *("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "TMUX", "STY"),
)


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal, with no program for a clipboard."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("PATH", "/nowhere")


def chat(answer: str) -> Any:
    return SimpleNamespace(root=Path("/project"), last_answer=answer)


def sent(shown: str) -> list[str]:
    """The texts that went to the clipboard of the terminal."""
    return [base64.b64decode(text).decode() for text in re.findall("\x1b]52;c;([^\x07]*)\x07", shown)]


async def test_the_whole_answer() -> None:
    shown = await said(chat(ANSWER), "copy", plain=False)
    assert sent(shown) == [ANSWER.rstrip("\n")]
    assert "Copied the answer by the terminal (OSC 52): 15 lines." in shown


@each("number, block", [(1, "make\nmake test"), (2, "tox")])
async def test_one_code_block(number: int, block: str) -> None:
    shown = await said(chat(ANSWER), f"copy {number}", plain=False)
    assert sent(shown) == [block]
    assert f"code block {number}" in shown


@each(
    "written, kept",
    [
        ("a\x1b[31mb\x07\x9bc", "a[31mbc"),
        ("\n a\tb\r\nc\rd\n\n", " a\tb\ncd"),
        ("rm \u202eabc\u2069\u200b -r", "rm abc -r"),
        ("日本語 👨\u200d👩\u200d👧 \ufffd", "日本語 👨\u200d👩\u200d👧 \ufffd"),
    ],
)
def test_what_cannot_be_seen_is_not_copied(written: str, kept: str) -> None:
    assert plain_text(written) == kept


async def test_what_is_too_long_for_a_terminal_is_not_sent() -> None:
    longest = "x" * (MOST_ENCODED // 4 * 3)
    assert sent(await said(chat(longest), "copy", plain=False)) == [longest]
    shown: list[str] = []
    with pytest.raises(ConfigurationError, match="too long") as raised:
        await said(chat(longest + "xxx"), "copy", plain=False, shown=shown)
    assert "74,000" in raised.value.why
    assert shown == [""]


@each(
    "answer, line, key",
    [
        ("", "copy", "copy_nothing"),
        ("\n", "copy 1", "copy_nothing"),
        ("No code.", "copy 1", "copy_no_block"),
        (ANSWER, "copy 0", "copy_no_block"),
        (ANSWER, "copy 3", "copy_no_block"),
    ],
)
async def test_what_there_is_not(answer: str, line: str, key: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await said(chat(answer), line, plain=False)
    assert raised.value.key == key


async def test_plain_output_is_refused() -> None:
    shown: list[str] = []
    with pytest.raises(ConfigurationError) as raised:
        await said(chat(ANSWER), "copy", shown=shown)
    assert (raised.value.key, shown) == ("copy_plain", [""])


@pytest.mark.parametrize(("name", "value"), [("TERM", "linux"), ("STY", "1.pts")])
async def test_a_terminal_without_a_clipboard(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as raised:
        await said(chat(ANSWER), "copy", plain=False)
    assert raised.value.key == "copy_nowhere"


async def test_another_word_shows_how_it_is_written() -> None:
    shown = await said(chat(ANSWER), "copy all", plain=False)
    assert "/copy 2" in shown
    assert sent(shown) == []


async def test_a_tmux_that_takes_nothing_passes_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX", "/tmp/none,1,0")
    shown = await said(chat("yes"), "copy", plain=False)
    assert "\x1bPtmux;\x1b\x1b]52;c;eWVz\x07\x1b\\" in shown


def test_the_blocks_are_completed() -> None:
    assert SlashRegistry(COMMANDS, {}).choices("copy", chat(ANSWER)) == [("1", "make"), ("2", "tox")]
