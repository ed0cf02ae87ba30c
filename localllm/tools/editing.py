"""The tool edit_file: one passage of a file replaced by another."""

import asyncio
from bisect import bisect_left
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import Phrase, tr
from localllm.text.closest import Region, closest_region, similarity
from localllm.text.decoding import encode, split_lines
from localllm.text.diffing import unified
from localllm.tools.context import ToolContext
from localllm.tools.guard.paths import ProjectRoot, shown
from localllm.tools.registry import Preview, Risk, ToolOutput, tool
from localllm.tools.text_files import TextFile, load, metadata, to_bytes

_LINES_NAMED = 10
_LINES_SHOWN = 40
_LINES_AROUND = 2
_PROBABLY_THIS_EDIT = 20  # characters: a shorter new_string may stand anywhere by chance


class _Edit(NamedTuple):
    """A file, its new text, and where (offsets in the new text, newlines as \\n) the passages now stand."""

    file: TextFile
    text: str
    places: tuple[int, ...]
    length: int


def _preview(
    context: ToolContext, file_path: str, old_string: str, new_string: str, replace_all: bool = False
) -> Preview:
    edit = _plan(context.root, file_path, old_string, new_string, replace_all=replace_all)
    path = shown(edit.file.path)
    return Preview(tr("edit.preview", path=path), unified(edit.file.text, edit.text, path), "diff")


@tool(risk=Risk.HIGH, writes=("file_path",), preview=_preview)
async def edit_file(
    context: ToolContext, file_path: str, old_string: str, new_string: str, replace_all: bool = False
) -> ToolOutput:
    """Replace a passage of a file. old_string must occur exactly once.

    file_path: path in the project
    old_string: the text to replace, copied exactly
    new_string: what stands there afterwards
    replace_all: replace every occurrence
    """
    edit = _plan(context.root, file_path, old_string, new_string, replace_all=replace_all)
    path = edit.file.path
    data = to_bytes(path, edit.text, edit.file.decoded)
    await asyncio.to_thread(context.root.write_bytes, path, data)
    facts = metadata(context.root, path, edit.file.decoded._replace(text=edit.text))
    payload: dict[str, Json] = {"file_path": shown(path), "replacements": len(edit.places), "metadata": facts}
    summary = _summary(edit)
    return ToolOutput(payload=payload, for_model=f"{summary}\n{_now(edit)}", summary=summary)


def _plan(root: ProjectRoot, file_path: str, old: str, new: str, *, replace_all: bool) -> _Edit:
    """What the edit would make of the file; ToolExecutionError where it cannot be made."""
    path = root.relative(file_path)
    root.refuse_protected(path)
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise ToolExecutionError("edit_empty", path=shown(path))
    if old == new:
        raise ToolExecutionError("edit_no_change")
    file = load(root, path)
    if encode(file.text, file.decoded) != file.data:
        reason = Phrase("edit.lossy", encoding=file.decoded.encoding)
        raise ToolExecutionError("file_unwritable", path=shown(path), reason=reason)
    text = file.text.replace("\r\n", "\n")
    places = _places(text, old, apart=replace_all)
    if not places:
        raise _miss(path, text, old, new)
    if len(places) > 1 and not replace_all:
        lines = _name_lines(text, places)
        raise ToolExecutionError("edit_ambiguous", path=shown(path), count=len(places), lines=lines)
    moved = tuple(place + index * (len(new) - len(old)) for index, place in enumerate(places))
    return _Edit(file, _replace(file.text, places, old, new), moved, len(new))


def _places(text: str, passage: str, *, apart: bool) -> list[int]:
    """Where `passage` begins; with `apart` only what does not overlap the one before."""
    places: list[int] = []
    at = text.find(passage)
    while at >= 0:
        places.append(at)
        at = text.find(passage, at + (len(passage) if apart else 1))
    return places


def _replace(raw: str, places: list[int], old: str, new: str) -> str:
    """`raw` with `new` at `places`, which count every newline as one character.

    In a file that mixes newlines the replacement ends its lines as the text it stands in does; all else stays as it is.
    """
    windows = _windows_newlines(raw)
    parts: list[str] = []
    done = 0
    for place in places:
        start = place + bisect_left(windows, place)
        end = place + len(old)
        parts += [raw[done:start], new.replace("\n", _newline_near(raw, start)) if windows else new]
        done = end + bisect_left(windows, end)
    return "".join([*parts, raw[done:]])


def _windows_newlines(raw: str) -> list[int]:
    """Where in the text, every newline counted as one character, the newlines are that were written \\r\\n."""
    found = _places(raw, "\r\n", apart=True)
    return [place - index for index, place in enumerate(found)]


def _newline_near(raw: str, place: int) -> str:
    at = raw.find("\n", place)
    at = at if at >= 0 else raw.rfind("\n", 0, place)
    return "\r\n" if raw[at - 1 : at] == "\r" else "\n"


def _miss(path: str, text: str, old: str, new: str) -> ToolExecutionError:
    """The most helpful answer to an old_string that is not there."""
    region = closest_region(text, old)
    if line := _applied_at(text, old, new, region):
        return ToolExecutionError("edit_already_applied", path=shown(path), line=line)
    return ToolExecutionError("edit_no_match", path=shown(path), closest=_closest(text, region))


def _applied_at(text: str, old: str, new: str, region: Region | None) -> int | None:
    """The line where `new` stands already: there where `old` would be looked for, or long enough to be no chance.

    Its lines must be more like `new` than like `old`: a `new` that is the beginning of what is there was not applied.
    """
    lines = text.split("\n")
    for place in _places(text, new, apart=True) if new.strip() else []:
        first = text.count("\n", 0, place)
        last = first + new.count("\n")
        expected = region is None or (first < region.end and last + 1 >= region.start)
        if not expected or (region is None and len(new.strip()) < _PROBABLY_THIS_EDIT):
            continue
        there = "\n".join(lines[first : last + 1])
        if similarity(there, new) > similarity(there, old):
            return first + 1
    return None


def _closest(text: str, region: Region | None) -> Phrase:
    if region is None:
        return Phrase("edit.nothing_close")
    end = min(region.end, region.start + _LINES_SHOWN - 1)
    passage = "\n".join(text.split("\n")[region.start - 1 : end])
    key = "edit.closest_space" if region.similarity == 1 else "edit.closest"
    return Phrase(key, start=region.start, end=end, text=passage)


def _name_lines(text: str, places: list[int] | tuple[int, ...]) -> str:
    """The lines of the places, "3, 8, 12, …"."""
    named = ", ".join(str(text.count("\n", 0, place) + 1) for place in places[:_LINES_NAMED])
    return named + ", …" if len(places) > _LINES_NAMED else named


def _summary(edit: _Edit) -> str:
    lines = _name_lines(edit.text.replace("\r\n", "\n"), edit.places)
    return tr("edit.done", path=shown(edit.file.path), count=len(edit.places), lines=lines)


def _now(edit: _Edit) -> str:
    """The first passage as it stands now, with a little around it; of a long one its ends."""
    text = edit.text.replace("\r\n", "\n")
    lines = split_lines(text)
    first = text.count("\n", 0, edit.places[0])
    last = text.count("\n", 0, edit.places[0] + edit.length)
    start, end = max(first - _LINES_AROUND, 0), min(last + _LINES_AROUND + 1, len(lines))
    part = lines[start:end]
    if len(part) > _LINES_SHOWN // 2:
        ends = _LINES_AROUND + 3
        part = [*part[:ends], "…", *part[-ends:]]
    return tr("edit.now", start=start + 1, end=end, text="\n".join(part))
