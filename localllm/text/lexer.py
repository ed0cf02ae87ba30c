"""Split text into words and symbols with their leading white space, and normalise variant symbols."""

import re
from collections.abc import Iterator
from typing import NamedTuple


class Token(NamedTuple):
    """A word, or one other non-blank character; `gap` is the white space before it."""

    text: str
    start: int
    gap: str

    @property
    def end(self) -> int:
        """The index after its last character."""
        return self.start + len(self.text)


_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_FORMS = {
    "'": "\u2018\u2019\u201a\u201b\u2032\u02bc",
    '"': "\u201c\u201d\u201e\u201f\u2033",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63",
    " ": "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
}
_PLAIN: dict[int, int] = {
    **_WIDE,
    **{ord(other): ord(form) for form, others in _FORMS.items() for other in others},
    ord("〜"): ord("~"),
}
_TOKEN = re.compile(r"(\s*)([^\W\u3040-\u30ff\u3400-\u9fff]+|[\u3040-\u309f]|[\u30a0-\u30ff]+|[^\s])")


def plain(text: str) -> str:
    """Replace quotes, dashes, spaces and full-width characters by their ASCII forms. The length is preserved."""
    return text if text.isascii() else text.translate(_PLAIN)


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text in order. In Japanese each kanji and hiragana is one, and each run of katakana."""
    for match in _TOKEN.finditer(text, 0, len(text.rstrip())):  # trailing white space would be slow to match
        yield Token(match[2], match.start(2), match[1])
