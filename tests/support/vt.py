"""A terminal small enough to be read: what `ui/live.py` writes, and what it does to a screen."""

import re
from io import StringIO

from wcwidth import wcwidth

_TOKEN = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|(.)", re.DOTALL)


class Tty(StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Vt:
    """Rows of text without end; a line that reaches the right border goes on below, as in a real terminal."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.rows: list[list[str]] = [[]]
        self.row = self.column = 0

    def feed(self, text: str) -> None:
        for match in _TOKEN.finditer(text):
            parameter, command, character = match.groups()
            if character is not None:
                self._put(character)
            elif command == "A":
                self.row -= int(parameter)
                assert self.row >= 0, "moved above the first row"
            elif command == "J":
                self.rows[self.row] = self.rows[self.row][: self.column]
                del self.rows[self.row + 1 :]
            else:
                assert command in "mhl", f"unknown sequence {match[0]!r}"

    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.rows)

    def _put(self, character: str) -> None:
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self._down()
        else:
            cells = wcwidth(character)
            if self.column + cells > self.columns:
                self._down()
            row = self.rows[self.row]
            row += [" "] * (self.column - len(row))
            row[self.column : self.column + cells] = [character, *[""] * (cells - 1)]
            self.column += cells

    def _down(self) -> None:
        self.row += 1
        self.column = 0
        if self.row == len(self.rows):
            self.rows.append([])
