"""A settings file, from its bytes to checked values with their lines."""

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
from localllm.config import toml_positions
from localllm.config.keys import all_settings, all_tables, find_setting, unknown_key
from localllm.config.values import checked, describe_value

Layer = Literal["user", "project", "environment", "command line"]

MAXIMUM_SIZE = 100_000
"""The longest settings file that is read, in bytes: one that is longer is something else."""

MAXIMUM_FAULTS = 3
"""How many faults of one file are collected; who has corrected them sees the next."""

_DEEP_KEY = late_pattern(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){30}""")
"""A key of more parts than any setting has: the time to parse one grows with the square of their number."""


class Origin(msgspec.Struct, frozen=True):
    """Which layer set a value: `source` is the file or the variable, `line` (from 1) the line in the file."""

    layer: Layer
    source: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


def read_text(file: Path) -> str | None:
    """The text of a settings file, a byte order mark and all; None where there is no such file.

    ConfigurationError config_unreadable for all that is not a readable file of UTF-8 text of a sensible size.
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
        raise _unreadable(file, Phrase("settings.not_utf8", line=line)) from error


def _read_bytes(file: Path) -> bytes:
    def without_waiting(path: str, flags: int) -> int:
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait for its writer

    with open(file, "rb", opener=without_waiting) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise _unreadable(file, Phrase("settings.no_file"))
        data = stream.read(MAXIMUM_SIZE + 1)
    if len(data) > MAXIMUM_SIZE:
        raise _unreadable(file, Phrase("settings.too_long", most=MAXIMUM_SIZE))
    return data


def _unreadable(file: Path, reason: object) -> ConfigurationError:
    return ConfigurationError("config_unreadable", file=file, reason=reason)


def parse(text: str, file: Path) -> dict[str, Json]:
    """The TOML `text` (of `file`, for the error) as nested dicts. ConfigurationError config_bad_toml."""
    import tomllib

    text = text.removeprefix("\ufeff")
    if deep := _DEEP_KEY.search(text):
        line = text.count("\n", 0, deep.start()) + 1
        raise ConfigurationError("config_bad_toml", file=file, line=line, reason=Phrase("settings.too_deep"))
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        # The parser does not say where; the line with the most brackets is the one.
        rows = text.split("\n")
        line = max(range(len(rows)), key=lambda row: rows[row].count("[") + rows[row].count("{")) + 1
        raise ConfigurationError("config_bad_toml", file=file, line=line, reason=Phrase("settings.too_deep")) from error
    except ValueError as error:  # TOMLDecodeError, and numbers Python refuses to read for their length
        position = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        line = (position and position[1]) or text.rstrip("\n").count("\n") + 1
        reason = str(error)[: position.start()] if position else str(error)
        raise ConfigurationError("config_bad_toml", file=file, line=line, reason=reason) from error


Faults = list[ConfigurationError]


def file_values(
    text: str, file: Path, layer: Layer, faults: Faults | None = None
) -> Iterator[tuple[str, Json, Origin]]:
    """Every setting in the text of a settings file, checked: key, value, and where it stands.

    ConfigurationError (E1002 to E1005) at the first thing that is wrong, with its line. Where `faults` is given, a key
    that is wrong is left out and its error appended there; only text that is no TOML (E1002) is still raised.
    """
    data = parse(text, file)
    lines = toml_positions.lines(text)
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
    path: toml_positions.KeyPath,
    lines: dict[toml_positions.KeyPath, int],
    file: Path,
    faults: Faults | None,
) -> Iterator[tuple[toml_positions.KeyPath, Json]]:
    """The settings in a table of a file, those of tables within it included."""
    for name, value in data.items():
        here = (*path, name)
        key, where = ".".join(here), f"{file}:{lines[here]}"
        setting = all_settings().get(key)
        if "." in name or (setting is None and key not in all_tables()):
            if faults is None or len(faults) < MAXIMUM_FAULTS:  # looking for the nearest key takes its time
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
    got, expected = describe_value(value), Phrase("settings.table")
    return ConfigurationError("config_wrong_type", where=where, key=key, got=got, expected=expected)
