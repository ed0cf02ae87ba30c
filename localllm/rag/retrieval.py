"""Find passages by words and by meaning in one or more collections.

Each collection gives its best by BM25 and by its vectors. Those of all collections are then weighed alike: a term's
rarity is counted over all of them. The two scores are fused as a weighted sum, each first spread from 0 to 1 (min-max):
over six English sets that is better than fusing ranks (RRF), which loses how far apart the scores are.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from functools import reduce
from math import exp, log1p, sqrt
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.rag.records import Collection, Hit, Scores
from localllm.rag.sparse_vectors import SparseVector, query_vector, term_hash
from localllm.rag.store import Payload, Point, Reader, Scored
from localllm.text.tokenising import stem, terms

LEG = 100
"""How many passages each kind of search gives."""

MOST_TERMS = 64
"""Of a query: the rarest of more."""

_LOOKED_UP = 2_000
"""Of a query at most, to find its rarest."""

_FETCHED = 12
"""The least number of passages of a collection that are looked at whole."""

_WHOLE_WORDS = 6.0
"""Words of a query of which the floor is meant as it stands; of a longer one a passage need not have as many."""

_PIECE, _FILLER = 0.5, 0.25
"""What a piece of a Japanese word (a single ideograph, two letters of katakana), and what hiragana and words that only
ask, count beside a word where it is asked how much of a query a passage has."""

_LIGHT = 0.5
"""What hiragana, two letters of katakana and words that only ask count beside a word in the ranking: of a question that
is spoken there are many, and what it is about is in few others."""

_QUESTION_WORDS = (
    "many much get got give tell explain describe find show list please want need know way make use"
    " interested concerning regarding information anything something looking"
)
_ASKING = frozenset(map(stem, _QUESTION_WORDS.split()))
_ASKING_CHARACTERS = frozenset("何誰教知")


class Query(NamedTuple):
    """What is looked for: the vector for BM25, and what each term counts in the question of coverage."""

    vector: SparseVector
    kinds: dict[int, float]
    names: dict[str, frozenset[int]]
    """The terms of each code and identifier in it, by its folded form: a passage that has none of these is about
    another thing."""

    def floor(self, floor: float) -> float:
        """How much of this query a passage must have: the longer it is, the less, as the square root."""
        words = sum(kind for kind in self.kinds.values() if kind > _PIECE)
        return floor * min(1.0, sqrt(_WHOLE_WORDS / words)) if words else floor

    def lacking(self, payload: Payload) -> frozenset[int] | None:
        """The terms of the names a passage has not, if it has others; None where it has no name that is asked for."""
        if not self.names:
            return frozenset()
        text = _folded("\n".join((payload.file, *payload.headings, payload.text)))
        there = {name for name in self.names if name in text and _stands_alone(name, text)}
        has = frozenset[int]().union(*(self.names[name] for name in there))
        return frozenset[int]().union(*self.names.values()) - has if there else None


class Weights(NamedTuple):
    """How the passages of a collection are weighed."""

    dense: float
    """What the vectors count, from 0 to 1."""
    similar: float | None
    """The cosine from which on a passage is about what is looked for; None: the vectors do not tell."""


class Candidates(NamedTuple):
    """The best passages of one collection, what they scored there, and what it knows of the query's terms."""

    collection: Collection
    points: list[Point]
    weights: Weights
    dense: dict[int, float]
    words: "Range"
    """Of the scores of the hundred best by words, and by meaning."""
    meaning: "Range"
    size: int
    """Passages of the collection."""
    holding: dict[int, float]
    """How many of them have each term."""


_NAMES = late_pattern(
    r"(?<![^\W_])(?:[A-Za-z]{1,4}(?:[-‐‑−][0-9]+|[0-9]{2,})[0-9A-Za-z]*|[^\W_]+(?:_+[^\W_]+)+)(?![^\W_])", re.ASCII
)
"""What names one thing: a code (KZ-4077, E2099), an identifier with an underscore. WPA3 and Windows11 are none: they
are written otherwise as well."""


def parse_query(text: str) -> Query:
    """The terms of a query."""
    found = Counter(terms(text))
    kinds = {term_hash(term): _kind(term) for term in found}
    vector = query_vector({term: count * _weight(term) for term, count in found.items()})
    names = _NAMES.findall(unicodedata.normalize("NFKC", text))
    return Query(vector, kinds, {_folded(name): frozenset(map(term_hash, terms(name))) for name in names})


def _folded(text: str) -> str:
    return text.casefold().replace("-", "").replace("‐", "").replace("‑", "").replace("−", "")


def _stands_alone(name: str, text: str) -> bool:
    return re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", text) is not None


def _weight(term: str) -> float:
    return _LIGHT if _is_hiragana(term) or _is_piece_of_katakana(term) or term in _ASKING else 1.0


def _kind(term: str) -> float:
    if _is_hiragana(term) or term in _ASKING or not _ASKING_CHARACTERS.isdisjoint(term):
        return _FILLER
    is_ideograph = len(term) == 1 and "\u3400" <= term <= "\u9fff"
    return _PIECE if is_ideograph or _is_piece_of_katakana(term) else 1.0


def _is_hiragana(term: str) -> bool:
    return "\u3040" <= term[0] <= "\u309f"


def _is_piece_of_katakana(term: str) -> bool:
    return len(term) == 2 and "\u30a0" <= term[0] <= "\u30ff"


def find_candidates(
    reader: Reader, collection: Collection, query: Query, vector: Sequence[float] | None, weights: Weights, count: int
) -> Candidates:
    """The passages of a collection that may be among the best `count`."""
    terms_asked = SparseVector(query.vector.indices[:_LOOKED_UP], query.vector.values[:_LOOKED_UP])
    legs = reader.search(terms_asked, vector, LEG, MOST_TERMS)
    words, meaning, share = Range.of(legs.bm25), Range.of(legs.dense), weights.dense if vector else 0.0
    fused = {one: (1 - share) * words.spread(score) for one, score in legs.bm25}
    for one, score in legs.dense if share else ():
        fused[one] = fused.get(one, 0.0) + share * meaning.spread(score)
    best = sorted(fused, key=lambda one: -fused[one])[: max(_FETCHED, 2 * count)]
    holding = {term: (legs.size + 1) / exp(rarity) - 0.5 for term, rarity in legs.rarities.items()}
    dense = dict(legs.dense)
    return Candidates(collection, reader.fetch(best), weights, dense, words, meaning, legs.size, holding)


class Range(NamedTuple):
    """From which score to which the passages of a ranking are."""

    least: float
    top: float

    @classmethod
    def of(cls, leg: Sequence[Scored]) -> "Range":
        """The range of the hundred best; where there are fewer, all others have scored nothing."""
        if not leg:
            return cls(0.0, 0.0)
        return cls(leg[-1].score if len(leg) >= LEG else min(0.0, leg[-1].score), leg[0].score)

    def spread(self, score: float) -> float:
        """The score as a share of the range, 0 below it."""
        if self.top <= self.least:
            return float(score >= self.top and self.top > 0)
        return min(1.0, max(0.0, (score - self.least) / (self.top - self.least)))

    def rescaled(self, top: float) -> "Range":
        """The range where the best has another score, as with rarities counted over several collections."""
        return Range(self.least * top / self.top if self.top > 0 else self.least, top)

    def joined(self, other: "Range") -> "Range":
        """The range of the hundred best of both rankings, as far as that can be told."""
        return Range(max(self.least, other.least), max(self.top, other.top))


_NONE = Range(0.0, 0.0)


class Ranked(NamedTuple):
    """A passage in the common ranking."""

    collection: Collection
    payload: Payload
    scores: Scores


def rank(found: Sequence[Candidates], query: Query, floor: float) -> list[Ranked]:
    """The passages of all collections in one order, best first, without those below the floor."""
    size = sum(one.size for one in found)
    holding = {term: sum(one.holding.get(term, 0.0) for one in found) for term in query.kinds}
    rarity = {term: log1p((size - count + 0.5) / (count + 0.5)) for term, count in holding.items()}
    known = {term for term, count in holding.items() if count > 0.25}  # it is a sum of estimates
    wanted = dict(zip(*query.vector, strict=True))
    scored = [(one, {point.id: _bm25(point, wanted, rarity) for point in one.points}) for one in found]
    words = reduce(Range.joined, (one.words.rescaled(max(bm25.values(), default=0.0)) for one, bm25 in scored), _NONE)
    meaning = reduce(Range.joined, (one.meaning for one in found if one.dense), Range(-1.0, -1.0))
    ranked: list[Ranked] = []
    for one, bm25 in scored:
        for point in one.points:
            dense, share = one.dense.get(point.id), one.weights.dense
            total = (1 - share) * words.spread(bm25[point.id])
            total += share * meaning.spread(dense) if dense is not None else 0.0
            lacking = query.lacking(point.payload)
            coverage = _coverage(point, query, lacking or frozenset[int](), rarity, known)
            scores = Scores(total, bm25[point.id], dense, coverage)
            if not floor or (lacking is not None and is_relevant(scores, query.floor(floor), one.weights.similar)):
                ranked.append(Ranked(one.collection, point.payload, scores))
    return sorted(ranked, key=lambda one: (-one.scores.total, one.payload.path, one.payload.number))


_HALF_WORDS, _HALF_MEANING = 0.5, 0.65
"""Shares of the floor, and of the cosine of what is about the same, that are enough together."""


def is_relevant(scores: Scores, floor: float, similar: float | None) -> bool:
    """Whether a passage has enough of the query's words, or of its meaning, or something of both."""
    if scores.coverage >= floor:
        return True
    if similar is None or scores.dense is None:
        return False
    has_both = scores.coverage >= _HALF_WORDS * floor and scores.dense >= _HALF_MEANING * similar
    return has_both or scores.dense >= similar


def _bm25(point: Point, wanted: Mapping[int, float], rarity: Mapping[int, float]) -> float:
    pairs = zip(*point.terms, strict=True)
    return sum(wanted[term] * rarity[term] * weight for term, weight in pairs if term in wanted)


_UNKNOWN = 0.6
"""What a word that no passage has counts beside the rarest that some have: it may be the telling one, or only another
word for it."""


def _coverage(
    point: Point, query: Query, without: Container[int], rarity: Mapping[int, float], known: Container[int]
) -> float:
    """The share of the query's terms, but for those `without`, that a passage has, each counted by its rarity."""
    there = frozenset(point.terms.indices)
    weights = {
        term: kind * rarity[term] * (1.0 if term in known else _UNKNOWN)
        for term, kind in query.kinds.items()
        if term not in without
    }
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in there) / total if total else 0.0


def merge_neighbours(ranked: Sequence[Ranked], count: int) -> list[Hit]:
    """The best `count` hits: passages that follow each other in a file are one, with the score of the best."""
    groups: list[list[Ranked]] = []
    for one in ranked:
        group = next((group for group in groups if _is_neighbour(one, group)), None)
        if group is not None:
            group.append(one)
        elif len(groups) < count:
            groups.append([one])
    return [_hit(group) for group in groups]


_LONGEST_GROUP = 3
"""Passages that are made one hit."""


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
        place=type(place)(place.kind, place.first, max(part.last for part in parts)),
        scores=best.scores,
    )


_LONGEST_REPEAT = 2_000


def _joined(text: str, following: str) -> str:
    """Two passages as one, without what the second repeats of the first."""
    for length in range(min(len(text), len(following), _LONGEST_REPEAT), 0, -1):
        if text.endswith(following[:length]):
            return text + following[length:]
    return f"{text}\n\n{following}"
