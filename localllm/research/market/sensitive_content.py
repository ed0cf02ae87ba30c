"""Filter results with personal data, credentials, or a word of the user's list."""

from collections import Counter
from collections.abc import Sequence

from localllm.research.market.market_records import FoundResult
from localllm.text.numerals import fold
from localllm.text.privacy_mask import mask

WORD = "word"
"""The kind of content with a word of the list."""


class SensitiveContent:
    """Detect sensitive content: everything the privacy mask masks, and `words` in any notation."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [folded for word in words if (folded := fold(word).casefold().strip())]

    def kind_of(self, text: str) -> str:
        """Return the first kind of sensitive content in a text; empty for none."""
        plain = fold(text).casefold()
        if any(word in plain for word in self._words):
            return WORD
        return next(iter(mask(text).kinds), "")

    def leave_out(self, results: Sequence[FoundResult]) -> tuple[list[FoundResult], dict[str, int]]:
        """Remove results with sensitive content; return the rest, and the number removed by kind."""
        kept: list[FoundResult] = []
        counted: Counter[str] = Counter()
        for result in results:
            if kind := self.kind_of(f"{result.title}\n{result.snippet}"):
                counted[kind] += 1
            else:
                kept.append(result)
        return kept, dict(counted)
