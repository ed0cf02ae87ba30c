"""Plan and apply replacements in a file, and report their places or the nearest miss."""

import asyncio
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import N_, Phrase
from localllm.documents import notebook_cells
from localllm.safety.code_loss import detect_code_destruction, new_errors, placeholder
from localllm.safety.paths import shown
from localllm.safety.tool_definition import ToolOutput
from localllm.text.data_formats import is_makefile, with_recipe_tabs
from localllm.text.decoding import encode, split_lines
from localllm.text.diffing import line_differences
from localllm.text.matching import Match, Span, Step, TooManyPlacesError, find, without_numbers
from localllm.text.merging import TooMuchTextError, indent_unit, merge
from localllm.text.nearest_passage import closest_passage
from localllm.text.nearest_region import Region, closest_regions, similarity
from localllm.tools.context import ToolContext
from localllm.tools.edit_arguments import Replacement
from localllm.tools.elision import find_elided, refusal
from localllm.tools.text_files import LARGEST, SeenFiles, TextFile, load, metadata, moved, refuse_stale, to_bytes

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


def _closest(text: str, old: str, regions: Sequence[Region]) -> str | Phrase:
    if not regions:
        within = closest_passage(text, old)
        if within is None:
            return Phrase("Nothing in the file is similar to it.")
        return f"The closest text is within line {within.line}. It reads:\n{within.text}\n"
    lines = text.split("\n")
    region, *others = regions
    whole = lines[region.start - 1 : region.end]
    told = [f"The closest text is at {_place(region)}."]
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


class Done(NamedTuple):
    """A replacement made: the step that found its places, and their spans in the final text."""

    step: Step
    spans: tuple[Span, ...]


class Edit(NamedTuple):
    """A file, its new text as written and with \\n newlines, and its replacements."""

    file: TextFile
    raw: str
    text: str
    done: tuple[Done, ...]

    @property
    def replacements(self) -> int:
        """Number of passages replaced."""
        return sum(len(done.spans) for done in self.done)


def plan(context: ToolContext, file_path: str, asked: Sequence[Replacement], *, replace_all: bool) -> Edit:
    """Plan the replacements in the file. Raises ToolExecutionError if one of them cannot be made."""
    path = context.root.relative(file_path)
    context.root.refuse_protected(path)
    file = _existing(context, path)
    refuse_stale(context.seen, file)
    if encode(file.text, file.decoded) != file.data:
        reason = Phrase("its encoding {encoding} holds bytes that would not survive", encoding=file.decoded.encoding)
        raise ToolExecutionError("file_unwritable", path=shown(path), reason=reason)
    edit = Edit(file, file.text, file.text.replace("\r\n", "\n"), ())
    for number, replacement in enumerate(asked, start=1):
        try:
            read = moved(context.seen.lines_read(path), file.text, edit.text)
            edit = _replaced(edit, replacement, read, replace_all=replace_all)
        except ToolExecutionError as missed:
            error = _made_before(context.seen, edit, replacement, missed)
            if len(asked) == 1:
                raise error from missed.__cause__
            told = {"reason": error.what_phrase, "details": error.details_phrase}
            raise ToolExecutionError("edit_of_several", number=number, count=len(asked), **told) from error
    to_bytes(path, edit.raw, file.decoded)  # what cannot be written is refused before the user is asked
    return edit


def _made_before(seen: SeenFiles, edit: Edit, asked: Replacement, missed: ToolExecutionError) -> ToolExecutionError:
    """Return the error for a replacement that was made before and whose result, as adapted to the file, is there; else
    that for the passage that is missing."""
    path = edit.file.path
    written = seen.written(path, asked)
    if missed.key != "edit_no_match" or not written.strip() or written not in edit.text:
        return missed
    line = edit.text.count("\n", 0, edit.text.index(written)) + 1
    return ToolExecutionError("edit_already_applied", path=shown(path), line=line)


def _existing(context: ToolContext, path: str) -> TextFile:
    """Load the file. If it is missing, the error also says how to create one."""
    try:
        return load(context.root, path)
    except ToolExecutionError as error:
        if error.key != "file_missing":
            raise
        hint = Phrase("{hint} To create it, use write_file.", hint=error.params["hint"])
        raise ToolExecutionError("file_missing", path=shown(path), hint=hint) from error


def _replaced(edit: Edit, asked: Replacement, read: Sequence[range], *, replace_all: bool) -> Edit:
    try:
        made = _replaced_whatever_size(edit, asked, read, replace_all=replace_all)
    except TooMuchTextError as error:
        raise ToolExecutionError("edit_too_large", path=shown(edit.file.path), limit=LARGEST) from error
    if len(made.text) > max(LARGEST, len(edit.text)):
        raise ToolExecutionError("edit_too_large", path=shown(edit.file.path), limit=LARGEST)
    return made


def _replaced_whatever_size(edit: Edit, asked: Replacement, read: Sequence[range], *, replace_all: bool) -> Edit:
    path = edit.file.path
    old, new = (text.replace("\r\n", "\n") for text in (asked.old_string, asked.new_string))
    if not old:
        raise ToolExecutionError("edit_empty", path=shown(path))
    if old == new:
        raise ToolExecutionError("edit_no_change")
    if path.endswith(".ipynb") and (made := _replaced_in_cells(edit, old, new, replace_all=replace_all)):
        return made
    return _replaced_passage(edit, old, new, read, replace_all=replace_all)


def _replaced_in_cells(edit: Edit, old: str, new: str, *, replace_all: bool) -> Edit | None:
    """Return the edit of the cells of a notebook as they are shown; None for one of its JSON."""
    if (cells := notebook_cells.cells(edit.text)) is None:
        return None
    text = notebook_cells.cells_text(cells)
    try:
        shown_old, shown_new = notebook_cells.fitted(text, old, new)
        made = _replaced_passage(Edit(edit.file, text, text, ()), shown_old, shown_new, replace_all=replace_all)
    except ToolExecutionError as error:
        is_json = edit.text.count(old) == 1 and notebook_cells.cells(edit.text.replace(old, new)) is not None
        if error.key == "edit_no_match" and is_json:
            return None
        raise
    place = notebook_cells.replaced(edit.text, notebook_cells.parse(made.text))
    if place is None:
        raise ToolExecutionError("edit_no_change")
    return _made(edit, Match(made.done[0].step, (Span(*place),)))


def _replaced_passage(edit: Edit, old: str, new: str, read: Sequence[range] = (), *, replace_all: bool) -> Edit:
    path = edit.file.path
    try:
        match = find(edit.text, old, new, apart=replace_all)
    except TooManyPlacesError as error:
        raise ToolExecutionError("edit_too_many", path=shown(path)) from error
    match = match or find_elided(edit.text, old, new)
    if match is None:
        missed = miss(path, edit.text, old, new)
        raise (missed.key == "edit_no_match" and refusal(path, edit.text, old)) or missed
    match = match._replace(spans=tuple(s._replace(text=with_recipe_tabs(path, s.text, new)) for s in match.spans))
    if match.step == "elided":
        _refuse_unseen_loss(edit, match.spans[0])
    if line := placeholder(match.spans[0].text if match.step == "elided" else new, edit.text):
        raise ToolExecutionError("edit_placeholder", line=line)
    if len(match.spans) > 1 and not replace_all:
        raise ambiguous(path, edit.text, match.spans, read)
    _refuse_overlap(edit, match)
    if all(_is_there(edit.text, span) for span in match.spans):
        line = edit.text.count("\n", 0, min(match.spans).start) + 1
        raise ToolExecutionError("edit_already_applied", path=shown(path), line=line)
    return _best_made(edit, match, old, new)


def _is_there(text: str, span: Span) -> bool:
    """Return whether the text around the span already is what it is to become, so that a repeated insertion would
    double it. What is without words, such as a bracket, may be wanted once more."""
    passage = text[span.start : span.end]
    if passage == span.text:
        return True
    before, found, behind = span.text.partition(passage)
    start, end = span.start - len(before), span.end + len(behind)
    if not found or start < 0 or text[start:end] != span.text or not re.search(r"\w", before + behind):
        return False
    return not (before and _in_word(text, start)) and not (behind and _in_word(text, end))


def _in_word(text: str, place: int) -> bool:
    return bool(re.match(r"\w\w", text[max(place - 1, 0) : place + 1]))


def _refuse_unseen_loss(edit: Edit, span: Span) -> None:
    """Raise would_destroy if substantial lines elided in old_string would be lost."""
    if lost := detect_code_destruction(edit.text[span.start : span.end], span.text, edit.file.path):
        raise ToolExecutionError("would_destroy", name="edit_file", lost=lost.phrase)


def _best_made(edit: Edit, match: Match, old: str, new: str) -> Edit:
    """Return the edit; if one line quoted without indentation breaks the code, indent the new lines."""
    made = _made(edit, match)
    path = edit.file.path
    if match.step != "exact" or "\n" in old or "\n" not in new or not new_errors(path, edit.text, made.text):
        return made
    spans: list[Span] = []
    for span in match.spans:
        if (fitting := _fitted(path, edit.text, span, old, new)) is None:
            return made
        spans.append(fitting)
    fitted = _made(edit, Match("indent", tuple(spans)))
    return made if new_errors(path, edit.text, fitted.text) else fitted


def _fitted(path: str, text: str, span: Span, old: str, new: str) -> Span | None:
    """Return the span extended to the whole line, with `new` indented like it. None if other text precedes it."""
    start = text.rfind("\n", 0, span.start) + 1
    if text[start : span.start].strip():
        return None
    put = merge(text[start : span.end], old, new, unit="\t" if is_makefile(path) else indent_unit(text))
    return None if put is None else Span(start, span.end, put)


def _refuse_overlap(edit: Edit, match: Match) -> None:
    """Refuse a replacement of another one's result in the same call, as they were not made for each other."""
    starts = [span.start for span in match.spans]
    for number, done in enumerate(edit.done, start=1):
        for made in done.spans:
            before = bisect_left(starts, made.end)  # sorted and disjoint: only the last of these may overlap
            if before and match.spans[before - 1].end > made.start:
                raise ToolExecutionError("edit_overlap", number=number)


def _made(edit: Edit, match: Match) -> Edit:
    """Return the edit with the spans replaced, and the earlier ones moved accordingly."""
    parts: list[str] = []
    moved: list[Span] = []
    at = shift = 0
    for span in match.spans:
        parts += [edit.text[at : span.start], span.text]
        at = span.end
        moved.append(Span(span.start + shift, span.start + shift + len(span.text), span.text))
        shift += len(span.text) - (span.end - span.start)
    text = "".join([*parts, edit.text[at:]])
    starts = [span.start for span in match.spans]
    shifts = [0, *accumulate(len(span.text) - (span.end - span.start) for span in match.spans)]
    before = tuple(
        done._replace(spans=tuple(_moved(old, shifts[bisect_left(starts, old.start)]) for old in done.spans))
        for done in edit.done
    )
    raw = _replace_raw(edit.raw, match.spans)
    return Edit(edit.file, raw, text, (*before, Done(match.step, tuple(moved))))


def _moved(span: Span, shift: int) -> Span:
    return Span(span.start + shift, span.end + shift, span.text)


def _replace_raw(raw: str, spans: Sequence[Span]) -> str:
    """Replace the spans, whose offsets count every newline as one character, in `raw`.

    In a file with mixed newlines a replacement uses those of the surrounding text; the rest stays unchanged.
    """
    windows = _windows_newlines(raw)
    parts: list[str] = []
    done = 0
    for span in spans:
        start = span.start + bisect_left(windows, span.start)
        parts += [raw[done:start], span.text.replace("\n", _newline_near(raw, start)) if windows else span.text]
        done = span.end + bisect_left(windows, span.end)
    return "".join([*parts, raw[done:]])


def _windows_newlines(raw: str) -> list[int]:
    """Return the offsets, counting every newline as one character, of the \\r\\n newlines."""
    return [found.start() - index for index, found in enumerate(re.finditer("\r\n", raw))]


def _newline_near(raw: str, place: int) -> str:
    at = raw.find("\n", place)
    at = at if at >= 0 else raw.rfind("\n", 0, place)
    return "\r\n" if raw[at - 1 : at] == "\r" else "\n"


_WHOLE = 0.9
"""Fraction of a file from which an edit counts as rewriting it."""


def danger(edit: Edit) -> str | Phrase:
    """Describe what an edit of (nearly) the whole file would lose of it, if substantial."""
    if not any(span.text.strip() for done in edit.done for span in done.spans):
        return ""  # an intended deletion
    kept = len(edit.text.strip()) - sum(len(span.text.strip()) for done in edit.done for span in done.spans)
    if kept > (1 - _WHOLE) * len(edit.file.text.strip()):
        return ""
    lost = detect_code_destruction(edit.file.text, edit.raw, edit.file.path)
    return lost.phrase if lost else ""


async def put(context: ToolContext, edit: Edit, asked: Sequence[Replacement]) -> ToolOutput:
    """Write the edited file, and record what was `asked` for as made."""
    path = edit.file.path
    data = to_bytes(path, edit.raw, edit.file.decoded)
    await asyncio.to_thread(context.root.write_bytes, path, data, over=edit.file.data)
    context.seen.note_edit(path, data, edit.file.text, edit.text)
    for replacement, done in zip(asked, edit.done, strict=True):
        context.seen.note_written(path, replacement, done.spans[0].text)
    facts = metadata(context.root, path, msgspec.structs.replace(edit.file.decoded, text=edit.raw))
    payload: dict[str, Json] = {
        "file_path": shown(path),
        "replacements": edit.replacements,
        "matched": [done.step for done in edit.done],
        "metadata": facts,
    }
    told = [summary(path, edit.text, done.spans, done.step) for done in edit.done]
    cells = notebook_cells.changed(edit.file.text, edit.raw) if path.endswith(".ipynb") else ""
    passages = [f"Now:\n{cells}"] if cells else [now(edit.text, done.spans[0]) for done in edit.done]
    answer = [*(one.english for one in told), *passages]
    answer += await asyncio.to_thread(new_errors, path, edit.file.text, edit.raw)
    return ToolOutput(payload=payload, for_model="\n".join(answer), summary=told[0])
