"""Retrieve passages by words and by vectors from one or more collections.

Each collection returns its best by BM25 and by its vectors. The results of all collections are then scored alike: a
term's rarity is counted over all of them. The two scores are fused as a weighted sum after min-max scaling to 0..1: on
six English sets that is better than fusing ranks (RRF), which loses the distances between scores.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from itertools import chain, zip_longest
from math import exp, log1p
from typing import NamedTuple

import msgspec

from localllm.rag.query import Query, share_of
from localllm.rag.records import Collection, Hit, Scores
from localllm.rag.sparse_vectors import SparseVector, term_hash
from localllm.rag.store import Legs, Payload, Point, Reader, Scored
from localllm.text.tokenising import terms

LEG = 100
"""Passages each kind of search returns."""

MOST_TERMS = 64
"""Terms of a query that are searched: the rarest."""

_LOOKED_UP = 2_000
"""Terms of a query that are looked up to find the rarest."""

_FETCHED = 12
"""Fewest passages of a collection that are fetched whole."""


class Weights(NamedTuple):
    """Scoring weights of a collection."""

    dense: float
    """Weight of the vectors, from 0 to 1."""
    similar: float | None
    """The cosine from which on a passage is relevant; None: the vectors are ignored."""
    unrelated: float = 0.0
    """The cosine of an unrelated passage."""


_UNKNOWN = 0.95
"""Weight of a word that no passage has, relative to the rarest that some have: it may be the decisive one, or only a
synonym of it."""

_FEWEST = 12
"""Passages of a collection from which on it tells how rare a word is. In fewer, such as two versions of one document,
words that most of them have would count for little against one that none has."""


class Candidates(NamedTuple):
    """The best passages of one collection, their scores there, and its statistics of the query's terms."""

    collection: Collection
    points: list[Point]
    weights: Weights
    dense: dict[int, float]
    words: "Range"
    """Ranges of the scores of the hundred best by words, and by meaning."""
    meaning: "Range"
    size: int
    """Number of passages in the collection, without copies among `points`."""
    rarities: dict[int, float]
    """The inverse document frequency of each term; terms that no passage has are missing."""

    def rarity(self, term: int) -> float:
        """Return the inverse document frequency of a term in the collection; a tiny one counts as somewhat larger."""
        size = max(self.size, _FEWEST)
        if term not in self.rarities:
            return _UNKNOWN * _rarity(1, size)
        return self.rarities[term] if size == self.size else _rarity(self.holding(term), size)

    def holding(self, term: int) -> float:
        """Return how many passages have the term, computed from its rarity."""
        return _holding(self.rarities[term], self.size) if term in self.rarities else 0.0


def find_candidates(
    reader: Reader, collection: Collection, query: Query, vector: Sequence[float] | None, weights: Weights, count: int
) -> Candidates:
    """Find the passages of a collection that may be among the best `count`."""
    terms_asked = SparseVector(query.vector.indices[:_LOOKED_UP], query.vector.values[:_LOOKED_UP])
    legs = reader.search(terms_asked, vector, LEG, MOST_TERMS)
    words, meaning, share = Range.of(legs.bm25), Range.of(legs.dense), weights.dense if vector else 0.0
    fused = {one: (1 - share) * words.spread(score) for one, score in legs.bm25}
    for one, score in legs.dense if share else ():
        fused[one] = fused.get(one, 0.0) + share * meaning.spread(score)
    best = sorted(fused, key=lambda one: -fused[one])[: max(_FETCHED, 2 * count)]
    points = reader.fetch(best)
    size, rarities = _without_copies(points, legs)
    return Candidates(collection, points, weights, dict(legs.dense), words, meaning, size, rarities)


def _without_copies(points: Sequence[Point], legs: Legs) -> tuple[int, dict[int, float]]:
    """Return the number of passages and the rarities without the copies of passages among the points, except rows: a
    document that is there twice does not make its words less telling."""
    copies, seen = Counter[int](), set[str]()
    size = legs.size
    for point in points:
        text = " ".join(point.payload.text.split())
        if text in seen and point.payload.kind != "row":
            size -= 1
            copies.update(point.terms.indices)
        seen.add(text)
    if size == legs.size:
        return size, legs.rarities
    holding = {term: _holding(rarity, legs.size) - copies[term] for term, rarity in legs.rarities.items()}
    return size, {term: _rarity(count, size) for term, count in holding.items()}


def _rarity(holding: float, size: int) -> float:
    """Return the inverse document frequency of a term that so many of `size` passages have."""
    return log1p((size - holding + 0.5) / (holding + 0.5))


def _holding(rarity: float, size: int) -> float:
    return (size + 1) / exp(rarity) - 0.5


class Range(NamedTuple):
    """The range of scores in a ranking."""

    least: float
    top: float

    @classmethod
    def of(cls, leg: Sequence[Scored]) -> "Range":
        """Return the range of the hundred best; with fewer, all others scored zero."""
        if not leg:
            return cls(0.0, 0.0)
        return cls(leg[-1].score if len(leg) >= LEG else min(0.0, leg[-1].score), leg[0].score)

    def spread(self, score: float) -> float:
        """Scale a score to the range, 0 below it."""
        if self.top <= self.least:
            return float(score >= self.top and self.top > 0)
        return min(1.0, max(0.0, (score - self.least) / (self.top - self.least)))

    def rescaled(self, top: float) -> "Range":
        """Scale the range to another best score, as with rarities over several collections."""
        return Range(self.least * top / self.top if self.top > 0 else self.least, top)

    def joined(self, other: "Range") -> "Range":
        """Estimate the range of the hundred best of both rankings."""
        return Range(max(self.least, other.least), max(self.top, other.top))


_NONE = Range(0.0, 0.0)


class Ranked(NamedTuple):
    """A passage in the common ranking."""

    collection: Collection
    payload: Payload
    scores: Scores


def rank(found: Sequence[Candidates], query: Query, floor: float) -> list[Ranked]:
    """Rank the passages of all collections, best first, without those below the threshold."""
    size = sum(one.size for one in found)
    wanted = dict(zip(*query.vector, strict=True))
    holding = {term: sum(one.holding(term) for one in found) for term in wanted}
    rarity = {term: _rarity(count, size) for term, count in holding.items()}
    scored = [(one, {point.id: _bm25(point, wanted, rarity) for point in one.points}) for one in found]
    words = reduce(Range.joined, (one.words.rescaled(max(bm25.values(), default=0.0)) for one, bm25 in scored), _NONE)
    meaning = reduce(Range.joined, (one.meaning for one in found if one.dense), Range(-1.0, -1.0))
    ranked = [_above(_judged(one, bm25, words, meaning, query), one, query, floor) for one, bm25 in scored]
    return sorted(chain(*ranked), key=lambda one: (-one.scores.total, one.payload.path, one.payload.number))


def _judged(
    one: Candidates, bm25: Mapping[int, float], words: Range, meaning: Range, query: Query
) -> list[tuple[Ranked, bool]]:
    """Score the passages of a collection, with whether each has a name of the query, if the query has names."""
    around, share = _terms_of_files(one.points), one.weights.dense
    weighed, telling = query.weighed(one.rarity), query.telling(one.rarity)
    judged: list[tuple[Ranked, bool]] = []
    for point in one.points:
        dense, payload = one.dense.get(point.id), point.payload
        named, there = query.named_in(payload), frozenset(point.terms.indices)
        coverage = query.coverage(weighed, there, around.get(payload.path, _NOTHING), named or ())
        total = (1 - share) * words.spread(bm25[point.id])
        total += share * meaning.spread(dense) if dense is not None else 0.0
        if payload.headings:
            total += _TITLED * query.coverage(weighed, _titles_of(payload), named=named or ())
        total += _SHARED * share_of(telling, there)
        scores = Scores(total / (1 + _TITLED + _SHARED), bm25[point.id], dense, coverage)
        judged.append((Ranked(one.collection, payload, scores), named is not None))
    return judged


_NOTHING = frozenset[int]()

_TITLED = 0.3
"""Weight of query words in the headings and file name of a passage, added to the word and vector scores."""

_SHARED = 1.3
"""Weight of the coverage, added to these: BM25 counts how often a passage has some of the words, not whether it has all
of them."""


def _above(judged: Sequence[tuple[Ranked, bool]], one: Candidates, query: Query, floor: float) -> list[Ranked]:
    """Return the relevant passages: if one of a collection reaches the threshold, others may be somewhat below it."""
    if not floor:
        return [passage for passage, _ in judged]
    fitting = [
        passage
        for (passage, is_named), point in zip(judged, one.points, strict=True)
        if is_named
        and is_relevant(passage.scores, _BESIDE * floor, one.weights)
        and query.is_answered(point.payload.text, frozenset(point.terms.indices), _titles_of(point.payload), one.rarity)
    ]
    return fitting if any(is_relevant(passage.scores, floor, one.weights) for passage in fitting) else []


_BESIDE = 0.7
"""Share of the threshold required of other passages once one has reached it."""


def _titles_of(payload: Payload) -> frozenset[int]:
    return _title_terms(payload.file, payload.headings)


@lru_cache(maxsize=2_000)
def _title_terms(file: str, headings: tuple[str, ...]) -> frozenset[int]:
    return frozenset(map(term_hash, terms("\n".join((file, *headings)))))


def _terms_of_files(points: Sequence[Point]) -> dict[str, frozenset[int]]:
    """Return the terms of the passages of each file with several, except tables, whose rows are independent."""
    count = Counter(point.payload.path for point in points if point.payload.kind != "row")
    shared = {path for path, passages in count.items() if passages > 1}
    return {
        path: frozenset(chain.from_iterable(one.terms.indices for one in points if one.payload.path == path))
        for path in shared
    }


_BOTH = 1.7
"""Least sum of two shares, of the coverage threshold and of the way from `unrelated` to `similar`, if neither is full.
"""


def is_relevant(scores: Scores, floor: float, weights: Weights) -> bool:
    """Whether a passage has enough of the query's words, of its meaning, or of both combined."""
    if scores.coverage >= floor:
        return True
    similar, unrelated = weights.similar, weights.unrelated
    if similar is None or scores.dense is None:
        return False
    near = (scores.dense - unrelated) / (similar - unrelated) if similar > unrelated else 0.0
    return scores.dense >= similar or scores.coverage / floor + near >= _BOTH


def _bm25(point: Point, wanted: Mapping[int, float], rarity: Mapping[int, float]) -> float:
    pairs = zip(*point.terms, strict=True)
    return sum(wanted[term] * rarity[term] * weight for term, weight in pairs if term in wanted)


def with_parts(whole: Sequence[Ranked], parts: Sequence[Sequence[Ranked]], count: int) -> list[Ranked]:
    """Add to the ranking of a query those of its parts that none of its best `count` passages answers, in turn."""
    best = {_identity(one) for one in whole[:count]}
    lacking = [part for part in parts if best.isdisjoint(map(_identity, part[:1]))]
    in_turn = chain.from_iterable(zip_longest(whole, *lacking))
    return list({_identity(one): one for one in in_turn if one}.values())


def _identity(one: Ranked) -> tuple[str, str, int]:
    return one.collection.name, one.payload.path, one.payload.number


def merge_neighbours(ranked: Sequence[Ranked], count: int) -> list[Hit]:
    """Return the best `count` hits; consecutive passages of a file are merged, with the best score."""
    groups: list[list[Ranked]] = []
    for one in ranked:
        group = next((group for group in groups if _is_neighbour(one, group)), None)
        if group is not None:
            group.append(one)
        elif len(groups) < count:
            groups.append([one])
    return [_hit(group) for group in groups]


_LONGEST_GROUP = 3
"""Passages merged into one hit."""


def _is_neighbour(one: Ranked, group: Sequence[Ranked]) -> bool:
    first = group[0]
    same = (first.collection.name, first.payload.path) == (one.collection.name, one.payload.path)
    joins = same and one.payload.kind == first.payload.kind != "row" and len(group) < _LONGEST_GROUP
    return joins and any(abs(one.payload.number - other.payload.number) == 1 for other in group)


def _hit(group: Sequence[Ranked]) -> Hit:
    best = group[0]
    parts = sorted((one.payload for one in group), key=lambda payload: payload.number)
    text = parts[0].text
    for part in parts[1:]:
        text = _joined(text, part.text)
    place = parts[0].chunk.place
    return Hit(
        collection=best.collection.name,
        path=best.payload.path,
        file=best.payload.file,
        text=text,
        headings=parts[0].headings,
        place=msgspec.structs.replace(place, last=max(part.last for part in parts)),
        scores=best.scores,
    )


_SHORTEST_REPEAT, _LONGEST_REPEAT = 8, 2_000
"""Characters; shorter repeats are coincidence, such as the border of a table."""


def _joined(text: str, following: str) -> str:
    """Join two passages, without the overlap the second repeats from the first."""
    tail = text[-_LONGEST_REPEAT:]
    at = tail.find(following[:1])
    while 0 <= at <= len(tail) - _SHORTEST_REPEAT:
        if following.startswith(tail[at:]):
            return text + following[len(tail) - at :]
        at = tail.find(following[:1], at + 1)
    return f"{text}\n\n{following}"
