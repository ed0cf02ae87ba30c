"""Reciprocal rank fusion: one ranking of several, by the places alone, since scores of engines cannot be compared.

G. V. Cormack, C. L. A. Clarke, S. Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
Methods. SIGIR 2009. The score of a page is the sum over the rankings it is in of 1 / (k + rank), rank from 1.
"""

from collections.abc import Sequence
from typing import NamedTuple

K = 60
"""The k of the paper: what it found best; a larger one makes first places count less."""


class Fused(NamedTuple):
    """An item, and its score over all rankings."""

    item: str
    score: float


def fuse(rankings: Sequence[Sequence[str]], k: int = K) -> list[Fused]:
    """All items, the best first; of equal ones the one that stood higher somewhere, then the one met first.

    An item that a ranking holds twice counts at its first place.
    """
    scores: dict[str, float] = {}
    best: dict[str, int] = {}
    for ranking in rankings:
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (k + rank)
            best[item] = min(best.get(item, rank), rank)
    ordered = sorted(scores, key=lambda item: (-scores[item], best[item]))
    return [Fused(item, scores[item]) for item in ordered]
