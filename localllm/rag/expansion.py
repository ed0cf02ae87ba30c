"""Query expansion: what else the words of a query may be called where its answer stands.

Only for the ranking: whether a passage answers at all is told by the query's own words. With synonyms more of what
answers reaches the floor, and as much more of what only stands close by.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from localllm.rag.sparse_vectors import term_hash
from localllm.text.synonyms import find_synonyms
from localllm.text.tokenising import terms

_EXPANDED = 0.2
"""What a synonym counts in the ranking, beside 1 of a word."""


class Expansion(NamedTuple):
    """A word or phrase of a query, and its synonyms."""

    hashes: frozenset[int]
    """Of the terms of the word."""
    synonyms: tuple[tuple[str, ...], ...]
    """The terms of each."""


def find_expansions(text: str) -> list[Expansion]:
    """The words of a query that may be said otherwise."""
    return [
        Expansion(
            frozenset(map(term_hash, terms(text[found.start : found.end]))),
            tuple(dict.fromkeys(synonym for synonym in map(_telling_terms, found.others) if synonym)),
        )
        for found in find_synonyms(text)
    ]


def with_synonyms(weights: Mapping[str, float], expansions: Iterable[Expansion]) -> dict[str, float]:
    """The terms of a query and what each counts, with those of the synonyms."""
    weighed: dict[str, float] = {}
    for expansion in expansions:
        for synonym in expansion.synonyms:
            for term in synonym:
                weighed[term] = max(weighed.get(term, 0.0), _EXPANDED / len(synonym))
    return weighed | dict(weights)


def synonyms_of(hashes: Sequence[int], expansions: Iterable[Expansion]) -> tuple[frozenset[int], ...]:
    """The synonyms of a query's word, as the hashes of their terms: first all those of a single term together."""
    mine = [one for each in expansions if not each.hashes.isdisjoint(hashes) for one in each.synonyms]
    single = frozenset(term_hash(one[0]) for one in mine if len(one) == 1)
    return single, *dict.fromkeys(frozenset(map(term_hash, one)) for one in mine if len(one) > 1)


def _telling_terms(synonym: str) -> tuple[str, ...]:
    """The terms of a synonym, without pieces of words of katakana, and without single ideographs of longer ones."""
    found = [term for term in dict.fromkeys(terms(synonym)) if not _is_piece(term)]
    return tuple(term for term in found if len(found) == 1 or len(term) > 1)


def _is_piece(term: str) -> bool:
    return "\u3040" <= term[0] <= "\u309f" or (len(term) == 2 and "\u30a0" <= term[0] <= "\u30ff")
