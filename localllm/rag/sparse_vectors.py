"""Sparse vectors for BM25: terms hashed to numbers, each with a weight.

A store multiplies the weights of a passage by those of a query and by each term's inverse document frequency, which it
knows itself. That makes the complete formula of Robertson: k1 and b are in the weights of passages.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from zlib import crc32

K1 = 1.2
B = 0.75


class SparseVector(NamedTuple):
    """Hashes of terms in ascending order, and their weights."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


def term_hash(term: str) -> int:
    """Hash a term to 32 bits; of 200,000 terms about five collide."""
    return crc32(term.encode("utf-8", "surrogatepass"))


def passage_vector(terms: Iterable[str], average: float) -> SparseVector:
    """Compute the vector of a passage; `average` is the mean number of terms per passage."""
    counts = Counter(map(term_hash, terms))
    damping = K1 * (1 - B + B * counts.total() / max(average, 1.0))
    return _sorted({term: count * (K1 + 1) / (count + damping) for term, count in counts.items()})


def query_vector(weights: Mapping[str, float]) -> SparseVector:
    """Compute the vector of a query from its weighted terms."""
    hashed: dict[int, float] = {}
    for term, weight in weights.items():
        number = term_hash(term)
        hashed[number] = hashed.get(number, 0.0) + weight
    return _sorted(hashed)


def _sorted(weights: Mapping[int, float]) -> SparseVector:
    indices = sorted(weights)
    return SparseVector(tuple(indices), tuple(weights[index] for index in indices))
