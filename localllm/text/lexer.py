"""Words and signs of a text, with the white space before each; and the plain form of signs that have many."""

import re
from collections.abc import Iterator
from typing import NamedTuple


class Token(NamedTuple):
    """A word, or one other character that is no white space; `gap` is the white space before it."""

    text: str
    start: int
    gap: str

    @property
    def end(self) -> int:
        """The index of the character behind it."""
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
    """The text with quotes, dashes, spaces and full-width characters in their ASCII form, of the same length."""
    return text if text.isascii() else text.translate(_PLAIN)


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a text, in order. Of Japanese each kanji and hiragana is one, and each run of katakana."""
    for match in _TOKEN.finditer(text, 0, len(text.rstrip())):  # white space without a token would be tried for long
        yield Token(match[2], match.start(2), match[1])
