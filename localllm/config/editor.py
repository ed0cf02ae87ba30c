"""Change one value of a settings file and preserve the rest byte for byte."""

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec
import tomli_w

from localllm.base.errors import ConfigurationError
from localllm.base.events import Json
from localllm.base.file_lock import FOLDER_PATIENCE, FileLock
from localllm.base.files import atomic_write
from localllm.base.i18n import Phrase
from localllm.config.keys import find_setting, path_of
from localllm.config.reader import Entry, KeyPath, file_values, parse, read_text, scan
from localllm.config.values import parse_value

_BYTE_ORDER_MARK = "\ufeff"


def set_value(file: Path, key: str, text: str, where: object = None) -> None:
    """Set `key` in the settings file to the value parsed from `text` (see `values.parse_value`); errors say
    `where` it was given, by default on the command line.

    Only the value's own bytes change, or a line is added; file and table are created when missing. The result is
    validated before anything is written: ConfigurationError (E1001 to E1006) leaves the file as it was.
    """
    value = msgspec.to_builtins(parse_value(key, text, where or Phrase("command line")))
    written = write_value(value)
    path = path_of(key)
    _edit(file, lambda old: _put(old, path, written), lambda data: _put_into(data, path, value))


def unset(file: Path, key: str) -> bool:
    """Remove `key` and everything below it from the settings file; return False if it is absent.

    The line is removed with its comment; nothing else changes. Raises the errors of `set_value`.
    """
    find_setting(key, Phrase("command line"))
    path = path_of(key)
    if read_text(file) is None:
        return False
    return _edit(file, lambda old: _remove(old, path), lambda data: _remove_from(data, path))


def write_value(value: Json) -> str:
    """Return the value of a setting as TOML, on one line."""
    match value:
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case bool() | int() | float() | str():
            return tomli_w.dumps({"value": value}).removeprefix("value = ").rstrip("\n")
        case msgspec.Struct():
            return write_value(msgspec.to_builtins(value))
        case dict():
            table = cast("dict[str, Json]", value)
            return f"{{ {', '.join(f'{_write_key((name,))} = {write_value(item)}' for name, item in table.items())} }}"
        case _:
            return f"[{', '.join(write_value(item) for item in value)}]"


def _edit(file: Path, change: Callable[[str], str], intend: Callable[[dict[str, Json]], None]) -> bool:
    """Rewrite the file with `change`; return whether that made a difference.

    `intend` makes the same change to the parsed data. The two must agree before anything is written.
    """
    target = Path(os.path.realpath(file))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.parent, FOLDER_PATIENCE):
            old = read_text(target) or ""
            data = parse(old, file)
            before = _meaning(data)
            intend(data)
            if _meaning(data) == before:
                return False
            mark = _BYTE_ORDER_MARK if old.startswith(_BYTE_ORDER_MARK) else ""
            new = mark + change(old.removeprefix(mark))
            _check(new, old, data, file)
            atomic_write(target, new.encode())
    except TimeoutError as error:
        raise _unwritable(file, Phrase("Another program has its folder locked")) from error
    except OSError as error:
        raise _unwritable(file, os.strerror(error.errno or errno.EIO)) from error
    except UnicodeEncodeError as error:  # undecodable bytes of the command line
        raise _unwritable(file, Phrase("The value is not Unicode text")) from error
    return True


def _check(new: str, old: str, intended: dict[str, Json], file: Path) -> None:
    """Check that every setting in the new text is valid and that it parses to `intended`. Raise the error otherwise."""
    try:
        _validate(new, file)
        sound = _meaning(parse(new, file)) == _meaning(intended)
    except ConfigurationError:
        _validate(old, file)  # the old text was invalid already: raise with the lines the user sees
        sound = False
    if not sound:
        raise _unwritable(file, Phrase("The setting is in an unexpected place"))


def _validate(text: str, file: Path) -> None:
    for _ in file_values(text, file, "user"):
        pass


def _meaning(data: dict[str, Json]) -> str:
    """Normalise the data of a file for comparison: true differs from 1, 30 equals 30.0, empty tables are ignored."""
    return json.dumps(_without_empty(data), sort_keys=True, default=str)


def _without_empty(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, dict):
        return value
    table = cast("dict[str, Json]", value)
    pruned = {key: _without_empty(below) for key, below in table.items()}
    return {key: below for key, below in pruned.items() if below != {}}


def _unwritable(file: Path, reason: object) -> ConfigurationError:
    return ConfigurationError("config_unwritable", file=file, reason=reason)


def _put_into(data: dict[str, Json], path: KeyPath, value: Json) -> None:
    for part in path[:-1]:
        below = data.setdefault(part, {})
        if not isinstance(below, dict):
            below = data[part] = {}  # the file is invalid: `_check` will raise
        data = cast("dict[str, Json]", below)
    data[path[-1]] = value


def _remove_from(data: dict[str, Json], path: KeyPath) -> None:
    for part in path[:-1]:
        below = data.get(part)
        if not isinstance(below, dict):
            return
        data = cast("dict[str, Json]", below)
    data.pop(path[-1], None)


def _put(text: str, path: KeyPath, written: str) -> str:
    """Return the text with the value at `path` replaced or added to its table, or in a new table at the end."""
    entries = scan(text)
    for entry in entries:
        if entry.path == path and entry.kind != "header":
            return text[: entry.value_start] + written + text[entry.end :]
    around = [entry for entry in entries if entry.kind == "inline table" and path[: len(entry.path)] == entry.path]
    if around:
        return _add_to_inline_table(text, entries, around[-1], path, written)
    parent = path[:-1]
    # Beside what is there: the table's own header and keys, or dotted keys that reach into it from a table above.
    beside = [entry for entry in entries if not entry.inline and entry.path[: len(parent)] == parent]
    beside = [entry for entry in beside if len(entry.table) <= len(parent)]
    if beside:
        return _add_line(text, beside[-1], path, written)
    return _add_table(text, path, written)


def _add_to_inline_table(text: str, entries: list[Entry], table: Entry, path: KeyPath, written: str) -> str:
    pair = f"{_write_key(path[len(table.path) :])} = {written}"
    ends = [entry.end for entry in entries if table.value_start < entry.start < table.end]
    if ends:
        return f"{text[: max(ends)]}, {pair}{text[max(ends) :]}"
    return f"{text[: table.value_start]}{{ {pair} }}{text[table.end :]}"


def _add_line(text: str, before: Entry, path: KeyPath, written: str) -> str:
    """Return the text with the pair on its own line after that of the entry `before`, indented alike."""
    indent = text[text.rfind("\n", 0, before.start) + 1 : before.start]
    end = _end_of_line(text, before.end)
    line = f"{indent}{_write_key(path[len(before.table) :])} = {written}"
    return f"{text[:end]}{_newline(text)}{line}{text[end:]}"


def _add_table(text: str, path: KeyPath, written: str) -> str:
    """Append a table; the text ends with a newline if it did before. A key of no table is put at the start."""
    newline = _newline(text)
    if not path[:-1]:
        return f"{_write_key(path)} = {written}{newline}{newline if text else ''}{text}"
    table = f"[{_write_key(path[:-1])}]{newline}{_write_key(path[-1:])} = {written}"
    if not text:
        return table + newline
    if text.endswith("\n"):
        return f"{text}{newline}{table}{newline}"
    return f"{text}{newline}{newline}{table}"


def _remove(text: str, path: KeyPath) -> str:
    """Return the text without the pairs at `path` and below. Headers stay."""
    while True:
        entries = scan(text)
        found = [entry for entry in entries if entry.path[: len(path)] == path and entry.kind != "header"]
        if not found:
            return text
        start, end = _span(text, entries, found[0])
        text = text[:start] + text[end:]


def _span(text: str, entries: list[Entry], entry: Entry) -> tuple[int, int]:
    """Return the span to delete for an entry: its line, or in an inline table the entry with one comma."""
    if not entry.inline:
        return text.rfind("\n", 0, entry.start) + 1, _end_of_line(text, entry.end, inclusive=True)
    siblings = [other for other in entries if other.table == entry.table and other.inline == entry.inline]
    place = siblings.index(entry)
    if place > 0:
        return siblings[place - 1].end, entry.end
    if len(siblings) > 1:
        return entry.start, siblings[1].start
    return entry.start, entry.end


def _end_of_line(text: str, offset: int, *, inclusive: bool = False) -> int:
    """Return the offset of the end of the line at `offset`, before or (`inclusive`) after its newline."""
    end = text.find("\n", offset)
    if end < 0:
        return len(text)
    if inclusive:
        return end + 1
    return end - 1 if text[end - 1] == "\r" else end


def _newline(text: str) -> str:
    """Return the newline of the text: that of its first line."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _write_key(path: KeyPath) -> str:
    bare = re.compile(r"[A-Za-z0-9_-]+")
    return ".".join(part if bare.fullmatch(part) else write_value(part) for part in path)
