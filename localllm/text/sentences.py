"""Split English and Japanese text into sentences, as spans of the text."""

from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern

LONGEST = 600
"""Maximum characters returned by `whole_sentences`."""

_AROUND = 1_200  # characters examined on each side of a span: two of the longest sentences


class Span(NamedTuple):
    """A part of a text, text[start:end]."""

    start: int
    end: int


_CLOSING = "\"'”’)\\]）」』】〉》"
_END = late_pattern(
    rf"(?P<latin>(?<![.!?])[.!?]++[{_CLOSING}]*+(?=\s|$|[\[【（(\u3040-\u30ff\u4e00-\u9fff]))"
    rf"|(?P<wide>[。！？．｡]+[{_CLOSING}]*)"
    r"|(?P<blank>\n[^\S\n]*\n\s*)"
    r"|(?P<line>\n)"
)
_TITLES = frozenset(
    """
    mr mrs ms dr prof st gen sen rep gov lt col capt sgt rev hon fig figs no nos vol vs eq art sec ch pp approx est ca
    cf al e.g i.e eg ie ext tel incl excl p jan feb mar apr jun jul aug sep sept oct nov dec mt ft pres supt messrs
    """.split()
)
_SHORT_FORMS = frozenset(
    """
    inc ltd co corp llc plc bros jr sr etc u.s u.k u.n e.u d.c a.m p.m ph.d b.c a.d
    """.split()
)
_STARTERS = frozenset(
    """
    the a an it its in on at he she they we i this that these those but and however after before when while for as his
    her their our there from by with to if according last since under both all some
    """.split()
)
_WORD_BEFORE = late_pattern(r"[^\s(\[“\"'（「]*$")
_WORD_AFTER = late_pattern(r"\s*[\"'“‘(\[]*([^\W_]+)")
_ITEM = late_pattern(r"[^\S\n]*(?:[-*•·▪●■◆○・※#>|]|\(?\d{1,3}[.)](?!\d)|[①-⑳])")
_NUMBERED = late_pattern(r"\s*\(?(?:\d{1,3}|[a-zA-Z])$")
_JOINS = "とはがをにのでもやへなかよっ、，"
"""Characters that continue a sentence after a closing bracket: 「行く。」と言った。"""


def split_sentences(text: str) -> list[Span]:
    """Return the sentences in order, without surrounding white space. A heading or list item is a sentence."""
    spans: list[Span] = []
    start = 0
    for found in _END.finditer(text):
        if found.start() < start or not _is_border(text, start, found.lastgroup or "", found.start(), found.end()):
            continue
        _append(spans, text, start, found.end())
        start = found.end()
    _append(spans, text, start, len(text))
    return spans


def whole_sentences(text: str, span: Span) -> Span:
    """Extend a span to sentence borders, up to `LONGEST` characters; a longer span is truncated."""
    base = max(0, span.start - _AROUND)
    near = split_sentences(text[base : span.end + _AROUND])
    touched = [one for one in near if one.start + base < span.end and one.end + base > span.start]
    start = min([one.start + base for one in touched[:1]] + [span.start])
    end = max([one.end + base for one in touched[-1:]] + [span.end])
    if end - start <= LONGEST:
        return Span(start, end)
    room = max(0, LONGEST - (span.end - span.start))
    start = _word_start(text, max(start, span.start - room // 2), span.start)
    return Span(start, min(end, start + LONGEST))


def _word_start(text: str, wanted: int, limit: int) -> int:
    """Return the first word start from `wanted` on, at most `limit`."""
    if wanted == 0 or text[wanted - 1].isspace():
        return wanted
    blank = text.find(" ", wanted, limit)
    return blank + 1 if 0 <= blank < wanted + 40 else wanted


def _append(spans: list[Span], text: str, start: int, end: int) -> None:
    part = text[start:end]
    if kept := part.strip():
        start += len(part) - len(part.lstrip())
        spans.append(Span(start, start + len(kept)))


def _is_border(text: str, begun: int, kind: str, start: int, end: int) -> bool:
    match kind:
        case "blank":
            return True
        case "line":
            return _is_line_border(text, begun, start)
        case "wide":
            is_closed = text[end - 1] in "」』）)】〉》"
            return not (is_closed and end < len(text) and text[end] in _JOINS)
        case _:
            return _is_latin_border(text, begun, start, end)


def _is_latin_border(text: str, begun: int, start: int, end: int) -> bool:
    if end < len(text) and not text[end].isspace():  # Yahoo!ニュース is no border, but "… 2024.[3]" is
        return text[end] in "[【"
    before = text[max(begun, start - 20) : start]
    if text[start] != ".":
        return not ((after := _WORD_AFTER.match(text, end)) and after[1][0].islower() and after[1][0].isascii())
    found = _WORD_BEFORE.search(before)
    word = found[0] if found else ""
    lowered = word.lower().rstrip(".")
    line_start = text.rfind("\n", max(begun, start - 20), start) + 1 or begun
    if start - line_start <= 8 and _NUMBERED.match(text[line_start:start]):
        return False  # e.g. "1. First"
    after = _WORD_AFTER.match(text[end : end + 60])
    if after and after[1][0].islower() and after[1].isascii():
        return False
    if lowered in _TITLES:
        return not after
    if lowered in _SHORT_FORMS or (len(word) == 1 and word.isalpha() and word.isupper()):
        return not after or after[1].lower() in _STARTERS
    return True


def _is_line_border(text: str, begun: int, start: int) -> bool:
    """Return whether a line break ends a sentence, rather than wrapping it to the page width."""
    begun = max(begun, start - 400)
    line = text[max(begun, text.rfind("\n", begun, start) + 1) : start].rstrip()
    rest = text[start + 1 : start + 40]
    following = rest.lstrip()[:1]
    if not line or not following or _ITEM.match(rest):
        return True
    if following.islower() and following.isascii() and line[-1].isascii():
        return False
    if line[-1] in ",、，;-‐":
        return False
    if line.isascii():
        return len(line) < 60 or len(line) > 130
    return not (28 <= len(line) <= 60 and following > "\u3000" and line[-1] > "\u3000")
