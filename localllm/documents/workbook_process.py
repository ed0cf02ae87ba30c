"""Read an Excel workbook (Office Open XML, ECMA-376) with the standard library, in a helper process.

The source of this module is sent to the process from memory (`source_of`), so it imports nothing of localllm. An
archive may be crafted to exhaust time or memory: what is unpacked is counted, and a document type, which could define
entities, is refused.
"""

import io
import posixpath
import re
import zipfile
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any
from xml.parsers import expat

_MOST_UNPACKED = 400_000_000
_BLOCK = 1 << 16
_MOST_COLUMNS = 16_384
_MOST_ROWS = 1_048_576
_DATES = frozenset({*range(14, 18), 22, *range(27, 32), *range(34, 37), *range(50, 59)})
_TIMES = frozenset({18, 19, 20, 21, 32, 33, 45, 47})
_OTHER_FORMATS = {9: "percent", 10: "percent", 46: "elapsed"}
"""Numbers of the formats that a file need not describe (18.8.30), with those of Japanese Excel."""
_UNSHOWN = re.compile(r'"[^"]*"|\\.|_.|\*.|AM/PM|A/P|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
"""Text, escaped signs, colours, conditions and currencies in a format: all but the placeholders, as [h] for elapsed
hours."""
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_REFERENCE = re.compile("([A-Z]{1,3})([0-9]{1,7})")
_WHOLE = re.compile("-?[0-9]{1,15}")
_FIRST_LEAP = 61  # days: Excel has a 29 February 1900
_YEAR = 366
_MOST_DAYS = 2_958_466
"""Days until the end of the year 9999."""

Row = tuple[int, list[str]]
"""The number of a row, and its cells from column A to the last one that is filled."""


class UnreadableError(Exception):
    """Why it cannot be read: "broken", "binary" (an .xlsb file), or "large"."""


class _FullError(Exception):
    """There is no room for more text."""


def read_workbook(data: bytes, room: int) -> dict[str, object]:
    """Read the sheets, as far as their text has room in so many characters. Raises UnreadableError, and whatever the
    standard library raises for a broken file."""
    book = _Workbook(data, room)
    sheets: list[dict[str, object]] = []
    for name, path, is_hidden in book.sheets:
        rows: list[Row] = []
        if not book.is_full:
            book.read_rows(path, rows)
        sheets.append({"name": name, "is_hidden": is_hidden, "rows": rows})
    return {"sheets": sheets, "is_cut": book.is_full}


class _Workbook:
    """An open workbook. `sheets`: name, path and whether it is hidden, in their order."""

    def __init__(self, data: bytes, room: int) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        self._names = {name.replace("\\", "/").lstrip("/").lower(): name for name in self._archive.namelist()}
        self._unpacked = 0
        self._room = room
        self.is_full = False
        self._since_1904 = False
        self.sheets: list[tuple[str, str, bool]] = []
        path = next((target for kind, target in self._links("").values() if kind == "officeDocument"), "")
        if path.endswith(".bin"):
            raise UnreadableError("binary")
        links = self._links(path)
        paths = dict(links.values())
        self._read_sheets(path, links)
        self._shared = self._read_shared(paths.get("sharedStrings", ""))
        self._formats = self._read_formats(paths.get("styles", ""))

    def read_rows(self, path: str, rows: list[Row]) -> None:
        """Append the filled rows of a sheet. Sets `is_full` if there was no room for all."""
        reader = _SheetReader(rows, self._room, self._value)
        try:
            self._parse(path, reader.start, reader.end, reader.text)
        except _FullError:
            self.is_full = True
        self._room = reader.room

    def _links(self, path: str) -> dict[str, tuple[str, str]]:
        """Return the relationships of a part by id: the last word of their type, and the path of their target."""
        folder, name = posixpath.split(path)
        links: dict[str, tuple[str, str]] = {}

        def start(tag: str, attributes: dict[str, str]) -> None:
            if tag == "Relationship" and attributes.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", "")))
                kind = attributes.get("Type", "").rpartition("/")[2]
                links[attributes.get("Id", "")] = kind, target.lstrip("/")

        self._parse(posixpath.join(folder, "_rels", f"{name}.rels"), start)
        return links

    def _read_sheets(self, path: str, links: dict[str, tuple[str, str]]) -> None:
        def start(tag: str, attributes: dict[str, str]) -> None:
            if tag == "workbookPr":
                self._since_1904 = attributes.get("date1904") in ("1", "true")
            if tag == "sheet":
                key = next((value for name, value in attributes.items() if name.endswith(":id")), "")
                kind, target = links.get(key, ("", ""))
                if kind == "worksheet":  # others are charts and macros
                    is_hidden = attributes.get("state", "visible") != "visible"
                    self.sheets.append((attributes.get("name", ""), target, is_hidden))

        if not path:
            raise UnreadableError("broken")
        self._parse(path, start)

    def _read_shared(self, path: str) -> list[str]:
        """Return the strings that cells refer to by number, without the readings that Japanese Excel adds."""
        strings: list[str] = []
        parts: list[str] = []
        state = {"in_text": False, "in_reading": False}

        def start(tag: str, _attributes: dict[str, str]) -> None:
            if tag == "si":
                parts.clear()
            state["in_reading"] |= tag == "rPh"
            state["in_text"] = tag == "t" and not state["in_reading"]

        def end(tag: str) -> None:
            state["in_text"] = False
            state["in_reading"] &= tag != "rPh"
            if tag == "si":
                strings.append(_unescaped("".join(parts)))

        def text(data: str) -> None:
            if state["in_text"]:
                parts.append(data)

        if path:
            self._parse(path, start, end, text)
        return strings

    def _read_formats(self, path: str) -> list[str]:
        """Return what the cell styles make of a number, by their index."""
        own: dict[int, str] = {}
        kinds: list[str] = []
        state = {"in_cells": False}

        def start(tag: str, attributes: dict[str, str]) -> None:
            if tag == "numFmt":
                own[int(attributes.get("numFmtId", "0"))] = _kind_of(attributes.get("formatCode", ""))
            if tag == "cellXfs":
                state["in_cells"] = True
            if tag == "xf" and state["in_cells"]:
                number = int(attributes.get("numFmtId", "0"))
                usual = "date" if number in _DATES else "time" if number in _TIMES else _OTHER_FORMATS.get(number, "")
                kinds.append(own.get(number, usual))

        def end(tag: str) -> None:
            state["in_cells"] &= tag != "cellXfs"

        if path:
            self._parse(path, start, end)
        return kinds

    def _value(self, kind: str, style: str, value: str) -> str:
        """Return the text of a cell with a value of this kind."""
        if kind == "s":
            return self._shared[int(value)]
        if kind == "b":
            return "TRUE" if value.strip() == "1" else "FALSE"
        if kind in ("str", "inlineStr", "e"):
            return _unescaped(value)
        if kind == "d":
            return value.strip().replace("T", " ")
        form = self._formats[int(style)] if style and int(style) < len(self._formats) else ""
        return number_text(value.strip(), form, since_1904=self._since_1904)

    def _parse(
        self,
        path: str,
        start: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> None:
        """Parse a part of the archive; the names of elements are without their prefix."""
        parser: Any = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = _refuse

        def on_start(name: str, attributes: dict[str, str]) -> None:
            start(name.rpartition(":")[2], attributes)

        def on_end(name: str) -> None:
            if end:
                end(name.rpartition(":")[2])

        parser.StartElementHandler = on_start
        parser.EndElementHandler = on_end
        parser.CharacterDataHandler = text
        with self._archive.open(self._names[path.lower()]) as file:
            while block := file.read(_BLOCK):
                self._unpacked += len(block)
                if self._unpacked > _MOST_UNPACKED:
                    raise UnreadableError("large")
                parser.Parse(block)
        parser.Parse(b"", True)  # noqa: FBT003 - it takes no keywords


class _SheetReader:
    """Collects the rows of a sheet from its elements. `value` turns type, style and value of a cell into its text."""

    def __init__(self, rows: list[Row], room: int, value: Callable[[str, str, str], str]) -> None:
        self._rows = rows
        self.room = room
        self._value = value
        self._row = self._column = 0
        self._cells: list[str] = []
        self._kind = self._style = self._of = ""
        self._in_reading = False
        self._parts: dict[str, list[str]] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        if tag == "row":
            self._row = int(attributes.get("r", self._row + 1))
            self._column = 0
            self._cells = []
        elif tag == "c":
            found = _REFERENCE.fullmatch(attributes.get("r", ""))
            self._column = column_number(found[1]) if found else self._column + 1
            self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
            self._parts = {}
        elif tag == "rPh":
            self._in_reading = True
        elif tag in ("v", "f", "t") and not self._in_reading:
            self._of = tag

    def text(self, data: str) -> None:
        """Add text."""
        if self._of:
            self._parts.setdefault(self._of, []).append(data)

    def end(self, tag: str) -> None:
        """End an element. Raises _FullError."""
        self._of = ""
        if tag == "rPh":
            self._in_reading = False
        elif tag == "c":
            self._end_cell()
        elif tag == "row" and self._cells:
            if not 0 < self._row <= _MOST_ROWS:
                raise UnreadableError("broken")
            self._rows.append((self._row, self._cells))

    def _end_cell(self) -> None:
        given = "".join(self._parts.get("t" if self._kind == "inlineStr" else "v", ()))
        if given:
            text = self._value(self._kind, self._style, given)
        elif formula := "".join(self._parts.get("f", ())):  # written by a program that reckons nothing
            text = f"={formula}"
        else:
            return
        missing = self._column - 1 - len(self._cells)
        if missing < 0 or self._column > _MOST_COLUMNS:
            raise UnreadableError("broken")
        self.room -= missing + len(text) + 1
        if self.room < 0:
            raise _FullError
        self._cells += [""] * missing
        self._cells.append(text)


def column_number(letters: str) -> int:
    """Return the number of a column: 1 for A, 27 for AA."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _refuse(*_declared: object) -> None:
    raise UnreadableError("broken")


def _unescaped(text: str) -> str:
    """Replace control characters that are written as _x000D_ (22.9.2.19)."""
    if "_x" not in text:
        return text
    found = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\r\n", "\n")


def _kind_of(code: str) -> str:
    """Return what a number format makes of a number: "date", "time", "elapsed", "percent", or "" for a number."""
    plain = _UNSHOWN.sub("", code.partition(";")[0]).lower()
    if "[" in plain:
        return "elapsed"
    if "%" in plain:
        return "percent"
    if {"y", "d", "g", "e"} & {*plain} and not {"0", "#", "?"} & {*plain} and "general" not in plain:
        return "date"
    if {"h", "s"} & {*plain}:
        return "time"
    return "date" if "m" in plain else ""


def number_text(value: str, form: str = "", *, since_1904: bool = False) -> str:
    """Format a number as its cell shows it, but exactly: a date, a time, a share, else with 15 digits as in Excel."""
    if not form and _WHOLE.fullmatch(value):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    if form == "percent":
        return f"{100 * number:.15g}%"
    if form and 0 <= number < _MOST_DAYS:
        days, seconds = divmod(round(86_400 * number), 86_400)
        is_length = form == "elapsed" or (form == "time" and days < _YEAR)
        if is_length or (seconds and not days):
            return _clock(seconds + 86_400 * days)
        first = date(1904, 1, 1) if since_1904 else date(1899, 12, 30) + timedelta(days < _FIRST_LEAP - 1)
        return (first + timedelta(days)).isoformat() + (f" {_clock(seconds)}" if seconds else "")
    return f"{number:.15g}"


def _clock(seconds: int) -> str:
    hours, rest = divmod(seconds, 3_600)
    minutes, rest = divmod(rest, 60)
    return f"{hours:02}:{minutes:02}" + (f":{rest:02}" if rest else "")


def main(data: bytes, room: int) -> dict[str, object]:
    """Read a workbook, and return its sheets or the trouble with it."""
    try:
        return read_workbook(data, room)
    except UnreadableError as error:
        return {"trouble": str(error)}
    except Exception:  # noqa: BLE001 - whatever a broken file causes
        return {"trouble": "broken"}
