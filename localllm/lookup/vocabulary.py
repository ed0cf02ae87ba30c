"""The engine's vocabulary, read from `vocabulary_data/` with the first question."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from localllm.text.tokenising import stem

_FOLDER = Path(__file__).with_name("vocabulary_data")


@cache
def english() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return phrases, as stems, with the words code uses for them."""
    entries: dict[tuple[str, ...], tuple[str, ...]] = {}
    for line in _lines("english.txt"):
        said, code = line.split("=")
        for phrase in said.split(","):
            key = tuple(stem(word) for word in phrase.split())
            entries[key] = tuple(dict.fromkeys((*entries.get(key, ()), *code.split())))
    return entries


@cache
def japanese() -> dict[str, tuple[str, ...]]:
    """Return Japanese words or stems of inflected words, with the words code uses for them; none for function words."""
    entries: dict[str, tuple[str, ...]] = {}
    for line in _lines("japanese.txt"):
        said, code = line.split("=")
        for word in said.split():
            entries[word] = tuple(dict.fromkeys((*entries.get(word, ()), *code.split())))
    return entries | dict.fromkeys(_words("stop_japanese.txt"), ())


@cache
def japanese_verbs() -> dict[str, tuple[str, ...]]:
    """Return the first characters of inflected Japanese words, with the words code uses for them."""
    entries: dict[str, tuple[str, ...]] = {}
    for word, code in japanese().items():
        if code and (match := re.fullmatch(r"([一-鿿]+)[ぁ-ん]{1,3}", word)):
            entries[match[1]] = tuple(dict.fromkeys((*entries.get(match[1], ()), *code)))
    return entries


@cache
def longest_japanese() -> int:
    """Return the length of the longest word in `japanese`."""
    return max(map(len, japanese()))


@cache
def soft() -> frozenset[str]:
    """Return stems whose absence from the code hardly matters."""
    return frozenset(map(stem, _words("soft.txt")))


@cache
def stop() -> frozenset[str]:
    """Return English function words."""
    return frozenset(_words("stop.txt"))


@cache
def code_words() -> frozenset[str]:
    """Return the words that unseparated names are composed of."""
    of_code = (
        word for words in (*english().values(), *japanese().values()) for way in words for word in way.split("_")
    )
    return frozenset({*_words("codewords.txt"), *(word for word in of_code if len(word) > 2 and word.isalpha())})


@cache
def named(name: str) -> frozenset[str]:
    """Return the words of the list `name`."""
    return frozenset(word for section, line in sections("lists.txt") if section == name for word in line.split())


def sections(file: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file with their heading; a heading may occur repeatedly."""
    heading = ""
    for line in _lines(file):
        if line.startswith("[") and line.endswith("]"):
            heading = line[1:-1]
        else:
            yield heading, line


@cache
def patterns(file: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Compile each section of a file of regular expressions, in order: a heading, and the alternation of its lines."""
    together = [
        (heading, "|".join(line for _, line in lines))
        for heading, lines in groupby(sections(file), lambda item: item[0])
    ]
    return tuple((heading, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for heading, pattern in together)


def pattern(name: str) -> re.Pattern[str]:
    """Return the pattern `name` for the wording of questions."""
    return dict(patterns("wording.txt"))[name]


def _words(name: str) -> Iterator[str]:
    for line in _lines(name):
        yield from line.split()


def _lines(name: str) -> Iterator[str]:
    for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line
