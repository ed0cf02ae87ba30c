"""Parse a model's text into sentences that cite evidence: marks (`[E7]`) become ids, the rest plain text.

Only ids that were given to the model are valid. A sentence without a valid id is dropped and counted; ids are never
guessed. References in other forms (`[3]`, a link, a list of sources) are removed.
"""

import re
import unicodedata
from collections.abc import Collection
from typing import Literal, NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.research.records import Sentence
from localllm.text.sentences import Span, split_sentences

_ID = r"[EＥ]\s?[-#]?\d{1,5}"
_BLANKS = r"(?:(?<!\s)\s++|)"  # all there are: each of a long run is tried once
_MARK = late_pattern(
    rf"{_BLANKS}[\[［【(（〔]\s*+(?:(?:evidence|source|出典|証拠|根拠)\s*+(?::\s*+)?)?"
    rf"(?P<ids>{_ID}(?>(?:\s*+(?:(?:[,、，;；・/]|and|と)\s*+)?{_ID})*))\s*+[\]］】)）〕]",
    re.IGNORECASE,
)
_NUMBER = late_pattern(r"(?<!\d)\d{1,6}(?!\d)")
_FOREIGN = late_pattern(  # a link, whose words stay; [3], [S2], 【4】; an address
    r"\[(?P<label>[^\]\n]{1,200})\]\([^)\s]{1,500}\)"
    rf"|{_BLANKS}"
    r"[\[［【〔]\s*+(?:[SＳTＴ^]\s*+)?\d{1,4}(?>(?:\s*+[,、，;–—-]\s*+(?:[SＳTＴ]\s*+)?\d{1,4})*)\s*+[\]］】〕](?!\()"
    r"|<?(?:https?|ftp|file|javascript|data)://?[^\s<>「」（）()、。]+>?",
    re.IGNORECASE,
)
_FENCE = late_pattern(r"^\s*(?:```|~~~).*$", re.MULTILINE)
_HEADING = late_pattern(r"^\s{0,3}(?:#{1,6}\s.*|\*\*[^*\n]+\*\*:?\s*|[=\-*_]{3,}\s*)$", re.MULTILINE)
_EMPHASIS = late_pattern(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_ITEM = late_pattern(r"^\s*(?:[-*•・]\s+|・|\(?\d{1,2}[.)]\s+)")
_SOURCE = late_pattern(r"[(（][^()（）\n]{2,160}(?<![.。!?！？])[)）]")
_BEFORE_STOP = late_pattern(r"(?<!\s)\s++(?=[.,;:!?。、，．！？）)])")
_WORDS = late_pattern(r"[^\W\d_]")

SHORTEST = 4
"""Fewest letters of a sentence."""

LONGEST = 600
"""Most characters of a sentence; longer text is an endless list."""


class CitedText(NamedTuple):
    """The sentences of an answer; the number dropped for lack of evidence, and of citations of unknown evidence."""

    sentences: tuple[Sentence, ...]
    """Without ids."""
    dropped: int = 0
    unknown: int = 0


def read_sentences(text: str, allowed: Collection[str]) -> CitedText:
    """Parse the sentences of a model's text, each with the ids of `allowed` it cites, in order."""
    plain, marks = _without_marks(_bare(text))
    spans = split_sentences(plain)
    cited = _assigned(plain, spans, marks)
    sentences: list[Sentence] = []
    dropped = unknown = 0
    for number, span in enumerate(spans):
        ids = list(dict.fromkeys(cited.get(number, [])))
        known = tuple(one for one in ids if one in allowed)
        unknown += len(ids) - len(known)
        written = tidy(plain[span.start : span.end])
        if known and is_sentence(written):
            sentences.append(Sentence("", written, known, begins=_begins(plain, span, is_first=not sentences)))
        elif is_sentence(written) or len(written) > LONGEST:
            dropped += 1
    return CitedText(tuple(sentences), dropped, unknown)


def tidy(text: str) -> str:
    """Return a sentence on one line, without list markers, emphasis, and foreign references."""
    line = _ITEM.sub("", " ".join(text.split()))
    line = _MARK.sub("", line)
    line = _FOREIGN.sub(lambda found: found["label"] or "", line)
    line = _EMPHASIS.sub(r"\2", line)
    return _BEFORE_STOP.sub("", " ".join(line.split())).strip()


def is_sentence(text: str) -> bool:
    """Whether a text has words and a sentence's length and ending."""
    return len(_WORDS.findall(text)) >= SHORTEST and len(text) <= LONGEST and text[-1] not in ":："


def ids_in(text: str) -> list[str]:
    """Parse evidence ids from a model's list in any form: E7, [E7], 7."""
    numbers = _NUMBER.findall(unicodedata.normalize("NFKC", text))
    return list(dict.fromkeys(f"E{int(one)}" for one in numbers))


def _bare(text: str) -> str:
    """Blank code fences and headings."""
    return _HEADING.sub("", _FENCE.sub("", text.replace("\r\n", "\n")))


def _without_marks(text: str) -> tuple[str, list[tuple[int, list[str]]]]:
    """Remove the marks of a text; return it with each mark's position in it and ids."""
    pieces: list[str] = []
    marks: list[tuple[int, list[str]]] = []
    length = last = 0
    for found in _MARK.finditer(text):
        lead = found[0][: len(found[0]) - len(found[0].lstrip())]
        piece = text[last : found.start()] + (lead if "\n" in lead else "")
        pieces.append(piece)
        length += len(piece)
        marks.append((length, ids_in(found["ids"])))
        last = found.end()
    return "".join([*pieces, text[last:]]), marks


def _assigned(text: str, spans: list[Span], marks: list[tuple[int, list[str]]]) -> dict[int, list[str]]:
    """Assign ids to sentences. A mark after a full stop belongs to the sentence before it, unless it starts a line;
    one that is a line of its own to the one after it only if the text begins with a mark."""
    cited: dict[int, list[str]] = {}
    are_above = bool(marks and spans) and marks[0][0] <= spans[0].start
    for place, ids in marks:
        before = [number for number, span in enumerate(spans) if span.start < place]
        number = before[-1] if before else 0
        if before and "\n" in text[spans[number].end : place] and (are_above or not _is_alone(text, place)):
            number = min(number + 1, len(spans) - 1)
        cited.setdefault(number, []).extend(ids)
    for number in sorted(cited):
        before = number - 1
        if before >= 0 and before not in cited and _names_source(text, spans[before], spans[number]):
            cited[before] = cited.pop(number)
    return cited


def _is_alone(text: str, place: int) -> bool:
    """Whether nothing else was in the line of a mark."""
    line = f"{text[text.rfind(chr(10), 0, place) + 1 : place]}{text[place:].partition(chr(10))[0]}"
    return not any(map(str.isalnum, line))


def _names_source(text: str, before: Span, span: Span) -> bool:
    """Return whether a sentence is only a source in parentheses, behind another: "(A page; a.example)"."""
    gap, said = text[before.end : span.start], text[span.start : span.end].strip(" .。")
    return gap.count("\n") < 2 and _SOURCE.fullmatch(said) is not None


def _begins(text: str, span: Span, *, is_first: bool) -> Literal["", "paragraph", "item"]:
    """Return whether a paragraph or a list item starts here."""
    line = text.rfind("\n", 0, span.start) + 1
    if _ITEM.match(text[line : span.end]) and not text[line : span.start].strip(" \t-*•・()0123456789."):
        return "item"
    gap = text[: span.start]
    blank = gap[len(gap.rstrip()) :].count("\n") > 1
    return "paragraph" if blank and not is_first else ""
