"""Translate other assistants' tools for files that have no equal here: inserted lines, lines by number, mv and rm."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from localllm.base import foreign_tools as foreign
from localllm.base.events import Json
from localllm.base.foreign_tools import argument_meant
from localllm.base.lazy_patterns import late_pattern
from localllm.tools.patch import Call

TextOf = Callable[[str], str | None]
"""Returns the text of a file the model may read, or None."""

_LINES = late_pattern(r"(?P<path>.+?)(?::|#)L?(?P<first>\d{1,7})(?:-L?(?P<last>\d{1,7})|:\d+)?", re.DOTALL)
_BEFORE, _AFTER = 20, 30
"""Lines read around one that was named."""

_SOURCE = "source source_path src from from_path old_path"
_TARGET = "destination destination_path dest target to to_path new_path"


def value_of(given: Mapping[str, Any], field: str, tool_name: str = "") -> Any:
    """Return the argument that means `field`; None if there is none."""
    return next((value for key, value in given.items() if argument_meant(key, tool_name, (field,))), None)


def of_file_tool(meant: str, given: dict[str, Json], text_of: TextOf) -> list[Call]:
    """Translate a call of one of the file tools; a call of any other tool stays as it is."""
    match meant:
        case foreign.LINES:
            return lines_replaced(given, text_of)
        case foreign.APPEND:
            return _appended(given, text_of)
        case foreign.MOVE | foreign.COPY | foreign.REMOVE | foreign.MAKE_FOLDER:
            return _as_command(meant, given)
        case _:
            return [(meant, given)]


def insertion(given: dict[str, Json], text_of: TextOf) -> Call:
    """Translate an insertion after a line to a replacement of a unique passage."""
    path, new = _path_in(given), _new_in(given)
    text = text_of(path) if path else None
    line = _number(given.get("insert_line", given.get("line")))
    if text is None or line < 0 or not new:
        return "edit_file", given  # reports what is missing
    return _inserted(path, text, line, new) if text else ("write_file", {"file_path": path, "content": new})


def _appended(given: dict[str, Json], text_of: TextOf) -> list[Call]:
    """Translate text that is put at the end of a file."""
    path, new = _path_in(given), _new_in(given)
    if not (path and new):
        return []
    text = text_of(path)
    if not text:  # a file that may not be read is not replaced by create_file
        return [("create_file" if text is None else "write_file", {"file_path": path, "content": new})]
    return [_inserted(path, text, len(_lines(text)), new)]


def lines_replaced(given: dict[str, Json], text_of: TextOf) -> list[Call]:
    """Translate a replacement of lines by their numbers; empty if it is none."""
    path, new = _path_in(given), value_of(given, "new_string")
    new = value_of(given, "content") if new is None else new
    first = _number(value_of(given, "start_line"))
    last = _number(value_of(given, "end_line")) if value_of(given, "end_line") is not None else first
    text = text_of(path) if path else None
    lines = _lines(text or "")
    if not isinstance(new, str) or not 1 <= first <= min(last, len(lines)):
        return []
    end = min(last, len(lines))
    new = new if not new or new.endswith("\n") or not lines[end - 1].endswith("\n") else f"{new}\n"
    return [_replaced(path, lines, first - 1, end, new)]


def _as_command(meant: str, given: dict[str, Json]) -> list[Call]:
    """Translate a tool that moves, copies or deletes files, or makes a folder, to a command; empty if a path is
    missing."""
    if meant in (foreign.MOVE, foreign.COPY):
        paths = [_named(given, _SOURCE), _named(given, _TARGET)]
        command = "mv --" if meant == foreign.MOVE else "cp --"
    else:
        paths = [_path_in(given) or str(value_of(given, "path") or "")]
        command = "rm --" if meant == foreign.REMOVE else "mkdir -p --"
    if not all(paths):
        return []
    return [("run_command", {"command": f"{command} {shlex.join(paths)}"})]


def with_lines(given: dict[str, Json], text_of: TextOf) -> dict[str, Json]:
    """Return the arguments of a reading with the lines that follow the path, as in `a.py:12` or `a.py#L3-L9`."""
    key = next((key for key in given if argument_meant(key, "read_file", ("file_path",))), "")
    found = _LINES.fullmatch(str(given.get(key) or ""))
    if not found or text_of(found[0]) is not None or text_of(found["path"]) is None:
        return given
    located = {**given, key: found["path"]}
    if any(argument_meant(other, "read_file", ("start_line", "view_range")) for other in given if other != key):
        return located
    first, last = int(found["first"]), int(found["last"] or 0)
    if last >= first:
        return {**located, "start_line": first, "end_line": last}
    return {**located, "start_line": max(1, first - _BEFORE), "end_line": first + _AFTER}


def _inserted(path: str, text: str, line: int, new: str) -> Call:
    lines = _lines(text)
    line = min(line, len(lines))
    gap = "\n" if line and not lines[line - 1].endswith("\n") else ""
    end = "" if new.endswith("\n") or line == len(lines) else "\n"
    return _replaced(path, lines, line, line, f"{gap}{new}{end}")


def _replaced(path: str, lines: Sequence[str], first: int, end: int, new: str) -> Call:
    """Return the edit that puts `new` in the place of lines[first:end], with as many lines around as make it unique."""
    text, more = "".join(lines), 1
    start, stop = (max(first - 1, 0), max(first, 1)) if first == end else (first, end)
    old = "".join(lines[start:stop])
    while text.find(old) != text.rfind(old):  # two that overlap are two as well
        start, stop, more = max(start - more, 0), min(stop + more, len(lines)), 2 * more
        old = "".join(lines[start:stop])
    return "edit_file", {
        "file_path": path,
        "old_string": old,
        "new_string": f"{''.join(lines[start:first])}{new}{''.join(lines[end:stop])}",
    }


def _lines(text: str) -> list[str]:
    """Return the lines with their ends, numbered as `read_file` shows them: a form feed ends none."""
    return re.findall(r".*\n|.+", text)


def _path_in(given: Mapping[str, Any]) -> str:
    return str(value_of(given, "file_path") or "")


def _new_in(given: Mapping[str, Any]) -> str:
    new = value_of(given, "new_string") or given.get("insert_text") or value_of(given, "content")
    return new if isinstance(new, str) else ""


def _named(given: Mapping[str, Any], names: str) -> str:
    known = set(map(foreign.folded, names.split()))
    return str(next((value for key, value in given.items() if foreign.folded(key) in known), "") or "")


def _number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return -1
