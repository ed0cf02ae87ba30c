"""What a question is about: its words, each with the words that code may use for it."""

import re
import unicodedata
from collections.abc import Iterator

import msgspec

from localllm.lookup import vocabulary
from localllm.lookup.words import split_identifier, stem

_SYNONYM = 0.8
_SECOND_TRANSLATION = 0.85
_LONGEST_PHRASE = 3
_MOST_TERMS = 9
_STANDS_ALONE = 4

_PIECE = re.compile(r"[A-Za-z0-9_][\w.$/:-]*[\w$]|[A-Za-z0-9_]", re.ASCII)
_IDENTIFIER = re.compile(
    r"[a-z0-9]_[a-z0-9]|^_+\w|^[A-Z][A-Z0-9]*_|[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}|\w\.\w|\w::\w|\w-\w+-\w"
)
_SCAFFOLDING = re.compile(
    r"\b(?:which|what|whose) (?:functions?|class(?:es)?|methods?|modules?|files?|code|parts?|piece|variables?"
    r"|constants?|settings?|lines?|headers?|scripts?|components?|packages?|folders?|director(?:y|ies)|commands?)\b"
    r"(?= (?:that |which )?\w)|\bin (?:which|what) \w+\b",
    re.IGNORECASE,
)
_CONTRACTION = re.compile(r"\b[A-Za-z]+n't\b|(?<=\w)'(?:s|re|ve|ll|d|m)\b", re.ASCII)
_JAPANESE_RUN = re.compile(r"[ァ-ヺー]+|[一-鿿々]+")


class Alternative(msgspec.Struct, frozen=True):
    """One way code may say it: words that follow one another, and how surely this is meant (0 to 1)."""

    words: tuple[str, ...]
    weight: float = 1.0

    @property
    def stems(self) -> tuple[str, ...]:
        """The stems of its words."""
        return tuple(map(stem, self.words))


class Term(msgspec.Struct, frozen=True):
    """A word of the question. `soft`: its absence means little. `literal` is Japanese to be found in texts as it is."""

    text: str
    alternatives: tuple[Alternative, ...]
    soft: bool = False
    literal: str = ""


def terms_of(question: str, *, known: frozenset[str] = frozenset()) -> tuple[Term, ...]:
    """The terms of a question in English, Japanese or both, each once, in its order.

    `known` are stems that say little here, such as those of the project's own name.
    """
    text = unicodedata.normalize("NFKC", question).replace("’", "'")
    text = _SCAFFOLDING.sub(" ", _CONTRACTION.sub(" ", text))
    found: dict[object, Term] = {}
    for term in _terms(text):
        said = stem(term.text.lower())
        found.setdefault(said, msgspec.structs.replace(term, soft=True) if said in known else term)
    return tuple(_without_glosses(list(found.values()))[:_MOST_TERMS])


def _without_glosses(terms: list[Term]) -> list[Term]:
    """The terms without those that only say in the other language what another says: ヒープ (heap)."""
    plain = {alternative.stems for term in terms if not term.literal for alternative in term.alternatives[:1]}
    return [term for term in terms if not (term.literal and term.alternatives and term.alternatives[0].stems in plain)]


def _terms(text: str) -> Iterator[Term]:
    at = 0
    for part in re.finditer(r"[\x20-\x7e]+", text):
        yield from _japanese_terms(text[at : part.start()])
        yield from _english_terms(part.group())
        at = part.end()
    yield from _japanese_terms(text[at:])


def _english_terms(text: str) -> Iterator[Term]:
    pieces = [piece for found in _PIECE.findall(text) for piece in _parts(found)]
    stems = [stem(piece.lower()) for piece in pieces]
    at = 0
    while at < len(pieces):
        length = _phrase_length(stems, at)
        if length > 1:
            yield _phrase(pieces[at : at + length])
        elif term := _word(pieces[at]):
            yield term
        at += max(1, length)


def _parts(piece: str) -> list[str]:
    """A piece as it is where it is an identifier, else the words in it."""
    if _IDENTIFIER.search(piece):
        return [piece.strip(".:/-")]
    return re.split(r"[/:.-]+", piece)


def is_identifier(piece: str) -> bool:
    """Whether a piece of text is written as no English word is: `a_b`, `aB`, `a.b`."""
    return bool(_IDENTIFIER.search(piece))


def _phrase_length(stems: list[str], at: int) -> int:
    known = vocabulary.english()
    for length in range(min(_LONGEST_PHRASE, len(stems) - at), 1, -1):
        if tuple(stems[at : at + length]) in known:
            return length
    return 1


def _phrase(pieces: list[str]) -> Term:
    words = tuple(piece.lower() for piece in pieces)
    others = vocabulary.english()[tuple(map(stem, words))]
    return Term(" ".join(pieces), (Alternative(words), *_alternatives(others, _SYNONYM)))


def _word(piece: str) -> Term | None:
    word = piece.lower()
    if is_identifier(piece):
        words = tuple(split_identifier(piece))
        return Term(piece, (Alternative(words),)) if words else None
    if word in vocabulary.stop() or (len(word) == 1 or (word.isdigit() and len(word) < 3)):
        return None
    others = [other for other in _synonyms(word) if stem(other) != stem(word)]
    soft = stem(word) in vocabulary.soft()
    return Term(piece, (Alternative((word,)), *_alternatives(others, _SYNONYM)), soft=soft)


def _synonyms(word: str) -> tuple[str, ...]:
    root = stem(word)
    if word == root + "e" and not vocabulary.said_with_e().get(root, True):
        return ()
    return vocabulary.english().get((root,), ())


def _alternatives(words: Iterator[str] | list[str] | tuple[str, ...], weight: float) -> Iterator[Alternative]:
    for word in words:
        yield Alternative(tuple(word.split("_")), weight)


def _japanese_terms(text: str) -> Iterator[Term]:
    at = 0
    while at < len(text):
        word = _longest_known(text, at)
        if word:
            if translations := vocabulary.japanese()[word]:
                yield _translated(word, translations)
            at += len(word)
        elif run := _JAPANESE_RUN.match(text, at):
            word = _unknown(run.group())
            if len(word) > 1:  # a single character is the beginning of a verb, or joins two words
                yield Term(word, (), literal=word)
            at += len(word)
        else:
            at += 1


def _longest_known(text: str, at: int) -> str:
    known = vocabulary.japanese()
    for length in range(min(vocabulary.longest_japanese(), len(text) - at), 0, -1):
        word = text[at : at + length]
        if word in known and _ends_well(text, at, word):
            return word
    return ""


def _ends_well(text: str, at: int, word: str) -> bool:
    """Whether a Katakana word ends where `word` does: it is long enough to stand in a compound by itself, or another
    known word follows. Other words may end anywhere."""
    rest = re.match(r"[ァ-ヺー]*", text[at + len(word) :])
    if not rest or not rest[0] or not re.fullmatch(r"[ァ-ヺー]", word[-1]):
        return True
    if len(word) >= _STANDS_ALONE and len(rest[0]) > 1:
        return True
    return any(rest[0][:length] in vocabulary.japanese() for length in range(2, len(rest[0]) + 1))


def _unknown(run: str) -> str:
    """The part of a run of unknown characters before the next known word."""
    if re.match(r"[ァ-ヺー]", run):
        return run
    known = vocabulary.japanese()
    for end in range(1, len(run)):
        if any(run[end : end + length] in known for length in range(2, len(run) - end + 1)):
            return run[:end]
    return run


def _translated(word: str, translations: tuple[str, ...]) -> Term:
    first = Alternative(tuple(translations[0].split("_")))
    others = _alternatives(translations[1:], _SECOND_TRANSLATION)
    soft = stem(translations[0]) in vocabulary.soft()
    return Term(word, (first, *others), soft=soft, literal=word)
