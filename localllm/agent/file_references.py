"""Attach the files that a request references as @path."""

import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from localllm.agent.prohibitions import wanted_part
from localllm.agent.steering import WithFiles, unforged
from localllm.base.events import AgentEvent, Emit, Json, Notice, ToolCall
from localllm.base.i18n import _, sentences
from localllm.base.jsontext import encode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import Image
from localllm.safety.folder_entries import as_listed
from localllm.text.sanitising import clean
from localllm.tools.tool_system import ToolSystem

_REFERENCE = r"""(?<![A-Za-z0-9_.+@/-])[@＠]                # in an address (me@example.org) a word stands before it
    (?:"(?P<quoted>[^"\n]+)"|(?P<bare>(?:\u3000|[^\s\0"@＠()\[\]{}（）「」『』【】、。，：:;]|(?<=/)@){1,300}))
    (?::(?P<first>\d+)(?:-(?P<last>\d+))?(?!\d))?"""
_END = late_pattern(r"[\u3000,!?'’]|(?<=[^./])\.|(?<=[!-~])[^!-~]|[をはがにのとでもへやか]")
"""Matches where a name may end: at punctuation, at an ideographic space (it may be in a name), between Latin and
Japanese, before a particle."""

_LIKE_A_PATH = late_pattern(r"\.[A-Za-z]|[A-Za-z_.]/|/[A-Za-z_.]")
"""Matches in no price or place, before which Japanese puts a full-width @: ＠1.5円, ＠5/3, ＠東京/大阪."""

_DOTTED = ("./", "../")  # relative to the user's folder

_MOST_NAMED = 5
"""Maximum files named in a notice."""

_MOST_MATCHES = 20
"""Maximum files attached for one pattern."""


class FileReference(msgspec.Struct, frozen=True):
    """A file, or some of its lines: `first_line` counts from 1, 0 for the whole file."""

    path: str
    first_line: int = 0
    line_count: int = 0


def find_references(text: str, exists: Callable[[str], bool] = lambda _path: False) -> list[FileReference]:
    """Find the files referenced in `text`, each once, in order.

    E-mail addresses are skipped. Japanese text may follow a name without a blank: then the longest prefix that `exists`
    is used. A full-width @, as Japanese input gives it, also stands before prices and places: these are skipped.
    """
    found: dict[FileReference, None] = {}
    for match in re.finditer(_REFERENCE, text, re.VERBOSE) if "@" in text or "＠" in text else ():
        whole = match["quoted"] or match["bare"]
        path = match["quoted"] or _named(whole, exists)
        is_in_a_word = text[: match.start()][-1:].isalnum()
        may_be_a_word = is_in_a_word or (match[0][0] == "＠" and not _LIKE_A_PATH.search(path))
        if may_be_a_word and not exists(path):
            continue
        first = int(match["first"] or 0) if path == whole else 0
        last = int(match["last"] or first)
        found[FileReference(path, first, max(1, last - first + 1) if first else 0)] = None
    return list(found)


def _named(words: str, exists: Callable[[str], bool]) -> str:
    """Return the path that `words` begin with: the longest existing one, else all without trailing punctuation."""
    ends = [len(words), *reversed([match.start() for match in _END.finditer(words)])]
    return (
        next((words[:end] for end in ends if end and exists(words[:end])), "")
        or re.split(r"[\u3000,']", words.rstrip(".,!?'’"))[0]
    )


async def with_files(query: str, tools: ToolSystem, room: int, emit: Emit, here: str = "") -> WithFiles:
    """Append the content of every file `query` references, in `room` characters, and return its images.

    `here`: the user's folder in the project, where paths are looked up first, and those beginning with `./` or `../`
    exclusively. Files without room or unreadable ones are reported, to the model too.
    """
    parts = [query]
    images: list[Image] = []
    wanted = wanted_part(query, reading=True)
    if wanted != query:
        _tell_of_forbidden(query, wanted, tools.root, emit, here)
    async for number, reference in _each_file(wanted, tools, emit, here):
        call = ToolCall(f"@{number}", "read_file", encode_json(_arguments(reference)).decode())
        result = await tools.execute(call, _show_nobody)
        room -= len(result.for_model)
        if result.success and room < 0:
            parts.append(_framed(reference.path, "[left out: no room; use read_file]"))
            emit(
                Notice(
                    text=_(
                        "@{path} does not fit beside the other files; the model is told to read it.",
                        path=reference.path,
                    ),
                    level="warning",
                )
            )
        elif result.success:
            parts.append(_framed(reference.path, unforged(result.for_model)))
            images += result.images
        else:
            error = result.error
            why = sentences(error.what, error.why) if error else result.for_model  # the fix is the model's
            emit(Notice(text=f"@{reference.path}: {why}", level="warning"))
            parts.append(f"[@{_plain(reference.path)} is not attached: {unforged(result.for_model)}]")
    return "\n\n".join(parts), tuple(images)


def tell_of_others(text: str, typed: str, root: Path, emit: Emit, here: str = "") -> None:
    """Tell the user which existing files are referenced in `text`, but not in the part that was `typed`: these are not
    attached."""

    if names := _more_named(text, typed, root, here):
        emit(Notice(text=_("Not attached, as you did not type it yourself: {names}", names=names)))


def _tell_of_forbidden(text: str, wanted: str, root: Path, emit: Emit, here: str) -> None:
    """Tell the user which existing files are not attached, as the text forbids to read them."""
    if names := _more_named(text, wanted, root, here):
        emit(Notice(text=_("Not attached, as you asked that it not be read: {names}", names=names)))


def _more_named(text: str, part: str, root: Path, here: str) -> str:
    """Return the existing files that are referenced in `text`, but not in its `part`, as a list to show."""

    def exists(path: str) -> bool:
        return bool(_place(path, root, here))

    own = {reference.path for reference in find_references(part, exists)}
    others = dict.fromkeys(reference.path for reference in find_references(text, exists) if exists(reference.path))
    names = [f"@{clean(path, keep_newlines=False)}" for path in others if path not in own]
    return ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")


_FRAME = late_pattern(
    r"<([\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{0,9}(?:/[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{0,9}file(?![a-z0-9_-])"
    r"|file\s{1,9}path\s{0,9}=))",
    re.IGNORECASE,
)


def _framed(path: str, text: str) -> str:
    """Wrap a file's content in tags that neither its text nor its name can imitate."""
    inside = _FRAME.sub(r"‹\1", text)
    return f'<file path="{_plain(path)}">\n{inside}\n</file>'


def _plain(path: str) -> str:
    return re.sub(r'["<>\x00-\x1f]', "?", path)


async def _each_file(query: str, tools: ToolSystem, emit: Emit, here: str) -> AsyncIterator[tuple[int, FileReference]]:
    """Yield the referenced files, numbered: those in the user's folder, and each match of a pattern."""
    number = 0
    for reference in find_references(query, lambda path: bool(_place(path, tools.root, here))):
        there = _place(reference.path, tools.root, here)
        is_pattern = not there and ("*" in reference.path or "?" in reference.path)
        paths = await _matches(reference.path, tools, emit) if is_pattern else [there or _missing(reference.path, here)]
        for each in paths:
            yield number, msgspec.structs.replace(reference, path=each)
            number += 1


def _place(path: str, root: Path, here: str) -> str:
    """Return the path relative to the project, if such a file or folder exists; else empty."""
    candidates = (_from(here, path),) if path.startswith(_DOTTED) else (_from(here, path), path)
    inside = (one for one in candidates if not one.startswith("../"))
    return next((one for one in inside if os.path.lexists(root / as_listed(str(root), one))), "")


def _missing(path: str, here: str) -> str:
    """Return the path of a missing file, relative to the project."""
    return _from(here, path) if path.startswith(_DOTTED) else path


def _from(here: str, path: str) -> str:
    return os.path.normpath(os.path.join(here, path))  # noqa: PTH118 - a path as text


async def _matches(pattern: str, tools: ToolSystem, emit: Emit) -> list[str]:
    """Return the project's files that match a pattern, up to the limit; report if there are more."""
    call = ToolCall("@*", "list_files", encode_json({"pattern": pattern}).decode())
    files: list[str] = (await tools.execute(call, _show_nobody)).payload.get("files", [])
    if len(files) > _MOST_MATCHES:
        emit(
            Notice(
                text=_(
                    "@{path} matches more than {most} files; the first {most} are attached.",
                    path=pattern,
                    most=_MOST_MATCHES,
                ),
                level="warning",
            )
        )
    return files[:_MOST_MATCHES] or [pattern]


def _arguments(reference: FileReference) -> dict[str, Json]:
    arguments: dict[str, Json] = {"file_path": reference.path}
    if reference.first_line:
        arguments |= {"start_line": reference.first_line, "max_lines": reference.line_count}
    return arguments


def _show_nobody(_event: AgentEvent) -> None:
    """Ignore the event: reading a file the user referenced is no step of the model."""
