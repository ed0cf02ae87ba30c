"""Reciprocal rank fusion: merge rankings by rank alone, since scores of engines are not comparable.

G. V. Cormack, C. L. A. Clarke, S. Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
Methods. SIGIR 2009. The score of a page is the sum over the rankings it is in of 1 / (k + rank), rank from 1.
"""

from collections.abc import Sequence
from typing import NamedTuple

K = 60
"""The paper's best k; a larger one gives top ranks less weight."""


class Fused(NamedTuple):
    """An item, and its fused score."""

    item: str
    score: float


def fuse(rankings: Sequence[Sequence[str]], k: int = K) -> list[Fused]:
    """Return all items, best first; ties by best rank, then by first occurrence.

    A duplicate within a ranking counts at its first rank.
    """
    scores: dict[str, float] = {}
    best: dict[str, int] = {}
    for ranking in rankings:
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (k + rank)
            best[item] = min(best.get(item, rank), rank)
    ordered = sorted(scores, key=lambda item: (-scores[item], best[item]))
    return [Fused(item, scores[item]) for item in ordered]
