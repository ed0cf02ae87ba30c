"""BERT's tokenizer: split a text into words, and those into the longest pieces of a vocabulary."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_LONGEST_WORD = 100
_CACHED = 50_000


class WordPiece:
    """The tokenizer of an uncased BERT; the vocabulary in `file` has a token a line."""

    def __init__(self, file: Path) -> None:
        tokens = file.read_text("utf-8").split("\n")
        self._ids = {token: number for number, token in enumerate(tokens) if token}
        self._unknown, self._begin, self._end = (self._ids[name] for name in ("[UNK]", "[CLS]", "[SEP]"))
        self._pieces = lru_cache(_CACHED)(self._cut)

    def encode(self, text: str, most: int) -> list[int]:
        """Encode a text as token ids between those of start and end, `most` in total."""
        found: list[int] = []
        for word in _words(text):
            found += self._pieces(word)
            if len(found) >= most - 2:
                break
        return [self._begin, *found[: most - 2], self._end]

    def _cut(self, word: str) -> tuple[int, ...]:
        """Split a word into its longest pieces, from the left; the whole word is unknown if a piece is."""
        if len(word) > _LONGEST_WORD:
            return (self._unknown,)
        found: list[int] = []
        at = 0
        while at < len(word):
            mark = "##" if at else ""
            ends = range(len(word), at, -1)
            end = next((end for end in ends if mark + word[at:end] in self._ids), None)
            if end is None:
                return (self._unknown,)
            found.append(self._ids[mark + word[at:end]])
            at = end
        return tuple(found)


def _words(text: str) -> Iterator[str]:
    """Yield words in lower case without accents; each ideograph and punctuation mark is one word."""
    gathered: list[str] = []
    for character in unicodedata.normalize("NFD", text.lower()):
        category = unicodedata.category(character)
        if category == "Mn" or (category[0] == "C" and character not in "\t\n\r"):
            continue
        if character.isspace() or _stands_alone(character, category):
            if gathered:
                yield "".join(gathered)
                gathered = []
            if not character.isspace():
                yield character
        else:
            gathered.append(character)
    if gathered:
        yield "".join(gathered)


def _stands_alone(character: str, category: str) -> bool:
    code = ord(character)
    is_mark = category[0] == "P" or (code < 128 and not character.isalnum())
    return is_mark or 0x3400 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x2FA1F
