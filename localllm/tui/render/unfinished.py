"""Render a block of an answer while it is streamed, in a few milliseconds per frame whatever its length: code and the
rows of long tables are printed permanently line by line, and of everything else only the end is drawn. Imported with
the first answer."""

from collections.abc import Sequence
from typing import Protocol

from rich.console import Group
from rich.text import Text

from localllm.text.markdown_blocks import Block, Kind
from localllm.text.markdown_tail import MarkdownTail, begins_table
from localllm.tui.render.code import FencedCode
from localllm.tui.render.markdown import render_block, render_code, render_tail, table_rows
from localllm.tui.render.rich_lines import painted
from localllm.tui.render.tables import Columns, row_lines, rule
from localllm.tui.theme import Theme

_LIVE_ROWS = 100
"""Rows after which a table's column widths are fixed, and its rows printed as they arrive."""


class Unfinished(Protocol):
    """A block on a terminal `width` cells wide. Complete lines are added in order."""

    def add(self, lines: Sequence[str], width: int) -> str:
        """Add complete lines; return what can be printed permanently."""
        ...

    def live(self, partial: str, width: int, room: int) -> list[str]:
        """Return the live lines, or the last ones that fill `room`; `partial` is incomplete."""
        ...

    def finish(self, block: Block, lines: Sequence[str], width: int) -> str:
        """End the block with these lines; return the rest to print permanently."""
        ...


def unfinished(kind: Kind | None, lines: Sequence[str], theme: Theme) -> Unfinished | None:
    """Create the renderer of a block of that kind with these lines; None if another line is needed to decide."""
    match kind:
        case "fence":
            return UnfinishedCode(theme)
        case "paragraph" if len(lines) < 2:
            return None
        case "paragraph" if begins_table(*lines[:2]) and table_rows("".join(lines[:2]), theme)[1] == 2:
            return UnfinishedTable("".join(lines[:2]), theme)
        case _:
            return UnfinishedText(theme)


class UnfinishedText:
    """Paragraphs, quotations, items: their rendering is known only at the end."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._tail = MarkdownTail()

    def add(self, lines: Sequence[str], width: int) -> str:
        """See Unfinished."""
        self._tail.add(lines)
        return ""

    def live(self, partial: str, width: int, room: int) -> list[str]:
        """See Unfinished."""
        text = self._tail.text(partial, room, room * width)
        return render_tail(text, self._theme, width) if text.strip() else []

    def finish(self, block: Block, lines: Sequence[str], width: int) -> str:
        """See Unfinished."""
        return render_block(block, self._theme, width)


class UnfinishedCode:
    """A fenced block: every line is highlighted once, and printed permanently when it is complete."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._code = FencedCode(theme)

    def add(self, lines: Sequence[str], width: int) -> str:
        """See Unfinished."""
        shown = self._code.add(lines)
        return render_code(shown, self._theme, width) if shown else ""

    def live(self, partial: str, width: int, room: int) -> list[str]:
        """See Unfinished."""
        return painted(self._code.peek(partial[-room * width :]), self._theme, width) if partial else []

    def finish(self, block: Block, lines: Sequence[str], width: int) -> str:
        """See Unfinished."""
        return self.add(lines, width)


class UnfinishedTable:
    """A table: its cells are parsed once, and its lines rendered once while column widths stay the same."""

    def __init__(self, head: str, theme: Theme) -> None:
        self._head = head
        self._theme = theme
        self._rows, _ = table_rows(head, theme)
        """Rows not printed permanently yet, the header first."""
        self._columns = Columns(len(self._rows[0])).with_rows(self._rows)
        self._lines: dict[int, list[str]] = {}
        self._widths: tuple[int, ...] = ()
        self._has_head = self._is_shown = False
        self._rest: list[str] = []
        """Lines after the last row that are no rows."""

    def add(self, lines: Sequence[str], width: int) -> str:
        """See Unfinished."""
        if not self._has_head:
            self._has_head, lines = True, lines[2:]
        if lines and not self._rest:
            rows, count = table_rows(self._head + "".join(lines), self._theme)
            self._rows += rows[1:]
            if not self._is_shown:
                self._columns = self._columns.with_rows(rows[1:])
            lines = lines[count - 2 :]
        self._rest += lines
        return self._show(width) if self._is_shown or len(self._rows) > _LIVE_ROWS else ""

    def live(self, partial: str, width: int, room: int) -> list[str]:
        """See Unfinished."""
        is_row = bool(partial.strip()) and not self._rest
        last = table_rows(self._head + partial[: room * width], self._theme)[0][1:] if is_row else []
        columns = self._columns if self._is_shown else self._columns.with_rows(last)
        self._divide(columns, width)
        lines = self._lines_of(max(0, len(self._rows) - room))
        lines += [line for row in last for line in self._painted(row)]
        return lines if is_row else lines + self._behind(partial, width)

    def finish(self, block: Block, lines: Sequence[str], width: int) -> str:
        """See Unfinished."""
        shown = self.add(lines, width) + self._show(width)
        return shown + "".join(f"{line}\n" for line in self._behind("", width))

    def _show(self, width: int) -> str:
        self._divide(self._columns, width)
        lines = self._lines_of(0)
        self._rows, self._lines, self._is_shown = [], {}, True
        return "".join(f"{line}\n" for line in lines)

    def _divide(self, columns: Columns, width: int) -> None:
        widths = columns.widths(width)
        if widths != self._widths:
            self._widths, self._lines = widths, {}

    def _lines_of(self, first: int) -> list[str]:
        for number in range(first, len(self._rows)):
            if number not in self._lines:
                is_header = number == 0 and not self._is_shown
                self._lines[number] = self._painted(self._rows[number], is_header=is_header)
        return [line for number in range(first, len(self._rows)) for line in self._lines[number]]

    def _painted(self, row: Sequence[Text], *, is_header: bool = False) -> list[str]:
        lines = row_lines(row, self._widths)
        below = [rule(self._widths)] if is_header else []
        return painted(Group(*lines, *below), self._theme, overflow="ignore")

    def _behind(self, partial: str, width: int) -> list[str]:
        """Return the text that follows the table without a blank line."""
        text = "".join(self._rest) + partial
        return ["", *render_tail(text, self._theme, width)] if text.strip() else []
