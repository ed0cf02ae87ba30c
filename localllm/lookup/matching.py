"""How well the words of a name or a text fit a term of the question."""

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from localllm.lookup import vocabulary
from localllm.lookup.terms import Alternative, Term
from localllm.lookup.words import split_identifier, stem

_LEAST_STEM = 5
_LEAST_PART = 3
_SURELY = 0.9
_ADDRESS = re.compile(r"\b(?:https?|ftp)://\S+")
_PREFIX = re.compile(r"is|has|get|set|to|do|un")
_WORDS = re.compile(r"[A-Za-z0-9_$]+")


class Text(msgspec.Struct, frozen=True):
    """A text prepared for many questions of `text_fit`."""

    raw: str
    words: tuple[str, ...]


def prepare(raw: str) -> Text:
    """The words of `raw`, identifiers in it taken apart; addresses say nothing."""
    found: list[str] = _WORDS.findall(_ADDRESS.sub(" ", raw))
    return Text(raw, tuple(word for item in found for word in split_identifier(item)))


def text_fit(term: Term, text: Text) -> float:
    """How well `term` is mentioned in `text`, 0 to 1. Texts say many things: a synonym in them counts for less."""
    if term.literal and term.literal in text.raw:
        return 1.0
    return max(
        (alternative.weight**2 * _fit(alternative, text.words) for alternative in term.alternatives), default=0.0
    )


def name_fit(term: Term, words: Sequence[str]) -> float:
    """How well `term` is among the words of a name, 0 to 1."""
    return max((alternative.weight * _fit(alternative, words) for alternative in term.alternatives), default=0.0)


def fitting_words(term: Term, words: Sequence[str]) -> set[int]:
    """Which of `words` belong to `term`."""
    return {
        index
        for index, word in enumerate(words)
        for alternative in term.alternatives
        if any(word_fit(wanted, word) for wanted in alternative.words)
    }


def _fit(alternative: Alternative, words: Sequence[str]) -> float:
    wanted = alternative.words
    if len(wanted) == 1:
        return max((word_fit(wanted[0], word) for word in words), default=0.0)
    joined = "".join(wanted)
    if joined in words:
        return 1.0
    starts = range(len(words) - len(wanted) + 1)
    return max((min(map(word_fit, wanted, words[start : start + len(wanted)])) for start in starts), default=0.0)


@lru_cache(maxsize=100_000)
def word_fit(wanted: str, word: str) -> float:
    """How well one word stands for another: the same, a form of it, or a part of a compound name."""
    if wanted == word:
        return 1.0
    if min(len(wanted), len(word)) < 2 or (wanted[0] != word[0] and wanted not in word):
        return 0.0
    first, second = stem(wanted), stem(word)
    if first == second:
        return 0.0 if {wanted + "e", word + "e"} & {wanted, word} else 0.95
    short, long = sorted((first, second), key=len)
    if len(short) >= _LEAST_STEM and long.startswith(short) and long[len(short) :] in vocabulary.named("endings"):
        return 0.85
    return 0.8 if _is_part(first, wanted, word) else 0.0


def parts_of(word: str, asked: frozenset[str]) -> list[str]:
    """A word of a name, taken apart where it is written together from words that were asked for: squashmigrations,
    isprime."""
    if (prefix := _PREFIX.match(word)) and word[prefix.end() :] in asked:
        return [prefix[0], word[prefix.end() :]]
    for first in asked:
        root = first if word.startswith(first) else stem(first)
        rest = word[len(root) :] if word.startswith(root) else ""
        if min(len(root), len(rest)) >= _LEAST_PART and any(word_fit(other, rest) > _SURELY for other in asked):
            return [root, rest]
    return [word]


def _is_part(root: str, wanted: str, word: str) -> bool:
    """Whether `word` is made of `wanted` and another word of code, written without a break: uploadhandler, isprime."""
    if len(wanted) < _LEAST_PART or len(word) <= len(wanted):
        return False
    known = vocabulary.code_words()
    if word.startswith(wanted):
        if len(wanted) >= _LEAST_STEM - 1 and word[len(wanted) :] in vocabulary.named("derived"):
            return True
        return word[len(wanted) :] in known or stem(word[len(wanted) :]) in known
    ending = wanted if word.endswith(wanted) else root
    return len(ending) >= _LEAST_STEM - 1 and word.endswith(ending) and word[: -len(ending)] in known
