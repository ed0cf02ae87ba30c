"""Find results that are better left out: with personal data, credentials, or a word of the user's list."""

from collections import Counter
from collections.abc import Sequence

from localllm.research.market.market_records import FoundResult
from localllm.text.numerals import fold
from localllm.text.privacy_mask import mask

WORD = "word"
"""The kind of what has a word of the list in it."""


class SensitiveContent:
    """Knows sensitive content: what the privacy mask would mask, and `words`, however their letters are written."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [folded for word in words if (folded := fold(word).casefold().strip())]

    def kind_of(self, text: str) -> str:
        """The first kind of sensitive content in a text; empty where there is none."""
        plain = fold(text).casefold()
        if any(word in plain for word in self._words):
            return WORD
        return next(iter(mask(text).kinds), "")

    def leave_out(self, results: Sequence[FoundResult]) -> tuple[list[FoundResult], dict[str, int]]:
        """The results without sensitive content, and how many had some, by its kind."""
        kept: list[FoundResult] = []
        counted: Counter[str] = Counter()
        for result in results:
            if kind := self.kind_of(f"{result.title}\n{result.snippet}"):
                counted[kind] += 1
            else:
                kept.append(result)
        return kept, dict(counted)
