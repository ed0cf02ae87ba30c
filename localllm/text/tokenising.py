"""Extract search terms (BM25): stemmed Latin words, Japanese character pairs, parts of code identifiers."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple, cast

_STEP_2 = (
    "ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble alli>al entli>ent eli>e ousli>ous ization>ize "
    "ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble logi>log"
)
_STEP_3 = "icate>ic ative> alize>al iciti>ic ical>ic ful> ness>"
_STEP_4 = "al> ance> ence> er> ic> able> ible> ant> ement> ment> ent> sion>s tion>t ou> ism> ate> iti> ous> ive> ize>"


def stem(word: str) -> str:
    """Stem `word`, which must be lower-case ASCII letters (Porter). Words of up to two letters are unchanged."""
    if len(word) <= 2:
        return word
    word = _without_plural(word)
    word = _without_past(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2, 0)
    word = _replaced(word, _STEP_3, 0)
    word = _replaced(word, _STEP_4, 1)
    return _without_last_letter(word)


def _shape(word: str) -> str:
    """Map consonants of `word` to "c" and vowels to "v"; a y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape[-1:] == "c") else "c"
    return shape


def _measure(word: str) -> int:
    """Return the m of the paper, [C](VC)^m[V]."""
    return _shape(word).count("vc")


def _ends_short(word: str) -> bool:
    """Return whether it ends consonant, vowel, consonant, the last not w, x or y: the *o of the paper."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _ends_double(word: str) -> bool:
    return word[-1:] == word[-2:-1] and _shape(word).endswith("c")


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = next((ending for ending in ("ed", "ing") if word.endswith(ending)), "")
    kept = word.removesuffix(ending)
    if not ending or "v" not in _shape(kept):
        return word
    if kept.endswith(("at", "bl", "iz")) or (_measure(kept) == 1 and _ends_short(kept)):
        return kept + "e"
    return kept[:-1] if _ends_double(kept) and kept[-1] not in "lsz" else kept


@cache
def _rules(written: str) -> tuple[re.Pattern[str], dict[str, str]]:
    """Parse a step's rules: suffixes and their replacements."""
    rules = dict(rule.split(">") for rule in written.split())
    return re.compile(f"(?:{'|'.join(rules)})$"), rules


def _replaced(word: str, step: str, least: int) -> str:
    """Replace the longest suffix of the step in `word`, if the rest has a measure over `least`."""
    endings, rules = _rules(step)
    if not (found := endings.search(word)):  # the leftmost match is the longest suffix
        return word
    changed = word[: found.start()] + rules[found[0]]
    measured = changed if found[0].endswith("ion") and step == _STEP_4 else word[: found.start()]
    return changed if _measure(measured) > least else word


def _without_last_letter(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


VERSION = 2
"""Incremented when `terms` changes, to invalidate stored indexes."""

_LONGEST = 64  # of a term; longer ones are data, such as base64

_COMMON = """
a about after all also am an and any are aren as at be because been before being but by can could couldn d did didn do
does doesn doing don down during each for from had hadn has hasn have haven having he her here hers him his how i if in
into is isn it its itself just ll m me more most my no nor not now of off on once only or other our ours out over own re
s same shall she should shouldn so some such t than that the their theirs them then there these they this those through
to too under until up us ve very was wasn we were weren what when where which while who whom why will with would wouldn
you your yours
"""
_STOP_WORDS = frozenset(_COMMON.split())


RunKind = Literal["kanji", "pairs", "hiragana", "word"]
"""`pairs`: katakana or hangul."""


class Run(NamedTuple):
    """A run of one script: a Latin word or identifier, ideographs, katakana, hiragana."""

    kind: RunKind
    text: str
    terms: tuple[str, ...]


def runs(text: str) -> Iterator[Run]:
    """Yield the runs of `text` in order with their terms, skipping those without terms."""
    for match in _runs().finditer(text if text.isascii() else unicodedata.normalize("NFKC", text)):
        kind = cast("RunKind", match.lastgroup)
        if found := _terms_of(kind, match[0]):
            yield Run(kind, match[0], tuple(found))


def terms(text: str) -> list[str]:
    """Return the terms of `text` in order, with repetitions. Used for both documents and queries."""
    found: list[str] = []
    for match in _runs().finditer(text if text.isascii() else unicodedata.normalize("NFKC", text)):
        found += _terms_of(cast("RunKind", match.lastgroup), match[0])
    return found


def _terms_of(kind: RunKind, run: str) -> Sequence[str]:
    match kind:
        case "kanji":
            return _grams(run, 1) + _grams(run, 2)
        case "pairs":
            word = _without_long_vowel(run)
            return [word, *(_grams(word, 2) if len(word) > 2 else [])]
        case "hiragana":
            return _grams(run, 3)
        case "word":
            return _of_word(run)


@cache
def _runs() -> re.Pattern[str]:
    """Match runs of one script. Compiled on first use, as that takes a few milliseconds."""
    kanji = "々〆\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    katakana, hiragana, hangul = "\u30a1-\u30fa\u30fc", "\u3041-\u3096", "\uac00-\ud7a3"
    return re.compile(
        rf"(?P<kanji>[{kanji}]+)"
        rf"|(?P<pairs>[{katakana}]+|[{hangul}]+)"
        rf"|(?P<hiragana>[{hiragana}][{hiragana}\u30fc]*)"
        rf"|(?P<word>(?:(?![{kanji}{katakana}{hiragana}{hangul}])\w)+)"
    )


_SHORTEST_FOLDED = 4


def _without_long_vowel(run: str) -> str:
    """Remove an optional final long vowel: サーバー, サーバ.
    Short words, such as コピー and ルビー, always have it, or are other words without."""
    return run[:-1] if len(run) >= _SHORTEST_FOLDED and run.endswith("ー") and run[-2] != "ー" else run


def _grams(run: str, length: int) -> list[str]:
    return [run[at : at + length] for at in range(len(run) - length + 1)]


_COMPOUND = re.compile(r"_|[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_PARTS = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])[0-9]*|[A-Z]?[^\W_A-Z]+")


@lru_cache(maxsize=50_000)
def _of_word(word: str) -> tuple[str, ...]:
    """Return the terms of a word or identifier: none for a stop word; whole and parts for fetchPage, fetch_page."""
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
