"""Read the rows of CSV, TSV and JSONL files that contain text, each as a block."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import cast

import msgspec

from localllm.base.jsontext import decode_json
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
_LONGEST_TITLE = 120

Row = dict[str, str]


class NoTextColumnError(ValueError):
    """No column contains text."""


class BadTableError(ValueError):
    """The file is no valid table of this type; the message has the reason."""


def table_rows(file_name: str, text: str) -> list[tuple[int, Row]]:
    """Read the rows of a file with their numbers from 1. Raises BadTableError."""
    if file_name.lower().endswith((".jsonl", ".ndjson")):
        return _of_lines(text)
    try:
        delimiter = _delimiter(text, "\t" if file_name.lower().endswith(".tsv") else ",")
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restkey="", skipinitialspace=True)
        return [(number, _strings(cast(Mapping[str, object], row))) for number, row in enumerate(reader, 1)]
    except csv.Error as error:
        raise BadTableError(str(error)) from error


def _delimiter(text: str, usual: str) -> str:
    """Detect the delimiter: the one that splits most of the first rows into as many cells as the first row, and into
    most cells. csv.Sniffer takes seconds for some texts."""

    def fit(delimiter: str) -> tuple[int, int, bool]:
        sample = io.StringIO(text[:_SAMPLED], newline="")
        widths = [len(row) for row in islice(csv.reader(sample, delimiter=delimiter), _SAMPLED_ROWS) if row]
        first = widths[0] if widths else 0
        return (widths.count(first) if first > 1 else 0), first, delimiter == usual

    return max(",;\t", key=fit)


def row_blocks(rows: Sequence[tuple[int, Row]]) -> Iterator[Block]:
    """Yield a block per row: all its columns by name, or the text alone if it is the only column. Raises
    NoTextColumnError."""
    names = _text_columns([row for _, row in islice(rows, _SAMPLE)])
    for number, row in rows:
        kept = {name: value for name, value in row.items() if value and name.lower() not in _ID_NAMES}
        if not any(row.get(name) for name in names):
            continue
        title = next((value for name, value in kept.items() if name.lower() in _TITLE_NAMES), "")
        text = "\n".join(kept.values() if len(kept) == 1 else (f"{name}: {value}" for name, value in kept.items()))
        headings = (title[:_LONGEST_TITLE],) if title else ()
        yield Block(text, headings, "row", number, number, is_alone=True)


def _text_columns(rows: Sequence[Row]) -> set[str]:
    names = {name for row in rows for name in row}
    found = {name for name in names if name.lower() in _TEXT_NAMES}
    found = found or {name for name in names if _letters(rows, name) >= _LEAST_LETTERS}
    if not found:
        raise NoTextColumnError
    return found


def _letters(rows: Sequence[Row], name: str) -> float:
    values = [row[name] for row in rows if row.get(name)]
    return sum(sum(map(str.isalpha, value)) for value in values) / max(1, len(values))


def _of_lines(text: str) -> list[tuple[int, Row]]:
    found: list[tuple[int, Row]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found.append((number, _strings(decode_json(line.encode(), dict[str, object]))))
        except msgspec.DecodeError as error:
            raise BadTableError(f"{number}: {error}") from error
    return found


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
