"""The one way to the terminal during a run: lines that stay above, lines that change below."""

import os
from collections.abc import Callable, Iterable, Sequence
from os import terminal_size
from typing import TextIO

from localllm.base.lazy_patterns import late_pattern
from localllm.text.sanitising import clean, clusters
from localllm.tui.theme import Line, Span, Theme

_COLOUR = late_pattern(r"\x1b\[[0-9;]*m")
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

    def draw(self, lines: Sequence[str], above: str = "") -> None:
        """Show `lines` in place of those drawn before, below `above` (whole lines), which is there for good; only what
        changed is written."""
        lines = list(lines)
        if not above and lines == self._lines and self._columns == self._size().columns:
            return
        kept = 0 if above else self._unchanged(lines)
        self._frame(self._back_to(kept) + above + "\n".join(lines[kept:]))
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


class Screen:
    """A stream to write on. On a plain one (see `Theme`) nothing ever changes once it is written."""

    def __init__(self, stream: TextIO, theme: Theme) -> None:
        self._stream = stream
        self.theme = theme
        self._live = LiveRegion(self._write, self.size)
        self._at_line_start = True
        self.below: Callable[[int], Sequence[Line]] = lambda _: ()
        """What belongs below all that goes on, in so many cells: what the person writes meanwhile."""

    @property
    def plain(self) -> bool:
        return self.theme.plain

    @property
    def width(self) -> int:
        """Cells in a row."""
        return self.size().columns

    def size(self) -> os.terminal_size:
        """Columns and rows now; 80 by 24 where the stream is no terminal or will not say."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            size = os.terminal_size((0, 0))
        return os.terminal_size((size.columns or 80, size.lines or 24))

    def format(self, line: Line) -> str:
        """`line` as the terminal takes it: cleaned, painted, without a newline."""
        return "".join(self.theme.paint(style, _one_line(text)) for style, text in line)

    def print(self, *spans: Span) -> None:
        """Write one line for good."""
        self.print_lines([spans])

    def print_lines(self, lines: Iterable[Line]) -> None:
        """Write lines for good."""
        self.print_text("".join(self.format(line) + "\n" for line in lines))

    def print_text(self, text: str, *, instead: bool = False) -> None:
        """Write `text`, whole lines that are clean and painted already, for good.

        `instead`: in the place of what `draw` showed, not above it.
        """
        if not text:
            return
        if self.plain:
            self.end_line()
            self._write(text)
        elif instead:
            self._live.replace_with(text)
        else:
            self._live.write_above(text)

    def stream(self, text: str) -> None:
        """Write a piece of clean text where the last one ended. For plain screens."""
        if text:
            self._write(text)
            self._at_line_start = text.endswith("\n")

    def end_line(self) -> None:
        """End the line that `stream` left open, if it did."""
        if not self._at_line_start:
            self.stream("\n")

    def line_was_ended(self) -> None:
        """The person has ended the line that `stream` left open, with his own Enter."""
        self._at_line_start = True

    @property
    def is_drawn(self) -> bool:
        """Whether something that `draw` showed is there now."""
        return self._live.is_drawn

    def draw(self, lines: Sequence[str], above: str = "") -> None:
        """Show `lines` (formatted, no wider than the screen) below everything else, until the next call. `above`: as
        `print_text`, in the same update."""
        if not self.plain:
            self._live.draw(lines, above)

    def erase(self) -> None:
        """Take away what `draw` showed."""
        if not self.plain:
            self._live.erase()

    def forget(self) -> None:
        """Others have written on the terminal, as a shell does during a suspension: what `draw` showed is theirs."""
        self._live.forget()

    def control(self, sequence: str) -> None:
        """Tell the terminal something that changes nothing on the screen."""
        self._write(sequence)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
        except UnicodeEncodeError:
            encoding = self._stream.encoding or "ascii"
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self._stream.flush()


def _one_line(text: str) -> str:
    return clean(text.replace("\t", "    "), keep_newlines=False)
