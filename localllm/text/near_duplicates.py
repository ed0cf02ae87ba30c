"""Detect near-duplicate texts: copies of one press release, mirrors of a page, even if a few words differ.

A. Z. Broder: On the resemblance and containment of documents (1997). A text is the set of its overlapping shingles; the
smallest of their hashes are its signature, a random sample that estimates the resemblance of two sets (Jaccard's
index): exactly if a text has no more shingles than a signature holds.
"""

import unicodedata
from hashlib import blake2b

from localllm.base.lazy_patterns import late_pattern
from localllm.text.quotes import find_quote
from localllm.text.sentences import Span, split_sentences

SIZE = 256
"""Hashes per signature: the estimate has a standard deviation of 0.03 at the threshold."""

THRESHOLD = 0.55
"""Resemblance from which two texts are copies.
Among the texts of the tests, a changed number leaves 0.9 and more in six sentences, other headers and footers
around a press release of sixteen leave 0.67; articles of one site as short as its navigation share 0.16."""

_WEIGHT = 8
"""Weight of a shingle: four words, or eight Japanese characters, which carry as much information."""

_PROSE = 40
"""A line of less weight without a sentence end is navigation: a menu, a button, a headline."""

_LEAST_SHARE = 0.3
"""If less of a text than this is prose, all of it counts: a table, a list, code."""

_UNIT = late_pattern(
    r"[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff々〆]|[^\W\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff々〆_]+"
)
_SENTENCE_END = late_pattern(r"[。．！？]|[.!?](?:\s|$)")
_NUMBER = late_pattern(r"[\d.,〇一二三四五六七八九十百千万億兆\s]+")
_LEAST_WORDS = 6
"""Minimum letters, without numbers, by which a sentence is recognised."""


def signature(text: str) -> tuple[int, ...]:
    """Return the smallest hashes of the text's shingles in order; empty for a text without words."""
    lines = [_units(line) for line in unicodedata.normalize("NFKC", text).lower().splitlines()]
    prose = [units for units, is_prose in lines if is_prose]
    whole = [units for units, _ in lines]
    is_mostly_prose = sum(map(len, prose)) >= _LEAST_SHARE * sum(map(len, whole))
    units = [unit for line in (prose if is_mostly_prose else whole) for unit in line]
    hashes = {_hash(shingle) for shingle in _shingles(units)}
    return tuple(sorted(hashes)[:SIZE])


def is_near_duplicate(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Return whether the texts of two signatures are copies; texts without words never are."""
    return resemblance(a, b) >= THRESHOLD


def resemblance(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    """Estimate the share of shingles two texts have in common, from 0 to 1, from their signatures."""
    if not a or not b:
        return 0.0
    both = set(a) & set(b)
    sample = sorted({*a, *b})[:SIZE]
    return sum(one in both for one in sample) / len(sample)


def counterpart(sentence: str, text: str) -> Span | None:
    """Find a sentence's counterpart in a copy, slightly altered or, if short, different only in numbers."""
    if found := find_quote(sentence, text):
        return found
    wanted = _without_numbers(sentence)
    if len(wanted) < _LEAST_WORDS:
        return None
    return next((one for one in split_sentences(text) if _without_numbers(text[one.start : one.end]) == wanted), None)


def _without_numbers(sentence: str) -> str:
    return _NUMBER.sub("", unicodedata.normalize("NFKC", sentence).lower())


def _units(line: str) -> tuple[list[str], bool]:
    """Return the words and Japanese characters of a line, and whether it is prose."""
    units: list[str] = _UNIT.findall(line)
    return units, sum(map(_weight, units)) >= _PROSE or _SENTENCE_END.search(line) is not None


def _weight(unit: str) -> int:
    return 1 if unit > "\u3040" else 2


def _shingles(units: list[str]) -> list[str]:
    """Return overlapping runs of units; for a text shorter than a shingle, the text."""
    shingles: list[str] = []
    end = weight = 0
    for start, unit in enumerate(units):
        while end < len(units) and weight < _WEIGHT:
            weight += _weight(units[end])
            end += 1
        if weight < _WEIGHT and shingles:
            break
        shingles.append(" ".join(units[start:end]))
        weight -= _weight(unit)
    return shingles


def _hash(shingle: str) -> int:
    return int.from_bytes(blake2b(shingle.encode(), digest_size=8).digest(), "big")
