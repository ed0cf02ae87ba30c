"""Tools for whole files: read_file, list_files, create_file, write_file."""

import asyncio
import stat
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.gitignore import matcher
from localllm.base.i18n import tr
from localllm.base.walking import DEEPEST, walk
from localllm.text.decoding import Decoded, split_lines
from localllm.text.diffing import changed_lines, unified
from localllm.tools import listing
from localllm.tools.context import ToolContext
from localllm.tools.guard.paths import ProjectRoot, shown
from localllm.tools.registry import Preview, Risk, ToolOutput, tool
from localllm.tools.text_files import TextFile, load, load_existing, metadata, to_bytes

_LISTING = 8_000
"""Characters of a listing of files at most: beyond that it tells less than the folders' names do."""

_NOTES = 300
"""Characters left free of content for the heading and the notes on how to go on."""


@tool(risk=Risk.SAFE)
async def read_file(
    context: ToolContext, file_path: str, encoding: str = "", start_line: int = 1, max_lines: int = 0
) -> ToolOutput:
    """Read a text file, whole or in part.

    file_path: path in the project
    encoding: only where it is not recognised
    start_line: first line to read, from 1
    max_lines: how many lines, 0 for all
    """
    file = load(context.root, file_path, encoding)
    part = _part(file, start_line, max_lines, context.output_limit - _NOTES)
    facts = metadata(context.root, file.path, file.decoded)
    facts |= {"start_line": part.start, "end_line": part.end}
    payload: dict[str, Json] = {"content": part.content, "metadata": facts}
    return ToolOutput(payload=payload, for_model=part.for_model(file.path), summary=part.title(file.path))


class _Part(NamedTuple):
    """Lines `start` to `end` of `total`, counted from 1; `notes` say how to read what was left out."""

    content: str
    start: int
    end: int
    total: int
    notes: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return self.end - self.start + 1 == self.total and not self.notes

    def title(self, path: str) -> str:
        key = "files.whole" if self.is_whole else "files.range"
        return tr(key, path=shown(path), start=self.start, end=self.end, total=self.total)

    def for_model(self, path: str) -> str:
        if not self.total:
            return tr("files.empty", path=shown(path))
        if self.is_whole:
            return self.content
        return "\n".join([self.title(path), self.content.removesuffix("\n"), *self.notes])


def _part(file: TextFile, start_line: int, max_lines: int, limit: int) -> _Part:
    """The lines asked for, as far as they fit into `limit` characters."""
    lines = split_lines(file.text)
    start = max(start_line, 1)
    if start > max(len(lines), 1):
        raise ToolExecutionError("file_bad_range", path=shown(file.path), total=len(lines), start=start)
    wanted = lines[start - 1 :][: max_lines if max_lines > 0 else None]
    kept = _fitting(wanted, limit)
    if len(kept) == len(lines):
        return _Part(file.text, 1, len(lines), len(lines), ())
    if wanted and not kept:
        note = tr("files.cut_line", line=start, length=len(wanted[0]))
        return _Part(wanted[0][:limit], start, start, len(lines), (note, *_more(start + 1, len(lines))))
    end = start + len(kept) - 1
    notes = _more(end + 1, len(lines)) if len(kept) < len(wanted) else ()
    return _Part("".join(line + "\n" for line in kept), start, end, len(lines), notes)


def _fitting(lines: list[str], limit: int) -> list[str]:
    for count, line in enumerate(lines):
        limit -= len(line) + 1
        if limit < 0:
            return lines[:count]
    return lines


def _more(line: int, total: int) -> tuple[str, ...]:
    return (tr("files.more", count=total - line + 1, line=line),) if line <= total else ()


@tool(risk=Risk.SAFE, paths=("path",))
async def list_files(context: ToolContext, path: str = ".", pattern: str = "", recursive: bool = True) -> ToolOutput:
    """List the files of the project, without those .gitignore leaves out.

    path: folder to list
    pattern: glob such as *.py or src/**/*.ts
    recursive: also list the folders below
    """
    start = context.root.relative(path)
    if stat.S_ISREG(context.root.stat(start).st_mode):
        found, above = [start], start.count("/")
    else:
        found = await asyncio.to_thread(_find, context, start, pattern, recursive=recursive)
        above = 0 if start == "." else start.count("/") + 1
    preferred = matcher(context.settings.project.include_patterns)
    result = listing.fit(found, preferred, above=above, limit=min(_LISTING, context.output_limit))
    total = sum(not item.endswith("/") for item in found)
    payload: dict[str, Json] = {
        "files": [shown(item) for item in result.named if not item.endswith("/")],
        "directories": [shown(item) for item in result.named if item.endswith("/")],
        "total": total,
        "truncated": bool(result.left_out),
    }
    lines = result.lines or [_nothing(start, pattern)]
    if result.left_out:
        lines.append(tr("files.left_out", count=result.left_out, total=total))
    return ToolOutput(
        payload=payload, for_model="\n".join(lines), summary=tr("files.listed", path=shown(start), count=total)
    )


def _find(context: ToolContext, start: str, pattern: str, *, recursive: bool) -> list[str]:
    exclude = context.settings.project.exclude_patterns
    entries = walk(context.root.path, exclude=exclude, start=start, depth=DEEPEST if recursive else 1)
    if not pattern:
        return list(listing.items(entries))
    fits = matcher([pattern])
    below = 0 if start == "." else len(start) + 1
    paths = (entry.path for entry in entries if not entry.is_dir)
    return [path for path in paths if fits(path[below:]) or fits(path)]


def _nothing(start: str, pattern: str) -> str:
    if pattern:
        return tr("files.none_fit", path=shown(start), pattern=shown(pattern))
    return tr("files.none", path=shown(start))


def _preview_create(context: ToolContext, file_path: str, content: str) -> Preview:
    path = _new_path(context.root, file_path)
    to_bytes(path, content, Decoded(content))
    detail = unified(None, content, shown(path))
    return Preview(tr("files.preview.create", path=shown(path)), detail, "diff")


@tool(risk=Risk.MEDIUM, writes=("file_path",), preview=_preview_create)
async def create_file(context: ToolContext, file_path: str, content: str) -> ToolOutput:
    """Create a new file.

    file_path: path in the project
    content: the whole text
    """
    path = _new_path(context.root, file_path)
    decoded = Decoded(content)
    data = to_bytes(path, content, decoded)
    await asyncio.to_thread(context.root.write_bytes, path, data, create_only=True)
    facts = metadata(context.root, path, decoded)
    payload: dict[str, Json] = {"file_path": shown(path), "size": len(data), "created": True, "metadata": facts}
    told = tr("files.created", path=shown(path), total=facts["total_lines"])
    return ToolOutput(payload=payload, for_model=told, summary=told)


def _new_path(root: ProjectRoot, file_path: str) -> str:
    path = root.relative(file_path)
    root.refuse_protected(path)
    if root.exists(path):
        raise ToolExecutionError("file_exists", path=shown(path))
    return path


class _Change(NamedTuple):
    """A file as it is (`old` None: it is not) and as it shall be, also as bytes."""

    path: str
    old: TextFile | None
    new: Decoded
    data: bytes


def _plan_write(root: ProjectRoot, file_path: str, content: str) -> _Change:
    path = root.relative(file_path)
    root.refuse_protected(path)
    old = load_existing(root, path)
    like = old.decoded if old else Decoded("")
    if old and like.newline != "mixed":
        content = content.replace("\r\n", "\n")
    return _Change(path, old, like._replace(text=content), to_bytes(path, content, like))


def _preview_write(context: ToolContext, file_path: str, content: str) -> Preview:
    change = _plan_write(context.root, file_path, content)
    detail = unified(change.old.text if change.old else None, change.new.text, shown(change.path))
    return Preview(tr("files.preview.write", path=shown(change.path)), detail, "diff")


@tool(risk=Risk.HIGH, writes=("file_path",), preview=_preview_write)
async def write_file(context: ToolContext, file_path: str, content: str) -> ToolOutput:
    """Write a whole file, replacing what it held. To change a part, use edit_file.

    file_path: path in the project
    content: the whole new text
    """
    change = _plan_write(context.root, file_path, content)
    changed = change.old is None or change.old.data != change.data
    if changed:
        await asyncio.to_thread(context.root.write_bytes, change.path, change.data)
    facts = metadata(context.root, change.path, change.new)
    payload: dict[str, Json] = {
        "file_path": shown(change.path),
        "size": len(change.data),
        "created": change.old is None,
        "changed": changed,
        "metadata": facts,
    }
    told = _told_of_write(change, facts, changed=changed)
    return ToolOutput(payload=payload, for_model=told, summary=told)


def _told_of_write(change: _Change, facts: dict[str, Json], *, changed: bool) -> str:
    if not changed:
        return tr("files.unchanged", path=shown(change.path))
    if change.old is None:
        return tr("files.created", path=shown(change.path), total=facts["total_lines"])
    added, removed = changed_lines(change.old.text, change.new.text)
    return tr("files.written", path=shown(change.path), total=facts["total_lines"], added=added, removed=removed)
