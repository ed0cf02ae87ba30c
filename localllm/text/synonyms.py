"""Synonyms in English and Japanese, for queries whose words differ from the documents'.

Their source is `scripts/synonyms.txt`, from which `scripts/pack_synonyms.py` builds the table; it is loaded on first
use.
"""

import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.text.tokenising import stem

_FILE = Path(__file__).with_name("synonyms.json.gz")
LATIN = late_pattern(r"[A-Za-z0-9]+")
_IDEOGRAPH = late_pattern("[\u3400-\u9fff々]")
JAPANESE = late_pattern("[\u3040-\u30ff\u3400-\u9fff々]")
_GZIP = 31
"""zlib's wbits for the gzip format."""
_MOST_WORDS = 4
"""Maximum words of a phrase."""


class Synonyms(NamedTuple):
    """The synonyms of the word or phrase at text[start:end]."""

    start: int
    end: int
    others: tuple[str, ...]


class Table(NamedTuple):
    """The synonyms by word."""

    latin: Mapping[str, tuple[str, ...]]
    """By the stems of a phrase's words, joined by blanks."""
    japanese: Mapping[str, tuple[str, ...]]
    longest: int
    """Length of the longest Japanese key."""


def find_synonyms(text: str) -> Iterator[Synonyms]:
    """Yield the words and phrases of a text that have synonyms, the longest at each position."""
    yield from _in_latin(text, _table())
    yield from _in_japanese(text, _table())


def _in_latin(text: str, table: Table) -> Iterator[Synonyms]:
    words = [*LATIN.finditer(text)]
    stems = [stem_of(word[0]) for word in words]
    at = 0
    while at < len(words):
        lengths = range(min(_MOST_WORDS, len(words) - at), 0, -1)
        length = next((length for length in lengths if " ".join(stems[at : at + length]) in table.latin), 0)
        if length:
            others = table.latin[" ".join(stems[at : at + length])]
            yield Synonyms(words[at].start(), words[at + length - 1].end(), others)
        at += max(length, 1)


def _in_japanese(text: str, table: Table) -> Iterator[Synonyms]:
    at = 0
    while found := JAPANESE.search(text, at):
        at = found.start()
        lengths = range(min(table.longest, len(text) - at), 0, -1)
        length = next((length for length in lengths if text[at : at + length] in table.japanese), 0)
        if length > 1 or (length and not _is_inside(text, at)):
            yield Synonyms(at, at + length, table.japanese[text[at : at + length]])
        at += max(length, 1)


def _is_inside(text: str, at: int) -> bool:
    """Return whether an ideograph is part of a longer word: 日 in 本日 is not "day"."""
    return bool(_IDEOGRAPH.match(text, at + 1) or (at and _IDEOGRAPH.match(text, at - 1)))


def stem_of(word: str) -> str:
    """Return the lookup form of a Latin word."""
    return stem(word.lower()) if word.isalpha() else word.lower()


@cache
def _table() -> Table:
    return msgspec.json.decode(zlib.decompress(_FILE.read_bytes(), wbits=_GZIP), type=Table)
