"""What is typed while nobody asks: not echoed, kept, and the terminal is left as it was."""

import asyncio
import os
import pty
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from typing import TextIO

import pytest

from localllm.tui.bracketed_paste import PASTE_OFF, PASTE_ON, PASTE_SECONDS, PasteReader
from localllm.tui.input.typeahead import TypeAhead
from localllm.tui.terminal_keys import ESCAPE_SECONDS, KeyName
from tests.support.each import each

pytestmark = pytest.mark.anyio


@each(
    ("keys", "text"),
    [
        ("hello", "hello"),
        ("日本x\x7f", "日本"),
        ("\x7fa", "a"),
        ("ab👨\u200d👩\x7f", "ab"),
        ("か\u3099\x7f\x7f", ""),
        ("一二三四五六七八九十一二三四五六七八九十\x7f", "一二三四五六七八九十一二三四五六七八九"),
        ("one two\x17", "one "),
        ("one\x15two", "two"),
        ("a\x1b[Ab\x1bOP\x1b[200~c\x1b[201~", "abc"),
        ("a\rb\n", "a\nb\n"),
        ("a\x1b\rb\tc", "a\nb\nc"),
        ("\x04\x12a", "a"),
        ("\x1b[12;40R\x1b", ""),
    ],
)
def test_keys_somebody_else_has_read_only_write(keys: str, text: str) -> None:
    pressed: list[str] = []
    typeahead = TypeAhead(sys.stdin)
    typeahead.on_key = pressed.append
    typeahead.keep(keys)
    assert typeahead.text() == text
    assert pressed == []


@each(
    ("keys", "pressed", "text"),
    [
        ("one\rtwo\r", ["enter one", "enter two"], ""),
        ("one\rtwo", ["enter one"], "two"),
        ("\x1b[200~a\rb\x1b[201~\r", ["enter a\nb"], ""),
        ("a\nb\r", ["enter a\nb"], ""),
    ],
)
def test_keys_a_prompt_has_read_behind_its_line_do_what_they_say(keys: str, pressed: list[str], text: str) -> None:
    typeahead = TypeAhead(sys.stdin)
    done: list[str] = []
    typeahead.on_key = lambda key: done.append(f"{key} {typeahead.take()}")
    typeahead.press(keys)
    assert done == pressed
    assert typeahead.text() == text


async def test_what_was_typed_before_the_terminal_was_set_is_sent_line_by_line(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        os.write(keyboard, b"one\rtwo\r\x1b[200~a\rb\x1b[201~\rrest")
        typeahead, done = TypeAhead(stream), list[str]()
        typeahead.on_key = lambda key: done.append(f"{key} {typeahead.take()}")
        typeahead.start()
        assert done == ["enter one", "enter two", "enter a\nb"]
        assert typeahead.text() == "rest"
        typeahead.stop()


def test_what_is_put_stands_before_what_is_typed() -> None:
    typeahead = TypeAhead(sys.stdin)
    typeahead.put("one")
    typeahead.keep("b")
    typeahead.put("two")
    assert typeahead.take() == "two\noneb"


class Clock:
    """Calls what is to be called when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.due: Callable[[], None] | None = None

    def later(self, seconds: float, call: Callable[[], None]) -> "Clock":
        self.seconds, self.due = seconds, call
        return self

    def cancel(self) -> None:
        self.due = None


class Keyboard:
    """A terminal whose keys go to a TypeAhead, and what came of them."""

    def __init__(self, keyboard: int, stream: TextIO, pastes: PasteReader | None = None) -> None:
        self._keyboard = keyboard
        self.clock = Clock()
        self.pressed: list[str] = []
        self.written: list[str] = []
        self.typeahead = TypeAhead(stream, write=self.written.append, later=self.clock.later, pastes=pastes)
        self.typeahead.on_key = self._press
        self.typeahead.start()

    def _press(self, key: KeyName) -> None:
        self.pressed.append(f"{key} {self.typeahead.text()}".strip())

    async def type(self, keys: bytes, until: Callable[[], bool]) -> None:
        os.write(self._keyboard, keys)
        while not until():
            await asyncio.sleep(0.001)


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


async def test_somebody_is_told_when_keys_have_been_read(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        typeahead = TypeAhead(stream)
        told: list[str] = []
        typeahead.on_change = lambda: told.append(typeahead.text())
        typeahead.start()
        os.write(keyboard, b"one")
        while not told:
            await asyncio.sleep(0.001)
        typeahead.stop()
        assert told[-1] == "one"


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


async def test_enter_escape_and_the_others_are_told_with_what_is_written(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        board = Keyboard(keyboard, stream)
        await board.type(b"one\r", lambda: board.pressed == ["enter one"])
        board.typeahead.take()
        await board.type(b"two\x1b\r", lambda: board.pressed[1:] == ["queue two"])
        board.typeahead.take()
        await board.type(b"a\\\rb\nc\r", lambda: board.pressed[2:] == ["enter a\nb\nc"])
        board.typeahead.take()
        await board.type(b"\x1b[200~x\ry\x1b[201~", lambda: board.typeahead.text() == "x\ny")
        assert len(board.pressed) == 3
        board.typeahead.stop()
        assert board.written == [PASTE_ON, PASTE_OFF]


async def test_an_escape_is_told_when_nothing_followed_in_time(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        board = Keyboard(keyboard, stream)
        await board.type(b"\x1b", lambda: board.clock.due is not None)
        assert board.clock.seconds == ESCAPE_SECONDS
        await board.type(b"[A", lambda: board.pressed == ["up"])
        assert board.clock.due is None
        await board.type(b"\x1b", lambda: board.clock.due is not None)
        assert board.clock.due is not None
        board.clock.due()
        assert board.pressed == ["up", "escape"]
        board.typeahead.stop()


async def test_no_pause_makes_keys_of_a_paste(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        board = Keyboard(keyboard, stream)
        for piece in (b"\x1b[20", b"0~one\r", b"!touch x\r", b"\x1b", b"\r", b"\x1b[20", b"/exit\r\x1b[2"):
            await board.type(piece, lambda: board.clock.due is not None)
            assert board.clock.due is not None
            board.clock.due()
            assert (board.pressed, board.typeahead.text()) == ([], "")
        await board.type(b"01~", lambda: bool(board.typeahead.text()))
        assert board.typeahead.text() == "one\n!touch x\n\n[20/exit\n"
        await board.type(b"\r", lambda: bool(board.pressed))
        board.typeahead.stop()


async def test_a_mark_that_comes_behind_an_escape_begins_a_paste(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        board = Keyboard(keyboard, stream)
        await board.type(b"\x1b", lambda: board.clock.due is not None)
        assert board.clock.due is not None
        board.clock.due()
        await board.type(b"[200~y\r\x1b[201~", lambda: bool(board.typeahead.text()))
        assert (board.pressed, board.typeahead.text()) == (["escape"], "y\n")
        board.typeahead.stop()


async def test_ctrl_c_ends_a_paste_whose_end_mark_is_lost(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    seconds = [0.0]
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        board = Keyboard(keyboard, stream, PasteReader(lambda: seconds[0]))
        await board.type(b"\x1b[200~!one\r", lambda: board.clock.due is not None)
        board.typeahead.end_stalled_paste()
        assert board.typeahead.text() == "", "it may still be coming"
        seconds[0] += PASTE_SECONDS
        board.typeahead.end_stalled_paste()
        assert board.typeahead.text() == "\n!one\n"
        await board.type(b"x\r", lambda: bool(board.pressed))
        assert board.pressed == ["enter \n!one\nx"]
        board.typeahead.stop()


async def test_a_question_waits_for_a_paste_that_pauses(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        pastes = PasteReader()
        board = Keyboard(keyboard, stream, pastes)
        board.typeahead.pause()
        pastes.read("\x1b[200~one\r")  # and nothing more in time
        waiting = asyncio.create_task(board.typeahead.settle(quiet=0))
        for piece in (b"y\r", b"a\r", b"\r\x1b[201~\r"):
            assert not (await asyncio.wait([waiting], timeout=0.05))[0]
            os.write(keyboard, piece)
        await waiting
        assert board.typeahead.text() == "one\ny\na\n\n\n"
        assert board.pressed == []
        board.typeahead.stop()


async def test_nobody_else_gets_the_rest_of_a_paste(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        board = Keyboard(keyboard, stream)
        await board.type(b"\x1b[200~one\r", lambda: board.clock.due is not None)
        late = threading.Timer(0.02, os.write, (keyboard, b"y\r\x1b[201~"))
        late.start()
        board.typeahead.pause()
        late.join()
        assert board.typeahead.text() == "one\ny\n"
        assert board.pressed == []
        board.typeahead.stop()


async def test_what_is_typed_until_nobody_types_any_more_is_kept_and_sends_nothing(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        board = Keyboard(keyboard, stream)
        board.typeahead.pause()
        os.write(keyboard, b"y\r")
        late = threading.Timer(0.02, os.write, (keyboard, b"p\r"))
        late.start()
        await board.typeahead.settle(quiet=0.25)
        late.join()
        assert board.typeahead.text() == "y\np\n"
        assert board.pressed == []
        board.typeahead.stop()


async def test_what_is_typed_at_once_after_an_empty_line_is_no_answer_yet(terminal: tuple[int, int]) -> None:
    """A second y, for the question before, while a new one is drawn."""
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        board = Keyboard(keyboard, stream)
        board.typeahead.pause()
        settling = asyncio.create_task(board.typeahead.settle(quiet=0.25))
        assert not (await asyncio.wait([settling], timeout=0.1))[0]
        os.write(keyboard, b"y\r")
        await settling
        assert board.typeahead.text() == "y\n"
        assert board.pressed == []
        board.typeahead.stop()


async def test_who_is_broken_off_while_keys_come_without_end_keeps_them(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        board = Keyboard(keyboard, stream)
        board.typeahead.pause()
        ended = threading.Event()
        os.write(keyboard, b"y")

        def hold() -> None:
            while not ended.wait(0.001):
                os.write(keyboard, b"y")

        held = threading.Thread(target=hold)
        held.start()
        try:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(board.typeahead.settle(quiet=30), 0.2)
        finally:
            ended.set()
            held.join()
        assert board.typeahead.text().startswith("y")
        board.typeahead.stop()


async def test_a_paste_is_reported_and_typed_keys_are_not(terminal: tuple[int, int]) -> None:
    keyboard, screen = terminal
    with os.fdopen(screen, "r", encoding="utf-8") as stream:
        told: list[str] = []
        typeahead = TypeAhead(stream, on_paste=told.append)
        typeahead.keep("typed \x1b[200~one\r\ntwo\x1b[201~ here")
        typeahead.press("\x1b[200~three\x1b[201~")
        typeahead.start()
        os.write(keyboard, b" x\x1b[200~four\x1b[201~\x1b[200~fi")
        while "four" not in typeahead.text():
            await asyncio.sleep(0.001)
        typeahead.stop()
        assert told == ["one\ntwo", "three", "four", "fi"]
        assert typeahead.text() == "typed one\ntwo herethree xfourfi"
