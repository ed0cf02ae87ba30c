"""Split a query that asks about several things, so that each can be searched by itself.

A passage that answers one of them lacks the words of the others and would be found irrelevant. Split is only where both
sides ask: what is left of a subject that both share ("how long is it and who signs it?") finds little alone.

Models also write a query in two languages at once ("battery warranty バッテリー 保証"), of which no passage has both.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.rag.embedding import Vector
from localllm.rag.query import Query, is_question, parse_query
from localllm.text.sentences import split_sentences

MOST_PARTS = 4
"""Parts that are searched; of a query with more, the first."""

_LONGEST = 1_000
"""Characters of a query that is split; a longer one is a pasted text."""

_LEAST_WORDS = 2
"""Words, other than question words, that a part must have."""

_ASKS = (
    r"(?:(?:at|by|to|for|from|in|on|since|until|with|of)\s)?(?:what|how|who|whom|whose|which|where|when|why)\b"
    r"|(?:is|are|do|does|can|may|must|will)\s"
)
_BORDER = late_pattern(
    rf"(?i),?\s(?:and|or|but|plus)\s(?:also\s)?(?={_ASKS})|;\s|,\s(?={_ASKS})|(?<=[てでとがし])[、,]|(?<=か)[、,]"
)
_ASKS_JAPANESE = late_pattern(
    r"何(?!か|も|度も)|いつ|どこ|誰|だれ|どれ|どちら|いくら|いくつ|どう|どの|どんな|なぜ|ですか|ますか"
)
_ASKS_ENGLISH = late_pattern(rf"(?i)(?:^|\s)(?:{_ASKS})")
_TWO_SUBJECTS = late_pattern(
    r"([^、。\s]{1,40}?の[^、。\sの]{1,20})と([^、。\s]{1,40}?の[^、。\sの]{1,20}?)((?:を|は|が|について).{0,20})"
)
_UNMARKED = late_pattern(r"(?<=か)(?=\s)")
_LISTED = late_pattern(r"\s*[,;、]\s*|\s+(?:and|&)\s+|\s+/\s+")


_JAPANESE = late_pattern(r"[\u3000-\u30ff\u3400-\u9fff\uff66-\uff9f]+")
_LATIN = late_pattern(r"[A-Za-z][\w'-]*", re.ASCII)


class Search(NamedTuple):
    """A query, and its vectors by embedding model; `failed` has why those that were asked gave none, for all parts."""

    text: str
    query: Query
    top_k: int
    script: str
    vectors: dict[str, Vector]
    failed: dict[str, Phrase]
    is_closed: Callable[[str], bool]

    def parts(self) -> "list[Search]":
        """Return a search for each of the things the query asks about; none if it is one."""
        return [self.part(one) for one in split_query(self.text)]

    def part(self, text: str) -> "Search":
        """Return a search for a part of the query."""
        return self._replace(text=text, query=parse_query(text), vectors={})


_ELLIPTIC = 3
"""Subject words below which a part may say of what only in the question before: "can it remove pollen?"."""

_SURE = 1.3
"""Factor of the threshold for such a part."""


def part_floor(part: Query, floor: float) -> float:
    """Return the threshold of a part, for one of the query."""
    return min(1.0, floor * _SURE) if len(part.subject()) < _ELLIPTIC else floor


def split_query(text: str) -> tuple[str, ...]:
    """Return what a query asks one by one, each with the statements before it; empty if it asks about one thing."""
    text = _UNMARKED.sub("?", unicodedata.normalize("NFKC", text).strip())
    if len(text) > _LONGEST:
        return ()
    sentences = [text[span.start : span.end] for span in split_sentences(text)]
    parts = _asked(sentences) if any(map(is_question, sentences)) else list(filter(_tells, _listed(text)))
    return tuple(parts[:MOST_PARTS]) if len(parts) > 1 else ()


def split_languages(text: str, is_known: Callable[[int], bool]) -> list[tuple[str, str]]:
    """Return the words of each language of a query that has English and Japanese ones, with their script.

    Left out are too few words; and the Japanese ones beside names (LDAP, KZ-4077) or English words that a passage has
    (`is_known`, of a term), since these may be names too (docker compose).
    """
    text = unicodedata.normalize("NFKC", text)
    english, japanese = _JAPANESE.sub(" ", text).strip(), _LATIN.sub(" ", text).strip()
    if len(text) > _LONGEST or not english or not japanese:
        return []
    words = parse_query(english).subject()
    if len(words) < _LEAST_WORDS:
        return []
    parts = [(english, "latin")]
    is_translation = english.islower() and not parse_query(text).names
    if is_translation and not any(is_known(word.hashes[0]) for word in words):
        parts += [(japanese, "japanese")] if len(parse_query(japanese).subject()) >= _LEAST_WORDS else []
    return parts


def _asked(sentences: Sequence[str]) -> list[str]:
    """Return the questions, each with the statements before it, or else with those of the question before. One that
    says too little, such as "who signs it?", stays with the one before."""
    parts: list[str] = []
    told: list[str] = []
    is_new = True
    for sentence in sentences:
        if not is_question(sentence):
            told = [sentence] if is_new else [*told, sentence]
            is_new = False
            continue
        for question in _questions(sentence):
            part = " ".join((*told, question))
            if parts and not _tells(question if is_new else part):
                parts[-1] += f" {question}"
            else:
                parts.append(part)
            is_new = True
    return parts


def _questions(sentence: str) -> list[str]:
    """Split a sentence into its questions."""
    if (two := _TWO_SUBJECTS.fullmatch(sentence)) is not None:
        return [two[1] + two[3], two[2] + two[3]]
    borders = [(0, 0), *(found.span() for found in _BORDER.finditer(sentence)), (len(sentence), len(sentence))]
    parts: list[str] = []
    for (_, begin), (end, _) in pairwise(borders):
        part = sentence[begin:end]
        if parts and not (_asks(part) and _asks(parts[-1]) and _tells(part) and _tells(parts[-1])):
            parts[-1] = sentence[sentence.index(parts[-1]) : end]
        else:
            parts.append(part)
    return parts


def _listed(text: str) -> list[str]:
    """Split keywords at their commas; Japanese ones at blanks if each names a thing and its aspect (有給の日数)."""
    if "\n" in text:
        return []
    pieces = text.split()
    if len(pieces) > 1 and all("の" in one.strip("の") for one in pieces):
        return pieces
    return _LISTED.split(text)


def _asks(part: str) -> bool:
    return bool(_ASKS_ENGLISH.search(part) or _ASKS_JAPANESE.search(part))


def _tells(part: str) -> bool:
    """Whether a part has a compound of ideographs, a katakana word or two other words to be searched by."""
    words = parse_query(part).subject()
    return len(words) >= _LEAST_WORDS or any(word.kind != "word" and word.weight >= 1 for word in words)
