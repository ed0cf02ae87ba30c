"""The lines at the bottom of the terminal that change: drawn, redrawn and erased under what stays."""

import re
from collections.abc import Callable, Sequence
from os import terminal_size

from localllm.text.cleaning import clusters

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# One update is one frame (synchronized output, DEC mode 2026); terminals that do not know it ignore it.
_BEGIN_FRAME, _END_FRAME = "\x1b[?2026h", "\x1b[?2026l"
_ERASE_BELOW = "\x1b[J"


class LiveRegion:
    """Lines that are replaced in place. The cursor rests at the end of the last one.

    Each line must fit the width it is drawn for. After a resize the terminal has broken the lines anew; how many rows
    they take then is reckoned from their widths.
    """

    def __init__(self, write: Callable[[str], None], size: Callable[[], terminal_size]) -> None:
        self._write = write
        self._size = size
        self._lines: list[str] = []
        self._columns = 0

    @property
    def is_drawn(self) -> bool:
        """Whether there are lines on the screen now."""
        return bool(self._lines)

    def draw(self, lines: Sequence[str]) -> None:
        """Show `lines` in place of those drawn before; only what changed is written."""
        lines = list(lines)
        if lines == self._lines and self._columns == self._size().columns:
            return
        kept = self._unchanged(lines)
        self._frame(self._back_to(kept) + "\n".join(lines[kept:]))
        self._remember(lines)

    def write_above(self, text: str) -> None:
        """Put `text` (whole lines) above the region, for good."""
        self._frame(self._back_to(0) + text + "\n".join(self._lines))
        self._remember(self._lines)

    def replace_with(self, text: str) -> None:
        """Put `text` (whole lines) where the region was, for good."""
        self._frame(self._back_to(0) + text)
        self._remember([])

    def forget(self) -> None:
        """The lines are somewhere above, and somebody else has written below them: what comes is drawn anew."""
        self._remember([])

    def erase(self) -> None:
        """Take the region away; the cursor is where its first line began."""
        if self._lines:
            self._frame(self._back_to(0))
        self._remember([])

    def _remember(self, lines: list[str]) -> None:
        self._lines, self._columns = lines, self._size().columns

    def _unchanged(self, lines: list[str]) -> int:
        """How many lines at the top can stay as they are; the last old and the last new one never do."""
        if self._columns != self._size().columns:
            return 0
        kept = 0
        for old, new in zip(self._lines[:-1], lines[:-1], strict=False):
            if old != new:
                break
            kept += 1
        return kept

    def _back_to(self, index: int) -> str:
        """Move to the start of line `index` and erase from there."""
        if not self._lines:
            return ""
        columns, rows = self._size()
        up = sum(_rows(line, columns) for line in self._lines[index:]) - 1
        up = min(up, rows - 1)
        return ("\r" if up == 0 else f"\r\x1b[{up}A") + _ERASE_BELOW

    def _frame(self, text: str) -> None:
        self._write(_BEGIN_FRAME + text + _END_FRAME)


def _rows(line: str, columns: int) -> int:
    """How many rows `line` takes on a terminal `columns` wide. A wide character that does not fit goes below."""
    text = _COLOUR.sub("", line)
    if text.isascii():
        return max(1, -(-len(text) // columns))
    rows, column = 1, 0
    for _, _, cells in clusters(text):
        if column + cells > columns:
            rows, column = rows + 1, 0
        column += cells
    return rows
