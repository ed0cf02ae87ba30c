"""The end of a long Markdown block, as Markdown that reads like the end of the whole."""

import re
from collections.abc import Iterable

from localllm.text.markdown_blocks import FENCE, indentation

_LONGEST_HEAD = 200
"""Characters of a line that is kept only for what it begins."""

_NEAR = 100
"""Characters within which a line that is cut is cut at a blank."""

_LEAP = 1.25
"""So many times as long as it has to be the end becomes before more is left out."""

_MARKER = re.compile(r"(?>(?:[ \t]*+(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t])))*)[ \t]*")
_DELIMITERS = re.compile(r"[\s>]*+\|?[ \t]*+:?-++:?[ \t]*+(?>(?:\|[ \t]*+:?-++:?[ \t]*+)*)\|?$")


def begins_table(header: str, delimiters: str) -> bool:
    """Whether two lines may be the head of a table."""
    return "|" in header and "-" in delimiters and bool(_DELIMITERS.match(delimiters.rstrip()))


class MarkdownTail:
    """Takes the lines of a block and gives its end, with what the lines left out have begun: the items and the fence it
    is in, the head of its table.

    What is left out grows in leaps, so that the lines on the screen do not break anew with each character.
    """

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._size = 0
        self._open: list[tuple[int, str]] = []
        """Lines left out that are indented less than what follows them, with their indentation."""
        self._fence = self._mark = ""
        self._table: list[str] = []
        self._last = ""
        self._cut = 0
        """Characters left out of the line that is not whole."""

    def add(self, lines: Iterable[str]) -> None:
        """The next whole lines."""
        for line in lines:
            self._kept.append(line)
            self._size += len(line)
            self._cut = 0

    def text(self, partial: str, lines: int, characters: int) -> str:
        """The end of the block, and `partial`, a line that is not whole, behind it: so many lines or characters, or a
        few more; and what they are in."""
        if len(self._kept) > _LEAP * lines or self._size + len(partial) > _LEAP * characters:
            self._leave_out(len(partial), lines, characters)
        if len(partial) - self._cut > _LEAP * characters:
            self._cut = _cut(partial, characters)
        if self._cut:
            partial = _marker(partial) + partial[self._cut :]
        return "".join([*self._head(partial), *self._kept, partial])

    def _leave_out(self, behind: int, lines: int, characters: int) -> None:
        left, size = 0, self._size + behind
        while left < len(self._kept) and (len(self._kept) - left > lines or size - len(self._kept[left]) >= characters):
            size -= len(self._kept[left])
            self._pass(self._kept[left])
            left += 1
        del self._kept[:left]
        if self._kept and size > _LEAP * characters:  # it is the first line that is too long
            line = self._kept[0]
            self._kept[0] = _marker(line) + line[_cut(line, characters - (size - len(line))) :]
        self._size = sum(map(len, self._kept))

    def _pass(self, line: str) -> None:
        """Take note of what a line begins or ends that is left out."""
        mark = line.strip()
        if self._fence:
            if mark.startswith(self._mark) and not mark.strip(self._mark[0]):
                self._fence = ""
        elif match := FENCE.match(line.rstrip()):
            self._fence, self._mark = line, match[1]
        elif mark:
            if begins_table(self._last, line):
                self._table = [self._last, line]
            depth = indentation(line)
            self._open = [(before, begun) for before, begun in self._open if before < depth]
            self._open.append((depth, line if len(line) <= _LONGEST_HEAD else line[:_LONGEST_HEAD] + "\n"))
        if "|" not in line:
            self._table = []
        self._last = line

    def _head(self, partial: str) -> list[str]:
        inner = [self._fence] if self._fence else self._table
        first = next((line for line in (*inner, *self._kept, partial) if line.strip()), "")
        depth = indentation(first)
        return [*(line for before, line in self._open if before < depth), *inner]


def _cut(line: str, characters: int) -> int:
    """Where the last so many characters of a line begin, behind a blank if there is one nearby."""
    at = max(0, len(line) - characters)
    return line.find(" ", at, at + _NEAR) + 1 or at


def _marker(line: str) -> str:
    """What makes the line an item, or a part of a quotation."""
    match = _MARKER.match(line)
    return match[0] if match else ""
