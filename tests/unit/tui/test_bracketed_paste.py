"""Pastes that come in pieces and with pauses, while one reader of the keyboard takes over from another."""

import asyncio
import os
import pty
from collections.abc import Iterator
from io import StringIO
from time import process_time

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.output.vt100 import Vt100_Output

from localllm.tui.bracketed_paste import PASTE_BEGINS, PASTE_ENDS, PASTE_SECONDS, PasteReader, Piece, with_marks
from localllm.tui.input.prompt import Question
from localllm.tui.input.typeahead import TypeAhead
from localllm.tui.theme import Theme

pytestmark = pytest.mark.anyio

STREAM = f"a\x1b[A\x1b{PASTE_BEGINS}one\r\x1b[20\x1b\x1b[201日{PASTE_ENDS}\rb{PASTE_BEGINS}{PASTE_ENDS}c\x1b["


def joined(pieces: list[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for piece in pieces:
        if found and not piece.is_pasted and not found[-1].is_pasted:
            found[-1] = Piece(found[-1].text + piece.text, is_pasted=False)
        else:
            found.append(piece)
    return found


def test_in_whatever_pieces_it_comes() -> None:
    data = STREAM.encode()
    whole = PasteReader().feed(data)
    assert [piece.text for piece in whole if piece.is_pasted] == ["one\r\x1b[20\x1b\x1b[201日", ""]
    assert with_marks(whole) == STREAM
    for size in range(1, len(data)):
        reader = PasteReader()
        cut = joined([piece for at in range(0, len(data), size) for piece in reader.feed(data[at : at + size])])
        assert [piece for piece in cut if piece.is_pasted] == [piece for piece in whole if piece.is_pasted], size


def test_the_effort_for_a_long_paste_grows_with_its_length() -> None:
    def seconds(length: int) -> float:
        reader, piece = PasteReader(), "x" * 1024
        began = process_time()
        reader.read(PASTE_BEGINS)
        for _ in range(length):
            assert reader.read(piece) == []
        ((text, is_pasted),) = reader.read(PASTE_ENDS)
        assert (len(text), is_pasted) == (length * 1024, True)
        return process_time() - began

    assert min(seconds(8_000) for _ in range(2)) < 8 * seconds(2_000) + 0.2


def test_only_ctrl_c_alone_after_a_long_pause_ends_it() -> None:
    seconds = [0.0]
    reader = PasteReader(lambda: seconds[0])
    assert reader.read(f"{PASTE_BEGINS}one\r") == []
    assert reader.read("\x03") == []
    for key in ("\r", "\x1b", "y", "\x04", "\x03\r"):
        seconds[0] += 1000 * PASTE_SECONDS
        assert reader.read(key) == []
    assert not reader.is_stalled
    seconds[0] += PASTE_SECONDS
    assert reader.is_stalled
    assert reader.read("\x03") == [Piece("one\r\x03\r\x1by\x04\x03\r", is_pasted=True)]
    assert reader.read("\x03y") == [Piece("\x03y", is_pasted=False)]


class Terminal:
    """A pseudo-terminal, of which the chat's readers take turns."""

    def __init__(self) -> None:
        self.keyboard, screen = pty.openpty()
        self._stream = os.fdopen(screen, "r", encoding="utf-8")
        self.pastes = PasteReader()
        self.typeahead = TypeAhead(self._stream, pastes=self.pastes)
        self.sent: list[str] = []
        self.typeahead.on_key = lambda key: self.sent.append(f"{key} {self.typeahead.take()}")
        self.input = Vt100Input(self._stream)

    def close(self) -> None:
        os.close(self.keyboard)
        self._stream.close()

    def type(self, text: str) -> None:
        os.write(self.keyboard, text.encode())

    async def typed(self, text: str) -> None:
        """Type what completes no key, and wait until it has been read."""
        before = self._come()
        self.type(text)
        while self._come() == before:
            await asyncio.sleep(0.001)

    def _come(self) -> object:
        return vars(self.pastes).copy()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


async def test_a_paste_goes_on_in_a_question_and_after_it(terminal: Terminal) -> None:
    output = Vt100_Output(StringIO(), lambda: Size(24, 80), term="xterm", enable_cpr=False)
    with create_app_session(input=terminal.input, output=output):
        question = Question(Theme(plain=False), pastes=terminal.pastes)
        terminal.typeahead.start()
        terminal.pastes.read(f"{PASTE_BEGINS}one\r")  # and nothing more in time
        terminal.typeahead.pause()
        asking = asyncio.create_task(question.ask())
        for piece in ("y\r", "\x1b", "\r", "\x1b[20", "a\r", PASTE_ENDS[:3]):
            await terminal.typed(piece)
            assert not (await asyncio.wait([asking], timeout=0.3))[0], "Escape would be a key by now"
        terminal.type(f"{PASTE_ENDS[3:]} no\r{PASTE_BEGINS}two\r")
        assert await asking == "one\ny\n\x1b\n\x1b[20a\n no"
        terminal.typeahead.keep(question.pending())
        terminal.typeahead.start()
        await terminal.typed("!touch x\r")
        terminal.type(f"{PASTE_ENDS}\r")
        while not terminal.sent:
            await asyncio.sleep(0.001)
        assert terminal.sent == ["enter two\n!touch x"]
        terminal.typeahead.stop()


@pytest.mark.parametrize("cut", range(1, 6))
async def test_the_begin_of_the_mark_may_come_to_another_reader(terminal: Terminal, cut: int) -> None:
    output = Vt100_Output(StringIO(), lambda: Size(24, 80), term="xterm", enable_cpr=False)
    with create_app_session(input=terminal.input, output=output):
        question = Question(Theme(plain=False), pastes=terminal.pastes)
        terminal.typeahead.start()
        await terminal.typed(PASTE_BEGINS[:cut])
        terminal.typeahead.pause()
        terminal.sent.clear()  # an Escape alone is a key
        asking = asyncio.create_task(question.ask())
        await terminal.typed(f"{PASTE_BEGINS[cut:]}y\ry\r")
        terminal.type(f"{PASTE_ENDS}\r")
        assert "y" in await asking
        assert terminal.sent == []
        terminal.typeahead.stop()
