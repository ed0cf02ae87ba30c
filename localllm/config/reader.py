"""Read a localllm.toml: its tables, and the line of each value.

TOML parsers discard positions, and the round-trip ones do not keep every byte (CRLF, a missing final newline, a byte
order mark). So only positions are read here, in text that tomllib has accepted.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.events import Json
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.config.keys import all_settings, all_tables, find_setting, unknown_key
from localllm.config.values import checked, describe_value

KeyPath = tuple[str, ...]


class Entry(msgspec.Struct, frozen=True):
    """A key with its value, or a table header. `start`, `value_start` and `end` are offsets into the text.

    `path` is the whole path from the root; `table` the path of the header (or inline table) it is written under. A
    header's `value_start` and `end` are just after its closing bracket. `inline` is the number of enclosing inline
    tables.
    """

    kind: Literal["header", "value", "inline table"]
    path: KeyPath
    table: KeyPath
    start: int
    value_start: int
    end: int
    inline: int


def scan(text: str) -> list[Entry]:
    """Return every header and key of `text` in order; an inline table comes before its content."""
    return _Scanner(text).document()


def value_lines(text: str) -> dict[KeyPath, int]:
    """Return the line (from 1) of the first occurrence of each key, header, and table implied by them."""
    found: dict[KeyPath, int] = {}
    line, counted = 1, 0
    for entry in scan(text):  # in text order
        line += text.count("\n", counted, entry.start)
        counted = entry.start
        for length in range(1, len(entry.path) + 1):
            found.setdefault(entry.path[:length], line)
    return found


_SPACE = late_pattern(r"[ \t]*")
_BETWEEN = late_pattern(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY_PART = late_pattern(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
_STRING = late_pattern(
    r'''"""(?:[^\\]|\\.)*?"{3,5}'''  # up to two quotes may precede the closing three
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
        """Skip what `pattern` matches here; return whether there is more text."""
        if match := pattern.match(self.text, self.at):
            self.at = match.end()
        return self.at < len(self.text)

    def _take(self, pattern: re.Pattern[str]) -> str:
        """Consume what `pattern` matches here; ValueError if it does not match."""
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
        """Skip a value other than an inline table; keys of tables in an array are not recorded."""
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


Layer = Literal["user", "project", "environment", "command line"]

MAXIMUM_SIZE = 100_000
"""Maximum size of a settings file, in bytes: a longer file is not read."""

MAXIMUM_FAULTS = 3
"""Maximum errors collected from one file; the next appear once these are corrected."""

_DEEP_KEY = late_pattern(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){30}""")
"""A key with more parts than any setting has: parse time grows with the square of their number."""


class Origin(msgspec.Struct, frozen=True):
    """The layer that set a value: `source` is the file or the variable, `line` (from 1) the line in the file."""

    layer: Layer
    source: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


def read_text(file: Path) -> str | None:
    """Return the text of a settings file, including a byte order mark; None if there is no such file.

    ConfigurationError config_unreadable for anything but a readable regular UTF-8 file of at most `MAXIMUM_SIZE`.
    """
    try:
        data = _read_bytes(file)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and not file.is_symlink():
            return None
        raise _unreadable(file, os.strerror(error.errno or errno.EIO)) from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _unreadable(file, Phrase("It is not UTF-8 text (line {line})", line=line)) from error


def _read_bytes(file: Path) -> bytes:
    def without_waiting(path: str, flags: int) -> int:
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # opening a pipe would block until it has a writer

    with open(file, "rb", opener=without_waiting) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise _unreadable(file, Phrase("It is not a file"))
        data = stream.read(MAXIMUM_SIZE + 1)
    if len(data) > MAXIMUM_SIZE:
        raise _unreadable(file, Phrase("It is longer than {most} bytes", most=MAXIMUM_SIZE))
    return data


def _unreadable(file: Path, reason: object) -> ConfigurationError:
    return ConfigurationError("config_unreadable", file=file, reason=reason)


def parse(text: str, file: Path) -> dict[str, Json]:
    """Parse the TOML `text` (of `file`, for the error) to nested dicts. ConfigurationError config_bad_toml."""
    import tomllib

    text = text.removeprefix("\ufeff")
    if deep := _DEEP_KEY.search(text):
        line = text.count("\n", 0, deep.start()) + 1
        raise ConfigurationError("config_bad_toml", file=file, line=line, reason=Phrase("It is nested too deeply"))
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        # The parser gives no position; assume the line with the most brackets.
        rows = text.split("\n")
        line = max(range(len(rows)), key=lambda row: rows[row].count("[") + rows[row].count("{")) + 1
        raise ConfigurationError(
            "config_bad_toml", file=file, line=line, reason=Phrase("It is nested too deeply")
        ) from error
    except ValueError as error:  # TOMLDecodeError, and numbers too long for Python
        position = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", str(error))
        line = (position and position[1]) or text.rstrip("\n").count("\n") + 1
        reason = str(error)[: position.start()] if position else str(error)
        if position and position[2] and (name := _unquoted(text.split("\n")[int(line) - 1], int(position[2]) - 1)):
            reason = Phrase('The name {name} needs quotes ("{name}")', name=name)
        raise ConfigurationError("config_bad_toml", file=file, line=line, reason=reason) from error


_NAME_CHARACTERS = r"[^\s\"'#=\[\]{},.\\]"
_UNQUOTED = late_pattern(rf"(?<!{_NAME_CHARACTERS}){_NAME_CHARACTERS}{{1,60}}(?=[ \t]*[=.\]])")


def _unquoted(line: str, column: int) -> str:
    """Return the name around `column` that is only valid in quotes, as a Japanese one; "" if there is none."""
    for found in _UNQUOTED.finditer(line):
        is_here = found.start() <= column < found.end() and not line[: found.start()].rstrip().endswith("=")
        if is_here and not found[0].isascii() and found[0].isprintable():
            return found[0]
    return ""


Faults = list[ConfigurationError]


def file_values(
    text: str, file: Path, layer: Layer, faults: Faults | None = None
) -> Iterator[tuple[str, Json, Origin]]:
    """Yield every setting in the text of a settings file, validated: key, value, and origin.

    ConfigurationError (E1002 to E1005) at the first error, with its line. With `faults`, an invalid key is skipped and
    its error appended there; only invalid TOML (E1002) is still raised.
    """
    data = parse(text, file)
    lines = value_lines(text)
    for path, value in _leaves(data, (), lines, file, faults):
        key = ".".join(path)
        origin = Origin(layer, str(file), lines[path])
        try:
            valid = checked(find_setting(key, origin), value, origin)
        except ConfigurationError as error:
            _collect(faults, error)
        else:
            yield key, valid, origin


def _collect(faults: Faults | None, error: ConfigurationError) -> None:
    if faults is None:
        raise error
    if len(faults) < MAXIMUM_FAULTS:
        faults.append(error)


def _leaves(
    data: dict[str, Json],
    path: KeyPath,
    lines: dict[KeyPath, int],
    file: Path,
    faults: Faults | None,
) -> Iterator[tuple[KeyPath, Json]]:
    """Yield the settings in a table of a file and its subtables."""
    for name, value in data.items():
        here = (*path, name)
        key, where = ".".join(here), f"{file}:{lines[here]}"
        setting = all_settings().get(key)
        if "." in name or (setting is None and key not in all_tables()):
            if faults is None or len(faults) < MAXIMUM_FAULTS:  # finding the nearest key is slow
                _collect(faults, unknown_key(key, where))
            continue
        if setting is not None and not setting.table:
            yield here, value
            continue
        if not isinstance(value, dict):
            _collect(faults, _no_table(key, value, where))
            continue
        table = cast("dict[str, Json]", value)
        if setting is None:
            yield from _leaves(table, here, lines, file, faults)
        else:
            yield from (((*here, entry), text) for entry, text in table.items())


def _no_table(key: str, value: Json, where: str) -> ConfigurationError:
    got, expected = describe_value(value), Phrase("a table")
    return ConfigurationError(
        "config_wrong_type", where=where, key=key, got=got, expected=expected, hint=Phrase("Correct the value.")
    )
