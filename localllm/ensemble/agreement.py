"""Measure the agreement of the workers' answers: duplicates, consensus, and the medoid."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.ensemble.records import WorkerAnswer
from localllm.ensemble.short_answers import ShortAnswer, agree, short_answer
from localllm.text.near_duplicates import resemblance, signature

QUORUM = 2 / 3
"""Share of the answers that makes a consensus."""

_FEWEST = 2
"""Fewest answers that can have a consensus."""

_SAME_PROSE = 0.75
"""Similarity from which prose is equivalent, if its numbers and negations are equal too: a word or two may differ.
(Copies are detected from 0.55, but those may differ in a sentence.)"""

_MOST_UNLIKE = 1.5
"""Greatest ratio of the lengths of equivalent prose."""

_LONGEST = 20_000
"""Characters of an answer that are compared."""

_GLANCE, _LEAST_SHARED = 800, 0.5
"""Prefilter: characters at the beginning of an answer, and the share of word pairs in common without which two answers
cannot reach `_SAME_PROSE`: a differing word is in fewer pairs than in shingles, which are longer."""

_FEWEST_PAIRS = 60
"""Fewest pairs for the prefilter: a repetitive text has few, of which a change is a large share."""

_LONGEST_WORDS = 15
"""Characters per word beyond which a text is not written in words between spaces."""

_N = 3
"""Characters per n-gram; a Japanese word has two or three."""

_NUMBERS = late_pattern(r"\d+(?:[.,]\d+)*")
_DENIAL = late_pattern(r"\b(?:not?|never|none|cannot|without)\b|n't\b|ない|ません|なかった|ず(?:に|、)|いいえ")
_CLOSING = " \t\r\n.。．!！,、*_"


class AnswerGroup(msgspec.Struct, frozen=True):
    """A distinct wording of an answer and the indices of the workers that gave it. The text is the first one's."""

    text: str
    workers: tuple[int, ...]


class AgreeingAnswers(msgspec.Struct, frozen=True):
    """The indices of workers with equivalent answers; `value` is the common value, empty for prose."""

    workers: tuple[int, ...]
    value: str = ""


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """The agreement of the answers before the review.

    `groups`: the distinct wordings, in the order of the workers. `opinions`: equivalent answers in any wording, by
    frequency, then in the order of the workers. `consensus`: an opinion that two thirds share. `has_values`: the
    answers are comparable values, or sentences about one.
    """

    groups: tuple[AnswerGroup, ...]
    opinions: tuple[AgreeingAnswers, ...]
    consensus: AgreeingAnswers | None
    has_values: bool


def find_agreement(answers: Sequence[WorkerAnswer]) -> Agreement:
    """Compare the answers, without failed ones."""
    texts = {index: answer.text for index, answer in enumerate(answers) if not answer.has_failed}
    values = {index: short_answer(text) for index, text in texts.items()}
    groups = _groups(texts)
    opinions = sorted(_opinions(groups, values), key=lambda one: -len(one.workers))
    first = opinions[0] if opinions else None
    is_shared = first is not None and len(texts) >= _FEWEST and len(first.workers) >= QUORUM * len(texts) - 1e-9
    return Agreement(
        groups=groups,
        opinions=tuple(opinions),
        consensus=first if is_shared else None,
        has_values=all(values.values()) and any(one and one.kind != "sentence" for one in values.values()),
    )


def wording(text: str) -> str:
    """Normalise an answer: fold case, spacing, closing punctuation and character width; in code, keep case and
    indentation."""
    plain = unicodedata.normalize("NFKC", text)
    if "```" in plain:
        return "\n".join(line.rstrip() for line in plain.strip().splitlines())
    return " ".join(plain.casefold().split()).strip(_CLOSING)


def medoid(answers: Sequence[WorkerAnswer], weights: Sequence[float] = ()) -> int | None:
    """Return the index of the answer with the most character n-grams in common with all others; ties go to the greatest
    weight, then the first. None if there is no answer."""
    grams = {index: _grams(answer.text) for index, answer in enumerate(answers) if not answer.has_failed}
    if not grams:
        return None

    def nearness(index: int) -> tuple[float, float, int]:
        total = sum(_overlap(grams[index], other) for at, other in grams.items() if at != index)
        return round(total, 9), weights[index] if weights else 1.0, -index

    return max(grams, key=nearness)


def _groups(texts: dict[int, str]) -> tuple[AnswerGroup, ...]:
    workers: dict[tuple[str, str], list[int]] = {}
    for index, text in texts.items():  # NFKC may expand one character to 18
        workers.setdefault((wording(text[:_LONGEST]), text[_LONGEST:]), []).append(index)
    return tuple(AnswerGroup(texts[found[0]], tuple(found)) for found in workers.values())


def _opinions(groups: Sequence[AnswerGroup], values: dict[int, ShortAnswer | None]) -> list[AgreeingAnswers]:
    """Merge equivalent groups. A value joins an opinion if it agrees with any member, so that the order of roundings or
    wordings does not matter."""
    found: list[list[AnswerGroup]] = []
    for group in groups:
        joined = [one for one in found if any(_say_the_same(group, other, values) for other in one)]
        merged = [*(other for one in joined for other in one), group]
        found = [one for one in found if one not in joined] + [merged]
    opinions = [(tuple(sorted(at for group in one for at in group.workers)), one) for one in found]
    return [
        AgreeingAnswers(workers, _shortest(one, values)) for workers, one in sorted(opinions, key=lambda one: one[0])
    ]


def _say_the_same(one: AnswerGroup, other: AnswerGroup, values: dict[int, ShortAnswer | None]) -> bool:
    first, second = values[one.workers[0]], values[other.workers[0]]
    if first and second:
        return agree(first, second)
    return not first and not second and _is_same_prose(one.text, other.text)


def _shortest(groups: Sequence[AnswerGroup], values: dict[int, ShortAnswer | None]) -> str:
    said = [value.text for group in groups if (value := values[group.workers[0]])]
    return min(said, key=len, default="")


def _is_same_prose(one: str, other: str) -> bool:
    shorter, longer = sorted((len(one), len(other)))
    if longer > _MOST_UNLIKE * shorter or not _may_resemble(one, other) or _facts(one) != _facts(other):
        return False
    return resemblance(_signature(one[:_LONGEST]), _signature(other[:_LONGEST])) >= _SAME_PROSE


def _may_resemble(one: str, other: str) -> bool:
    """Whether the beginnings of two texts have enough word pairs in common: a prefilter at a tenth of the cost of the
    similarity, which rejects most pairs."""
    first, second = _neighbours(one[:_GLANCE]), _neighbours(other[:_GLANCE])
    if min(len(first), len(second)) < _FEWEST_PAIRS:
        return True
    shared = len(first & second)
    return shared >= _LEAST_SHARED * (len(first) + len(second) - shared)


@lru_cache(maxsize=64)
def _neighbours(text: str) -> frozenset[tuple[str, str]]:
    """Return the pairs of adjacent words, or of characters in a text with few spaces, such as Japanese."""
    words: Sequence[str] = text.lower().split()
    units = text if len(text) > _LONGEST_WORDS * len(words) else words
    return frozenset(pairwise(units))


@lru_cache(maxsize=64)
def _facts(text: str) -> tuple[tuple[str, ...], int]:
    """Return the sorted numbers of a text and its count of negations."""
    return tuple(sorted(_NUMBERS.findall(text))), len(_DENIAL.findall(text))


_signature = lru_cache(maxsize=64)(signature)


def _grams(text: str) -> set[str]:
    plain = wording(text[:_LONGEST])
    return {plain[at : at + _N] for at in range(max(1, len(plain) - _N + 1))}


def _overlap(one: set[str], other: set[str]) -> float:
    """Return the Jaccard index of two n-gram sets."""
    return len(one & other) / len(one | other)
