"""Rank the places of a project by the words of a question, with a confidence."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from localllm.lookup import vocabulary
from localllm.lookup.file_kinds import Kind, worth
from localllm.lookup.index import Place, ProjectIndex, Words
from localllm.lookup.terms import Term, parts_of, stemmed

_CANDIDATES = 300
_SOFT = 0.35
_USUAL_BODY = 150
_NAME, _DOC, _PATH, _BODY = 1.0, 0.8, 0.6, 0.5
"""Weight of a word in the name of a place, in its documentation, in its path, in its body."""
_BESIDE = 0.2  # weight of further fields
_FIT = 0.35
_NESTED = 0.8  # a nested function
_OF_FILE = 0.5
_MANY = 0.1
_POWER = 0.8
_SURE, _SURE_WITHOUT = 0.6, 0.8
_KINDS = {"file": 0.8, "heading": 0.5, "key": 0.6, "constant": 0.75, "variable": 0.6, "target": 0.7, "type": 0.8}


class Found(NamedTuple):
    """A place and its score."""

    place: Place
    score: float


class Ranking(NamedTuple):
    """The best places, and whether they are likely meant; `missing`: words found nowhere."""

    places: Sequence[Found]
    is_sure: bool
    missing: Sequence[str] = ()


def rank(index: ProjectIndex, terms: Sequence[Term], *, wanted: Kind | None = None, prefer: str = "") -> Ranking:
    """Rank the places by `terms`. `wanted`: the requested kind of file; `prefer`: "constant" for a question about a
    value."""
    weights = _weights(index, terms)
    # The index has character bigrams of Japanese, so it cannot match a single character.
    missing = [
        term.text for term, (_, frequency) in zip(terms, weights, strict=True) if not frequency and len(term.text) > 1
    ]
    judge = _Judge(terms, [weight for weight, _ in weights], wanted, prefer)
    plain = " OR ".join(f'"{" ".join(term.ways[0].words)}"' for term in terms)
    every = " OR ".join(term.match for term in terms)
    found: dict[int, Words] = {}
    for match in (plain, every):
        for words in index.best(match, _CANDIDATES):
            found.setdefault(words.place.id, words)
    scored = judge.order(list(found.values()))
    if not scored:
        return Ranking((), is_sure=False, missing=missing)
    covered = judge.coverage(found[scored[0].place.id], list(found.values()))
    is_lacking = any(not frequency and not term.soft for term, (_, frequency) in zip(terms, weights, strict=True))
    return Ranking(scored, covered >= (_SURE_WITHOUT if is_lacking else _SURE), missing)


def _weights(index: ProjectIndex, terms: Sequence[Term]) -> list[tuple[float, int]]:
    """Weight each term by its rarity in the project, with its number of occurrences."""
    size = index.size()
    found: list[tuple[float, int]] = []
    for term in terms:
        frequency = index.frequency(term.match)
        rarity = math.log1p((size + 1) / (frequency + 0.5))
        found.append((rarity**_POWER * (_SOFT if term.soft else 1.0), frequency))
    return found


class _Judge:
    def __init__(self, terms: Sequence[Term], weights: Sequence[float], wanted: Kind | None, prefer: str) -> None:
        self._terms = [[(way.stems, way.weight) for way in term.ways] for term in terms]
        self._weights = weights
        self._wanted: Kind | None = wanted
        self._kinds = _KINDS | ({"constant": 1.3, "variable": 1.1, "key": 1.1} if prefer == "constant" else {})
        self._neutral = frozenset(stemmed(word).strip() for word in vocabulary.named("neutral"))
        self._strengths: dict[int, list[float]] = {}

    def order(self, candidates: Sequence[Words]) -> list[Found]:
        """Sort the candidates, best first; ties by path and line."""
        files: dict[str, list[float]] = {}
        for words in candidates:
            strengths = self._strengths[words.place.id] = self._strength(words)
            best = files.setdefault(words.place.path, [0.0] * len(strengths))
            files[words.place.path] = [max(a, b) + _MANY * min(a, b) for a, b in zip(best, strengths, strict=True)]
        found = [Found(words.place, self._score(words, files[words.place.path])) for words in candidates]
        return sorted(found, key=lambda one: (-one.score, one.place.path, one.place.line))

    def coverage(self, words: Words, candidates: Sequence[Words]) -> float:
        """Return the share of the question that the place covers, with the rest of its file (0 to 1)."""
        total = sum(self._weights)
        own = self._strengths[words.place.id]
        beside = [self._strengths[other.place.id] for other in candidates if other.place.path == words.place.path]
        best = [max(own[at], 0.7 * max(row[at] for row in beside)) for at in range(len(own))]
        return self._sum([min(1.0, strength * 1.4) for strength in best]) / total if total else 0.0

    def _sum(self, strengths: Sequence[float]) -> float:
        return sum(weight * strength for weight, strength in zip(self._weights, strengths, strict=True))

    def _score(self, words: Words, of_file: Sequence[float]) -> float:
        place = words.place
        score = self._sum(self._strengths[place.id]) * (1 + _FIT * self._fit(words)) + _OF_FILE * self._sum(of_file)
        nested = _NESTED if place.kind == "function" and place.parent else 1.0
        return score * nested * worth(place.path, self._wanted) * self._kinds.get(place.kind, 1.0)

    def _fit(self, words: Words) -> float:
        """Return the share of the name's words that are in the question."""
        name = [stemmed(part) for part in parts_of(words.place.name)]
        name = [part for part in name if part.strip() not in self._neutral] or name
        asked = [way for ways in self._terms for way, _ in ways]
        return sum(any(part in way for way in asked) for part in name) / len(name) if name else 0.0

    def _strength(self, words: Words) -> list[float]:
        """Return the strength of each term in a place."""
        body = stemmed(words.body)
        long = body.count(" ") / _USUAL_BODY
        fields = (
            (stemmed(words.name), _NAME, 0.0),
            (stemmed(words.doc), _DOC, 0.0),
            (stemmed(words.path), _PATH, 0.0),
            (body, _BODY, long),
        )
        found: list[float] = []
        for ways in self._terms:
            best = 0.0
            for way, weight in ways:
                counts = [(text.count(way), strength, long) for text, strength, long in fields]
                hits = [strength * count / (count + long) for count, strength, long in counts if count]
                if hits:
                    best = max(best, weight * (max(hits) + _BESIDE * (sum(hits) - max(hits))))
            found.append(min(best, 1.2))
        return found


def words_fit(terms: Sequence[Term], text: str) -> bool:
    """Whether a firm term (any term, if none is firm) is in `text`."""
    stems = stemmed(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text))
    firm = [term for term in terms if not term.soft] or terms
    return any(way.stems in stems for term in firm for way in term.ways)
