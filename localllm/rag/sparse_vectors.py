"""Sparse vectors for BM25: the terms of a text hashed to numbers, each with its weight.

A store multiplies the weights of a passage with those of a query and each term's rarity (its inverse document
frequency, which it knows itself). So the formula of Robertson is whole: k1 and b are in the weights of passages.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from zlib import crc32

K1 = 1.2
B = 0.75


class SparseVector(NamedTuple):
    """Hashes of terms in ascending order, and the weight of each."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


def term_hash(term: str) -> int:
    """The number that stands for a term: 32 bits, so that of 200,000 terms some five share theirs with another."""
    return crc32(term.encode("utf-8", "surrogatepass"))


def passage_vector(terms: Iterable[str], average: float) -> SparseVector:
    """The vector of a passage; `average` is the number of terms of the passages in the mean."""
    counts = Counter(map(term_hash, terms))
    damping = K1 * (1 - B + B * counts.total() / max(average, 1.0))
    return _sorted({term: count * (K1 + 1) / (count + damping) for term, count in counts.items()})


def query_vector(weights: Mapping[str, float]) -> SparseVector:
    """The vector of a query, of its terms and what each counts."""
    hashed: dict[int, float] = {}
    for term, weight in weights.items():
        number = term_hash(term)
        hashed[number] = hashed.get(number, 0.0) + weight
    return _sorted(hashed)


def _sorted(weights: Mapping[int, float]) -> SparseVector:
    indices = sorted(weights)
    return SparseVector(tuple(indices), tuple(weights[index] for index in indices))
