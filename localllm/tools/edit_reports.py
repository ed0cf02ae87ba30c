"""Report an edit: its places, what is most similar to a missing old_string, or the places of an ambiguous one."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import N_, Phrase
from localllm.safety.path_names import shown
from localllm.text.decoding import split_lines
from localllm.text.diffing import line_differences
from localllm.text.matching import Span, Step, without_numbers
from localllm.text.nearest_passage import closest_passage
from localllm.text.nearest_region import Region, closest_regions, similarity

_STEP_TEXTS = {
    "numbers": N_("(Matched after the line numbers in old_string were left out.)"),
    "escapes": N_("(Matched after the extra escaping in old_string was undone.)"),
    "fence": N_("(Matched after the code fence around old_string was left out.)"),
    "trailing": N_("(Matched but for white space at line ends.)"),
    "indent": N_("(Matched but for the indentation, which was adapted.)"),
    "punctuation": N_("(Matched but for the form of quotes, dashes, spaces or full-width characters.)"),
    "space": N_("(Matched but for white space.)"),
    "typos": N_("(Matched but for a small difference: check the result.)"),
    "elided": N_("(“...” in old_string was read as the lines between: check the result.)"),
}

_LINES_NAMED = 10
_LINES_SHOWN = 40
_LINES_AROUND = 2
_PLACES_SHOWN = 4
_MOST_FOR_ALL = 10  # places: of more, all are rarely meant
_PLACES_COMPARED = 50
_DIFFERENCES = 12
_PROBABLY_THIS_EDIT = 20  # characters: a shorter new_string may occur by chance


def miss(path: str, text: str, old: str, new: str) -> ToolExecutionError:
    """Return the error for a missing old_string: applied before, or the most similar lines."""
    old = without_numbers(old) or old
    regions = closest_regions(text, old)
    if line := _applied_at(text, old, new, regions[0] if regions else None):
        return ToolExecutionError("edit_already_applied", path=shown(path), line=line)
    return ToolExecutionError("edit_no_match", path=shown(path), closest=_closest(text, old, regions))


def ambiguous(path: str, text: str, spans: Sequence[Span], read: Sequence[range] = ()) -> ToolExecutionError:
    """Return the error for an ambiguous old_string, with an excerpt around each place: only around those in the newest
    lines that the model has `read`, if there are some."""
    lines, spans = text.split("\n"), sorted(spans)
    in_read = _in_read(text, spans, read)
    excerpts: list[str] = []
    for span in (in_read or spans)[:_PLACES_SHOWN]:
        first, last = _lines_of(text, span)
        start, end = max(first - _LINES_AROUND - 1, 0), min(last + _LINES_AROUND + 1, len(lines))
        part = lines[start : min(end, start + _LINES_SHOWN // 2)]
        excerpts.append(
            "Lines {start}-{end}:\n{text}".format(start=start + 1, end=start + len(part), text="\n".join(part))
        )
    if len(in_read) == 1 and (line := _unique_from(text, lines, in_read[0])):
        hint = Phrase("Begin old_string with line {line}, so that it is unique.", line=line)
    elif len(spans) > _MOST_FOR_ALL:
        hint = Phrase("Add more lines around it so that it is unique.")
    else:
        hint = Phrase("Add more lines around it so that it is unique, or set replace_all.")
    named = name_lines(text, [span.start for span in in_read or spans])
    if in_read and len(in_read) < len(spans):
        named = named if named.endswith("…") else f"{named}, …"
    return ToolExecutionError(
        "edit_ambiguous", path=shown(path), count=len(spans), lines=named, places="\n".join(excerpts), hint=hint
    )


def _lines_of(text: str, span: Span) -> tuple[int, int]:
    """Return the span's first and last line, counted from 0."""
    return _line(text, span.start), _line(text, max(span.start, span.end - 1))


def _in_read(text: str, spans: Sequence[Span], read: Sequence[range]) -> list[Span]:
    """Return the spans in the newest lines that were read and hold some; none where they hold all."""
    starts = [span.start for span in spans]
    ends = list(accumulate(len(line) + 1 for line in text.split("\n"))) if read else []
    for lines in read:
        start, end = (ends[min(line, len(ends)) - 1] if line > 0 else 0 for line in (lines.start - 1, lines.stop - 1))
        if found := spans[bisect_left(starts, start) : bisect_left(starts, end)]:
            return [] if len(found) == len(spans) else list(found)
    return []


def _unique_from(text: str, lines: Sequence[str], span: Span) -> int | None:
    """Return the line above the span, of those shown, from which on the text is unique."""
    first, _last = _lines_of(text, span)
    for above in range(first - 1, max(first - _LINES_AROUND, 0) - 1, -1):
        start = text.rfind("\n", 0, span.start) + 1 - sum(len(line) + 1 for line in lines[above:first])
        if text.count(text[start : span.end]) == 1:
            return above + 1
    return None


def summary(path: str, text: str, spans: Sequence[Span], step: Step) -> Phrase:
    """Summarise an edit in one line: file, number of places, their lines in the new `text`, and how they were found."""
    lines = name_lines(text, [span.start for span in spans])
    done = Phrase("Edited {path}: {count} replaced (line {lines}).", path=shown(path), count=len(spans), lines=lines)
    return done if step == "exact" else Phrase("{done} {step}", done=done, step=Phrase(_STEP_TEXTS[step]))


def now(text: str, span: Span) -> str:
    """Show a passage of the new `text` with some context; only the ends of a long one."""
    lines = split_lines(text)
    first, last = _line(text, span.start), _line(text, span.end)
    start, end = max(first - _LINES_AROUND, 0), min(last + _LINES_AROUND + 1, len(lines))
    part = lines[start:end]
    if len(part) > _LINES_SHOWN // 2:
        ends = _LINES_AROUND + 3
        part = [*part[:ends], "…", *part[-ends:]]
    return "Lines {start}-{end} are now:\n{text}".format(start=start + 1, end=end, text="\n".join(part))


def name_lines(text: str, offsets: Sequence[int]) -> str:
    """Format the line numbers of the places: "3, 8, 12, …"."""
    named = ", ".join(str(_line(text, offset) + 1) for offset in offsets[:_LINES_NAMED])
    return named + ", …" if len(offsets) > _LINES_NAMED else named


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset)


def _applied_at(text: str, old: str, new: str, region: Region | None) -> int | None:
    """Return the line where `new` was already applied: where `old` was expected, or long enough to rule out chance.

    Its lines must be more similar to `new` than to `old`: a `new` that is a prefix of the text was not applied. A `new`
    that is part of `old` proves nothing while any of the rest, to be deleted, is present.
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
    """Return the occurrences of `new` at or around the region, or anywhere; only the first of very many."""
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
    """Yield the line (from 0) of each of the sorted offsets."""
    line = counted = 0
    for offset in offsets:
        line += text.count("\n", counted, offset)
        counted = offset
        yield line


def _said(lines: Sequence[str]) -> set[str]:
    return {line.strip() for line in lines} - {""}


def _rest(old: str, new: str) -> set[str]:
    """Return the lines of `old` that are not in `new`."""
    return _said(old.split("\n")) - _said(new.split("\n"))


_PATTERN_SIGN = re.compile(
    r"\\[dwsDWSb](?![a-z])[+*]?|\.[*+]\??|\[[^\]\n]{1,40}\][+*{]|\(\?[:P=!]|\((?:\\[dwsDWS]|\.|\[)[^)\n]{0,40}\)"
)
_NOT_A_PATTERN = (
    "old_string is text, not a pattern, and {sign} is not in the file. For patterns use run_command with sed or python."
)


def _pattern_hint(text: str, old: str) -> str:
    """Return what to do if old_string is a regular expression; "" if it is none, or the file holds some."""
    if _PATTERN_SIGN.search(text):
        return ""
    sign = next((found[0] for found in _PATTERN_SIGN.finditer(old) if found[0] not in text), "")
    return _NOT_A_PATTERN.format(sign=sign) if sign else ""


def _closest(text: str, old: str, regions: Sequence[Region]) -> str | Phrase:
    hint = _pattern_hint(text, old)
    if not regions:
        within = closest_passage(text, old)
        if within is None:
            return hint or Phrase("Nothing in the file is similar to it.")
        return f"The closest text is within line {within.line}. It reads:\n{within.text}\n"
    lines = text.split("\n")
    region, *others = regions
    whole = lines[region.start - 1 : region.end]
    told = [*([hint] if hint else []), f"The closest text is at {_place(region)}."]
    if differences := line_differences(old.strip("\n"), "\n".join(whole), most=_DIFFERENCES):
        told += ["The difference (- yours, + the file's):", *differences]
    if len(whole) <= _LINES_SHOWN or len(differences) in (0, _DIFFERENCES + 1):
        told += _beginning(whole, _LINES_SHOWN)
    for other in others[: _PLACES_SHOWN - 1]:
        told.append(f"As close is the text at {_place(other)}.")
        told += _beginning(lines[other.start - 1 : other.end], _LINES_SHOWN // 2)
    return "\n".join([*told, ""])


def _place(region: Region) -> str:
    return f"line {region.start}" if region.start == region.end else f"lines {region.start}-{region.end}"


def _beginning(lines: Sequence[str], most: int) -> list[str]:
    """Return the lines, or the first of them, with a heading that says which."""
    heading = "The file's lines are:" if len(lines) <= most else f"The first {most} of these {len(lines)} lines:"
    return [heading, *lines[:most]]
