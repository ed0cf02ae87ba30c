"""Truncate a long Markdown block at its start, so that the rest renders like the end of the whole."""

import re
from collections.abc import Iterable

from localllm.text.markdown_blocks import FENCE, indentation

_LONGEST_HEAD = 200
"""Maximum characters of a line kept only for the structure it opens."""

_NEAR = 100
"""Characters searched for a blank at which to cut a line."""

_LEAP = 1.25
"""Factor by which the tail may exceed its limit before more is removed."""

_MARKER = re.compile(r"(?>(?:[ \t]*+(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t])))*)[ \t]*")
_DELIMITERS = re.compile(r"[\s>]*+\|?[ \t]*+:?-++:?[ \t]*+(?>(?:\|[ \t]*+:?-++:?[ \t]*+)*)\|?$")


def begins_table(header: str, delimiters: str) -> bool:
    """Return whether two lines may be a table's header."""
    return "|" in header and "-" in delimiters and bool(_DELIMITERS.match(delimiters.rstrip()))


class MarkdownTail:
    """Collects the lines of a block and returns its end, with the structure the removed lines opened: the items and the
    fence it is in, its table's header.

    Lines are removed in batches, so that the screen is not wrapped again with each character.
    """

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._size = 0
        self._open: list[tuple[int, str]] = []
        """Removed lines that enclose what follows, with their indentation."""
        self._fence = self._mark = ""
        self._table: list[str] = []
        self._last = ""
        self._cut = 0
        """Characters removed from the incomplete line."""

    def add(self, lines: Iterable[str]) -> None:
        """Add complete lines."""
        for line in lines:
            self._kept.append(line)
            self._size += len(line)
            self._cut = 0

    def text(self, partial: str, lines: int, characters: int) -> str:
        """Return the end of the block and the incomplete line `partial`, preceded by the enclosing structure. Limited
        to about `lines` and `characters`."""
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
        if self._kept and size > _LEAP * characters:  # the first line alone is too long
            line = self._kept[0]
            self._kept[0] = _marker(line) + line[_cut(line, characters - (size - len(line))) :]
        self._size = sum(map(len, self._kept))

    def _pass(self, line: str) -> None:
        """Record what a removed line opens or closes."""
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
    """Return the start of the line's last `characters`, after a nearby blank if there is one."""
    at = max(0, len(line) - characters)
    return line.find(" ", at, at + _NEAR) + 1 or at


def _marker(line: str) -> str:
    """Return the marker of a list item or quotation."""
    match = _MARKER.match(line)
    return match[0] if match else ""
