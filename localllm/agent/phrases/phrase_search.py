"""Search a request or an answer for phrases, in English and Japanese."""

import re

from localllm.base.lazy_patterns import late_pattern

_CODE = late_pattern(
    r"^[ \t]*(?:```|~~~)[^\n]*\n(?:(?![ \t]*(?:```|~~~))[^\n]*\n)*[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE
)
_SENTENCE = late_pattern(r"(?<=[.!?…:;])\s+|(?<=[。！？])\s*|\n+")
_LONGEST = 4_000
"""Characters examined at either end of a text."""


def ends_of(text: str) -> str:
    """Return the text without the middle of a very long one, and with plain apostrophes."""
    text = text if len(text) <= 2 * _LONGEST else f"{text[:_LONGEST]}\n{text[-_LONGEST:]}"
    return text.replace("’", "'")


def sentences_in(text: str) -> list[str]:
    """Return the sentences and lines of its ends, without code blocks and markup."""
    parts = _SENTENCE.split(without_code(ends_of(text)))
    return [part for part in (one.strip(" \t*_#>-•・`") for one in parts) if part]


def without_code(text: str) -> str:
    """Return the text without its code blocks."""
    return _CODE.sub("\n", text)


def has_any(text: str, words: tuple[str, ...]) -> bool:
    """Return whether the text contains one of the words, in lower case. Compiling a pattern takes up to three
    milliseconds, and most texts match none: this comes first, with words the pattern requires."""
    text = text.lower()
    return any(word in text for word in words)


def search_ja(pattern: str, text: str, flags: int = 0) -> bool:
    """Search for a pattern whose alternatives all contain Japanese."""
    return not text.isascii() and bool(re.search(pattern, text, flags))
