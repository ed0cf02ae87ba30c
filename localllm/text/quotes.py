"""Locate a quote in the text of a page, and classify the differences between the two.

White space, variants of quote marks and dashes, and compatibility forms (full width, half-width kana) are ignored. A
model that copies a sentence drops or changes a few letters: matching blocks must cover 92 %.
"""

import difflib
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.text.quantities import quantities
from localllm.text.sentences import Span, split_sentences, whole_sentences

__all__ = ["Span", "difference", "find_quote", "split_sentences", "whole_sentences"]

LEAST_RATIO = 0.92
_LONGEST = 1_000  # characters of a quote: longer text is no quote and slow to compare
_SHORTEST_INEXACT = 16  # shorter quotes must match exactly
_CANDIDATES = 4
_OCCURRENCES = 24  # of one seed: a seed that occurs more often is insignificant

_SAME = {
    **dict.fromkeys("“”„‟«»″〝〟＂", '"'),
    **dict.fromkeys("‘’‚‛′`´＇", "'"),
    **dict.fromkeys("‐‑‒–—―−－﹣", "-"),
    **dict.fromkeys("〜～∼", "~"),
    "・": "・",
}


class _Folded(NamedTuple):
    """A normalised text, with the position of each character in the raw text."""

    text: str
    starts: tuple[int, ...] | range
    ends: tuple[int, ...] | range


def find_quote(quote: str, text: str) -> Span | None:
    """Return the span of a quote in the raw text; None if no passage matches to 92 %."""
    wanted = _fold(_without_marks(quote)).text
    if not wanted or len(wanted) > _LONGEST:
        return None
    page = _folded_page(text)
    at = page.text.find(wanted)
    if at >= 0:
        return Span(page.starts[at], page.ends[at + len(wanted) - 1])
    if len(wanted) < _SHORTEST_INEXACT:
        return None
    best = max((_compared(wanted, page.text, start) for start in _candidates(wanted, page.text)), default=None)
    if best is None or best[0] < LEAST_RATIO:
        return None
    return Span(page.starts[best[1]], page.ends[best[2] - 1])


def difference(quote: str, passage: str) -> str:
    """Classify the difference between a quote and its place: "number", "unit", "negation", "name", "text" or ""."""
    span = find_quote(quote, passage)
    if span is None:
        return "text"
    said, written = _plain(_without_marks(quote)), _plain(passage[span.start : span.end])
    if "".join(said.split()) == "".join(written.split()):
        return ""
    for reason, pattern in (("number", _DIGITS), ("negation", _NEGATION)):
        if _counted(pattern.findall(said)) != _counted(pattern.findall(written)):
            return reason
    if _units(said) != _units(written):
        return "unit"
    return "name" if _names(said) != _names(written) else ""


_DIGITS = late_pattern(r"\d+(?:[,.]\d+)*|[一二三四五六七八九十百千〇]*[万億兆割]|[一二三四五六七八九十百千〇]{2,}")
_NEGATION = late_pattern(
    r"(?i:\b(?:not|no|never|none|neither|nor|without|cannot|hardly|barely)\b|n't\b)"
    r"|な(?:い|かっ|く(?!な))|ません|(?<=[らかさたなまわせればがけめべえね])ず|非|未(?!来)|不|無"
)
_NAME = late_pattern(
    r"[A-Z][^\W\d_]*(?:[-'][^\W\d_]+)*|[A-Za-z]+\d\w*"
    r"|[\u30a1-\u30fa\u30fc]{2,}|[々\u3400-\u4dbf\u4e00-\u9fff]{2,}"
)
_WRITTEN = late_pattern(r"(?<=\d),(?=\d{3})")


def _counted(found: list[str]) -> Counter[str]:
    return Counter(_WRITTEN.sub("", one).lower() for one in found)


def _units(text: str) -> Counter[str]:
    return Counter(f"{one.kind} {one.unit} {one.value:g}" for one in quantities(text))


def _names(text: str) -> Counter[str]:
    """Count names, ignoring capitals at the start of a sentence."""
    return Counter(one.lower() for one in _NAME.findall(text) if not one.isascii() or one.lower() not in _SMALL)


_SMALL = frozenset(
    """
    the a an it its in on at he she they we i this that these those but and as his her their
    """.split()
)
_MARKS = "\"'“”„«»‘’「」『』… \t\n"


def _without_marks(quote: str) -> str:
    """Remove the marks around a quote: "...", 「...」 and ellipses, as models write them."""
    return quote.strip(_MARKS).removeprefix("...").removesuffix("...").strip(_MARKS)


def _plain(text: str) -> str:
    return "".join(_SAME.get(one, one) for one in unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=4)
def _folded_page(text: str) -> _Folded:
    """Like `_fold`, cached, as many quotes are located in one page."""
    return _fold(text)


def _fold(text: str) -> _Folded:
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    forms: dict[str, str] = {}
    for start, end in _clusters(text):
        raw = text[start:end]
        form = forms.get(raw)
        if form is None:
            form = forms[raw] = _form(raw)
        if form:
            parts.append(form)
            starts += [start] * len(form)
            ends += [end] * len(form)
    return _Folded("".join(parts), tuple(starts), tuple(ends))


_MARKED = late_pattern(r"[^\s][\u0300-\u036f\u3099\u309a\uff9e\uff9f\ufe00-\ufe0f]+|.", 16)  # re.DOTALL


def _clusters(text: str) -> "list[tuple[int, int]]":
    """Return the spans of characters with their combining marks."""
    if text.isascii():
        return [(at, at + 1) for at in range(len(text))]
    return [found.span() for found in _MARKED.finditer(text)]


def _form(raw: str) -> str:
    """Return a character's normalised form: empty for white space and invisible characters."""
    form = unicodedata.normalize("NFKC", _SAME.get(raw, raw))
    return "".join(
        _SAME.get(one, one) for one in form if not one.isspace() and unicodedata.category(one) not in ("Cf", "Cc", "Mn")
    )


def _candidates(wanted: str, page: str) -> list[int]:
    """Return where a quote may begin: the diagonals with most of its rare n-grams."""
    length = 8 if len(wanted) >= 48 else 4
    votes: Counter[int] = Counter()
    for at in range(0, len(wanted) - length + 1, length):
        places = _places(wanted[at : at + length], page)
        if len(places) <= _OCCURRENCES:
            votes.update({(place - at) // 16 for place in places})
    both = {line: votes[line] + votes[line + 1] for line in list(votes)}
    best = sorted(both, key=lambda line: -both[line])[:_CANDIDATES]
    return [max(0, line * 16) for line in best]


def _places(piece: str, page: str) -> list[int]:
    found: list[int] = []
    at = page.find(piece)
    while at >= 0 and len(found) <= _OCCURRENCES:
        found.append(at)
        at = page.find(piece, at + 1)
    return found


def _compared(wanted: str, page: str, start: int) -> tuple[float, int, int]:
    """Return the similarity of the passage near a position, and its start and end."""
    slack = 24 + len(wanted) // 12
    low, high = max(0, start - slack), min(len(page), start + len(wanted) + slack + 16)
    window = page[low:high]
    matcher = difflib.SequenceMatcher(None, window, wanted, autojunk=False)
    blocks = [one for one in matcher.get_matching_blocks() if one.size]
    blocks = _without_strays(blocks)
    if not blocks:
        return 0.0, low, low
    first, last = blocks[0], blocks[-1]
    begin, end = first.a, last.a + last.size
    same = sum(one.size for one in blocks)
    return 2 * same / (len(wanted) + end - begin), low + begin, low + end


def _without_strays(blocks: list[difflib.Match]) -> list[difflib.Match]:
    """Drop blocks of one or two letters far from the others at either end."""
    while len(blocks) > 1 and blocks[0].size < 3 and blocks[1].a - blocks[0].a - blocks[0].size > 4:
        blocks = blocks[1:]
    while len(blocks) > 1 and blocks[-1].size < 3 and blocks[-1].a - blocks[-2].a - blocks[-2].size > 4:
        blocks = blocks[:-1]
    return blocks
