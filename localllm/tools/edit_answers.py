"""What edit_file answers: where an edit was made and how, or the most helpful thing to say of one that was not."""

import re
from collections.abc import Iterator, Sequence

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import Phrase, tr
from localllm.text.closest import Region, closest_regions, similarity
from localllm.text.decoding import split_lines
from localllm.text.diffing import line_differences
from localllm.text.matching import Span, Step, without_numbers
from localllm.tools.guard.paths import shown

_LINES_NAMED = 10
_LINES_SHOWN = 40
_LINES_AROUND = 2
_PLACES_SHOWN = 4
_PLACES_COMPARED = 50
_DIFFERENCES = 12
_PROBABLY_THIS_EDIT = 20  # characters: a shorter new_string may stand anywhere by chance


def miss(path: str, text: str, old: str, new: str) -> ToolExecutionError:
    """The answer to an old_string that is not there: made before, or the lines most like it."""
    old = without_numbers(old) or old
    regions = closest_regions(text, old)
    if line := _applied_at(text, old, new, regions[0] if regions else None):
        return ToolExecutionError("edit_already_applied", path=shown(path), line=line)
    return ToolExecutionError("edit_no_match", path=shown(path), closest=_closest(text, old, regions))


def ambiguous(path: str, text: str, spans: Sequence[Span]) -> ToolExecutionError:
    """The answer to an old_string that stands at several places: each with what is around it."""
    lines = text.split("\n")
    excerpts: list[str] = []
    for span in spans[:_PLACES_SHOWN]:
        first, last = _line(text, span.start), _line(text, max(span.start, span.end - 1))
        start, end = max(first - _LINES_AROUND - 1, 0), min(last + _LINES_AROUND + 1, len(lines))
        part = lines[start : min(end, start + _LINES_SHOWN // 2)]
        excerpts.append(tr("edit.place", start=start + 1, end=start + len(part), text="\n".join(part)))
    named = name_lines(text, [span.start for span in spans])
    return ToolExecutionError(
        "edit_ambiguous", path=shown(path), count=len(spans), lines=named, places="\n".join(excerpts)
    )


def summary(path: str, text: str, spans: Sequence[Span], step: Step) -> str:
    """One line: which file, how many places, which lines of the new `text`, and how they were found."""
    lines = name_lines(text, [span.start for span in spans])
    done = tr("edit.done", path=shown(path), count=len(spans), lines=lines)
    return done if step == "exact" else f"{done} {tr(f'edit.step.{step}')}"


def now(text: str, span: Span) -> str:
    """A passage as it stands in the new `text`, with a little around it; of a long one its ends."""
    lines = split_lines(text)
    first, last = _line(text, span.start), _line(text, span.end)
    start, end = max(first - _LINES_AROUND, 0), min(last + _LINES_AROUND + 1, len(lines))
    part = lines[start:end]
    if len(part) > _LINES_SHOWN // 2:
        ends = _LINES_AROUND + 3
        part = [*part[:ends], "…", *part[-ends:]]
    return tr("edit.now", start=start + 1, end=end, text="\n".join(part))


def name_lines(text: str, offsets: Sequence[int]) -> str:
    """The lines of the places, "3, 8, 12, …"."""
    named = ", ".join(str(_line(text, offset) + 1) for offset in offsets[:_LINES_NAMED])
    return named + ", …" if len(offsets) > _LINES_NAMED else named


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset)


def _applied_at(text: str, old: str, new: str, region: Region | None) -> int | None:
    """The line where `new` stands already: there where `old` would be looked for, or long enough to be no chance.

    Its lines must be more like `new` than like `old`: a `new` that is the beginning of what is there was not applied.
    A `new` that is a part of `old` proves nothing while any of the rest, which was to be deleted, is there.
    """
    lines = text.split("\n")
    if new.strip() in old and region and _rest(old, new) & _said(lines[region.start - 1 : region.end]):
        return None
    for first in _lines_at(text, _near(text, new, region)) if new.strip() else ():
        last = first + new.count("\n")
        expected = region is None or (first < region.end and last + 1 >= region.start)
        if not expected or (region is None and len(new.strip()) < _PROBABLY_THIS_EDIT):
            continue
        there = "\n".join(lines[first : last + 1])
        if similarity(there, new) > similarity(there, old):
            return first + 1
    return None


def _near(text: str, new: str, region: Region | None) -> list[int]:
    """Where `new` stands at or around the region, or anywhere; of very many places the first."""
    starts = [0, *(found.end() for found in re.finditer("\n", text)), len(text)]
    first = starts[max(region.start - 1 - new.count("\n"), 0)] if region else 0
    end = starts[min(region.end, len(starts) - 1)] + len(new) if region else len(text)
    found: list[int] = []
    place = text.find(new, first, end)
    while place >= 0 and len(found) < _PLACES_COMPARED:
        found.append(place)
        place = text.find(new, place + len(new), end)
    return found


def _lines_at(text: str, offsets: Sequence[int]) -> Iterator[int]:
    """The line of each offset (from 0), which are in order."""
    line = counted = 0
    for offset in offsets:
        line += text.count("\n", counted, offset)
        counted = offset
        yield line


def _said(lines: Sequence[str]) -> set[str]:
    return {line.strip() for line in lines} - {""}


def _rest(old: str, new: str) -> set[str]:
    """The lines of `old` that are not in `new`."""
    return _said(old.split("\n")) - _said(new.split("\n"))


def _closest(text: str, old: str, regions: Sequence[Region]) -> Phrase:
    if not regions:
        return Phrase("edit.nothing_close")
    region, *others = regions
    lines = text.split("\n")
    whole = lines[region.start - 1 : region.end]
    shown_lines = whole[:_LINES_SHOWN]
    end = region.start + len(shown_lines) - 1
    passage = "\n".join(shown_lines)
    if differences := line_differences(old.strip("\n"), "\n".join(whole), most=_DIFFERENCES):
        passage += "\n" + tr("edit.difference", lines="\n".join(differences))
    for other in others[: _PLACES_SHOWN - 1]:
        part = lines[other.start - 1 : min(other.end, other.start + _LINES_SHOWN // 2 - 1)]
        passage += "\n" + tr("edit.as_close", start=other.start, end=other.start + len(part) - 1, text="\n".join(part))
    return Phrase("edit.closest", start=region.start, end=end, text=passage)
