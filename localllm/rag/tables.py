"""Read the rows of CSV, TSV and JSONL files and of Excel sheets that contain text, each as a block."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice
from typing import cast

import msgspec

from localllm.base.jsontext import decode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.documents.workbooks import Sheet, column_letters
from localllm.rag.chunking import Block

_TEXT_WORDS = """
text content body passage paragraph description question answer document comment message summary
本文 内容 説明 質問 回答 概要 備考 文章 テキスト コメント
"""
_TITLE_WORDS = "title name heading subject question 題名 タイトル 件名 見出し 名前 質問"
_ID_WORDS = "id _id uuid guid hash url key no"
_TEXT_NAMES, _TITLE_NAMES, _ID_NAMES = (frozenset(words.split()) for words in (_TEXT_WORDS, _TITLE_WORDS, _ID_WORDS))
_SAMPLED, _SAMPLED_ROWS = 16_384, 20
_DEEPEST = 3
_SAMPLE = 200
"""Rows sampled to classify the columns."""
_LEAST_LETTERS = 15
"""Mean letters per value from which on a column contains text."""
_LEAST_LETTERS_OF_NAMES = 2
"""The same for a column that names what a row is about."""
_LONGEST_TITLE = 120
_MOST_ROWS = 1_000_000
_LONGEST_ROW = 10_000_000  # characters
_MOST_TEXT = 500_000_000
"""Characters of all rows, with the names of their columns."""
_TOO_LONG = f"a row of more than {_LONGEST_ROW:,} characters"
_ENDS_REFERENCE = late_pattern(r"[;；,、\[\]\n]")
"""Matches what separates references, or ends one."""
_LINE = late_pattern(r"[^\r\n]*+(?:\r\n?|\n)|[^\r\n]++")

Row = dict[str, str]


class NoTextColumnError(ValueError):
    """No column contains text."""


class BadTableError(ValueError):
    """The file is no valid table of this type; the message has the reason."""


def table_rows(file_name: str, text: str) -> Iterator[tuple[int, Row]]:
    """Read the rows of a file with their numbers from 1, one at a time. Raises BadTableError."""
    is_jsonl = file_name.lower().endswith((".jsonl", ".ndjson"))
    rows = _of_lines(text) if is_jsonl else _of_cells(text, "\t" if file_name.lower().endswith(".tsv") else ",")
    for before, row in enumerate(rows):
        if before == _MOST_ROWS:
            raise BadTableError(f"more than {_MOST_ROWS:,} rows")
        yield row


def _of_cells(text: str, usual: str) -> Iterator[tuple[int, Row]]:
    lines = _Lines(text)
    reader = csv.reader(lines, delimiter=_delimiter(text, usual), skipinitialspace=True)
    try:
        names: list[str] = []
        names = next(reader, names)
        number = 0
        for row in reader:
            lines.begin_row()
            if not row:
                continue
            number += 1
            cells: dict[str, object] = dict(zip(names, row, strict=False))
            if len(row) > len(names):
                cells[""] = row[len(names) :]
            yield number, _strings(cells)
    except csv.Error as error:
        raise BadTableError(str(error)) from error


class _Lines:
    """The lines of a text, for csv.reader, which keeps those of a row. Raises BadTableError for a row that is too
    long."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = _LINE.finditer(text)
        self._room = _LONGEST_ROW

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        start, end = next(self._lines).span()
        self._room -= end - start
        if self._room < 0:
            raise BadTableError(_TOO_LONG)
        return self._text[start:end]

    def begin_row(self) -> None:
        """Note that a row was read whole."""
        self._room = _LONGEST_ROW


def _delimiter(text: str, usual: str) -> str:
    """Detect the delimiter: the one that splits most of the first rows into as many cells as the first row, and into
    most cells. csv.Sniffer takes seconds for some texts."""

    def fit(delimiter: str) -> tuple[int, int, bool]:
        sample = io.StringIO(text[:_SAMPLED], newline="")
        widths = [len(row) for row in islice(csv.reader(sample, delimiter=delimiter), _SAMPLED_ROWS) if row]
        first = widths[0] if widths else 0
        return (widths.count(first) if first > 1 else 0), first, delimiter == usual

    return max(",;\t", key=fit)


def row_blocks(rows: Iterable[tuple[int, Row]]) -> Iterator[Block]:
    """Yield a block per row: all its columns by name, or the text alone if it is the only column. Raises
    NoTextColumnError, BadTableError."""
    rows = iter(rows)
    sample = list(islice(rows, _SAMPLE))
    names = _text_columns([row for _, row in sample])
    room = _MOST_TEXT
    for number, row in chain(sample, rows):
        if names.isdisjoint(row):
            continue
        kept = {name: value for name, value in row.items() if value and (name in names or not _is_id(name))}
        title = next((value for name, value in kept.items() if name.lower() in _TITLE_NAMES), "")
        text = "\n".join(kept.values() if len(kept) == 1 else (f"{name}: {value}" for name, value in kept.items()))
        room -= len(text)
        if room < 0:  # each row repeats the names of its columns
            raise BadTableError(f"more than {_MOST_TEXT:,} characters")
        headings = (title[:_LONGEST_TITLE],) if title else ()
        yield Block(text, headings, "row", number, number, is_alone=True)


def sheet_blocks(sheets: Sequence[Sheet]) -> Iterator[Block]:
    """Yield the rows of all sheets with a column that contains text, under the sheet's name if there are several, with
    their numbers in the sheet; lines without a table below them are a block. Raises NoTextColumnError if no sheet has
    any."""
    filled = [sheet for sheet in sheets if sheet.rows]
    has_text = False
    for sheet in filled:
        headings = (sheet.name,) if len(filled) > 1 else ()
        name = " ".join(_ENDS_REFERENCE.sub(" ", sheet.name).split()) if headings else ""
        above, rows = _table_in(sheet)
        try:
            blocks = list(row_blocks(rows))
        except NoTextColumnError:
            if len(above) < len(sheet.rows) or not any(
                map(str.isalpha, "".join(chain(*(cells for _, cells in above))))
            ):
                continue
            blocks = []
        has_text = True
        if above:
            text = "\n".join(" ".join(filter(None, cells)) for _, cells in above)
            yield Block(text, headings, "row", above[0][0], above[-1][0], is_alone=True, sheet=name)
        yield from (block._replace(headings=(*headings, *block.headings), sheet=name) for block in blocks)
    if filled and not has_text:
        raise NoTextColumnError


def _table_in(sheet: Sheet) -> tuple[list[tuple[int, list[str]]], Iterator[tuple[int, Row]]]:
    """Return the lines above a sheet's table, such as a title, and the rows below its header. The header is the first
    row that is more than half as full as the fullest of the first ones; where nothing is below it, or each row is a
    single cell, it is text too."""
    counts = [sum(map(bool, cells)) for _, cells in sheet.rows[:_SAMPLED_ROWS]]
    at = next(number for number, count in enumerate(counts) if 2 * count > max(counts))
    widest = max(len(cells) for _, cells in sheet.rows)
    header = [*sheet.rows[at][1], *[""] * widest][:widest]
    names: list[str] = []
    for column, cell in enumerate(header, 1):
        name = " ".join(cell.split()) or column_letters(column)
        names.append(name if name not in names else f"{name} ({column_letters(column)})")
    rows = ((number, _strings(dict(zip(names, cells, strict=False)))) for number, cells in sheet.rows[at + 1 :])
    is_header = max(counts) > 1 and at + 1 < len(sheet.rows)
    return sheet.rows[: at if is_header else at + 1], rows


def _text_columns(rows: Sequence[Row]) -> set[str]:
    """Return the columns that contain text; without any, those that name the rows: products, people, places. An ID
    counts as text only if it is a name, as in "key,value"."""
    columns: dict[str, list[str]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    found = {name for name in columns if name.lower() in _TEXT_NAMES}
    found = found or {
        name
        for name, values in columns.items()
        if not _is_id(name) and _letters(values) >= _LEAST_LETTERS * len(values)
    }
    found = found or {name for name, values in columns.items() if _are_names(values)}
    if not found:
        raise NoTextColumnError
    return found


def _is_id(name: str) -> bool:
    return name.lower() in _ID_NAMES


def _letters(values: Sequence[str]) -> int:
    return sum(sum(map(str.isalpha, value)) for value in values)


def _are_names(values: Sequence[str]) -> bool:
    """Whether the values are words that tell rows apart: no codes, dates or categories."""
    letters, size = _letters(values), sum(map(len, values))
    return letters >= max(_LEAST_LETTERS_OF_NAMES * len(values), size / 2) and 2 * len(set(values)) > len(values)


def _of_lines(text: str) -> Iterator[tuple[int, Row]]:
    start = 0
    for number in count(1):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if end - start > _LONGEST_ROW:
            raise BadTableError(_TOO_LONG)
        if (line := text[start:end]).strip():
            try:
                yield number, _strings(decode_json(line.encode(), dict[str, object]))
            except msgspec.DecodeError as error:
                raise BadTableError(f"{number}: {error}") from error
        start = end + 1
        if start > len(text):
            return


def _strings(row: Mapping[str, object]) -> Row:
    """Return the values that are text or numbers; cells beyond the header have the name ""."""
    return {name: text for name, value in row.items() if (text := _text(value))}


def _text(value: object, depth: int = 0) -> str:
    match value:
        case str():
            return value.strip()
        case bool() | None:
            return ""
        case int() | float():
            return str(value)
        case list() if depth < _DEEPEST:
            return " ".join(filter(None, (_text(one, depth + 1) for one in cast(list[object], value))))
        case _:
            return ""
