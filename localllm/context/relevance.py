"""How much a file has to do with what is asked: by its words, its place in the project, and what was said of it."""

import re
from collections.abc import Callable

from localllm.text.bm25 import Bm25
from localllm.text.tokenising import terms

Rank = Callable[[str], float]
"""How central a file is in the project, from 0 to 1."""

_WORDS, _RANK, _RECENT, _MENTIONED = 0.5, 0.15, 0.15, 0.2
"""The shares of the parts; their sum is 1. What is in the file says most, that somebody named it nearly as much."""

_PATH_COUNTS = 3
"""A term of the path is worth so many in the text."""

_HALF = 4.0
"""The score of the words that is half of the most: about two rare words found."""

_FORGET = 0.8
"""Of the recency is left after each other file that was looked at since."""

_SYMBOL = (
    r"^[ \t]*(?:async |export |pub |public |static |private |final )*"
    r"(?:def|class|func|function|fn|struct|enum|trait|interface|type|module)\s+(\w+)"
)


class Relevance:
    """Files that were looked at, by their paths, and how much each has to do with a query."""

    def __init__(self, rank: Rank | None = None) -> None:
        self._rank = rank
        self._index = Bm25()
        self._digests: dict[str, int] = {}
        self._order: list[str] = []

    def __contains__(self, path: object) -> bool:
        return path in self._index

    def note(self, path: str, text: str, *, looked_at: bool = True) -> None:
        """This is the text of the file, as last seen. `looked_at`: it is the newest the conversation is about."""
        if looked_at:
            self._order = [other for other in self._order if other != path]
            self._order.append(path)
        if self._digests.get(path) == (digest := hash(text)):
            return
        self._digests[path] = digest
        self._index.add(path, [*(terms(path) * _PATH_COUNTS), *_symbols(text), *terms(text)])

    def score(self, path: str, query: str) -> float:
        """From 0, nothing, to 1. The more of a query's rarer terms are in the path, the symbols and the text, the more
        central the file, the less long ago it was looked at, and most if the query names it."""
        found = self._index.scores(terms(query)).get(path, 0.0)
        words = found / (found + _HALF)
        rank = min(1.0, max(0.0, self._rank(path))) if self._rank else 0.0
        return _WORDS * words + _RANK * rank + _RECENT * self._recency(path) + _MENTIONED * _mention(path, query)

    def _recency(self, path: str) -> float:
        if path not in self._order:
            return 0.0
        return _FORGET ** (len(self._order) - 1 - self._order.index(path))


def _symbols(text: str) -> list[str]:
    """The terms of what the text defines: they count once more."""
    return [term for name in re.findall(_SYMBOL, text, re.MULTILINE) for term in terms(name)]


def _mention(path: str, query: str) -> float:
    """1 where the query has the path, a little less for the file's name, half for its name without the ending."""
    lower, name = query.lower(), path.rpartition("/")[2].lower()
    stem = name.partition(".")[0]
    if path.lower() in lower:
        return 1.0
    if name in lower:
        return 0.9
    return 0.5 if len(stem) > 3 and stem in lower else 0.0
