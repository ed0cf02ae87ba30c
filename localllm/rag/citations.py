"""Check the references of an answer against the passages it was given, and remove invalid ones."""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.rag.records import Hit, Place
from localllm.text.sentences import split_sentences

_NO_FILE = r"\[\]［］【】()（）「」、。,;:*?\"<>|`\n"
_FILE = rf"[^\s{_NO_FILE}][^{_NO_FILE}]{{0,200}}?\.[A-Za-z][A-Za-z0-9]{{0,7}}"
_WORD = rf"[^\s{_NO_FILE}]{{1,200}}\.[A-Za-z][A-Za-z0-9]{{0,7}}"
_PLACE = (
    r"(?P<lines>(?::\s?L?|\s?#L|,?\s?(?:[Ll]ines?\s?|L))(?P<line>\d+)(?:\s?[-–~]\s?L?(?P<last_line>\d+))?)"
    r"|(?P<pages>,?\s?(?:pp?\.?|pages?)\s?(?P<page>\d+)(?:\s?[-–]\s?(?P<last_page>\d+))?)"
    r"|(?P<rows>,?\s?rows?\s?(?P<row>\d+)(?:\s?[-–]\s?(?P<last_row>\d+))?)"
    r"|(?P<section>\s?§\s?(?P<heading>[^\[\];]+))"
)
_REFERENCE = late_pattern(rf"^(?P<file>{_FILE})(?:{_PLACE})?$")
_SHEET_ROWS = late_pattern(
    r"^(?P<sheet>[^\n]{1,100}?),?\s(?:rows?)\s?(?P<row>\d{1,9})(?:\s?[-–]\s?(?P<last_row>\d{1,9}))?$"
)
"""What follows § in a reference to rows of a sheet."""
_BRACKETED = late_pattern(r"\s?[\[［【]([^\[\]［］【】\n]{3,400})[\]］】](?!\()")
_BEHIND_STOP = late_pattern(
    r"(?P<stop>[.。!?！？])(?P<references>(?:\s{0,2}[\[［【][^\[\]［］【】\n]{3,400}[\]］】](?!\()){1,9})"
)
"""References placed after the full stop of their sentence."""
_ABOVE = late_pattern(
    r"^[^\S\n]{0,9}(?P<reference>[\[［【][^\[\]［］【】\n]{3,400}[\]］】])[^\S\n]{0,9}\n(?P<told>(?:[^\s\[［【\n][^\n\[［【]*(?:\n|\Z))+)",
    re.MULTILINE,
)
"""A reference on a line of its own, and the paragraph below it, which has none."""
_BARE = late_pattern(rf"(?<![\w/.:\[-])`?(?P<whole>{_WORD}:\d+(?:[-–]\d+)?)`?(?![\w-])")
_BETWEEN = late_pattern(r"\s*[;；]\s*|\s*,\s+(?=\S+\.[A-Za-z]\w*(?:[:\s]|$))|\s*、\s*")
_MORE_NUMBERS = late_pattern(r"\s?,\s?(?=L?\d)")
_NUMBERS = late_pattern(r"\s?L?\d+(?:\s?[-–~]\s?L?\d+)?\s?")
_NUMBERED = late_pattern(r"(?P<head>.*?\D)\d+(?:\s?[-–~]\s?L?\d+)?\s?")

_MARKS = "`* "
"""Of Markdown, around a reference."""
_LONGEST_NUMBER = 9
"""Digits of a line number; no file has more lines."""
_LEAST_OF_A_STATEMENT = 8
"""Fewest letters and digits of a sentence that makes a statement."""


class Checked(NamedTuple):
    """An answer without its invalid references, the removed references, each once, and the passages cited."""

    text: str
    removed: tuple[str, ...] = ()
    cited: tuple[Hit, ...] = ()


def uncited_sentences(checked: str, hits: Sequence[Hit]) -> tuple[int, int]:
    """Count the sentences of a checked answer that have no reference in or right behind them, and all sentences. Short
    ones, headings and questions are not counted."""
    text = _BEHIND_STOP.sub(r"\g<references>\g<stop>", _spread(checked))
    parts = [text[start:end] for start, end in split_sentences(text)]
    stating = [part for part in parts if _states_something(_BRACKETED.sub("", part))]
    return sum(not check_citations(part, hits).cited for part in stating), len(stating)


def _states_something(text: str) -> bool:
    plain = text.strip()
    return sum(sign.isalnum() for sign in plain) >= _LEAST_OF_A_STATEMENT and not plain.endswith(("?", "？", ":", "："))


class Reference(NamedTuple):
    """A parsed reference: a file, and a position in it or one of its headings, which may also be a position in a
    sheet."""

    file: str
    place: Place | None
    heading: str = ""
    sheet: str = ""


def references_in(answer: str) -> list[str]:
    """Return the references in brackets, without marks around them."""
    parts = [part for found in _BRACKETED.finditer(answer) for part in _parts(found[1])]
    return [part.strip(_MARKS) for part in parts if read_reference(part) is not None]


def sentences_with_citations(answer: str, hits: Sequence[Hit]) -> list[tuple[str, tuple[Hit, ...]]]:
    """Return the sentences without their references, each with those of the passages that a reference in or right
    behind it names."""
    text = _BEHIND_STOP.sub(r"\g<references>\g<stop>", _spread(_without_places(answer, hits)))
    parts = [text[start:end] for start, end in split_sentences(text)]
    return [(_BARE.sub("", _BRACKETED.sub("", part)), check_citations(part, hits).cited) for part in parts]


def check_citations(answer: str, hits: Sequence[Hit]) -> Checked:
    """Remove every reference that is not, or is not within, one of these passages."""
    removed: dict[Reference, str] = {}
    cited: dict[str, Hit] = {}

    def is_kept(written: str) -> bool:
        reference = read_reference(written)
        if reference is None:  # brackets that hold no reference
            return True
        found = [hit for hit in hits if points_to(reference, hit)]
        cited.update((hit.reference, hit) for hit in found)
        if not found:
            removed.setdefault(reference, written.strip(_MARKS))
        return bool(found)

    def bracketed(found: re.Match[str]) -> str:
        parts = _parts(found[1])
        kept = [part for part in parts if is_kept(part)]
        if len(kept) == len(parts):
            return found[0]
        lead = found[0][0] if found[0][0].isspace() else ""
        return f"{lead}[{'; '.join(kept)}]" if kept else ""

    answer = _without_places(answer, hits)
    inside = [found.span() for found in _BRACKETED.finditer(answer)]
    text = _BRACKETED.sub(bracketed, answer)
    bare = {
        found["whole"]
        for found in _BARE.finditer(answer)
        if not any(start <= found.start() < end for start, end in inside)
    }
    for whole in sorted(bare, key=len, reverse=True):
        if not is_kept(whole):
            text = re.sub(rf"\s?[(（]?`?{re.escape(whole)}`?(?![\w-])[)）]?", "", text)
    return Checked(text, tuple(removed.values()), tuple(cited.values()))


def _parts(written: str) -> list[str]:
    """Split what stands in brackets into references, several places of one file (a.md:3-4, 9) into one each."""
    parts: list[str] = []
    for part in _BETWEEN.split(written):
        for piece in [part] if read_reference(part) else _MORE_NUMBERS.split(part):
            is_more = bool(parts) and _NUMBERS.fullmatch(piece) and read_reference(parts[-1])
            before = _NUMBERED.fullmatch(parts[-1]) if is_more else None
            parts.append(f"{before['head']}{piece.strip()}" if before else piece)
    return parts


def _without_places(answer: str, hits: Sequence[Hit]) -> str:
    """Remove the collection and headings behind a reference, which a model has copied with a passage."""
    for place in {" › ".join((hit.collection, *hit.headings)) for hit in hits if hit.headings}:
        if place in answer:
            answer = re.sub(
                rf"(?<=[\]］】])[^\S\n]{{1,4}}{re.escape(place)}(?=[^\S\n]*(?:$|[.。]))", "", answer, flags=re.M
            )
    return answer


def _spread(text: str) -> str:
    """Put a reference that stands alone above a paragraph, as above a passage, behind each of its sentences."""

    def cited(found: re.Match[str]) -> str:
        told = found["told"]
        return "".join(f"{told[start:end].rstrip()} {found['reference']}\n" for start, end in split_sentences(told))

    return _ABOVE.sub(cited, text)


def read_reference(written: str) -> Reference | None:
    """Parse a reference; None if the text is none."""
    found = _REFERENCE.match(unicodedata.normalize("NFKC", written).strip(_MARKS))
    if found is None:
        return None
    if found["lines"]:
        return Reference(found["file"], _place("lines", found["line"], found["last_line"]))
    if found["pages"]:
        return Reference(found["file"], _place("page", found["page"], found["last_page"]))
    if found["rows"]:
        return Reference(found["file"], _place("row", found["row"], found["last_row"]))
    heading = found["heading"] or ""
    if rows := _SHEET_ROWS.match(heading.strip()):
        place = _place("row", rows["row"], rows["last_row"])
        return Reference(found["file"], place, _folded(heading), _folded(rows["sheet"]))
    return Reference(found["file"], None, _folded(heading))


def _place(kind: str, first: str, last: str | None) -> Place:
    return Place(kind, _number(first), _number(last or first))  # type: ignore[arg-type]


def _number(digits: str) -> int:
    """Parse a number, capped: Python's int() rejects 4,300 digits and more."""
    return int(digits) if len(digits) <= _LONGEST_NUMBER else 10**_LONGEST_NUMBER


def points_to(reference: Reference, hit: Hit, *, overlap: bool = False) -> bool:
    """Whether a reference is within a passage, or with `overlap` shares a line, page or row with it."""
    file, named = _folded(hit.file), _folded(reference.file)
    if file != named and not file.endswith(f"/{named}"):
        return False
    if reference.heading and any(_folded(title) == reference.heading for title in hit.headings):
        return True
    if (reference.heading and not reference.sheet) or reference.sheet not in ("", _folded(hit.place.sheet)):
        return False
    place = reference.place
    if place is None:
        return True
    if place.kind != hit.place.kind:
        return False
    if overlap:
        return place.first <= hit.place.last and hit.place.first <= place.last
    return hit.place.first <= place.first <= place.last <= hit.place.last


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
