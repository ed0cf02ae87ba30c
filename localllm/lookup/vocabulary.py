"""What the engine knows of words, read from the files of `vocabulary_data/` when a question is first asked."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from localllm.text.tokenising import stem

_FOLDER = Path(__file__).with_name("vocabulary_data")


@cache
def english() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Phrases, as the stems of their words, and the words code uses for them."""
    entries: dict[tuple[str, ...], tuple[str, ...]] = {}
    for line in _lines("english.txt"):
        said, code = line.split("=")
        for phrase in said.split(","):
            key = tuple(stem(word) for word in phrase.split())
            entries[key] = tuple(dict.fromkeys((*entries.get(key, ()), *code.split())))
    return entries


@cache
def japanese() -> dict[str, tuple[str, ...]]:
    """Japanese words, or the beginnings of words that inflect, and the words code uses for them; none for those that
    only hold a question together."""
    entries: dict[str, tuple[str, ...]] = {}
    for line in _lines("japanese.txt"):
        said, code = line.split("=")
        for word in said.split():
            entries[word] = tuple(dict.fromkeys((*entries.get(word, ()), *code.split())))
    return entries | dict.fromkeys(_words("stop_japanese.txt"), ())


@cache
def japanese_verbs() -> dict[str, tuple[str, ...]]:
    """The characters that inflected Japanese words begin with, and the words code uses for them."""
    entries: dict[str, tuple[str, ...]] = {}
    for word, code in japanese().items():
        if code and (match := re.fullmatch(r"([一-鿿]+)[ぁ-ん]{1,3}", word)):
            entries[match[1]] = tuple(dict.fromkeys((*entries.get(match[1], ()), *code)))
    return entries


@cache
def longest_japanese() -> int:
    """Characters of the longest word in `japanese`."""
    return max(map(len, japanese()))


@cache
def soft() -> frozenset[str]:
    """Stems whose absence from the code means little."""
    return frozenset(map(stem, _words("soft.txt")))


@cache
def stop() -> frozenset[str]:
    """English words that only hold a question together."""
    return frozenset(_words("stop.txt"))


@cache
def code_words() -> frozenset[str]:
    """Words that names written without a break are made of."""
    of_code = (
        word for words in (*english().values(), *japanese().values()) for way in words for word in way.split("_")
    )
    return frozenset({*_words("codewords.txt"), *(word for word in of_code if len(word) > 2 and word.isalpha())})


@cache
def named(name: str) -> frozenset[str]:
    """The words of the list `name`."""
    return frozenset(word for section, line in sections("lists.txt") if section == name for word in line.split())


def sections(file: str) -> Iterator[tuple[str, str]]:
    """The lines of a file, each with the heading it is under; a heading may come more than once."""
    heading = ""
    for line in _lines(file):
        if line.startswith("[") and line.endswith("]"):
            heading = line[1:-1]
        else:
            yield heading, line


@cache
def patterns(file: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The sections of a file of regular expressions, in order: each heading with a pattern for any line below it."""
    together = [
        (heading, "|".join(line for _, line in lines))
        for heading, lines in groupby(sections(file), lambda item: item[0])
    ]
    return tuple((heading, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for heading, pattern in together)


def pattern(name: str) -> re.Pattern[str]:
    """The pattern `name` for how people word a question."""
    return dict(patterns("wording.txt"))[name]


def _words(name: str) -> Iterator[str]:
    for line in _lines(name):
        yield from line.split()


def _lines(name: str) -> Iterator[str]:
    for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line
