"""Query expansion: find synonyms for the words of a query.

They are used only for ranking; whether a passage is relevant is decided by the query's own words. With synonyms, as
many more irrelevant passages as relevant ones would reach the floor.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from localllm.rag.sparse_vectors import term_hash
from localllm.text.synonyms import find_synonyms
from localllm.text.tokenising import terms

_EXPANDED = 0.2
"""Weight of a synonym in the ranking, where a word of the query has 1."""


class Expansion(NamedTuple):
    """A word or phrase of a query, and its synonyms."""

    hashes: frozenset[int]
    """The hashes of the word's terms."""
    synonyms: tuple[tuple[str, ...], ...]
    """The terms of each synonym."""


def find_expansions(text: str) -> list[Expansion]:
    """Find the words of a query that have synonyms."""
    return [
        Expansion(
            frozenset(map(term_hash, terms(text[found.start : found.end]))),
            tuple(dict.fromkeys(synonym for synonym in map(_telling_terms, found.others) if synonym)),
        )
        for found in find_synonyms(text)
    ]


def with_synonyms(weights: Mapping[str, float], expansions: Iterable[Expansion]) -> dict[str, float]:
    """Add the terms of the synonyms to the weighted terms of a query."""
    weighed: dict[str, float] = {}
    for expansion in expansions:
        for synonym in expansion.synonyms:
            for term in synonym:
                weighed[term] = max(weighed.get(term, 0.0), _EXPANDED / len(synonym))
    return weighed | dict(weights)


def synonyms_of(hashes: Sequence[int], expansions: Iterable[Expansion]) -> tuple[frozenset[int], ...]:
    """Return the synonyms of a query word as hashed terms: all single-term synonyms as the first set, then one set per
    phrase."""
    mine = [one for each in expansions if not each.hashes.isdisjoint(hashes) for one in each.synonyms]
    single = frozenset(term_hash(one[0]) for one in mine if len(one) == 1)
    return single, *dict.fromkeys(frozenset(map(term_hash, one)) for one in mine if len(one) > 1)


def _telling_terms(synonym: str) -> tuple[str, ...]:
    """Return the terms of a synonym, without fragments of katakana words and single ideographs of longer ones."""
    found = [term for term in dict.fromkeys(terms(synonym)) if not _is_piece(term)]
    return tuple(term for term in found if len(found) == 1 or len(term) > 1)


def _is_piece(term: str) -> bool:
    return "\u3040" <= term[0] <= "\u309f" or (len(term) == 2 and "\u30a0" <= term[0] <= "\u30ff")
