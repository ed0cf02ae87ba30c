"""Split streamed Markdown into blocks that can be rendered finally while the rest is still arriving.

Only whole lines decide, so the blocks do not depend on the chunks. Joined, the blocks are the text.
"""

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

Kind = Literal["paragraph", "heading", "rule", "fence", "item", "blank"]


class Block(msgspec.Struct, frozen=True):
    """A self-contained piece of Markdown, with its newlines.

    A `paragraph` may be a table, a quotation, indented code or an underlined heading. An `item` is one item of an
    outermost list with its nested content. `blank` is empty lines between blocks.
    """

    kind: Kind
    text: str


FENCE = re.compile(r" {0,3}(?:(?:[-*+]|\d{1,9}[.)])\s)?\s*+(`{3,}+|~{3,}+)([^`\n]*)$")
"""Matches a line that opens a fence, without line end; the first group is its marker."""

_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_ITEM = re.compile(r"( {0,3}(?:[-*+]|\d{1,9}[.)]))( {1,4}(?=\S)|\s*$|\s)")
_INTERRUPTING_ITEM = re.compile(r" {0,3}(?:[-*+]|1[.)]) {1,4}\S")
_UNDERLINE = re.compile(r" {0,3}(-+|=+)\s*$")


class BlockSplitter:
    """Takes text in chunks; returns each block once the line that ends it is complete."""

    def __init__(self) -> None:
        self._partial: list[str] = []
        self._lines: list[str] = []
        self._kind: Kind | None = None
        self._fence = ""
        self._indent = 0

    @property
    def kind(self) -> Kind | None:
        """The kind of the unfinished block so far; None if there is none, or its first line is incomplete."""
        return self._kind

    @property
    def lines(self) -> Sequence[str]:
        """The complete lines of the unfinished block."""
        return self._lines

    @property
    def partial(self) -> str:
        """The incomplete line, which may belong to the unfinished block or end it."""
        return "".join(self._partial)

    def feed(self, text: str) -> list[Block]:
        """Add the next chunk and return the blocks it completes, in order."""
        finished: list[Block] = []
        *whole, rest = text.split("\n")
        for line in whole:
            self._partial.append(line + "\n")
            complete = "".join(self._partial)
            self._partial = []
            finished.extend(self._take(complete))
        if rest:
            self._partial.append(rest)
        return finished

    def finish(self) -> list[Block]:
        """End the text and return the remaining blocks, closed or not."""
        finished = self._take("".join(self._partial)) if self._partial else []
        self._partial = []
        return finished + self._close()

    def _close(self) -> list[Block]:
        """End the unfinished block. Trailing blank lines of an item or paragraph become a separate block."""
        lines, kind = self._lines, self._kind
        self._lines, self._kind, self._fence = [], None, ""
        if kind is None:
            return []
        if kind in ("fence", "blank"):
            return [Block(kind, "".join(lines))]
        end = len(lines)
        while not lines[end - 1].strip():
            end -= 1
        blocks = [Block(kind, "".join(lines[:end]))]
        return blocks if end == len(lines) else [*blocks, Block("blank", "".join(lines[end:]))]

    def _take(self, line: str) -> list[Block]:
        """Add a complete line to the unfinished block, or end that and start another with it."""
        if self._fence:
            return self._in_fence(line)
        if self._continues(line):
            self._lines.append(line)
            self._watch_fence(line)
            return self._close() if self._kind == "paragraph" and _is_underline(line, self._lines) else []
        finished = self._close()
        self._begin(line)
        return finished + (self._close() if self._kind in ("heading", "rule") else [])

    def _in_fence(self, line: str) -> list[Block]:
        self._lines.append(line)
        mark, outermost = line.strip(), self._kind == "fence"
        if not mark.startswith(self._fence) or mark.strip(self._fence[0]) or (outermost and indentation(line) > 3):
            return []
        self._fence = ""
        return self._close() if outermost else []

    def _begin(self, line: str) -> None:
        self._lines = [line]
        self._kind = _kind_of(line)
        if self._kind == "item":
            self._indent = _content_column(line)
        if self._kind in ("fence", "item"):
            self._watch_fence(line)

    def _watch_fence(self, line: str) -> None:
        if self._kind in ("fence", "item") and (match := FENCE.match(line.rstrip())):
            self._fence = match[1]

    def _continues(self, line: str) -> bool:
        """Return whether `line` belongs to the unfinished block."""
        blank = not line.strip()
        match self._kind:
            case "blank":
                return blank
            case "paragraph":
                return not blank and not _interrupts_paragraph(line, self._lines)
            case "item":
                return blank or self._continues_item(line)
            case _:
                return False

    def _continues_item(self, line: str) -> bool:
        if indentation(line) >= self._indent:
            return True
        if not self._lines[-1].strip():
            return False
        return _kind_of(line) == "paragraph"


def lines_of(text: str) -> list[str]:
    """Split a text into lines with their newlines; the last may have none."""
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]


def _kind_of(line: str) -> Kind:
    """Return the kind of block that begins with `line`."""
    text = line.rstrip()
    if not text:
        return "blank"
    if _RULE.match(text):
        return "rule"
    if _ITEM.match(text):
        return "item"
    if FENCE.match(text):
        return "fence"
    return "heading" if _HEADING.match(text) else "paragraph"


def _interrupts_paragraph(line: str, before: list[str]) -> bool:
    """Return whether `line` starts a new block right after the paragraph `before`, without a blank line."""
    text = line.rstrip()
    match _kind_of(line):
        case "paragraph":
            return text.lstrip().startswith(">") and not before[0].lstrip().startswith(">")
        case "item":
            return bool(_INTERRUPTING_ITEM.match(text))
        case "rule":
            return not _UNDERLINE.match(text)
        case _:
            return True


def _is_underline(line: str, lines: list[str]) -> bool:
    """Return whether `line` turns the paragraph above it into a heading."""
    return len(lines) > 1 and bool(_UNDERLINE.match(line.rstrip())) and "|" not in lines[-2]


def indentation(line: str) -> int:
    """Return the column of the line's first non-blank character."""
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def _content_column(line: str) -> int:
    """Return the column of an item's content (CommonMark, list items)."""
    match = _ITEM.match(line.rstrip())
    if match is None:
        return 0
    marker, space = match.groups()
    return len(marker) + (len(space) if space.strip(" ") == "" and 1 <= len(space) <= 4 else 1)
