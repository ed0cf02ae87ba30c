"""What a text is found by: the terms of a search over words (BM25), for prose, code and Japanese.

English words without the commonest ones, as their stems. Japanese without a dictionary: kanji one by one and in pairs,
katakana words whole and in pairs, hiragana in threes (shorter runs are particles and endings). Identifiers whole and
in their parts.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

from localllm.text.stemming import stem

VERSION = 1
"""Grows when `terms` changes, so that an index kept on disk knows that it is stale."""

_LONGEST = 64  # of a term; longer ones are data, such as base64, and nobody searches for them

_COMMON = """
a about after all also am an and any are as at be because been before being but by can could d did do does doing don
down during each for from had has have having he her here hers him his how i if in into is it its itself just ll m me
more most my no nor not now of off on once only or other our ours out over own re s same shall she should so some such
t than that the their theirs them then there these they this those through to too under until up us ve very was we
were what when where which while who whom why will with would you your yours
"""
_STOP_WORDS = frozenset(_COMMON.split())


def terms(text: str) -> list[str]:
    """The terms of `text` in their order, each as often as it occurs. The same for what is kept and what is asked."""
    found: list[str] = []
    for match in _runs().finditer(text if text.isascii() else unicodedata.normalize("NFKC", text)):
        match match.lastgroup:
            case "kanji":
                found += _grams(match[0], 1) + _grams(match[0], 2)
            case "pairs":
                found += [match[0]] + (_grams(match[0], 2) if len(match[0]) > 2 else [])
            case "hiragana":
                found += _grams(match[0], 3)
            case _:
                found += _of_word(match[0])
    return found


@cache
def _runs() -> re.Pattern[str]:
    """Runs of one script. Compiled at the first use, because that takes a few milliseconds."""
    kanji = "々〆\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    katakana, hiragana, hangul = "\u30a1-\u30fa\u30fc", "\u3041-\u3096", "\uac00-\ud7a3"
    return re.compile(
        rf"(?P<kanji>[{kanji}]+)"
        rf"|(?P<pairs>[{katakana}]+|[{hangul}]+)"
        rf"|(?P<hiragana>[{hiragana}][{hiragana}\u30fc]*)"
        rf"|(?P<word>(?:(?![{kanji}{katakana}{hiragana}{hangul}])\w)+)"
    )


def _grams(run: str, length: int) -> list[str]:
    return [run[at : at + length] for at in range(len(run) - length + 1)]


_COMPOUND = re.compile(r"_|[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_PARTS = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])[0-9]*|[A-Z]?[^\W_A-Z]+")


@lru_cache(maxsize=50_000)
def _of_word(word: str) -> tuple[str, ...]:
    """The terms of a word or identifier: none for a stop word; whole and parts for fetchPage, fetch_page."""
    word = word.strip("_")
    if not word or len(word) > _LONGEST:
        return ()
    whole = (_stemmed(word),) if word.lower() not in _STOP_WORDS else ()
    return (*whole, *_parts(word)) if _COMPOUND.search(word) else whole


def _parts(identifier: str) -> Iterator[str]:
    lowered = (part.lower() for part in _PARTS.findall(identifier))
    return (_stemmed(part) for part in lowered if part not in _STOP_WORDS)


def _stemmed(word: str) -> str:
    word = word.lower()
    return stem(word) if word.isascii() and word.isalpha() else word
