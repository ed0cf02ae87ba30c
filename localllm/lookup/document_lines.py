"""Find the line of a document that matches a question best, and the sentence in it."""

import math
import re
from collections.abc import Sequence

from localllm.lookup.code_units import types_of
from localllm.lookup.file_kinds import is_secret
from localllm.lookup.index import Place, ProjectIndex, spoken
from localllm.lookup.terms import Term, stemmed

_MOST_LINES = 5_000
_HEADING = 0.5  # weight of a heading's words: the answer is below it
_SAYS_LITTLE = re.compile(r"[ぁ-ゖ]+|[a-z]{1,3}")


def with_line(index: ProjectIndex, place: Place, question: str, terms: Sequence[Term]) -> tuple[Place, str]:
    """Return a document found as a whole with its best line and sentence; other places unchanged."""
    if place.kind != "file" or "text" not in types_of(place.path) or is_secret(place.path):
        return place, ""
    number, sentence = best_line(index.lines(place.path), question, terms)
    return (place._replace(line=number, kind="line"), sentence) if number else (place, "")


def best_line(lines: Sequence[str], question: str, terms: Sequence[Term]) -> tuple[int, str]:
    """Return the number of the best matching line, weighting rare words, and its best sentence; 0 if nothing
    matches."""
    said = [stemmed(spoken(line)) for line in lines[:_MOST_LINES]]
    worth = _worth(said, question, terms)

    def score(text: str) -> float:
        return sum(weight for word, weight in worth.items() if word in text)

    scores = [score(text) * (_HEADING if lines[at].startswith("#") else 1.0) for at, text in enumerate(said)]
    best = max(scores, default=0.0)
    if not best:
        return 0, ""
    at = scores.index(best)
    sentences = re.split(r"(?<=[。！？])|(?<=[.!?])\s", lines[at].strip())
    return at + 1, max(filter(None, sentences), key=lambda sentence: score(stemmed(spoken(sentence))))


def _worth(said: Sequence[str], question: str, terms: Sequence[Term]) -> dict[str, float]:
    """Return the words of the question and their synonyms, each with its weight in a line."""
    words = {f" {word} ": 1.0 for word in stemmed(spoken(question)).split() if not _SAYS_LITTLE.fullmatch(word)}
    for term in terms:
        for way in term.ways:
            words[way.stems] = max(words.get(way.stems, 0.0), way.weight)
    return {
        word: weight * math.log(1 + len(said) / count)
        for word, weight in words.items()
        if (count := sum(word in text for text in said))
    }
