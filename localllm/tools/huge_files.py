"""Lines out of a text file too large to be loaded: it is passed through once, a block at a time."""

from bisect import bisect_left
from io import BufferedReader
from typing import NamedTuple

from localllm.text.decoding import Decoded, decode
from localllm.tools.patience import Patience

_BLOCK = 1 << 20
_LONGEST_CHARACTER = 4  # bytes


class Lines(NamedTuple):
    """Lines `start` to `end`, counted from 1, each with its newline; a last one that was cut has none."""

    text: str
    start: int
    end: int


class HugeFile:
    """A file passed through once to know where its lines lie.

    `total`: its lines. `counted`: whether that is all of them; time may have run out before.
    """

    def __init__(self, file: BufferedReader, encoding: str, patience: Patience) -> None:
        self._file = file
        self._encoding = encoding
        self._ends: list[int] = []  # for each block, how many lines end in it and in those before
        self.counted = True
        self.total = self._index(patience)

    def lines(self, start: int, count: int, room: int) -> Lines:
        """At most `count` lines (0: no limit) from `start` on, as many as go into `room` characters."""
        self._seek(start)
        data = self._file.read(room * _LONGEST_CHARACTER)
        text = data.decode(self._encoding, "replace")
        parts = [part + "\n" for part in text.split("\n")[: count or None]]
        kept: list[str] = []
        for part in parts[: self.total - start + 1]:
            room -= len(part)
            if room < 0:
                break
            kept.append(part)
        if not kept and parts:
            return Lines(parts[0][: room + len(parts[0])], start, start)
        return Lines("".join(kept).replace("\r\n", "\n"), start, start + len(kept) - 1)

    def last_lines(self, room: int) -> Lines:
        """The last lines, as many as go into `room` characters; none where the end was not reached."""
        size = self._file.seek(0, 2)
        self._file.seek(max(0, size - room))
        text = self._file.read().decode(self._encoding, "replace")
        lines = text.removesuffix("\n").split("\n")[1:]
        if not lines:
            return Lines(text, self.total, self.total)
        start = self.total - len(lines) + 1
        return Lines("".join(line + "\n" for line in lines).replace("\r\n", "\n"), start, self.total)

    def _index(self, patience: Patience) -> int:
        ended = 0
        last = b"\n"
        while block := self._file.read(_BLOCK):
            ended += block.count(b"\n")
            self._ends.append(ended)
            last = block[-1:]
            if patience.over:
                self.counted = False
                break
        return ended + (last != b"\n")

    def _seek(self, start: int) -> None:
        """Go to where line `start` begins: behind the newline number `start - 1`."""
        if start == 1:
            self._file.seek(0)
            return
        block = bisect_left(self._ends, start - 1)
        missing = start - 1 - (self._ends[block - 1] if block else 0)
        self._file.seek(block * _BLOCK)
        data = self._file.read(_BLOCK)
        at = -1
        for _ in range(missing):
            at = data.index(b"\n", at + 1)
        self._file.seek(block * _BLOCK + at + 1)


def encoding_of(head: bytes, encoding: str = "") -> Decoded:
    """How a file that begins with `head` is written. Raises NotTextError and LookupError as `decode` does."""
    whole_lines = head[: head.rfind(b"\n") + 1] or head
    return decode(whole_lines, encoding)._replace(text="")
