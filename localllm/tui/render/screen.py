"""Terminal output during a run: permanent lines above, live lines below."""

import os
from collections.abc import Callable, Iterable, Sequence
from os import terminal_size
from typing import TextIO

from localllm.base.lazy_patterns import late_pattern
from localllm.text.sanitising import clean, clusters
from localllm.tui.theme import Line, Span, Theme, ThemeName, choose_theme

_COLOUR = late_pattern(r"\x1b\[[0-9;]*m")
# One update is one frame (synchronized output, DEC mode 2026); other terminals ignore it.
_BEGIN_FRAME, _END_FRAME = "\x1b[?2026h", "\x1b[?2026l"
_ERASE_BELOW = "\x1b[J"


class LiveRegion:
    """Lines that are replaced in place. The cursor is at the end of the last one.

    Each line must fit the width it is drawn for. After a resize, which rewraps the lines, their rows are computed from
    their widths.
    """

    def __init__(self, write: Callable[[str], None], size: Callable[[], terminal_size]) -> None:
        self._write = write
        self._size = size
        self._lines: list[str] = []
        self._columns = 0

    @property
    def is_drawn(self) -> bool:
        """Whether the lines are on the screen now."""
        return bool(self._lines)

    def draw(self, lines: Sequence[str], above: str = "") -> None:
        """Replace the drawn lines by `lines`, after printing `above` (whole lines) permanently; only changes are
        written."""
        lines = list(lines)
        if not above and lines == self._lines and self._columns == self._size().columns:
            return
        kept = 0 if above else self._unchanged(lines)
        self._frame(self._back_to(kept) + above + "\n".join(lines[kept:]))
        self._remember(lines)

    def write_above(self, text: str) -> None:
        """Print `text` (whole lines) above the region permanently."""
        self._frame(self._back_to(0) + text + "\n".join(self._lines))
        self._remember(self._lines)

    def replace_with(self, text: str) -> None:
        """Replace the region by `text` (whole lines) permanently."""
        self._frame(self._back_to(0) + text)
        self._remember([])

    def forget(self) -> None:
        """Forget the drawn lines, since others have written below them."""
        self._remember([])

    def erase(self) -> None:
        """Erase the region; the cursor moves to its first line."""
        if self._lines:
            self._frame(self._back_to(0))
        self._remember([])

    def _remember(self, lines: list[str]) -> None:
        self._lines, self._columns = lines, self._size().columns

    def _unchanged(self, lines: list[str]) -> int:
        """Return how many lines at the top are unchanged; the last old and the last new one never count."""
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
    """Return the rows `line` takes on a terminal of `columns`. A wide character that does not fit wraps."""
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
    """A stream for output. On a plain one (see `Theme`), written text never changes."""

    def __init__(self, stream: TextIO, theme: Theme) -> None:
        self._stream = stream
        self.theme = theme
        self._live = LiveRegion(self._write, self.size)
        self._at_line_start = True
        self.below: Callable[[int], Sequence[Line]] = lambda _: ()
        """Returns the bottom lines for a width in cells: what the user types meanwhile."""

    @property
    def plain(self) -> bool:
        return self.theme.plain

    def can_be(self, name: ThemeName) -> bool:
        """Whether the theme `name` can be used from now on; a plain screen stays plain, and no other becomes so."""
        return choose_theme(self._stream, name).plain == self.plain

    def change_theme(self, name: ThemeName) -> None:
        """Use the colours of the theme `name` from now on."""
        self.theme = choose_theme(self._stream, name)

    @property
    def width(self) -> int:
        """Columns of the screen."""
        return self.size().columns

    def size(self) -> os.terminal_size:
        """Return columns and rows; 80 by 24 if unknown or no terminal."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            size = os.terminal_size((0, 0))
        return os.terminal_size((size.columns or 80, size.lines or 24))

    def format(self, line: Line) -> str:
        """Format `line`: cleaned, styled, without a newline."""
        return "".join(self.theme.paint(style, _one_line(text)) for style, text in line)

    def print(self, *spans: Span) -> None:
        """Print one permanent line."""
        self.print_lines([spans])

    def print_lines(self, lines: Iterable[Line]) -> None:
        """Print permanent lines."""
        self.print_text("".join(self.format(line) + "\n" for line in lines))

    def print_text(self, text: str, *, instead: bool = False) -> None:
        """Print `text`, whole lines that are clean and styled, permanently.

        `instead`: replacing the live part, not above it.
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
        """Append a piece of clean text. For plain screens."""
        if text:
            self._write(text)
            self._at_line_start = text.endswith("\n")

    def end_line(self) -> None:
        """End the line that `stream` left open, if any."""
        if not self._at_line_start:
            self.stream("\n")

    def line_was_ended(self) -> None:
        """Record that the user's Enter ended the line that `stream` left open."""
        self._at_line_start = True

    @property
    def is_drawn(self) -> bool:
        """Whether the live part is on the screen."""
        return self._live.is_drawn

    def draw(self, lines: Sequence[str], above: str = "") -> None:
        """Show `lines` (formatted, no wider than the screen) below everything else, until the next call. `above`: as
        `print_text`, in the same update."""
        if not self.plain:
            self._live.draw(lines, above)

    def erase(self) -> None:
        """Erase the live part."""
        if not self.plain:
            self._live.erase()

    def forget(self) -> None:
        """Forget the live part after others have written to the terminal, such as a shell during a suspension."""
        self._live.forget()

    def control(self, sequence: str) -> None:
        """Send a control sequence with no visible effect."""
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
