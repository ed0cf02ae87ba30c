"""Locate a passage in a text although it was not copied exactly, and adapt its replacement.

The steps are tried in order, and the first with a result decides: several matches of one step are never made unique by
a later one.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from itertools import accumulate
from typing import Literal, NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.text.diffing import Budget
from localllm.text.lexer import plain, tokens
from localllm.text.merging import MOST_PUT, TooMuchTextError, indent_unit, merge
from localllm.text.typos import span_despite_typos

_MOST_STEPS = 10_000_000
"""Step limit (1 to 2 s) for adapting one replacement to all places; beyond it they are only indented."""

Step = Literal["exact", "numbers", "escapes", "fence", "trailing", "indent", "punctuation", "space", "typos", "elided"]
"""How a passage was found: exactly; without the line numbers of a listing; with escapes undone; without a code fence
around it; ignoring trailing white space; ignoring indentation; ignoring the form of quotes, dashes and the like;
ignoring white space; despite typos; by what surrounds elided lines."""


class Span(NamedTuple):
    """A place (offsets in the text, `end` excluded) and its replacement."""

    start: int
    end: int
    text: str


class Match(NamedTuple):
    """The places a step found, in order."""

    step: Step
    spans: tuple[Span, ...]


class TooManyPlacesError(Exception):
    """The passage occurs more often than can be replaced at once."""


def find(text: str, old: str, new: str, *, apart: bool = False) -> Match | None:
    """Find `old` in `text`, with `new` adapted to each place. None if no step finds it.

    With `apart` overlapping places are skipped, and typos are not tolerated; raises TooManyPlacesError. Without, only
    the first of very many places are found, at least two. What `new` does not change is taken from the text, not from
    `old`. Raises TooMuchTextError for more than MOST_PUT characters in all places.
    """
    return _find(text, old, new, apart=apart, wrappings=_MOST_WRAPPINGS)


def _find(text: str, old: str, new: str, *, apart: bool, wrappings: int) -> Match | None:
    new = _ended(old, new)
    if found := _exact(text, old, new, "exact", apart=apart):
        return found
    if found := _escaped(text, old, new, apart=apart) or _loose(text, old, new, apart=apart):
        return found
    if not wrappings:
        return None
    if stripped := without_numbers(old):
        found = _find(text, stripped, _without_same_numbers(old, new), apart=apart, wrappings=wrappings - 1)
        return Match("numbers", found.spans) if found and _numbered_there(text, old, found) else None
    if (bare := without_fence(old)) is None or "```" in text:
        return None
    inner = without_fence(new)
    found = _find(text, bare, new if inner is None else inner, apart=apart, wrappings=wrappings - 1)
    return Match("fence", found.spans) if found else None


def _ended(old: str, new: str) -> str:
    """Add a forgotten final newline to `new`, which would otherwise be joined to the next line.

    Joining is intended if it ends with white space or an opening bracket, or if nothing else changes.
    """
    forgotten = old.endswith("\n") and new and not (new[-1].isspace() or new[-1] in "([{\\")
    return new + "\n" if forgotten and new != old[:-1] else new


def _exact(text: str, old: str, new: str, step: Step, *, apart: bool) -> Match | None:
    found = places(text, old, apart=apart)
    if apart and len(found) * len(new) > MOST_PUT:
        raise TooMuchTextError
    return Match(step, tuple(Span(place, place + len(old), new) for place in found)) if found else None


def places(text: str, passage: str, *, apart: bool) -> list[int]:
    """Return the exact occurrences of `passage`, as `find` does with and without `apart`."""
    return _places(text, passage, len(passage) if apart else 1, apart=apart)


def _places(text: str, passage: str, step: int, *, apart: bool) -> list[int]:
    """Return the exact occurrences of `passage`, each at least `step` characters after the previous one."""
    most = MOST_PLACES if apart else max(_FEWEST_PLACES, min(MOST_PLACES, _MOST_COMPARED // (len(passage) or 1)))
    found: list[int] = []
    at = text.find(passage) if passage else -1
    while at >= 0:
        if len(found) == most:
            if apart:
                raise TooManyPlacesError
            break
        found.append(at)
        at = text.find(passage, at + step)
    return found


MOST_PLACES = 10_000
_FEWEST_PLACES = 10  # overlapping places found in any case: the first are shown
_MOST_COMPARED = 1_000_000  # characters of overlapping places
_MOST_WRAPPINGS = 3  # e.g. line numbers within a fence

_NUMBERED = late_pattern(r"[ \t]*L?(\d{1,9})(?:: ?|[→\t]|[ ]?[|│] ?)(.*)", re.DOTALL)
_NUMBERED_CLOSE = late_pattern(r"[ \t]*L?(\d{1,9})(?::|[→\t]|[ ]?[|│])(.*)", re.DOTALL)
_CLOSE = late_pattern(r"^[ \t]*L?\d{1,9}(?::|[ ]?[|│])[^\s|│]", re.MULTILINE)
"""Matches a line directly after its number, as in grep -n: then a following blank belongs to the line."""


def _numbered(passage: str) -> re.Pattern[str]:
    return _NUMBERED_CLOSE if _CLOSE.search(passage) else _NUMBERED


def without_numbers(passage: str) -> str | None:
    """Remove a listing's line numbers from the passage, None if it has none.

    They must be consecutive, and every non-blank line must have one.
    """
    lines, numbered = passage.split("\n"), _numbered(passage)
    found = [(numbered.fullmatch(line), index) for index, line in enumerate(lines) if line.strip()]
    numbers = {int(match[1]) - index for match, index in found if match}
    if not found or len(numbers) != 1 or not all(match for match, _ in found):
        return None
    bare = [match[2] if (match := numbered.fullmatch(line)) else line for line in lines]
    return "\n".join(bare)


def _without_same_numbers(old: str, new: str) -> str:
    """Remove the line numbers of the listing `old` was copied from, also if `new` adds lines without one."""
    if (bare := without_numbers(new)) is not None:
        return bare
    numbered = _numbered(old)
    numbers = [int(found[1]) for line in old.split("\n") if (found := numbered.fullmatch(line))]
    lines = new.split("\n")
    listed = range(numbers[0], numbers[0] + max(len(numbers), len(lines)))
    matches = [numbered.fullmatch(line) for line in lines]
    return "\n".join(
        match[2] if match and int(match[1]) in listed else line for match, line in zip(matches, lines, strict=True)
    )


_FENCED = late_pattern(r"\s*```[^`\n]*\n(.*\n)```\s*", re.DOTALL)


def without_fence(passage: str) -> str | None:
    """Remove a code fence around the passage, None if it has none."""
    found = _FENCED.fullmatch(passage)
    return found[1] if found and "```" not in found[1] else None


_NUMBERED_TEXT = late_pattern(r"^[ \t]*\d+[ ]?[.:)→\t|│]", re.MULTILINE)


def _numbered_there(text: str, old: str, found: Match) -> bool:
    """Return whether the numbers are a listing's: in a text with numbered lines they must be the place's."""
    first = _NUMBERED.match(old.lstrip("\n"))
    if not first or not _NUMBERED_TEXT.search(text):
        return True
    return len(found.spans) == 1 and text.count("\n", 0, found.spans[0].start) + 1 == int(first[1])


_QUOTES = late_pattern(r"\\([\"'`])")
_ESCAPES = late_pattern(r"\\([nt\"'`\\])")
_MEANT = {"n": "\n", "t": "\t"}


def _escaped(text: str, old: str, new: str, *, apart: bool) -> Match | None:
    """Find `old` with one level of escaping removed, if that occurs exactly."""
    for pattern in (_QUOTES, _ESCAPES):
        bare, there = (pattern.sub(lambda found: _MEANT.get(found[1], found[1]), part) for part in (old, new))
        if bare != old and (found := _exact(text, bare, there, "escapes", apart=apart)):
            return found
    if (plain_old := _without_entities(old)) is None or _ENTITY.search(text):
        return None
    if "</" in text and not _ANGLE.search(old):
        return None  # in markup an entity equals its character
    plain_new = _without_entities(new)
    if plain_new is None and _ENTITY.search(new):
        return None  # characters and entities are mixed: ambiguous
    return _exact(text, plain_old, new if plain_new is None else plain_new, "escapes", apart=apart)


_ENTITY = late_pattern(r"&(lt|gt|amp|quot|apos|#39|#x27);")
_ANGLE = late_pattern(r"&[lg]t;")
_BARE = late_pattern(r"[<>]|&(?!(?:lt|gt|amp|quot|apos|#39|#x27);)")


def _without_entities(passage: str) -> str | None:
    """Unescape HTML entities in the passage; None if it also contains unescaped characters."""
    escaped = _ENTITY.search(passage) and not _BARE.search(passage)
    return _ENTITY.sub(lambda found: unescape(found[0]), passage) if escaped else None


def _loose(text: str, old: str, new: str, *, apart: bool) -> Match | None:
    """Try the steps that ignore white space, the form of punctuation, or typos."""
    if not old.strip():
        return None
    searches: list[tuple[Step, Callable[[], Sequence[tuple[int, int]]]]] = [
        ("trailing", lambda: _by_lines(text, old, str.rstrip, apart=apart)),
        ("indent", lambda: _by_lines(text, old, str.strip, apart=apart)),
        ("punctuation", lambda: _by_punctuation(text, old, apart=apart)),
        ("space", lambda: _by_tokens(text, old, apart=apart)),
    ]
    if not apart and not (new.strip() and _by_tokens(text, new, apart=False)):  # else it was probably applied before
        searches.append(("typos", lambda: span_despite_typos(text, old)))
    for step, search in searches:
        if found := list(_apart(search())) if apart else search():
            unit, budget = indent_unit(text), Budget(_MOST_STEPS)
            first = found if apart else found[:_FEWEST_PLACES]  # ambiguous matches are not replaced
            spans: list[Span] = []
            room = MOST_PUT
            if apart and len(found) * len(new) > room:
                raise TooMuchTextError
            for start, end in first:
                if (put := merge(text[start:end], old, new, unit=unit, budget=budget)) is None:
                    return None
                spans.append(Span(start, end, put))
                room -= len(put)
                if room < 0:
                    raise TooMuchTextError
            return Match(step, tuple(spans))
    return None


def _apart(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    end = 0
    for span in spans:
        if span[0] >= end:
            end = span[1]
            yield span


def _by_lines(text: str, old: str, normal: Callable[[str], str], *, apart: bool) -> list[tuple[int, int]]:
    """Find runs of whole lines that equal those of `old` after `normal`."""
    lines = text.split("\n")
    body = old.strip("\n")
    wanted = [normal(line) for line in body.split("\n")]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    there = [normal(line) for line in lines]
    found: list[tuple[int, int]] = []
    for index in _runs(there, wanted, apart=apart):
        last = index + len(wanted) - 1
        end = starts[last] + len(lines[last])
        found.append((starts[index], _with_newline(text, end, old)))
    return found


def _runs(there: list[str], wanted: list[str], *, apart: bool) -> list[int]:
    """Return the positions of the sequence `wanted` in `there`."""
    joined, passage = "\n".join(["", *there, ""]), "\n".join(["", *wanted, ""])
    found: list[int] = []
    index = counted = 0
    for at in _places(joined, passage, len(passage) - 1 if apart else 1, apart=apart):
        index += joined.count("\n", counted, at)
        counted = at
        found.append(index)
    return found


def _with_newline(text: str, end: int, old: str) -> int:
    """Return `end`, moved after the newline there if `old` ends with one."""
    if not old.endswith("\n"):
        return end
    after = re.compile(r"[ \t]*\n").match(text, end)
    return after.end() if after else end


def _by_punctuation(text: str, old: str, *, apart: bool) -> list[tuple[int, int]]:
    """Find `old` ignoring the form of quotes, dashes, spaces and full-width characters. Also ignoring indentation."""
    same, passage = plain(text), plain(old)
    if found := [(at, at + len(old)) for at in places(same, passage, apart=apart)]:
        return found
    return _by_lines(same, passage, str.strip, apart=apart) if same != text or passage != old else []


def _by_tokens(text: str, old: str, *, apart: bool) -> list[tuple[int, int]]:
    """Find the words and symbols of `old`, whatever white space is between them."""
    if "".join(plain(old).split()) not in "".join(plain(text).split()):
        return []  # the usual case: tokenising a whole file is slow
    there = list(tokens(plain(text)))
    joined = "\n".join(["", *(token.text for token in there), ""])
    passage = "\n".join(["", *(token.text for token in tokens(plain(old))), ""])
    borders = [0, *accumulate(len(token.text) + 1 for token in there)]
    found: list[tuple[int, int]] = []
    for at in _places(joined, passage, len(passage) - 1 if apart else 1, apart=apart):
        first = bisect_left(borders, at)
        last = bisect_right(borders, at + len(passage) - 1) - 2
        start, end = there[first].start, there[last].end
        found.append((_line_start(text, start) if old[:1].isspace() else start, _with_newline(text, end, old)))
    return found


def _line_start(text: str, start: int) -> int:
    """Return the start of the line if only white space precedes `start`, else `start`."""
    begin = text.rfind("\n", 0, start) + 1
    return begin if not text[begin:start].strip() else start
