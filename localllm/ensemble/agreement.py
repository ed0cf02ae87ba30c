"""How far the workers' answers agree: duplicates, a consensus, the answer in the middle of all."""

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
"""The share of the answers that makes a consensus."""

_FEWEST = 2
"""Answers of which a consensus can be spoken."""

_SAME_PROSE = 0.75
"""Resemblance from which prose says the same, if its numbers and its denials are the same too: a word or two may be
others. (Copies are told from 0.55, but those may say something else in a sentence.)"""

_MOST_UNLIKE = 1.5
"""Prose of which one is so many times as long as the other does not say the same."""

_LONGEST = 20_000
"""Characters of an answer that are compared."""

_GLANCE, _LEAST_SHARED = 800, 0.5
"""Characters at the beginning of an answer, and the share of pairs of words in common without which it does not
resemble another as much as `_SAME_PROSE`: words that differ are in fewer pairs than shingles, which are longer."""

_FEWEST_PAIRS = 60
"""Pairs without which a beginning tells too little: a text that repeats itself has few, of which a change is a large
share."""

_LONGEST_WORDS = 15
"""Characters to a word beyond which a text is not written in words between spaces."""

_N = 3
"""Characters of an n-gram; a word of Japanese has two or three."""

_NUMBERS = late_pattern(r"\d+(?:[.,]\d+)*")
_DENIAL = late_pattern(r"\b(?:not?|never|none|cannot|without)\b|n't\b|ない|ません|なかった|ず(?:に|、)|いいえ")
_CLOSING = " \t\r\n.。．!！,、*_"


class AnswerGroup(msgspec.Struct, frozen=True):
    """An answer and the indices of the workers that gave it, in the same words. The text is the first one's."""

    text: str
    workers: tuple[int, ...]


class AgreeingAnswers(msgspec.Struct, frozen=True):
    """Workers, by index, whose answers say the same; `value` is that in a few words, empty where it is prose."""

    workers: tuple[int, ...]
    value: str = ""


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """What can be said of the answers before a reviewer reads them.

    `groups`: each wording once, in the order of the workers. `opinions`: those that say the same in any wording, the
    most frequent first, then in the order of the workers. `consensus`: an opinion that two thirds share.
    `has_values`: the answers are values that can be compared, or sentences about one.
    """

    groups: tuple[AnswerGroup, ...]
    opinions: tuple[AgreeingAnswers, ...]
    consensus: AgreeingAnswers | None
    has_values: bool


def find_agreement(answers: Sequence[WorkerAnswer]) -> Agreement:
    """Compare the answers; those that failed do not count."""
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
    """What is equal for answers in the same words: without case, spacing, closing punctuation and width of letters. Of
    code the case and the indentation stay."""
    plain = unicodedata.normalize("NFKC", text)
    if "```" in plain:
        return "\n".join(line.rstrip() for line in plain.strip().splitlines())
    return " ".join(plain.casefold().split()).strip(_CLOSING)


def medoid(answers: Sequence[WorkerAnswer], weights: Sequence[float] = ()) -> int | None:
    """The index of the answer that is nearest to all others, by the n-grams of characters they have in common; of
    equally near ones that with the greatest weight, then the first. None where there is no answer."""
    grams = {index: _grams(answer.text) for index, answer in enumerate(answers) if not answer.has_failed}
    if not grams:
        return None

    def nearness(index: int) -> tuple[float, float, int]:
        total = sum(_overlap(grams[index], other) for at, other in grams.items() if at != index)
        return round(total, 9), weights[index] if weights else 1.0, -index

    return max(grams, key=nearness)


def _groups(texts: dict[int, str]) -> tuple[AnswerGroup, ...]:
    workers: dict[tuple[str, str], list[int]] = {}
    for index, text in texts.items():  # NFKC may make 18 characters of one
        workers.setdefault((wording(text[:_LONGEST]), text[_LONGEST:]), []).append(index)
    return tuple(AnswerGroup(texts[found[0]], tuple(found)) for found in workers.values())


def _opinions(groups: Sequence[AnswerGroup], values: dict[int, ShortAnswer | None]) -> list[AgreeingAnswers]:
    """Groups joined where they say the same. A value joins what agrees with any in it, for which of two roundings or
    wordings came first must not matter."""
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
    """Whether the beginnings of two texts have enough pairs of neighbours in common: a tenth of the work of telling how
    far they resemble one another, which most answers do not."""
    first, second = _neighbours(one[:_GLANCE]), _neighbours(other[:_GLANCE])
    if min(len(first), len(second)) < _FEWEST_PAIRS:
        return True
    shared = len(first & second)
    return shared >= _LEAST_SHARED * (len(first) + len(second) - shared)


@lru_cache(maxsize=64)
def _neighbours(text: str) -> frozenset[tuple[str, str]]:
    """The pairs of neighbouring words; of characters where there are few spaces, as in Japanese."""
    words: Sequence[str] = text.lower().split()
    units = text if len(text) > _LONGEST_WORDS * len(words) else words
    return frozenset(pairwise(units))


@lru_cache(maxsize=64)
def _facts(text: str) -> tuple[tuple[str, ...], int]:
    """The numbers of a text, sorted, and how often it denies."""
    return tuple(sorted(_NUMBERS.findall(text))), len(_DENIAL.findall(text))


_signature = lru_cache(maxsize=64)(signature)


def _grams(text: str) -> set[str]:
    plain = wording(text[:_LONGEST])
    return {plain[at : at + _N] for at in range(max(1, len(plain) - _N + 1))}


def _overlap(one: set[str], other: set[str]) -> float:
    """The share of n-grams two texts have in common (Jaccard's index)."""
    return len(one & other) / len(one | other)
