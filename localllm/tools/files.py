"""Tools for whole files: read_file, list_files, create_file, write_file."""

import asyncio
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise, takewhile

import msgspec

from localllm.base.directory_walk import DEEPEST, Entry, walk
from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.gitignore import matcher
from localllm.base.i18n import N_, Phrase, _, plural
from localllm.base.lazy_patterns import late_pattern
from localllm.safety.path_names import shown, some_of
from localllm.safety.paths import ProjectRoot
from localllm.safety.tool_definition import Preview, Risk, ToolOutput
from localllm.text.decoding import Decoded
from localllm.tools.context import ToolContext
from localllm.tools.registry import tool
from localllm.tools.text_files import (
    Patience,
    TextFile,
    in_thread,
    load_existing,
    metadata,
    refuse_stale,
    refuse_unread,
    to_bytes,
)


class Listing(msgspec.Struct, frozen=True):
    """The lines to show; the items named in them; and the number of files omitted."""

    lines: list[str]
    named: list[str]
    left_out: int


def items(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the paths of files, and of folders that are empty or were not entered, with a `/`."""
    folder = ""
    for entry in entries:
        if folder and not entry.path.startswith(folder + "/"):
            yield folder + "/"
        folder = entry.path if entry.is_dir else ""
        if not entry.is_dir:
            yield entry.path
    if folder:
        yield folder + "/"


def fit(found: Sequence[str], preferred: Callable[[str], bool], *, above: int, limit: int) -> Listing:
    """Fit the items into `limit` characters, preferred ones first.

    If they do not fit, deeper folders are folded into one line each, those of other files first. `above` is the depth
    of the listing's start.
    """
    first = [item for item in found if preferred(item)]
    others = [item for item in found if not preferred(item)]
    folded: list[tuple[str, int]] = []
    for depth, depth_of_others in _depths(found, above):
        folded = [*_fold(first, above + depth).items(), *_fold(others, above + depth_of_others).items()]
        if sum(len(path) + 14 * (count > 0) for path, count in folded) + len(folded) <= limit:
            return _listing(found, folded)
    return _listing(found, _cut(folded, limit))


def _depths(found: Sequence[str], above: int) -> Iterator[tuple[int, int]]:
    deepest = max((item.count("/") - above + 1 for item in found), default=1)
    yield from ((deepest, depth) for depth in range(deepest, 0, -1))
    yield from ((depth, 1) for depth in range(deepest - 1, 0, -1))


def _fold(found: Iterable[str], depth: int) -> dict[str, int]:
    """Map each item to 0, or, if deeper than `depth`, its folder (with `/`) to the number of files below it."""
    folded: dict[str, int] = {}
    for item in found:
        parts = item.split("/", depth)
        if len(parts) <= depth or not parts[depth]:
            folded.setdefault(item, 0)
        else:
            folder = "/".join(parts[:depth]) + "/"
            folded[folder] = folded.get(folder, 0) + (not item.endswith("/"))
    return folded


def _cut(folded: list[tuple[str, int]], limit: int) -> list[tuple[str, int]]:
    kept: list[tuple[str, int]] = []
    for path, count in folded:
        limit -= len(path) + 15
        if limit < 0:
            break
        kept.append((path, count))
    return kept


def _listing(found: Sequence[str], folded: list[tuple[str, int]]) -> Listing:
    lines = [
        f"{shown(path)} ({count} {plural(count, 'file', 'files')})" if count else shown(path) for path, count in folded
    ]
    named = [path for path, count in folded if not count]
    files = sum(not item.endswith("/") for item in found)
    return Listing(lines, named, files - sum(not path.endswith("/") for path in named))


_LISTING = 8_000
"""Maximum characters of a file listing: a longer one is less useful than folder names."""


_WORD = late_pattern(r"[\w-]+")
"""Matches a pattern that is a word: another assistant's tool looks for it within names."""
_SECONDS = 10.0
_MOST = 500_000
"""Maximum files and seconds of a listing."""


@tool(risk=Risk.SAFE, unlisted=("encoding", "max_lines"), brief="Read a file.")
async def read_file(
    context: ToolContext,
    file_path: str,
    encoding: str = "",
    start_line: int = 1,
    end_line: int = 0,
    max_lines: int = 0,
) -> ToolOutput:
    """Read a file: text, notebook, PDF, picture.

    start_line: -50: the last 50
    """
    from localllm.tools import reading

    path = context.root.relative(file_path)
    if stat.S_ISDIR(context.root.stat(path).st_mode):
        listed = await list_files.function(context, path=path, recursive=False)
        return msgspec.structs.replace(
            listed, for_model=f"{f'[{shown(path)} is a folder. What is in it:]'}\n{listed.for_model}"
        )
    return await reading.read(context, path, encoding, reading.Wanted(start_line, max_lines, end_line))


@tool(risk=Risk.SAFE, paths=("path",), rare=("recursive",), brief="List files.")
async def list_files(context: ToolContext, path: str = ".", pattern: str = "", recursive: bool = True) -> ToolOutput:
    """List files, but not those git ignores.

    pattern: glob
    """
    start = context.root.relative(path)
    complete = True
    if stat.S_ISREG(context.root.stat(start).st_mode):
        found, above, is_part = [start], start.count("/"), False
    else:
        found, complete = await in_thread(
            lambda patience: _find(context, start, pattern, patience, recursive=recursive), _SECONDS
        )
        if is_part := not found and complete and _WORD.fullmatch(pattern) is not None:
            found, complete = await in_thread(
                lambda patience: _find(context, start, f"*{pattern}*", patience, recursive=recursive), _SECONDS
            )
        above = 0 if start == "." else start.count("/") + 1
    preferred = matcher(context.settings.project.include_patterns)
    result = fit(found, preferred, above=above, limit=min(_LISTING, context.output_limit))
    total = sum(not item.endswith("/") for item in found)
    payload: dict[str, Json] = {
        "files": [shown(item) for item in result.named if not item.endswith("/")],
        "directories": [shown(item) for item in result.named if item.endswith("/")],
        "total": total,
        "truncated": bool(result.left_out) or not complete,
    }
    lines = result.lines or [_nothing(start, pattern)]
    if is_part and found:
        lines.insert(0, f"[no file is named {pattern}; with it in their names:]")
    if result.left_out:
        lines.append(
            f"[{result.left_out} of {total} files {plural(result.left_out, 'is', 'are')} not listed "
            "by name; list a folder, or give a pattern]"
        )
    if not complete:
        lines.append(
            f"[stopped after {total} {plural(total, 'file', 'files')}: there are more; list a folder, "
            "or give a pattern]"
        )
    return ToolOutput(
        payload=payload,
        for_model="\n".join(lines),
        summary=Phrase(N_("{path}: {count} file", "{path}: {count} files"), path=shown(start), count=total),
    )


def _find(
    context: ToolContext, start: str, pattern: str, patience: Patience, *, recursive: bool
) -> tuple[list[str], bool]:
    """Return the files found, and whether the list is complete: time and memory are bounded."""
    exclude = context.settings.project.exclude_patterns
    entries = walk(context.root.path, exclude=exclude, start=start, depth=DEEPEST if recursive else 1)
    walked = takewhile(lambda _: not patience.over, entries)
    if pattern:
        fits = matcher([pattern])
        below = 0 if start == "." else len(start) + 1
        found = (entry.path for entry in walked if not entry.is_dir and (fits(entry.path[below:]) or fits(entry.path)))
    else:
        found = items(walked)
    try:
        kept = list(islice(found, _MOST))
    except OSError as error:
        context.root.stat(start)  # says so if it was removed or replaced meanwhile
        raise ToolExecutionError("file_unreadable", path=shown(start), reason=error.strerror or str(error)) from error
    return kept, len(kept) < _MOST and not patience.over


def _nothing(start: str, pattern: str) -> str:
    if pattern:
        return f"[no files in {shown(start)} fit {shown(pattern)}; .gitignore leaves some out]"
    return f"[no files in {shown(start)}]"


_MARKDOWN = (".md", ".markdown", ".mdx", ".mdown", ".mkd", ".qmd", ".rmd")
_REPLACED = "[It replaced all that was in the file. To add to a file, use edit_file.]"
_SEVERAL = 5  # lines
_SHORT = 300  # characters; most pairs of letters occur somewhere in a long text
_LEAST_SHARED = 0.25
_UNWRAPPED = "(The code fence around the content was left out.)"


def _unwrapped(path: str, content: str) -> str:
    """Remove a single code fence around the content, except in Markdown."""
    if not content.lstrip().startswith("```") or path.lower().endswith(_MARKDOWN):
        return content
    from localllm.text.matching import without_fence

    bare = without_fence(content if content.endswith("\n") else content + "\n")
    return content if bare is None else bare


def _preview_create(context: ToolContext, file_path: str, content: str) -> Preview:
    from localllm.text.diffing import unified

    path = _new_path(context.root, file_path)
    content = _unwrapped(path, content)
    to_bytes(path, content, Decoded(content))
    detail = unified(None, content, shown(path))
    return Preview(_("Create {path}", path=shown(path)), detail, "diff")


@tool(risk=Risk.MEDIUM, writes=("file_path",), preview=_preview_create)
async def create_file(context: ToolContext, file_path: str, content: str) -> ToolOutput:
    """Create a new file."""
    from localllm.code.unbound_names import new_unbound
    from localllm.safety.code_loss import new_errors
    from localllm.safety.unwritten_lines import remark_on

    path = _new_path(context.root, file_path)
    text = _unwrapped(path, content)
    notes = [_UNWRAPPED] if text != content else []
    content = text
    decoded = Decoded(content)
    data = to_bytes(path, content, decoded)
    await asyncio.to_thread(context.root.write_bytes, path, data, create_only=True)
    context.seen.note(path, data)
    facts = metadata(context.root, path, decoded)
    payload: dict[str, Json] = {"file_path": shown(path), "size": len(data), "created": True, "metadata": facts}
    told = Phrase(
        N_("Created {path} ({total} line).", "Created {path} ({total} lines)."),
        path=shown(path),
        total=facts["total_lines"],
        count=facts["total_lines"],
    )
    notes += await asyncio.to_thread(new_errors, path, "", content)
    notes += await asyncio.to_thread(new_unbound, path, "", content)
    notes += await asyncio.to_thread(remark_on, path, content)
    return ToolOutput(payload=payload, for_model="\n".join([told.english, *notes]), summary=told)


def _new_path(root: ProjectRoot, file_path: str) -> str:
    path = root.relative(file_path)
    root.refuse_protected(path)
    if root.exists(path):
        raise ToolExecutionError("file_exists", path=shown(path))
    return path


class _Change(msgspec.Struct, frozen=True):
    """A planned write: the old file (None if missing), the new content and its bytes; whether a code fence around the
    content was removed."""

    path: str
    old: TextFile | None
    new: Decoded
    data: bytes
    was_fenced: bool = False

    @property
    def is_new_text(self) -> bool:
        """Whether the file is missing, or has different content."""
        return self.old is None or self.old.data != self.data

    @property
    def danger(self) -> str | Phrase:
        """What the write would lose of the old text, if substantial."""
        from localllm.safety.code_loss import detect_code_destruction

        lost = detect_code_destruction(self.old.text, self.new.text, self.path) if self.old else None
        return lost.phrase if lost else ""


def _plan_write(context: ToolContext, file_path: str, content: str) -> _Change:
    root = context.root
    path = root.relative(file_path)
    root.refuse_protected(path)
    old = load_existing(root, path)
    like = old.decoded if old else Decoded("")
    text = _unwrapped(path, content)
    was_fenced = text != content
    if old and like.newline != "mixed":
        text = text.replace("\r\n", "\n")
    if old:
        refuse_stale(context.seen, old)
        refuse_unread(context.seen, old, text)
    return _Change(path, old, msgspec.structs.replace(like, text=text), to_bytes(path, text, like), was_fenced)


def _preview_write(context: ToolContext, file_path: str, content: str) -> Preview:
    from localllm.text.diffing import unified
    from localllm.tools.encoded_letters import with_letters_named

    change = _plan_write(context, file_path, content)
    detail = unified(change.old.text if change.old else None, change.new.text, shown(change.path))
    summary, old = _("Write {path}", path=shown(change.path)), change.old.text if change.old else ""
    return Preview(
        with_letters_named(summary, old, change.new.text, change.new.encoding),
        detail,
        "diff",
        change.danger,
        change if change.is_new_text else None,
    )


@tool(risk=Risk.HIGH, writes=("file_path",), preview=_preview_write)
async def write_file(context: ToolContext, file_path: str, content: str) -> ToolOutput:
    """Write a whole file. To change a part, use edit_file."""
    from localllm.code.unbound_names import new_unbound
    from localllm.safety.code_loss import lost_side_note, new_errors, replaced_definitions
    from localllm.safety.unwritten_lines import remark_on

    if isinstance(context.plan, _Change):
        change = context.plan
    else:
        change = await asyncio.to_thread(_plan_write, context, file_path, content)
    changed = change.is_new_text
    if changed:
        over, is_new = change.old.data if change.old else None, change.old is None
        await asyncio.to_thread(context.root.write_bytes, change.path, change.data, over=over, create_only=is_new)
    context.seen.note(change.path, change.data)
    facts = metadata(context.root, change.path, change.new)
    payload: dict[str, Json] = {
        "file_path": shown(change.path),
        "size": len(change.data),
        "created": change.old is None,
        "changed": changed,
        "metadata": facts,
    }
    told = await asyncio.to_thread(_told_of_write, change, facts, changed=changed)
    notes = [_UNWRAPPED] if change.was_fenced else []
    if changed:
        before = change.old.text if change.old else ""
        gone = await asyncio.to_thread(replaced_definitions, before, change.new.text, change.path)
        if gone:
            notes += [f"[No longer in {shown(change.path)}: {some_of(gone)}. What was to stay, put back.]"]
        elif _is_other(before, change.new.text) or _is_other_prose(change.path, before, change.new.text):
            notes += [_REPLACED]
        notes += await asyncio.to_thread(new_errors, change.path, before, change.new.text)
        notes += await asyncio.to_thread(new_unbound, change.path, before, change.new.text)
        notes += lost_side_note(before, change.new.text)
        notes += await asyncio.to_thread(remark_on, change.path, change.new.text, before)
    return ToolOutput(payload=payload, for_model="\n".join([told.english, *notes]), summary=told)


def _is_other(old: str, new: str) -> bool:
    """Return whether a new text has no line of the old one, which had several."""
    before = {line.strip() for line in old.splitlines()} - {""}
    return len(before) >= _SEVERAL and before.isdisjoint(line.strip() for line in new.splitlines())


def _is_other_prose(path: str, old: str, new: str) -> bool:
    """Return whether a short text has hardly a pair of letters of the old one: a corrected one has most of them."""
    if not path.lower().endswith((*_MARKDOWN, ".txt")) or max(len(old), len(new)) > _SHORT:
        return False
    before, after = ({*pairwise(letters)} for letters in ("".join(old.split()), "".join(new.split())))
    return len(before & after) < len(before) * _LEAST_SHARED


def _told_of_write(change: _Change, facts: dict[str, Json], *, changed: bool) -> Phrase:
    if not changed:
        return Phrase("{path} holds exactly this content already; nothing was changed.", path=shown(change.path))
    if change.old is None:
        return Phrase(
            N_("Created {path} ({total} line).", "Created {path} ({total} lines)."),
            path=shown(change.path),
            total=facts["total_lines"],
            count=facts["total_lines"],
        )
    from localllm.text.diffing import changed_lines

    added, removed = changed_lines(change.old.text, change.new.text)
    return Phrase(
        N_(
            "Wrote {path} ({total} line; {added} added, {removed} removed).",
            "Wrote {path} ({total} lines; {added} added, {removed} removed).",
        ),
        path=shown(change.path),
        total=facts["total_lines"],
        added=added,
        removed=removed,
        count=facts["total_lines"],
    )
