"""Where a passage stands in a text when it was not copied letter by letter, and what to put there.

The steps are tried in their order, and the first that finds anything decides: what it finds more than once is never
taken for unique by a later one.
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
"""Of the comparisons that putting one replacement everywhere takes, 1 to 2 s: the places after that are only
indented."""

Step = Literal["exact", "numbers", "escapes", "fence", "trailing", "indent", "punctuation", "space", "typos", "elided"]
"""How a passage was found: letter by letter; without the line numbers of a listing; with escapes undone;
without a code fence around it; but for white space at line ends; but for indentation; but for the form of quotes,
dashes and the like; but for white space; but for a slip of the pen; by what stands before and after lines left out."""


class Span(NamedTuple):
    """A place (offsets in the text, `end` excluded) and what shall stand there."""

    start: int
    end: int
    text: str


class Match(NamedTuple):
    """The places a step found, in their order."""

    step: Step
    spans: tuple[Span, ...]


class TooManyPlacesError(Exception):
    """The passage stands at more places than are ever replaced at once."""


def find(text: str, old: str, new: str, *, apart: bool = False) -> Match | None:
    """Where `old` stands in `text`, and `new` as it fits there. None where no step finds it.

    With `apart` places that overlap the one before are left out, and nothing is found by a slip of the pen; raises
    TooManyPlacesError. Without, of very many places only the first are found, at least two. What `new` does not change
    is taken from the text, not from `old`. Raises TooMuchTextError for more than MOST_PUT characters at all places.
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
    """`new` with the newline at its end that was forgotten: without it the next line would be joined to it.

    Joining is meant where it ends with white space or an opening sign, or where nothing else changes.
    """
    forgotten = old.endswith("\n") and new and not (new[-1].isspace() or new[-1] in "([{\\")
    return new + "\n" if forgotten and new != old[:-1] else new


def _exact(text: str, old: str, new: str, step: Step, *, apart: bool) -> Match | None:
    found = places(text, old, apart=apart)
    if apart and len(found) * len(new) > MOST_PUT:
        raise TooMuchTextError
    return Match(step, tuple(Span(place, place + len(old), new) for place in found)) if found else None


def places(text: str, passage: str, *, apart: bool) -> list[int]:
    """Where `passage` begins, letter by letter; as `find` has them with `apart`, and without."""
    return _places(text, passage, len(passage) if apart else 1, apart=apart)


def _places(text: str, passage: str, step: int, *, apart: bool) -> list[int]:
    """Where `passage` begins, the next at least `step` characters behind the one before."""
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
_FEWEST_PLACES = 10  # places that are found in any case where they overlap: the first are shown
_MOST_COMPARED = 1_000_000  # characters of overlapping places
_MOST_WRAPPINGS = 3  # numbers in a fence, or the like

_NUMBERED = late_pattern(r"[ \t]*L?(\d{1,9})(?:: ?|[→\t]|[ ]?[|│] ?)(.*)", re.DOTALL)
_NUMBERED_CLOSE = late_pattern(r"[ \t]*L?(\d{1,9})(?::|[→\t]|[ ]?[|│])(.*)", re.DOTALL)
_CLOSE = late_pattern(r"^[ \t]*L?\d{1,9}(?::|[ ]?[|│])[^\s|│]", re.MULTILINE)
"""A line right behind its number, as grep -n shows it: then a blank there is the line's own."""


def _numbered(passage: str) -> re.Pattern[str]:
    return _NUMBERED_CLOSE if _CLOSE.search(passage) else _NUMBERED


def without_numbers(passage: str) -> str | None:
    """The passage without the line numbers a listing put before each line, None where it has none.

    They must count on by one, and every line with anything on it must have one.
    """
    lines, numbered = passage.split("\n"), _numbered(passage)
    found = [(numbered.fullmatch(line), index) for index, line in enumerate(lines) if line.strip()]
    numbers = {int(match[1]) - index for match, index in found if match}
    if not found or len(numbers) != 1 or not all(match for match, _ in found):
        return None
    bare = [match[2] if (match := numbered.fullmatch(line)) else line for line in lines]
    return "\n".join(bare)


def _without_same_numbers(old: str, new: str) -> str:
    """`new` without the numbers of the listing that `old` was copied from, also where new lines without one stand
    among those that have them."""
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
    """The passage without the one code fence around it, None where it has none."""
    found = _FENCED.fullmatch(passage)
    return found[1] if found and "```" not in found[1] else None


_NUMBERED_TEXT = late_pattern(r"^[ \t]*\d+[ ]?[.:)→\t|│]", re.MULTILINE)


def _numbered_there(text: str, old: str, found: Match) -> bool:
    """Whether the numbers are a listing's: where the text has numbered lines itself they must be those of the place."""
    first = _NUMBERED.match(old.lstrip("\n"))
    if not first or not _NUMBERED_TEXT.search(text):
        return True
    return len(found.spans) == 1 and text.count("\n", 0, found.spans[0].start) + 1 == int(first[1])


_QUOTES = late_pattern(r"\\([\"'`])")
_ESCAPES = late_pattern(r"\\([nt\"'`\\])")
_MEANT = {"n": "\n", "t": "\t"}


def _escaped(text: str, old: str, new: str, *, apart: bool) -> Match | None:
    """`old` as it was before it was escaped once more than it should; only where that stands there letter by letter."""
    for pattern in (_QUOTES, _ESCAPES):
        bare, there = (pattern.sub(lambda found: _MEANT.get(found[1], found[1]), part) for part in (old, new))
        if bare != old and (found := _exact(text, bare, there, "escapes", apart=apart)):
            return found
    if (plain_old := _without_entities(old)) is None or _ENTITY.search(text):
        return None
    if "</" in text and not _ANGLE.search(old):
        return None  # in markup an entity is as good as its sign
    plain_new = _without_entities(new)
    if plain_new is None and _ENTITY.search(new):
        return None  # signs and entities mixed: who knows what was meant
    return _exact(text, plain_old, new if plain_new is None else plain_new, "escapes", apart=apart)


_ENTITY = late_pattern(r"&(lt|gt|amp|quot|apos|#39|#x27);")
_ANGLE = late_pattern(r"&[lg]t;")
_BARE = late_pattern(r"[<>]|&(?!(?:lt|gt|amp|quot|apos|#39|#x27);)")


def _without_entities(passage: str) -> str | None:
    """The passage before it was escaped as HTML is; None where not all of it was."""
    escaped = _ENTITY.search(passage) and not _BARE.search(passage)
    return _ENTITY.sub(lambda found: unescape(found[0]), passage) if escaped else None


def _loose(text: str, old: str, new: str, *, apart: bool) -> Match | None:
    """The steps that pass over white space, the form of punctuation, or a slip of the pen."""
    if not old.strip():
        return None
    searches: list[tuple[Step, Callable[[], Sequence[tuple[int, int]]]]] = [
        ("trailing", lambda: _by_lines(text, old, str.rstrip, apart=apart)),
        ("indent", lambda: _by_lines(text, old, str.strip, apart=apart)),
        ("punctuation", lambda: _by_punctuation(text, old, apart=apart)),
        ("space", lambda: _by_tokens(text, old, apart=apart)),
    ]
    if not apart and not (new.strip() and _by_tokens(text, new, apart=False)):  # else it was probably made before
        searches.append(("typos", lambda: span_despite_typos(text, old)))
    for step, search in searches:
        if found := list(_apart(search())) if apart else search():
            unit, budget = indent_unit(text), Budget(_MOST_STEPS)
            first = found if apart else found[:_FEWEST_PLACES]  # of several nothing is replaced
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
    """The runs of whole lines that are those of `old` once each was made `normal`."""
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
    """Where `wanted` begins in `there`, item by item."""
    joined, passage = "\n".join(["", *there, ""]), "\n".join(["", *wanted, ""])
    found: list[int] = []
    index = counted = 0
    for at in _places(joined, passage, len(passage) - 1 if apart else 1, apart=apart):
        index += joined.count("\n", counted, at)
        counted = at
        found.append(index)
    return found


def _with_newline(text: str, end: int, old: str) -> int:
    """`end`, or after the newline there if `old` goes on to the next line."""
    if not old.endswith("\n"):
        return end
    after = re.compile(r"[ \t]*\n").match(text, end)
    return after.end() if after else end


def _by_punctuation(text: str, old: str, *, apart: bool) -> list[tuple[int, int]]:
    """`old` with quotes, dashes, spaces and full-width characters in any form; also but for the indentation."""
    same, passage = plain(text), plain(old)
    if found := [(at, at + len(old)) for at in places(same, passage, apart=apart)]:
        return found
    return _by_lines(same, passage, str.strip, apart=apart) if same != text or passage != old else []


def _by_tokens(text: str, old: str, *, apart: bool) -> list[tuple[int, int]]:
    """The places that have the words and signs of `old`, whatever white space is between them."""
    if "".join(plain(old).split()) not in "".join(plain(text).split()):
        return []  # most often: taking a whole file apart is slow
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
    """The beginning of the line where only white space is before `start`, else `start`."""
    begin = text.rfind("\n", 0, start) + 1
    return begin if not text[begin:start].strip() else start
