"""Compute column widths of a table, and lay out its rows as lines."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from rich.text import Text

from localllm.text.sanitising import display_width
from localllm.text.wrapping import longest_piece
from localllm.tui.render.rich_lines import wrapped

_LONGEST_UNBROKEN = 16
"""Cells of a word for which a column reserves room, if possible."""

_GAP = "  "
_MARGIN = " "


class Columns:
    """The columns of a table. `most`: the cells of the widest text in each; `least`: the width below which text is
    broken."""

    def __init__(self, count: int) -> None:
        self.most = [1] * count
        self.least = [1] * count

    def with_rows(self, rows: Iterable[Sequence[Text]]) -> "Columns":
        """Return the columns extended for these rows."""
        columns = Columns(0)
        columns.most, columns.least = [*self.most], [*self.least]
        for row in rows:
            for number, cell in enumerate(row):
                columns._note(number, cell.plain)
        return columns

    def _note(self, number: int, text: str) -> None:
        cells = max(map(display_width, text.split("\n")))
        self.most[number] = max(self.most[number], cells)
        if self.least[number] < min(cells, _LONGEST_UNBROKEN):
            self.least[number] = max(self.least[number], min(longest_piece(text), _LONGEST_UNBROKEN))

    def widths(self, width: int) -> tuple[int, ...]:
        """Return the cells of each column in a table at most `width` cells wide, if possible."""
        room = width - len(_MARGIN) - len(_GAP) * (len(self.most) - 1)
        return _widths(tuple(self.most), tuple(self.least), max(room, len(self.most)))


@lru_cache(maxsize=64)
def _widths(most: tuple[int, ...], least: tuple[int, ...], room: int) -> tuple[int, ...]:
    """Return the wanted widths, with the widest columns reduced to an equal width if they do not fit."""
    if sum(most) <= room:
        return most
    if sum(least) > room:
        least = (1,) * len(most)
    cut = next(
        cut for cut in range(room, 0, -1) if cut == 1 or sum(map(max, (min(m, cut) for m in most), least)) <= room
    )
    widths = [max(min(wanted, cut), lowest) for wanted, lowest in zip(most, least, strict=True)]
    for number, wanted in enumerate(most):  # distribute the remainder
        widths[number] += min(wanted - widths[number], max(0, room - sum(widths)))
    return tuple(widths)


def row_lines(row: Sequence[Text], widths: Sequence[int]) -> list[Text]:
    """Lay out a row, each cell wrapped in its column and aligned as justified."""
    columns = [_broken(cell, width) for cell, width in zip(row, widths, strict=True)]
    return [_line(columns, row, widths, number) for number in range(max(map(len, columns)))]


def rule(widths: Sequence[int]) -> Text:
    """Return the line below the header."""
    cells = sum(widths) + len(_GAP) * (len(widths) - 1)
    return Text(_MARGIN + "─" * cells, style="markdown.table.border", no_wrap=True, overflow="ignore")


def _broken(cell: Text, width: int) -> list[Text]:
    if "\n" not in cell.plain and display_width(cell.plain) <= width:
        return [cell]
    return list(wrapped(cell, width))


def _line(columns: Sequence[Sequence[Text]], row: Sequence[Text], widths: Sequence[int], number: int) -> Text:
    line = Text(_MARGIN, no_wrap=True, overflow="ignore")
    due = 0
    for pieces, cell, width in zip(columns, row, widths, strict=True):
        if number < len(pieces):
            space = max(0, width - display_width(pieces[number].plain))
            before = {"right": space, "center": space // 2}.get(cell.justify or "", 0)
            line.append(" " * (due + before)).append_text(pieces[number])
            due = space - before
        else:
            due += width
        due += len(_GAP)
    return line
