"""Parse a query: its terms for BM25, and its weighted words, by which the coverage of a passage is measured.

A question contains more than it asks. The words of a sentence or clause before it (if I have a meeting, …) may have
other wording in the documents, or be missing there: such a word costs little if a passage lacks it, and counts in full
if the passage has it. A condition behind the question (… when a grandparent dies) counts more.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.rag.answer_type import AnswerType, expected_answer
from localllm.rag.expansion import Expansion, find_expansions, synonyms_of, with_synonyms
from localllm.rag.sparse_vectors import SparseVector, query_vector, term_hash
from localllm.rag.store import Payload
from localllm.text.sentences import split_sentences
from localllm.text.tokenising import Run, runs, stem, terms

Rarity = Callable[[int], float]
"""The inverse document frequency of a term in a collection."""

_LIGHT = 0.5
"""Ranking weight, where a word has 1, of hiragana, katakana bigrams and question words: a spoken question has many of
them, and its subject is in few others."""

_FILLER, _SINGLE = 0.1, 0.5
"""Coverage weights of question words and of a single ideograph, where a word has 1."""

_TOLD = 0.2
"""Weight of a word of the circumstances that a passage lacks."""

_CONDITION = 0.7
"""Weight of a word of a condition at a question's end (… when a grandparent dies?) that a passage lacks."""

_NAME, _NAMED = 2.2, 0.5
"""Weights of a name: where a passage lacks it, since names have no synonyms; and where it has it, since a name only
identifies the subject and the other words ask about it."""

_BESIDE = 0.25
"""Share of the words of a passage that are in the sentence of the answer."""

_AROUND = 0.5
"""Weight of a word that a passage lacks and other passages of its file have."""

_SYNONYM = 0.5
"""Ranking weight of a word of which a passage has a synonym."""

_MOST_OF_A_WORD = 0.7
"""Share of its bigrams from which on a passage has a katakana word, such as inside a compound."""

_QUESTION_WORDS = """
many much get got give tell explain describe find show list please want need know way make use interested concerning
regarding information anything something looking
"""
_LIGHT_WORDS = """
difference between like long far often still even happen mean possible allow may might must let say said go going come
work works thing things help
someone somebody anyone anybody everyone everybody nobody none everything nothing another either neither every few fewer
several less least enough else ever never always already yet soon quite rather almost maybe perhaps really actually just
without inside outside instead against among across along around beside besides despite near per since toward towards
upon via within whether though although unless until however
"""
_ASKING = frozenset(map(stem, _QUESTION_WORDS.split()))
_FILLERS = _ASKING.union(map(stem, _LIGHT_WORDS.split()))
"""Words that say little about a question's subject, such as pronouns, prepositions and conjunctions; in a document they
may matter."""
_IDIOMS = late_pattern(r"(?i)\b(?:in (?:advance|total|general|fact|any case)|at (?:all|most|least|once))\b")
"""Idioms of words that have a meaning of their own elsewhere."""
_ASKING_CHARACTERS = frozenset("何誰教知")

_WHEN = r"(?:if|when|while|because|since|although|though|whenever|unless|after|before|once)\s"
_ASKS_FIRST = r"(?:is|are|am|was|were|do|does|did|has|have|can|could|may|must|shall|should|will|would)\b"
_CIRCUMSTANCE = late_pattern(rf"(?i)(?<=\s){_WHEN}(?!{_ASKS_FIRST})")
_FIRST_CIRCUMSTANCE = late_pattern(rf"(?i)\s*{_WHEN}(?!{_ASKS_FIRST})[^,]*,")
_JAPANESE_CIRCUMSTANCE = late_pattern(
    r"(?:が|けど|けれど|ので|のに|から|場合は?|ときは?|時は?|際は?|たら|なら|れば|ずに|(?P<and>て|で|と))[、,]"
)
"""`and`: the part before it may be circumstances, or asked as well."""
_QUESTION = late_pattern(r"(?:\?|か[。.]?|(?:教えて|知りたい).*)$")
_REPORT = late_pattern(r"(?:です|ます|ません|でした|ました)[。.]?$")
_QUESTION_WORD = late_pattern(
    r"(?i)\b(?:what|how|who|whom|whose|which|where|why)\b"
    rf"|^\s*(?:when\s+)?{_ASKS_FIRST}"
    r"|(?:どう(?!しても)|どこ|いつ(?!の間)|誰|だれ|どれ|どちら|いくら|いくつ)(?!か(?!ら)|も|でも)"
    r"|何(?!か(?!月)|とか|も|度も|回も|でも)|どの|どんな|なぜ|いかが|教えて|知りたい"
)
_AFTER_BLANK = late_pattern(r"(?<= )[^\W_]+")
_JAPANESE = late_pattern("[\u3040-\u30ff\u4e00-\u9fff]")
_NAMES = late_pattern(
    r"(?<![^\W_])(?:[A-Za-z]{1,4}(?:[-‐‑−][0-9]+|[0-9]{2,})[0-9A-Za-z]*|[^\W_]+(?:_+[^\W_]+)+)(?![^\W_])", re.ASCII
)
"""Identifiers: a code (KZ-4077, E2099), a name with an underscore. Not WPA3 and Windows11, which have other spellings.
"""

_EVERYDAY_WORDS = """
ac ai app cd cm cpu dvd email excel fax faq fi gb gps hdd html hp iphone ipad id ip it kb kg km lan led line mac mail mb
mm ng ok os pc pdf powerpoint pw qr sd sim smartphone sns ssd tb tel tv url usb vpn web wi wifi windows word
"""
_DATES = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
october november december
"""
_HYPHENED = late_pattern(r"(?<![A-Za-z0-9_])[A-Za-z]+(?:[-‐‑−][A-Za-z]+)+(?![A-Za-z0-9_])")
"""Wi-Fi, carry-over: their parts count as one word together."""
_NO_NAMES = frozenset((*_EVERYDAY_WORDS.split(), *map(stem, _DATES.split())))
"""Capitalised words that documents write otherwise (パソコン, エクセル, 無線) or omit."""
_SMALL_IN_TITLES = frozenset(
    {"a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to", "with"}
)


class Word(NamedTuple):
    """A word of a query and its weights."""

    kind: str
    """The kind, as of a Run."""
    hashes: tuple[int, ...]
    """Of a Latin word: the whole, then the parts of a compound; of katakana: the whole, then its bigrams; of
    ideographs: the bigrams, or the only character."""
    weight: float
    absent: float
    """Factor of its weight if a passage lacks it."""
    present: float = 1.0
    """Factor of its weight if a passage has it."""
    synonyms: frozenset[int] = frozenset()
    """The terms of single-term synonyms."""
    phrases: tuple[frozenset[int], ...] = ()
    """The terms of each multi-term synonym."""

    def rarity(self, rarity: Rarity) -> float:
        """Return its inverse document frequency."""
        if self.kind == "kanji":
            return sum(map(rarity, self.hashes)) / len(self.hashes)
        return rarity(self.hashes[0])

    def presence(self, there: Container[int]) -> float:
        """Return the share of the word among the terms of a passage, from 0 to 1."""
        whole, *parts = self.hashes
        if not parts or (self.kind != "kanji" and whole in there):
            return float(whole in there)
        parts = self.hashes if self.kind == "kanji" else parts
        share = sum(one in there for one in parts) / len(parts)
        return share if self.kind != "pairs" or share >= _MOST_OF_A_WORD else 0.0

    def said(self, there: frozenset[int]) -> float:
        """Return the share of the word in a passage; a synonym counts half."""
        own = self.presence(there)
        if own >= _SYNONYM:
            return own
        is_there = not self.synonyms.isdisjoint(there) or any(one <= there for one in self.phrases)
        return _SYNONYM if is_there else own


class Query(NamedTuple):
    """A parsed query: the BM25 vector, the words, and the names in it."""

    vector: SparseVector
    words: tuple[Word, ...]
    names: dict[str, frozenset[int]]
    """The terms of each code and identifier, by its folded form: a passage with none of them is about something else.
    """
    answer: AnswerType | None
    """The expected form of the answer; None if it is open."""

    def named_in(self, payload: Payload) -> frozenset[str] | None:
        """Return the query's names a passage contains; None if it contains none of them."""
        if not self.names:
            return frozenset()
        text = _folded("\n".join((payload.file, *payload.headings, payload.text)))
        return frozenset(name for name in self.names if name in text and _stands_alone(name, text)) or None

    def weighed(self, rarity: Rarity) -> list[tuple[Word, float]]:
        """Return the words with their weights in a collection."""
        return [(word, word.weight * word.rarity(rarity)) for word in self.words]

    def subject(self) -> list[Word]:
        """Return the words without function words."""
        return [word for word in self.words if word.weight > _FILLER]

    def telling(self, rarity: Rarity) -> list[tuple[Word, float]]:
        """Return the weighted words without function words; all if nothing else remains."""
        weighed = self.weighed(rarity)
        return [one for one in weighed if one[0].weight > _FILLER] or weighed

    def coverage(
        self,
        weighed: Sequence[tuple[Word, float]],
        there: Container[int],
        around: Container[int] = (),
        named: Container[str] = (),
    ) -> float:
        """Return the weighted share of the words a passage has. Names count if they are in `named`; other words count
        half if only the passage's file has them (`around`)."""
        had = lacked = 0.0
        of_names = self._of_names(named) if self.names else {}
        for word, weight in weighed:
            is_named = of_names.get(word.hashes[0])
            if is_named is False:
                continue
            share = 1.0 if is_named else word.presence(there)
            if share < 1 and around:
                share = max(share, _AROUND * word.presence(around))
            had += weight * share * word.present
            lacked += weight * (1 - share) * word.absent
        return had / (had + lacked) if had else 0.0

    def is_answered(self, text: str, there: Container[int], titles: frozenset[int], rarity: Rarity) -> bool:
        """Whether a passage has the expected form of answer near some of the question's words it contains."""
        if self.answer is None:
            return True
        words = [(word, word.weight * word.rarity(rarity)) for word in self.subject()]

        def had(there: Container[int]) -> float:
            return sum(weight * word.presence(there) for word, weight in words)

        enough = _BESIDE * had(there)
        return any(had(titles.union(map(term_hash, terms(place)))) >= enough for place in self.answer.places(text))

    def _of_names(self, named: Container[str]) -> dict[int, bool]:
        """Return the terms of the names, and whether a name with the term is present."""
        found: dict[int, bool] = {}
        for name, hashes in self.names.items():
            found |= {one: found.get(one, False) or name in named for one in hashes}
        return found


def parse_query(text: str) -> Query:
    """Parse the terms and words of a query."""
    whole = unicodedata.normalize("NFKC", text)
    text = _IDIOMS.sub(" ", whole)
    counts = Counter(terms(text))
    expansions = find_expansions(text)
    vector = query_vector(with_synonyms({term: count * _weight(term) for term, count in counts.items()}, expansions))
    names = {_folded(name): frozenset(map(term_hash, terms(name))) for name in _NAMES.findall(text)}
    words = _words(text, frozenset(chain.from_iterable(names.values())))
    expanded = tuple(_expanded(word, expansions) for word in words)
    return Query(vector, expanded, names, expected_answer(whole))


def is_question(sentence: str) -> bool:
    """Whether a sentence ends as a question or has a question word."""
    return bool(_QUESTION.search(sentence) or _QUESTION_WORD.search(sentence))


def share_of(weighed: Sequence[tuple[Word, float]], there: frozenset[int]) -> float:
    """Return the weighted share of the query's words, or their synonyms, in a passage, regardless of their clause."""
    whole = sum(weight for _, weight in weighed)
    return sum(weight * word.said(there) for word, weight in weighed) / whole if whole else 0.0


def _expanded(word: Word, expansions: Sequence[Expansion]) -> Word:
    single, *phrases = synonyms_of(word.hashes, expansions)
    return word._replace(synonyms=single, phrases=tuple(phrases))


def _folded(text: str) -> str:
    return text.casefold().replace("-", "").replace("‐", "").replace("‑", "").replace("−", "")


def _stands_alone(name: str, text: str) -> bool:
    return re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", text) is not None


def _weight(term: str) -> float:
    is_piece_of_katakana = len(term) == 2 and "\u30a0" <= term[0] <= "\u30ff"
    return _LIGHT if "\u3040" <= term[0] <= "\u309f" or is_piece_of_katakana or term in _ASKING else 1.0


def _words(text: str, named: Container[int]) -> Iterable[Word]:
    """Yield the words of a query without duplicates; hiragana only if there is nothing else. `named`: the terms of its
    names."""
    found: dict[tuple[int, ...], Word] = {}
    hyphened = {part: len(parts) for parts in map(_parts, _HYPHENED.findall(text)) for part in parts}
    for part, absent in zip(_clauses(text), (1.0, _CONDITION, _TOLD), strict=True):
        names = _Names(part)
        for run in runs(part):
            if (word := _word(run, absent)) is None:
                continue
            word = word._replace(weight=word.weight / hyphened.get(run.text, 1))
            is_name = run.kind == "word" and run.text in names
            if absent >= 1 and (is_name or word.hashes[0] in named):
                word = word._replace(absent=_NAME if is_name else absent, present=_NAMED)
            found.setdefault(word.hashes, word)
    if not any(word.weight > _FILLER and word.absent >= 1 for word in found.values()):  # only circumstances
        found = {hashes: word._replace(absent=max(word.absent, 1.0)) for hashes, word in found.items()}
    if found:
        return found.values()
    return [Word("hiragana", (one,), _FILLER, 1.0) for one in dict.fromkeys(map(term_hash, terms(text)))]


def _parts(hyphened: str) -> list[str]:
    return re.findall(r"[A-Za-z]+", hyphened)


def _word(run: Run, absent: float) -> Word | None:
    match run.kind:
        case "hiragana":
            return None
        case "kanji":
            letters = "".join(one for one in run.text if one not in _ASKING_CHARACTERS)
            pairs = [letters[at : at + 2] for at in range(len(letters) - 1)] or [letters]
            weight = 1.0 if len(letters) > 1 else _SINGLE
            return Word(run.kind, tuple(map(term_hash, pairs)), weight, absent) if letters else None
        case _:
            weight = _FILLER if run.terms[0] in _FILLERS else 1.0
            return Word(run.kind, tuple(map(term_hash, run.terms)), weight, absent)


class _Names:
    """Recognises the names among the Latin words of a text: SMTP, iSCSI, Slack inside a sentence, any in Japanese."""

    def __init__(self, text: str) -> None:
        self._only = text.strip()
        self._is_japanese = not text.isascii() and _JAPANESE.search(text) is not None
        self._is_shouted = text.isupper()
        self._inside: frozenset[str] = frozenset() if _is_title(text) else frozenset(_AFTER_BLANK.findall(text))

    def __contains__(self, word: str) -> bool:
        lowered = word.lower()
        is_everyday = not _NO_NAMES.isdisjoint((lowered, stem(lowered)))
        if not word.isascii() or not word.isalpha() or len(word) < 2 or is_everyday:
            return False
        if self._is_japanese:
            return True
        if not word[1:].islower() and not word.islower():
            return word == self._only or not self._is_shouted
        return word[0].isupper() and word in self._inside


def _is_title(text: str) -> bool:
    """Whether all words are capitalised, except those written small in titles: "Annual Leave Carry Over"."""
    return all(word[0].isupper() or word in _SMALL_IN_TITLES for word in text.split() if word[0].isalpha())


def _clauses(text: str) -> tuple[str, str, str]:
    """Split a query into the question, its conditions, and its circumstances; keywords have no circumstances."""
    sentences = [text[span.start : span.end] for span in split_sentences(text)]
    asked = [one for one in sentences if _QUESTION.search(one)]
    asked = asked or [one for one in sentences if _QUESTION_WORD.search(one)]
    asked = asked or [one for one in sentences if _REPORT.search(one)]
    if not asked:
        return text, "", ""
    told = [one for one in sentences if one not in asked]
    conditions: list[str] = []
    for number, sentence in enumerate(asked):
        begin, end = _asking_part(sentence)
        told.append(sentence[:begin])
        conditions.append(sentence[end:])
        asked[number] = sentence[begin:end]
    return "\n".join(asked), "\n".join(conditions), "\n".join(told)


def _asking_part(sentence: str) -> tuple[int, int]:
    """Return the start and end of the part of a sentence that asks."""
    for border in reversed([*_JAPANESE_CIRCUMSTANCE.finditer(sentence)]):
        before, after = sentence[: border.start()], sentence[border.end() :]
        if not _QUESTION_WORD.search(before) and (not border["and"] or _QUESTION_WORD.search(after)):
            return border.end(), len(sentence)
    if found := _FIRST_CIRCUMSTANCE.match(sentence):
        return found.end(), len(sentence)
    found = _CIRCUMSTANCE.search(sentence)
    return 0, found.start() if found else len(sentence)
