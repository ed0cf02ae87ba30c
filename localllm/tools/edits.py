"""What becomes of a file when passages of it are replaced: found, made in the text, and put there."""

import asyncio
import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import Phrase
from localllm.text.decoding import encode
from localllm.text.matching import Match, Span, Step, TooManyPlacesError, find
from localllm.text.merging import indent_unit, merge
from localllm.text.placeholders import placeholder
from localllm.tools import edit_answers
from localllm.tools.context import ToolContext
from localllm.tools.definition import ToolOutput
from localllm.tools.guard.destruction import detect_code_destruction, new_errors
from localllm.tools.guard.paths import shown
from localllm.tools.replacement import Replacement
from localllm.tools.text_files import TextFile, load, metadata, refuse_stale, to_bytes


class Done(NamedTuple):
    """A replacement as it was made: the step that found its places, and where they stand in the final text."""

    step: Step
    spans: tuple[Span, ...]


class Edit(NamedTuple):
    """A file, its new text as it will be written and with newlines as \\n, and what was replaced."""

    file: TextFile
    raw: str
    text: str
    done: tuple[Done, ...]

    @property
    def replacements(self) -> int:
        """How many passages were replaced."""
        return sum(len(done.spans) for done in self.done)


def plan(context: ToolContext, file_path: str, asked: Sequence[Replacement], *, replace_all: bool) -> Edit:
    """What the replacements would make of the file; ToolExecutionError where one of them cannot be made."""
    path = context.root.relative(file_path)
    context.root.refuse_protected(path)
    file = load(context.root, path)
    refuse_stale(context.seen, file)
    if encode(file.text, file.decoded) != file.data:
        reason = Phrase("edit.lossy", encoding=file.decoded.encoding)
        raise ToolExecutionError("file_unwritable", path=shown(path), reason=reason)
    edit = Edit(file, file.text, file.text.replace("\r\n", "\n"), ())
    for number, replacement in enumerate(asked, start=1):
        try:
            edit = _replaced(edit, replacement, replace_all=replace_all)
        except ToolExecutionError as error:
            if len(asked) == 1:
                raise
            raise ToolExecutionError("edit_of_several", number=number, count=len(asked), reason=error) from error
    return edit


def _replaced(edit: Edit, asked: Replacement, *, replace_all: bool) -> Edit:
    path = edit.file.path
    old, new = (text.replace("\r\n", "\n") for text in (asked.old_string, asked.new_string))
    if not old:
        raise ToolExecutionError("edit_empty", path=shown(path))
    if old == new:
        raise ToolExecutionError("edit_no_change")
    try:
        match = find(edit.text, old, new, apart=replace_all)
    except TooManyPlacesError as error:
        raise ToolExecutionError("edit_too_many", path=shown(path)) from error
    if match is None:
        raise edit_answers.miss(path, edit.text, old, new)
    if line := placeholder(new, edit.text):
        raise ToolExecutionError("edit_placeholder", line=line)
    if len(match.spans) > 1 and not replace_all:
        raise edit_answers.ambiguous(path, edit.text, match.spans)
    _refuse_overlap(edit, match)
    if all(edit.text[span.start : span.end] == span.text for span in match.spans):
        line = edit.text.count("\n", 0, min(match.spans).start) + 1
        raise ToolExecutionError("edit_already_applied", path=shown(path), line=line)
    return _best_made(edit, match, old, new)


def _best_made(edit: Edit, match: Match, old: str, new: str) -> Edit:
    """The edit; of one line quoted without its indentation, with that before the new lines if it is broken without."""
    made = _made(edit, match)
    path = edit.file.path
    if match.step != "exact" or "\n" in old or "\n" not in new or not new_errors(path, edit.text, made.text):
        return made
    spans: list[Span] = []
    for span in match.spans:
        if (fitting := _fitted(edit.text, span, old, new)) is None:
            return made
        spans.append(fitting)
    fitted = _made(edit, Match("indent", tuple(spans)))
    return made if new_errors(path, edit.text, fitted.text) else fitted


def _fitted(text: str, span: Span, old: str, new: str) -> Span | None:
    """The span with the whole line, `new` indented as that is; None where more than its indentation stands before."""
    start = text.rfind("\n", 0, span.start) + 1
    put = None if text[start : span.start].strip() else merge(text[start : span.end], old, new, unit=indent_unit(text))
    return None if put is None else Span(start, span.end, put)


def _refuse_overlap(edit: Edit, match: Match) -> None:
    """What one replacement of a call put there, another of it must not change: the two were not made for each other."""
    starts = [span.start for span in match.spans]
    for number, done in enumerate(edit.done, start=1):
        for made in done.spans:
            before = bisect_left(starts, made.end)  # in order and apart: only the last of these may reach into it
            if before and match.spans[before - 1].end > made.start:
                raise ToolExecutionError("edit_overlap", number=number)


def _made(edit: Edit, match: Match) -> Edit:
    """The edit with the spans replaced; those replaced before are where they have moved to."""
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
        Done(done.step, tuple(_moved(old, shifts[bisect_left(starts, old.start)]) for old in done.spans))
        for done in edit.done
    )
    raw = _replace_raw(edit.raw, match.spans)
    return Edit(edit.file, raw, text, (*before, Done(match.step, tuple(moved))))


def _moved(span: Span, shift: int) -> Span:
    return Span(span.start + shift, span.end + shift, span.text)


def _replace_raw(raw: str, spans: Sequence[Span]) -> str:
    """`raw` with the spans replaced, which count every newline as one character.

    In a file that mixes newlines a replacement ends its lines as the text it stands in does; all else stays as it is.
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
    """Where in the text, every newline counted as one character, the newlines are that were written \\r\\n."""
    return [found.start() - index for index, found in enumerate(re.finditer("\r\n", raw))]


def _newline_near(raw: str, place: int) -> str:
    at = raw.find("\n", place)
    at = at if at >= 0 else raw.rfind("\n", 0, place)
    return "\r\n" if raw[at - 1 : at] == "\r" else "\n"


_WHOLE = 0.9
"""An edit that replaces this part of a file is a whole-file write by another name."""


def danger(edit: Edit) -> str:
    """What an edit of (nearly) the whole file would lose of it, if that is much."""
    if not any(span.text.strip() for done in edit.done for span in done.spans):
        return ""  # a deletion on purpose
    kept = len(edit.text.strip()) - sum(len(span.text.strip()) for done in edit.done for span in done.spans)
    if kept > (1 - _WHOLE) * len(edit.file.text.strip()):
        return ""
    return str(detect_code_destruction(edit.file.text, edit.raw, edit.file.path) or "")


async def put(context: ToolContext, edit: Edit) -> ToolOutput:
    """Write the file as the edit makes it."""
    path = edit.file.path
    data = to_bytes(path, edit.raw, edit.file.decoded)
    await asyncio.to_thread(context.root.write_bytes, path, data, over=edit.file.data)
    context.seen.note(path, data)
    facts = metadata(context.root, path, edit.file.decoded._replace(text=edit.raw))
    payload: dict[str, Json] = {
        "file_path": shown(path),
        "replacements": edit.replacements,
        "matched": [done.step for done in edit.done],
        "metadata": facts,
    }
    told = [edit_answers.summary(path, edit.text, done.spans, done.step) for done in edit.done]
    answer = [*told, *(edit_answers.now(edit.text, done.spans[0]) for done in edit.done)]
    answer += await asyncio.to_thread(new_errors, path, edit.file.text, edit.raw)
    return ToolOutput(payload=payload, for_model="\n".join(answer), summary=told[0])
