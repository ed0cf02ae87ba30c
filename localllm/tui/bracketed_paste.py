"""Separate what is pasted into the terminal from what is typed, by the marks of bracketed paste (DEC mode 2004).

All that reads the keyboard in turn shares one `PasteReader`: where a paste comes in pieces, with pauses, or while one
reader takes over from another, no part of it is a key for any of them.
"""

import codecs
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

PASTE_ON, PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"
"""Enable and disable bracketed paste."""

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
"""The marks around a paste."""

PASTE_SECONDS = 2.0
"""Seconds without input after which a paste may have lost its end mark: Ctrl+C ends it then, and nothing else does."""

_INTERRUPT = "\x03"


class Piece(NamedTuple):
    """Typed characters, or a whole paste without its marks."""

    text: str
    is_pasted: bool


class PasteReader:
    """Split the terminal's input into typed and pasted pieces."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self._clock = clock
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._begun = ""  # the end of what was read, as far as it may begin the next mark
        self._pasted: list[str] | None = None
        self._read_at = 0.0

    @property
    def pasting(self) -> bool:
        """Whether a paste is incomplete."""
        return self._pasted is not None

    @property
    def is_stalled(self) -> bool:
        """Whether nothing has come for long of a paste that is incomplete."""
        return self.pasting and self._clock() - self._read_at >= PASTE_SECONDS

    def feed(self, data: bytes) -> list[Piece]:
        """Return the pieces completed by `data`."""
        return self.read(self._decoder.decode(data))

    def read(self, text: str) -> list[Piece]:
        """As `feed`, for text. What may become the begin mark is passed on as typed (an Escape may be the key): who
        still holds it when a paste has begun drops it."""
        if text == _INTERRUPT and self.is_stalled:
            return self.end()
        self._read_at = self._clock()
        pieces: list[Piece] = []
        while text:
            found, text = self._typed(text) if self._pasted is None else self._inside(text)
            pieces += found
        return pieces

    def end(self) -> list[Piece]:
        """End an incomplete paste; return what came of it."""
        if self._pasted is None:
            return []
        pasted = "".join([*self._pasted, self._begun])
        self._pasted, self._begun = None, ""
        return [Piece(pasted, is_pasted=True)]

    def _typed(self, text: str) -> tuple[list[Piece], str]:
        """Return what is typed before the next paste, and the rest."""
        typed, mark, rest = (self._begun + text).partition(PASTE_BEGINS)
        typed_now = typed[len(self._begun) :]
        self._begun = "" if mark else _possible_mark(typed, PASTE_BEGINS)
        self._pasted = [] if mark else None
        return [Piece(typed_now, is_pasted=False)] if typed_now else [], rest

    def _inside(self, text: str) -> tuple[list[Piece], str]:
        """Return the paste if it is complete, and the rest."""
        inside, mark, rest = (self._begun + text).partition(PASTE_ENDS)
        self._begun = "" if mark else _possible_mark(inside, PASTE_ENDS)
        if self._pasted is not None:
            self._pasted.append(inside.removesuffix(self._begun))
        return self.end() if mark else [], rest


def _possible_mark(text: str, mark: str) -> str:
    """Return the end of a text that may begin a mark."""
    at = text.rfind(mark[0], -len(mark) + 1)
    return text[at:] if at >= 0 and mark.startswith(text[at:]) else ""


def with_marks(pieces: Iterable[Piece]) -> str:
    """Return pieces as the terminal sent them."""
    return "".join(f"{PASTE_BEGINS}{text}{PASTE_ENDS}" if is_pasted else text for text, is_pasted in pieces)
