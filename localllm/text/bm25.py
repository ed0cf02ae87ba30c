"""Rank documents by the terms of a query: Okapi BM25 (Robertson and others, TREC-3, 1994)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nsmallest


class Bm25:
    """An in-memory index from terms to documents, updated one document at a time. Adding a known name replaces it.

    The weight of a term is ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative, so no term lowers a score.
    """

    def __init__(self, documents: Mapping[str, Iterable[str]] | None = None, *, k1: float = 1.2, b: float = 0.75):
        self._k1 = k1
        self._b = b
        self._postings: dict[str, dict[str, int]] = {}
        self._terms: dict[str, tuple[str, ...]] = {}
        self._lengths: dict[str, int] = {}
        self._total = 0
        for name, terms in (documents or {}).items():
            self.add(name, terms)

    def __len__(self) -> int:
        return len(self._terms)

    def __contains__(self, name: object) -> bool:
        return name in self._terms

    def add(self, name: str, terms: Iterable[str]) -> None:
        """Add a document, replacing an earlier one of the same name."""
        self.remove(name)
        counts = Counter(terms)
        postings = self._postings
        for term, count in counts.items():
            if (documents := postings.get(term)) is None:
                documents = postings[term] = {}
            documents[name] = count
        self._terms[name] = tuple(counts)
        self._lengths[name] = counts.total()
        self._total += self._lengths[name]

    def remove(self, name: str) -> None:
        """Remove a document, if present."""
        for term in self._terms.pop(name, ()):
            documents = self._postings[term]
            del documents[name]
            if not documents:
                del self._postings[term]
        self._total -= self._lengths.pop(name, 0)

    def scores(self, terms: Iterable[str]) -> dict[str, float]:
        """Return the score of every document with at least one of `terms`; a repeated term counts each time."""
        scores: dict[str, float] = {}
        k1, lengths = self._k1, self._lengths
        least, per_term = k1 * (1 - self._b), k1 * self._b * len(lengths) / max(self._total, 1)
        for term, asked in Counter(terms).items():
            documents = self._postings.get(term, {})
            weight = asked * self.weight(term) * (k1 + 1)
            for name, count in documents.items():
                part = weight * count / (count + least + per_term * lengths[name])
                scores[name] = scores.get(name, 0.0) + part
        return scores

    def weight(self, term: str) -> float:
        """Return a term's inverse document frequency."""
        having = len(self._postings.get(term, ()))
        return math.log1p((len(self._terms) - having + 0.5) / (having + 0.5))

    def best(self, terms: Iterable[str], count: int) -> list[tuple[str, float]]:
        """Return the `count` best documents with their scores, best first; ties are ordered by name."""
        return nsmallest(count, self.scores(terms).items(), key=lambda item: (-item[1], item[0]))
