"""The one way to the terminal while a run is shown: lines that stay above, lines that change below."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

from localllm.text.cleaning import clean
from localllm.ui.live import LiveRegion
from localllm.ui.theme import Line, Span, Theme


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

    def draw(self, lines: Sequence[str]) -> None:
        """Show `lines` (formatted, no wider than the screen) below everything else, until the next call."""
        if not self.plain:
            self._live.draw(lines)

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
