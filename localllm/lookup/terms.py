"""Extract the terms of a question, each with the words code may use for it."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from localllm.lookup import vocabulary
from localllm.text.tokenising import stem

_SYNONYM, _SECOND_TRANSLATION, _PART = 0.75, 0.85, 0.5
_LONGEST_PHRASE = 3
_MOST_TERMS = 14
_STANDS_ALONE = 4

_WORD = re.compile(r"[A-Za-z0-9_$]+(?:[.:]+[A-Za-z_$][\w$]*)*", re.ASCII)
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTIFIER = re.compile(r"[A-Za-z0-9]_+[A-Za-z0-9]|^_+\w|[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}|\w\.\w|\w::\w")
_RUNS = re.compile(r"[A-Za-z]+|[0-9]+|[^\W_A-Za-z0-9]+")
_JAPANESE_RUN = re.compile(r"[ァ-ヺー]+|[一-鿿々]+")


class Way(msgspec.Struct, frozen=True):
    """One form in code: consecutive words, and the likelihood that they are meant (0 to 1)."""

    words: tuple[str, ...]
    weight: float = 1.0

    @property
    def stems(self) -> str:
        """The stemmed words."""
        return f" {' '.join(map(stemmed_word, self.words))} "


class Term(msgspec.Struct, frozen=True):
    """A word of the question. `soft`: its absence hardly matters."""

    text: str
    ways: tuple[Way, ...]
    soft: bool = False

    @property
    def match(self) -> str:
        """The FTS5 expression that matches any of its forms."""
        return " OR ".join(f'"{" ".join(way.words)}"' for way in self.ways)


def terms_of(question: str, *, known: frozenset[str] = frozenset()) -> tuple[Term, ...]:
    """Extract the terms of a question in English, Japanese or both, in order, without duplicates.

    `known` are uninformative words, such as those of the project's name.
    """
    text = unicodedata.normalize("NFKC", question).replace("’", "'")
    found: dict[str, Term] = {}
    for term in _terms(vocabulary.pattern("scaffolding").sub(" ", text)):
        soft = term.soft or term.text.lower() in known
        found.setdefault(term.ways[0].stems, msgspec.structs.replace(term, soft=soft))
    return tuple(found.values())[:_MOST_TERMS]


def is_identifier(word: str) -> bool:
    """Whether a word is spelled unlike any English word: `a_b`, `aB`, `a.b`."""
    return bool(_IDENTIFIER.search(word))


def parts_of(identifier: str) -> list[str]:
    """Split an identifier or path into lower-case words: `HTTPServer.do_GET2` is http server do get 2."""
    return [part.lower() for part in _HUMPS.findall(identifier)]


@lru_cache(maxsize=100_000)
def stemmed_word(word: str) -> str:
    """Return the stem of a word, in lower case."""
    word = word.lower()
    return stem(word) if word.isascii() and word.isalpha() else word


def stemmed(text: str) -> str:
    """Return the stems of the words of a text, separated by spaces."""
    return f" {' '.join(map(stemmed_word, _RUNS.findall(text)))} "


def japanese_in(text: str) -> bool:
    """Whether `text` contains Japanese."""
    return re.search(r"[ぁ-ゖァ-ヺ一-鿿々]", text) is not None


def _terms(text: str) -> Iterator[Term]:
    at = 0
    for part in re.finditer(r"[\x20-\x7e]+", text):
        yield from _japanese_terms(text[at : part.start()])
        yield from _english_terms(part[0])
        at = part.end()
    yield from _japanese_terms(text[at:])


def _english_terms(text: str) -> Iterator[Term]:
    words = [word for word in _WORD.findall(text) if word.strip("_.:$")]
    stems = [stemmed_word(word) for word in words]
    at = 0
    while at < len(words):
        lengths = range(min(_LONGEST_PHRASE, len(words) - at), 1, -1)
        length = next((length for length in lengths if tuple(stems[at : at + length]) in vocabulary.english()), 1)
        if length > 1:
            phrase = tuple(word.lower() for word in words[at : at + length])
            others = vocabulary.english()[tuple(stems[at : at + length])]
            yield Term(" ".join(phrase), (Way(phrase), *_ways(others, _SYNONYM)))
        else:
            yield from _word_terms(words[at])
        at += length


def _word_terms(word: str) -> Iterator[Term]:
    if is_identifier(word):
        if parts := tuple(parts_of(word)):
            yield Term(word, (Way(parts), *(Way((part,), _PART) for part in parts if len(parts) > 1 and len(part) > 1)))
        return
    small = word.lower()
    if small in vocabulary.stop() or len(small) == 1 or (small.isdigit() and len(small) < 3):
        return
    others = [other for other in vocabulary.english().get((stem(small),), ()) if stem(other) != stem(small)]
    yield Term(word, (Way((small,)), *_ways(others, _SYNONYM)), soft=stem(small) in vocabulary.soft())


def _ways(words: Sequence[str], weight: float) -> Iterator[Way]:
    for word in words:
        if parts := tuple(filter(None, word.split("_"))):
            yield Way(parts, weight)


def _japanese_terms(text: str) -> Iterator[Term]:
    at = 0
    while at < len(text):
        if word := _longest_known(text, at):
            if translations := vocabulary.japanese()[word]:
                first, *others = _ways(translations, 1.0)
                ways = (first, *(Way(way.words, _SECOND_TRANSLATION) for way in others), _literal(word))
                yield Term(word, ways, soft=stem(translations[0]) in vocabulary.soft())
            at += len(word)
        elif run := _JAPANESE_RUN.match(text, at):
            word = _unknown(run[0])
            verb = vocabulary.japanese_verbs().get(word)
            if verb and re.match(r"[ぁ-ん]", text[at + len(word) :]):
                yield Term(word, tuple(_ways(verb, 1.0)), soft=stem(verb[0]) in vocabulary.soft())
            elif len(word) > 1:  # a single character starts a verb or joins words
                yield Term(word, (_literal(word),))
            at += len(word)
        else:
            at += 1


def _literal(word: str) -> Way:
    """Return a Japanese word in the form of the index: character bigrams."""
    return Way(tuple(word[at : at + 2] for at in range(max(1, len(word) - 1))))


def _longest_known(text: str, at: int) -> str:
    known = vocabulary.japanese()
    for length in range(min(vocabulary.longest_japanese(), len(text) - at), 0, -1):
        word = text[at : at + length]
        if word in known and _ends_well(text, at, word):
            return word
    return ""


def _ends_well(text: str, at: int, word: str) -> bool:
    """Whether a Katakana word ends with `word`: it is long enough to be part of a compound, or another known word
    follows. Other words may end anywhere."""
    rest = re.match(r"[ァ-ヺー]*", text[at + len(word) :])
    if not rest or not rest[0] or not re.fullmatch(r"[ァ-ヺー]", word[-1]):
        return True
    if len(word) >= _STANDS_ALONE and len(rest[0]) > 1:
        return True
    return any(rest[0][:length] in vocabulary.japanese() for length in range(2, len(rest[0]) + 1))


def _unknown(run: str) -> str:
    """Return the part of a run of unknown characters before the next known word."""
    if re.match(r"[ァ-ヺー]", run):
        return run
    known = vocabulary.japanese()
    for end in range(1, len(run)):
        if any(run[end : end + length] in known for length in range(2, len(run) - end + 1)):
            return run[:end]
    return run
