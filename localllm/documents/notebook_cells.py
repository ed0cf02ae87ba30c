"""Edit a notebook as the text of its cells, whatever the layout of its file."""

import json
import re
import secrets
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from localllm.base.jsontext import decode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.documents.notebooks import notebook_text

_MARKER = late_pattern(
    r"^-{2,3} ?(?:new )?cell(?: (\d{1,6}))?(?:: ?([a-z]{1,12}))?(?: In ?\[\d{0,6}\])? -{2,3}[ \t]*$",
    re.IGNORECASE,
)
"""Matches the line above a cell as read_file shows it, and as models write that of a new one."""

_OUTPUT = late_pattern(r"^--- output of cell \d{1,6} ---$")
_OWN_MARKER = late_pattern(r"^--- cell \d{1,6}: (code|markdown|raw) ---$", re.MULTILINE)
_SPACE = late_pattern(r"[ \t\r\n]*")
_MAGIC = late_pattern(
    r"^([ \t]*)(?:%{1,2}[A-Za-z_].*|!(?!=).*|\?.*|[\w.]{1,80}\?{1,2}|[\w., ]{1,80}=[ \t]*[%!].*)$", re.MULTILINE
)
"""Matches IPython's own commands, and no line of an expression that begins with `% name` or `!=`."""

_ID = late_pattern(r"[\w-]{1,64}")

_TYPES = {"markdown": "markdown", "md": "markdown", "raw": "raw", "text": "markdown"}


class Cell(NamedTuple):
    """A cell: its type and its source."""

    type: str
    source: str


class _Place(NamedTuple):
    """Where a cell and its source are in the file, and the source as it is."""

    start: int
    end: int
    source_start: int
    source_end: int
    source: str


def cells(raw: str) -> list[Cell] | None:
    """Return the cells of a notebook; None if the text is none."""
    found = _read(raw)
    return None if found is None else found[1]


def cells_text(sources: Sequence[Cell]) -> str:
    """Return the cells as read_file shows them, but for their outputs and execution counts."""
    return "\n".join(
        f"--- cell {number}: {cell.type} ---\n{cell.source}" for number, cell in enumerate(sources, start=1)
    )


def parse(text: str) -> list[Cell]:
    """Return the cells of such a text."""
    marks = list(_OWN_MARKER.finditer(text))
    ends = [*(mark.start() - 1 for mark in marks[1:]), len(text)]
    return [
        Cell(mark[1], text[mark.end() + 1 : max(end, mark.end() + 1)]) for mark, end in zip(marks, ends, strict=True)
    ]


def fitted(text: str, old: str, new: str) -> tuple[str, str]:
    """Return a passage and its replacement for `text`, the cells' text: without outputs, with the lines between cells
    as they are there. Such a line that only one of the two begins with is that of the same cell."""
    old, new = _uniform(old), _uniform(new)
    old = _renumbered(text, old)
    begins, will_begin = _OWN_MARKER.match(old), _OWN_MARKER.match(new)
    if begins and not will_begin and new.strip():
        new = f"{begins[0]}\n{new}"
    elif will_begin and not begins and text.count(old) == 1:
        above = text[: text.index(old)].rstrip("\n").rpartition("\n")[2]
        if _OWN_MARKER.fullmatch(above) and f"{above}\n{old}" in text:
            old = f"{above}\n{old}"
    return old, new


def _uniform(text: str) -> str:
    kept: list[str] = []
    is_output = False
    for line in text.split("\n"):
        if mark := _MARKER.match(line):
            is_output = False
            kept.append(f"--- cell {mark[1] or 1}: {_TYPES.get((mark[2] or '').lower(), 'code')} ---")
        elif _OUTPUT.match(line):
            is_output = True
        elif not is_output:
            kept.append(line)
    return "\n".join(kept)


def _renumbered(text: str, old: str) -> str:
    """Return `old` with the cells' present numbers: cells were added or removed since they were read."""
    marks = list(_OWN_MARKER.finditer(old))
    if not marks or old in text:
        return old
    wanted = _OWN_MARKER.sub(_unnumbered, old)
    matching = [number for number in range(1, len(_OWN_MARKER.findall(text)) + 1) if _numbered(wanted, number) in text]
    return _numbered(wanted, matching[0]) if len(matching) == 1 else old


def _unnumbered(mark: re.Match[str]) -> str:
    return f"--- cell \0: {mark[1]} ---"


def _numbered(text: str, first: int) -> str:
    head, *others = text.split("\0")
    return head + "".join(f"{number}{part}" for number, part in enumerate(others, start=first))


def replaced(raw: str, wanted: Sequence[Cell]) -> tuple[int, int, str] | None:
    """Return the place in the file, and its new text, that give the notebook the `wanted` cells; None if it has them.

    Cells that stay keep their outputs and metadata.
    """
    if (found := _read(raw)) is None:
        return None
    places, present = found
    first = 0
    while first < min(len(present), len(wanted)) and present[first] == wanted[first]:
        first += 1
    last, end = len(present), len(wanted)
    while last > first and end > first and present[last - 1] == wanted[end - 1]:
        last, end = last - 1, end - 1
    if first == last and first == end:
        return None
    layout = _Layout(raw, places)
    written = list(_written(layout, places[first:last], present[first:last], wanted[first:end]))
    if first < last and written:
        return places[first].start, places[last - 1].end, layout.between.join(written)
    if written:
        added = layout.between.join(written)
        at = places[first - 1].end if first else places[0].start
        return at, at, layout.between + added if first else added + layout.between
    start, stop = places[first].start, places[last - 1].end
    if last < len(places):
        stop = places[last].start
    elif first:
        start = places[first - 1].end
    return start, stop, ""


def changed(before: str, after: str) -> str:
    """Return the cells that an edit changed or added, as read_file shows them; only the ends of long ones."""
    was, now = cells(before), cells(after)
    if was is None or now is None:
        return ""
    text: list[str] = []
    for number, cell in enumerate(now, start=1):
        if cell not in was:
            lines = cell.source.split("\n")
            if len(lines) > _MOST_LINES:
                lines = [*lines[: _MOST_LINES // 2], "…", *lines[-_MOST_LINES // 2 :]]
            text += [f"--- cell {number}: {cell.type} ---", *lines]
    return "\n".join(text)


_MOST_LINES = 20


def compared(before: str, after: str) -> tuple[str, str]:
    """Return the texts of the cells of both versions; the files if these are no notebooks, or differ in more than what
    their cells say."""
    was, now = cells(before), cells(after)
    if was is None or now is None or was == now or not _differ_only_in_sources(before, after, now):
        return before, after
    return cells_text(was), cells_text(now)


def _differ_only_in_sources(before: str, after: str, wanted: Sequence[Cell]) -> bool:
    """Return whether the new notebook is what the old one with the `wanted` cells would be: those that stay have the
    outputs and metadata that they had, and new ones have none."""
    place = replaced(before, wanted)
    if place is None:
        return False
    start, end, put = place
    expected, now = json.loads(before[:start] + put + before[end:]), json.loads(after)
    old = [cell["id"] for cell in json.loads(before)["cells"] if cell.get("id") is not None]
    pairs = list(zip(expected.pop("cells"), now.pop("cells"), strict=True))
    return expected == now and all(
        _without_source(one) == _without_source(other) and _is_id_of(other.get("id"), one.get("id"), old)
        for one, other in pairs
    )


def _without_source(cell: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in cell.items() if value and key not in ("id", "cell_type", "source")}


def _is_id_of(found: object, expected: object, old: Sequence[object]) -> bool:
    """Return whether a cell has the id that it had; that of a new one may be any."""
    if expected in old or found is None:
        return found == (expected if expected in old else None)
    return isinstance(found, str) and bool(_ID.fullmatch(found))


def _written(
    layout: "_Layout", places: Sequence[_Place], present: Sequence[Cell], wanted: Sequence[Cell]
) -> Iterator[str]:
    """Yield the JSON of each wanted cell, of a present one where there is one for it."""
    at = 0
    for number, cell in enumerate(wanted):
        is_inserted = at >= len(present) or (cell != present[at] and present[at] in wanted[number + 1 :])
        if is_inserted or cell.type != present[at].type:
            yield layout.new_cell(cell)
        else:
            yield layout.with_source(places[at], cell.source)
        at += not is_inserted


class _Layout:
    """How the file is written: its white space, and whether it is ASCII."""

    def __init__(self, raw: str, places: Sequence[_Place]) -> None:
        self._raw = raw
        self._is_ascii = raw.isascii() and "\\u" in raw
        self._has_ids = any(key == "id" for key, _start, _end in _members(raw, places[0].start))
        self._separators = (", ", ": ") if '"cell_type": ' in raw else (",", ":")
        start = places[0].start
        self._outer = self._indent(start)
        inner = self._indent(_after_space(raw, start + 1))
        self._unit = None if self._outer is None or inner is None else inner[len(self._outer) :]
        if len(places) > 1:
            self.between = raw[places[0].end : places[1].start]
        else:
            self.between = self._separators[0] if self._outer is None else f",\n{self._outer}"

    def _indent(self, at: int) -> str | None:
        """Return the white space before the place, if it is first in its line."""
        before = self._raw[self._raw.rfind("\n", 0, at) + 1 : at]
        return before if "\n" in self._raw[:at] and not before.strip() else None

    def new_cell(self, cell: Cell) -> str:
        parts: dict[str, Any] = {"cell_type": cell.type}
        if cell.type == "code":
            parts["execution_count"] = None
        if self._has_ids:
            parts["id"] = secrets.token_hex(4)
        parts["metadata"] = {}
        if cell.type == "code":
            parts["outputs"] = []
        parts["source"] = cell.source.strip("\n").splitlines(keepends=True)
        return self._json(parts, self._outer)

    def with_source(self, place: _Place, source: str) -> str:
        source = source.rstrip("\n")
        end = place.source[len(place.source.rstrip("\n")) :] if source else ""
        was = self._raw[place.source_start : place.source_end]
        if source == place.source.rstrip("\n"):
            new = was
        elif was.startswith('"'):
            new = self._json(source + end, None)
        else:
            is_inline = "\n" not in was and place.source
            indent = None if is_inline or self._outer is None else self._outer + (self._unit or "")
            new = self._json((source + end).splitlines(keepends=True), indent)
        return self._raw[place.start : place.source_start] + new + self._raw[place.source_end : place.end]

    def _json(self, value: object, indent: str | None) -> str:
        """Return the JSON of the value: below a line with that indentation, or in one line."""
        if indent is None or self._unit is None:
            return json.dumps(value, ensure_ascii=self._is_ascii, separators=self._separators)
        separators = (",", self._separators[1])
        text = json.dumps(value, ensure_ascii=self._is_ascii, indent=self._unit, separators=separators)
        return text.replace("\n", f"\n{indent}")


def _read(raw: str) -> tuple[list[_Place], list[Cell]] | None:
    """Return the cells with their places; None if the text is no notebook with cells, or cannot be written as text."""
    try:
        notebook_text(raw.encode())
        json.loads(raw, object_pairs_hook=_without_doubles)
        places: list[_Place] = []
        found: list[Cell] = []
        start = next(start for key, start, _end in _members(raw, _after_space(raw, 0)) if key == "cells")
        for at, end in _elements(raw, start):
            parts = {key: (first, last) for key, first, last in _members(raw, at)}
            if "source" not in parts:
                return None
            first, last = parts["source"]
            source: Any = json.loads(raw[first:last])
            text = source if isinstance(source, str) else "".join(source)
            places.append(_Place(at, end, first, last, text))
            kind: Any = json.loads(raw[slice(*parts["cell_type"])])
            found.append(Cell(kind, text.rstrip("\n")))
    except (ValueError, StopIteration, RecursionError):
        return None
    return (places, found) if found and parse(cells_text(found)) == found else None


def _without_doubles(pairs: list[tuple[str, Any]]) -> None:
    """Raise ValueError if an object has a key twice: programs take the last one."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError


def _members(raw: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Yield each key of the JSON object at this place, with the start and the end of its value."""
    decoder = json.JSONDecoder()
    at = _after_space(raw, at + 1)
    while raw[at] != "}":
        key, at = decoder.raw_decode(raw, at)
        start = _after_space(raw, _after_space(raw, at) + 1)
        _value, end = decoder.raw_decode(raw, start)
        yield key, start, end
        at = _after_space(raw, end)
        at = _after_space(raw, at + 1) if raw[at] == "," else at


def _elements(raw: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each value of the JSON list at this place."""
    decoder = json.JSONDecoder()
    at = _after_space(raw, at + 1)
    while raw[at] != "]":
        _value, end = decoder.raw_decode(raw, at)
        yield at, end
        at = _after_space(raw, end)
        at = _after_space(raw, at + 1) if raw[at] == "," else at


def _after_space(raw: str, at: int) -> int:
    found = _SPACE.match(raw, at)
    return found.end() if found else at


def python_of(raw: str) -> list[tuple[int, str]]:
    """Return the number and the Python of each code cell, without IPython's own commands; none of another language."""
    found = cells(raw)
    if found is None:
        return []
    try:
        metadata = decode_json(raw.encode(), _File).metadata
    except msgspec.DecodeError:
        metadata = _Metadata()
    language = metadata.language_info.name or metadata.kernelspec.language or "python"
    if language.lower() not in ("python", "ipython"):
        return []
    return [
        (number, _MAGIC.sub(r"\1pass", cell.source))
        for number, cell in enumerate(found, start=1)
        if cell.type == "code" and not cell.source.lstrip().startswith("%%")
    ]


class _Language(msgspec.Struct):
    """A programming language as `language_info` and `kernelspec` name it."""

    name: str = ""
    language: str = ""


class _Metadata(msgspec.Struct):
    kernelspec: _Language = msgspec.field(default_factory=_Language)
    language_info: _Language = msgspec.field(default_factory=_Language)


class _File(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
