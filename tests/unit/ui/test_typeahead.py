"""What is typed while nobody asks: not echoed, kept, and the terminal is left as it was."""

import asyncio
import os
import pty
import termios
from collections.abc import Iterator

import pytest

from localllm.ui.typeahead import TypeAhead, typed_text

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("hello", "hello"),
        ("日本x\x7f", "日本"),
        ("\x7fa", "a"),
        ("one two\x17", "one "),
        ("one\x15two", "two"),
        ("a\x1b[Ab\x1bOP\x1b[200~c\x1b[201~", "abc"),
        ("a\rb\n", "a\nb\n"),
        ("\x04\x12a\t", "a"),
        ("\x1b[12;40R", ""),
    ],
)
def test_typed_text(keys: str, text: str) -> None:
    assert typed_text(keys) == text


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    keyboard, screen = pty.openpty()
    yield keyboard, screen
    os.close(keyboard)


async def test_it_reads_without_echo_and_restores(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        before = termios.tcgetattr(screen)
        typeahead = TypeAhead(stream)
        typeahead.start()
        os.write(keyboard, "日".encode()[:2])
        await asyncio.sleep(0.01)
        os.write(keyboard, "日".encode()[2:] + b"x")
        while typeahead.text() != "日x":
            await asyncio.sleep(0.001)
        os.write(keyboard, b"y\r")
        typeahead.pause()
        assert not termios.tcgetattr(screen)[3] & termios.ECHO
        typeahead.stop()
        assert termios.tcgetattr(screen) == before
        assert typeahead.take() == "日xy"
        assert typeahead.take() == ""
        os.set_blocking(keyboard, False)
        with pytest.raises(BlockingIOError):
            os.read(keyboard, 100)


async def test_the_modes_can_be_set_again(terminal: tuple[int, int]) -> None:
    _, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        before = termios.tcgetattr(screen)
        typeahead = TypeAhead(stream)
        typeahead.start()
        termios.tcsetattr(screen, termios.TCSANOW, before)
        typeahead.refresh()
        assert not termios.tcgetattr(screen)[3] & termios.ECHO
        assert termios.tcgetattr(screen)[3] & termios.ISIG
        typeahead.stop()
        typeahead.refresh()
        assert termios.tcgetattr(screen) == before


async def test_a_pipe_is_left_alone() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"line\n")
    with os.fdopen(reading, "r", encoding="utf-8") as stream, os.fdopen(writing, "w", encoding="utf-8"):
        typeahead = TypeAhead(stream)
        typeahead.start()
        typeahead.stop()
        assert stream.readline() == "line\n"
        typeahead.keep("more")
        assert typeahead.take() == "more"
