"""Where everything stands in a TOML text: for the line of an error, and for changing one value and no other byte.

TOML parsers forget positions, and the round-trip ones do not keep every byte (CRLF, a missing final newline, a byte
order mark). So this reads positions only; what the text means is tomllib's business, and what is read here is text
that tomllib has accepted.
"""

import re
from typing import Literal, NamedTuple

from localllm.base.lazy_patterns import late_pattern

KeyPath = tuple[str, ...]


class Entry(NamedTuple):
    """A key with its value, or the header of a table. `start`, `value_start` and `end` are offsets into the text.

    `path` is the whole path from the root; `table` the path of the header (or inline table) it is written under.
    A header's `value_start` and `end` are just after its closing bracket. `inline` counts the inline tables around.
    """

    kind: Literal["header", "value", "inline table"]
    path: KeyPath
    table: KeyPath
    start: int
    value_start: int
    end: int
    inline: int


def scan(text: str) -> list[Entry]:
    """Every header and key of `text` in the order they stand; an inline table comes before what is in it."""
    return _Scanner(text).document()


def lines(text: str) -> dict[KeyPath, int]:
    """The line (from 1) on which each key, header, and table that follows from them is first written."""
    found: dict[KeyPath, int] = {}
    line, counted = 1, 0
    for entry in scan(text):  # in the order they stand
        line += text.count("\n", counted, entry.start)
        counted = entry.start
        for length in range(1, len(entry.path) + 1):
            found.setdefault(entry.path[:length], line)
    return found


_SPACE = late_pattern(r"[ \t]*")
_BETWEEN = late_pattern(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY_PART = late_pattern(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
_STRING = late_pattern(
    r'''"""(?:[^\\]|\\.)*?"{3,5}'''  # up to two quotes may stand before the closing three
    r"""|'''.*?'{3,5}"""
    r'''|"(?:[^"\\]|\\.)*"'''
    r"""|'[^']*'""",
    re.DOTALL,
)
_PLAIN = late_pattern(r"""[^][{},=#"'\r\n]*[^][{},=#"'\s]""")  # numbers, dates, booleans, bare keys


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0  # a byte order mark
        self.entries: list[Entry] = []

    def document(self) -> list[Entry]:
        table: KeyPath = ()
        while self._skip(_BETWEEN):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table, 0)
        return self.entries

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        """Go past what `pattern` matches here; whether there is more text."""
        if match := pattern.match(self.text, self.at):
            self.at = match.end()
        return self.at < len(self.text)

    def _take(self, pattern: re.Pattern[str]) -> str:
        """What `pattern` matches here, which it must."""
        match = pattern.match(self.text, self.at)
        if match is None:
            raise ValueError(f"not TOML at offset {self.at}")
        self.at = match.end()
        return match[0]

    def _header(self) -> KeyPath:
        start = self.at
        brackets = 2 if self.text.startswith("[[", start) else 1
        self.at += brackets
        path = self._key()
        self.at += brackets
        self.entries.append(Entry("header", path, path, start, self.at, self.at, 0))
        return path

    def _key(self) -> KeyPath:
        parts: list[str] = []
        while True:
            self._skip(_SPACE)
            parts.append(_key_part(self._take(_KEY_PART)))
            self._skip(_SPACE)
            if self.text[self.at] != ".":
                return tuple(parts)
            self.at += 1

    def _pair(self, table: KeyPath, inline: int) -> None:
        start = self.at
        path = table + self._key()
        self.at += 1  # the equals sign
        self._skip(_SPACE)
        value_start, place = self.at, len(self.entries)
        kind: Literal["value", "inline table"] = "value"
        if self.text[self.at] == "{":
            kind = "inline table"
            self._inline_table(path, inline + 1)
        else:
            self._value()
        self.entries.insert(place, Entry(kind, path, table, start, value_start, self.at, inline))

    def _inline_table(self, path: KeyPath, inline: int) -> None:
        self.at += 1
        while self._skip(_BETWEEN) and self.text[self.at] != "}":
            if self.text[self.at] == ",":
                self.at += 1
            else:
                self._pair(path, inline)
        self.at += 1

    def _value(self) -> None:
        """Go past a value that is no inline table of its own; the keys of tables in an array are of no interest."""
        depth = 0
        while True:
            match self.text[self.at]:
                case "[" | "{":
                    depth += 1
                    self.at += 1
                case "]" | "}":
                    depth -= 1
                    self.at += 1
                case "," | "=":
                    self.at += 1
                case '"' | "'":
                    self._take(_STRING)
                case _:
                    self._take(_PLAIN)
            if depth == 0:
                return
            self._skip(_BETWEEN)


def _key_part(written: str) -> str:
    if written.startswith('"') and "\\" in written:
        import tomllib

        return next(iter(tomllib.loads(f"{written} = 0")))
    return written[1:-1] if written[0] in "\"'" else written
