"""What speaks for a place being what a question means: its name, its file, what it says of itself, what is near it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from localllm.lookup import vocabulary
from localllm.lookup.definitions import Kind
from localllm.lookup.matching import Text, fitting_words, name_fit, parts_of, prepare, text_fit
from localllm.lookup.places import Place, worth
from localllm.lookup.terms import Term
from localllm.lookup.words import split_identifier

_COMMON = 120  # files in which a word is found: it tells little then
_SOFT = 0.35
_LEAST_WEIGHT = 0.35
_OF_NAME, _OF_PARENT, _OF_FILE, _OF_FOLDER = 1.0, 0.8, 0.65, 0.4
_OF_DOC, _OF_WHOLE_DOC, _OF_NEAR, _OF_LINE = 0.65, 0.45, 0.4, 0.65
_PREDICATE = "predicate"
_PREFERRED = {_PREDICATE: 1.15, "constant": 1.25}  # above what any kind is worth by itself
_OF_ITS_OWN_FILE = 0.3
"""What a file that is called as what is asked adds for everything in it."""
_KINDS: dict[Kind | str, float] = {
    "class": 1.03,
    "function": 1.0,
    "constant": 0.86,
    "inner": 0.8,
    "variable": 0.72,
    "file": 0.7,
    "key": 0.6,
}


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A place that may be the answer: a definition with its lines, or (kind "mention") a single line.

    `near` are lines inside it that speak of the question; `doc` and `whole_doc` what it says of itself, once read.
    """

    path: str
    line: int
    kind: str
    name: str
    end: int = 0
    text: str = ""
    parent: str = ""
    near: tuple[str, ...] = ()
    doc: str = ""
    whole_doc: str = ""
    signature: str = ""

    @property
    def place(self) -> tuple[str, int]:
        """Its file and line."""
        return self.path, self.line


class Judgement(NamedTuple):
    """A candidate's score, how much of the question it covers (0 to 1), and how well each term fits."""

    score: float
    coverage: float
    fits: tuple[float, ...]
    candidate: Candidate


class Judge:
    """Weighs candidates for `terms`.

    `spread`: in how many files each was found, by the term's text. `wanted`: the kind of file that is asked for.
    `prefer`: the kind of definition that is; "predicate" for a function that tells yes or no.
    """

    def __init__(
        self, terms: Sequence[Term], spread: Mapping[str, int], wanted: Place | None, prefer: str = ""
    ) -> None:
        self.terms = tuple(terms)
        self.weights = tuple(_weight(term, spread.get(term.text, 0)) for term in terms)
        self._wanted: Place | None = wanted
        self._prefer = prefer
        self._paths: dict[str, tuple[float, ...]] = {}
        self._names: dict[str, list[str]] = {}
        self._asked = frozenset(
            word for term in self.terms for alternative in term.alternatives for word in alternative.words
        )

    def words_of(self, name: str) -> list[str]:
        """The words of a name, also of those written together from words that were asked for."""
        if name not in self._names:
            words = split_identifier(name)
            self._names[name] = [part for word in words for part in parts_of(word, self._asked)]
        return self._names[name]

    def file_fits(self, path: str) -> tuple[float, ...]:
        """How well each term fits the name of the file and those of its folders."""
        if path not in self._paths:
            *folders, name = path.split("/")
            stem_words = self.words_of(name.rsplit(".", 1)[0])
            if stem_words in (["init"], ["index"], ["mod"], ["main"]) and folders:
                stem_words = [*stem_words, *self.words_of(folders[-1])]
            above = [word for folder in folders for word in self.words_of(folder)]
            self._paths[path] = tuple(
                max(_OF_FILE * name_fit(term, stem_words), _OF_FOLDER * name_fit(term, above)) for term in self.terms
            )
        return self._paths[path]

    def judge(self, candidate: Candidate) -> Judgement:
        """How likely it is what is meant."""
        words = self.words_of(candidate.name)
        texts = _texts_of(candidate)
        names = (words, self.words_of(candidate.parent))
        fits = tuple(self._fit(index, names, texts, candidate) for index in range(len(self.terms)))
        coverage = _weighted(fits, self.weights)
        shape = _KINDS.get(candidate.kind, 0.8)
        if self._prefer and self._prefer == (
            _PREDICATE if words[:1] and words[0] in vocabulary.named("asking") else candidate.kind
        ):
            shape = _PREFERRED[self._prefer]
        score = coverage * shape * worth(candidate.path, self._wanted) * self._purity(words, candidate)
        score *= 1.0 + _OF_ITS_OWN_FILE * _weighted(self.file_fits(candidate.path), self.weights)
        return Judgement(score, coverage, fits, candidate)

    def judge_file(self, path: str, defined: Iterable[str], mentioned: Iterable[str]) -> float:
        """How likely something in a file is what is meant: from names defined in it and lines found in it."""
        names = [self.words_of(name) for name in defined]
        lines = [prepare(line) for line in mentioned]
        fits = [
            _together(
                self.file_fits(path)[index],
                0.85 * max((name_fit(term, name) for name in names), default=0.0),
                0.5 * max((text_fit(term, line) for line in lines), default=0.0),
            )
            for index, term in enumerate(self.terms)
        ]
        return _weighted(fits, self.weights) * worth(path, self._wanted)

    def _fit(
        self, index: int, names: tuple[Sequence[str], Sequence[str]], texts: "_Texts", candidate: Candidate
    ) -> float:
        """How well one term fits: by name and what it is in, by file, by its own words, by the lines in it."""
        term = self.terms[index]
        near = _OF_LINE if candidate.kind == "mention" else _OF_NEAR
        doc = max(_OF_DOC * text_fit(term, texts.doc), _OF_WHOLE_DOC * text_fit(term, texts.whole_doc))
        return _together(
            _OF_NAME * name_fit(term, names[0]),
            _OF_PARENT * name_fit(term, names[1]),
            self.file_fits(candidate.path)[index],
            max(doc, near * max((text_fit(term, line) for line in texts.near), default=0.0)),
        )

    def _purity(self, words: Sequence[str], candidate: Candidate) -> float:
        """Of two names that fit equally the one with less else in it."""
        if not words or candidate.kind == "mention":
            return 0.85
        telling = [word for word in words if word not in vocabulary.named("neutral")] or words
        fitting: set[int] = set()
        for term in self.terms:
            fitting |= fitting_words(term, telling)
        private = 0.97 if candidate.name.rsplit(".", 1)[-1].startswith("_") else 1.0
        return (0.78 + 0.22 * len(fitting) / len(telling)) * private


class _Texts(NamedTuple):
    doc: Text
    whole_doc: Text
    near: tuple[Text, ...]


def _texts_of(candidate: Candidate) -> _Texts:
    near = (candidate.text, candidate.signature, *candidate.near)
    return _Texts(prepare(candidate.doc), prepare(candidate.whole_doc), tuple(prepare(line) for line in near if line))


def _weight(term: Term, files: int) -> float:
    """A word that is found in few files tells more than one found everywhere; one found nowhere was asked for all the
    same."""
    rarity = 1.0 - (1.0 - _LEAST_WEIGHT) * min(1.0, math.log1p(files) / math.log1p(_COMMON))
    return rarity * (_SOFT if term.soft else 1.0)


def _together(*fits: float) -> float:
    """Several pieces of evidence for one term: each makes it surer, none makes it more than sure."""
    missing = 1.0
    for fit in fits:
        missing *= 1.0 - min(1.0, fit)
    return 1.0 - missing


def _weighted(fits: Sequence[float], weights: Sequence[float]) -> float:
    return sum(fit * weight for fit, weight in zip(fits, weights, strict=True)) / (sum(weights) or 1.0)
