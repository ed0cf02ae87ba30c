"""A small BM25 index over the pages of the tests' web: English by words, Japanese by pairs of characters."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from tests.research_web.dataset import Page

_K1, _B = 1.2, 0.75
_PIECE = re.compile(r"[a-z0-9]+|[ぁ-んァ-ヶー一-龥々〆]+")
_COMMON = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "and",
        "or",
        "in",
        "on",
        "to",
        "for",
        "is",
        "are",
        "was",
        "were",
        "what",
        "how",
        "why",
        "when",
        "who",
        "does",
        "do",
        "did",
        "it",
        "its",
        "has",
        "have",
        "by",
        "with",
        "from",
        "at",
        "be",
        "been",
        "as",
        "that",
        "this",
        "which",
    ]
)
_TITLE = 3
"""How often the words of a title count."""


def terms(text: str) -> list[str]:
    """The terms of a text: stemmed English words, Japanese bigrams."""
    found: list[str] = []
    for piece in _PIECE.findall(unicodedata.normalize("NFKC", text).lower()):
        if piece[0].isascii():
            if piece not in _COMMON:
                found.append(re.sub(r"(ies|es|s|ing|ed)$", "", piece) if len(piece) > 4 else piece)
        else:
            found += [piece[start : start + 2] for start in range(max(1, len(piece) - 1))]
    return found


class SearchIndex:
    """Ranks pages for a query; a page that is `only_for` some words is found by a query with one of them alone."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages = [page for page in pages if page.title and not page.to]
        self._counts = [Counter(terms(page.title) * _TITLE + terms(page.text)) for page in self._pages]
        self._lengths = [sum(count.values()) for count in self._counts]
        self._average = sum(self._lengths) / max(1, len(self._lengths))
        self._in_pages = Counter(term for count in self._counts for term in count)

    def search(self, query: str, language: str = "") -> list[tuple[Page, float]]:
        """The pages with their scores, best first. Pages of the other language count half."""
        wanted = set(terms(query))
        asked = unicodedata.normalize("NFKC", query).lower()
        found: list[tuple[Page, float]] = []
        for place, page in enumerate(self._pages):
            if page.only_for and not any(word in asked for word in page.only_for):
                continue
            score = self._score(wanted, place)
            if language[:2] in {"en", "ja"} and language[:2] != page.language:
                score /= 2
            if page.only_for:
                score *= 4  # who asks for it gets it first
            if score > 0:
                found.append((page, round(score, 4)))
        best = max((score for _, score in found), default=0.0)
        return sorted((one for one in found if one[1] > best / 8), key=lambda one: (-one[1], one[0].url))

    def _score(self, wanted: set[str], place: int) -> float:
        count, length = self._counts[place], self._lengths[place]
        score = 0.0
        for term in wanted & count.keys():
            rarity = math.log(1 + (len(self._pages) - self._in_pages[term] + 0.5) / (self._in_pages[term] + 0.5))
            often = count[term]
            score += rarity * often * (_K1 + 1) / (often + _K1 * (1 - _B + _B * length / self._average))
        return score


def snippet(page: Page, query: str, size: int = 160) -> str:
    """The paragraph's beginning that has most of the query's terms."""
    wanted = set(terms(query))
    parts = page.text.split("\n\n")
    best = max(parts, key=lambda part: len(wanted & set(terms(part))))
    return best if len(best) <= size else best[:size].rstrip() + " …"
