"""Plan and apply replacements in a file."""

import asyncio
import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import Phrase
from localllm.code.double_definitions import new_doubles
from localllm.code.unbound_names import new_unbound
from localllm.documents import notebook_cells
from localllm.safety.code_loss import detect_code_destruction, lost_side_note, new_errors, placeholder
from localllm.safety.path_names import shown
from localllm.safety.tool_definition import ToolOutput
from localllm.text.data_formats import is_makefile, with_recipe_tabs
from localllm.text.decoding import encode
from localllm.text.matching import Match, Span, Step, TooManyPlacesError, find
from localllm.text.merging import TooMuchTextError, indent_unit, merge
from localllm.text.tab_indentation import with_tabs_of
from localllm.tools.context import ToolContext
from localllm.tools.edit_arguments import Replacement
from localllm.tools.edit_reports import ambiguous, miss, now, summary
from localllm.tools.elision import find_elided, refusal
from localllm.tools.text_files import LARGEST, SeenFiles, TextFile, load, metadata, moved, refuse_stale, to_bytes


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
    new = new if _is_indented(old) else with_tabs_of(edit.text, new)
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


def _is_indented(old: str) -> bool:
    """Return whether a passage shows how it is indented."""
    return any(line[:1] in (" ", "\t") for line in old.split("\n"))


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
    answer += lost_side_note(edit.file.text, edit.text)
    answer += await asyncio.to_thread(new_doubles, path, edit.file.text, edit.text)
    answer += await asyncio.to_thread(new_unbound, path, edit.file.text, edit.text)
    return ToolOutput(payload=payload, for_model="\n".join(answer), summary=told[0])
