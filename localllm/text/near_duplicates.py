"""Texts that are nearly the same: copies of one press release, mirrors of a page, also where a few words differ.

A. Z. Broder: On the resemblance and containment of documents (1997). A text is the set of its overlapping shingles; of
their hashes the smallest are its signature, a random sample by which the resemblance of two sets (Jaccard's index) is
estimated: exactly where a text has no more shingles than a signature holds.
"""

import unicodedata
from hashlib import blake2b

from localllm.base.lazy_patterns import late_pattern
from localllm.text.quotes import find_quote
from localllm.text.sentences import Span, split_sentences

SIZE = 256
"""Hashes of a signature: the estimate is off by 0.03 (one standard deviation, at the threshold)."""

THRESHOLD = 0.55
"""Resemblance from which two texts are copies. Of the texts of the tests, one number changed leaves 0.9 and more in six
sentences, other headers and footers around a press release of sixteen leave 0.67; articles of one site that are as
short as its navigation have 0.16 in common."""

_WEIGHT = 8
"""Of a shingle: four words, or eight characters of Japanese, which tell as much."""

_PROSE = 40
"""A line of less weight with no end of a sentence in it is navigation: a menu, a button, a headline."""

_LEAST_SHARE = 0.3
"""If prose is less of a text than this, all of it counts: a table, a list, code."""

_UNIT = late_pattern(
    r"[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff々〆]|[^\W\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff々〆_]+"
)
_SENTENCE_END = late_pattern(r"[。．！？]|[.!?](?:\s|$)")
_NUMBER = late_pattern(r"[\d.,〇一二三四五六七八九十百千万億兆\s]+")
_LEAST_WORDS = 6
"""Letters of a sentence without its numbers by which it is known again."""


def signature(text: str) -> tuple[int, ...]:
    """The smallest hashes of the text's shingles, in their order; of a text without words, none."""
    lines = [_units(line) for line in unicodedata.normalize("NFKC", text).lower().splitlines()]
    prose = [units for units, is_prose in lines if is_prose]
    whole = [units for units, _ in lines]
    is_mostly_prose = sum(map(len, prose)) >= _LEAST_SHARE * sum(map(len, whole))
    units = [unit for line in (prose if is_mostly_prose else whole) for unit in line]
    hashes = {_hash(shingle) for shingle in _shingles(units)}
    return tuple(sorted(hashes)[:SIZE])


def is_near_duplicate(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether the texts of two signatures are copies of one another; those without words are copies of nothing."""
    return resemblance(a, b) >= THRESHOLD


def resemblance(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    """The share of shingles two texts have in common, from 0 to 1, estimated from their signatures."""
    if not a or not b:
        return 0.0
    both = set(a) & set(b)
    sample = sorted({*a, *b})[:SIZE]
    return sum(one in both for one in sample) / len(sample)


def counterpart(sentence: str, text: str) -> Span | None:
    """Where a copy has a sentence of its original, as it is or a little altered: a short one in its numbers alone."""
    if found := find_quote(sentence, text):
        return found
    wanted = _without_numbers(sentence)
    if len(wanted) < _LEAST_WORDS:
        return None
    return next((one for one in split_sentences(text) if _without_numbers(text[one.start : one.end]) == wanted), None)


def _without_numbers(sentence: str) -> str:
    return _NUMBER.sub("", unicodedata.normalize("NFKC", sentence).lower())


def _units(line: str) -> tuple[list[str], bool]:
    """The words of a line, and the characters of Japanese in it; whether it is prose."""
    units: list[str] = _UNIT.findall(line)
    return units, sum(map(_weight, units)) >= _PROSE or _SENTENCE_END.search(line) is not None


def _weight(unit: str) -> int:
    return 1 if unit > "\u3040" else 2


def _shingles(units: list[str]) -> list[str]:
    """Runs of units that overlap in all but the first; of a text shorter than one, the text."""
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
