"""Parse patches as models write them (`*** Begin Patch`, diffs, SEARCH/REPLACE) and translate them."""

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.tools.edit_arguments import Replacement

BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_HEADER = late_pattern(r"\*\*\* (Add|Update|Delete) File:(.+)")
_MOVE = late_pattern(r"\*\*\* (?:Move to|Move File To):(.+)", re.IGNORECASE)
_UNIFIED = late_pattern(r"(---|\+\+\+) (?:[ab]/)?(.[^\t\n]*+)(?:\t.*)?")
_NOWHERE = "/dev/null"
_HUNK = late_pattern(r"@@(?: -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)?(?: @@)? ?(.*?)(?: @@)?")
_SEARCH = late_pattern(r"[<-]{5,9} ?SEARCH>?[ \t]*")
_REPLACE = late_pattern(r"[>+]{5,9} ?REPLACE.*")
_DIVIDER = late_pattern(r"={5,9}[ \t]*")
_HEREDOC = late_pattern(
    r"""\s*(?:cd\s+(?P<folder>[^\s;&|]+)\s*&&\s*)?apply_?patch\s+"""
    r"""<<-?\s*(?P<quote>['"]?)(?P<word>\w+)(?P=quote)[ \t]*\n"""
    r"(?P<patch>.*?)\n[ \t]*(?P=word)\s*",
    re.DOTALL,
)


class FileChange(msgspec.Struct, frozen=True):
    """A patch's change of the file `path`; `new_path`: where it is moved afterwards."""

    kind: Literal["add", "update", "delete"]
    path: str
    content: str = ""
    replacements: tuple[Replacement, ...] = ()
    new_path: str = ""


Call = tuple[str, dict[str, Json]]
"""A tool's name and arguments."""


def parse_patch(text: str) -> list[FileChange]:
    """Parse the changes of a patch, in order. Raises ToolExecutionError patch_unreadable."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    starts = [number for number, line in enumerate(lines) if line.strip() == BEGIN]
    if starts:
        lines = lines[starts[0] + 1 :]
    changes = [_change(header, body) for header, body in _sections(lines)] or _unified(lines)
    if not changes:
        raise _unreadable(Phrase("it names no file"))
    return changes


def calls_of(changes: Sequence[FileChange], folder: str = "") -> list[Call]:
    """Return the calls that make the changes, each judged separately. `folder`: what the paths are relative to."""
    return [call for change in changes for call in _calls(change, folder)]


def replacements_in(text: str) -> list[Replacement]:
    """Return the replacements of SEARCH/REPLACE blocks, or of a single-file diff's hunks. Empty if there are none."""
    lines = text.replace("\r\n", "\n").split("\n")
    if blocks := list(_blocks(lines)):
        return blocks
    lines = [line for line in lines if not _UNIFIED.fullmatch(line)]
    return list(_hunks("", lines)) if any(line.startswith("@@") for line in lines) else []


def _blocks(lines: Sequence[str]) -> Iterator[Replacement]:
    """Yield the complete SEARCH/REPLACE blocks. Roo's location hints are ignored."""
    old: list[str] | None = None
    new: list[str] | None = None
    for line in lines:
        if _SEARCH.fullmatch(line):
            old, new = [], None
        elif old is not None and new is None and _DIVIDER.fullmatch(line):
            new = []
        elif old is not None and new is not None and _REPLACE.fullmatch(line):
            yield Replacement("\n".join(old), "\n".join(new))
            old = new = None
        elif new is not None:
            new.append(line)
        elif old is not None and line.startswith("-----") and all(one.startswith(":") for one in old):
            old = []
        elif old is not None:
            old.append(line)


def patch_in_command(command: str) -> tuple[str, str]:
    """Return the patch a command passes to apply_patch, and the folder it changes to. "" for other commands."""
    if found := _HEREDOC.fullmatch(command):
        return found["patch"], found["folder"] or ""
    if BEGIN not in command:
        return "", ""
    try:
        words = shlex.split(command)
    except ValueError:
        return "", ""
    return (words[1], "") if len(words) == 2 and words[0] in ("apply_patch", "applypatch") else ("", "")


def _sections(lines: Sequence[str]) -> Iterator[tuple[re.Match[str], list[str]]]:
    header: re.Match[str] | None = None
    body: list[str] = []
    for line in lines:
        if line.strip() == _END:
            break
        if found := _HEADER.fullmatch(line):
            if header:
                yield header, body
            header, body = found, []
        elif header or line.strip():
            body.append(line)
    if header:
        yield header, body


def _change(header: re.Match[str], body: list[str]) -> FileChange:
    path = _path(header[2])
    match header[1]:
        case "Delete":
            return FileChange("delete", path)
        case "Add":
            return FileChange("add", path, content=_added(path, body))
        case _:
            moved = _MOVE.fullmatch(body[0]) if body else None
            hunks = tuple(_hunks(path, body[1:] if moved else body))
            if not hunks and not moved:
                raise _unreadable(Phrase("it changes nothing in {path}", path=path))
            return FileChange("update", path, replacements=hunks, new_path=_path(moved[1]) if moved else "")


def _added(path: str, body: list[str]) -> str:
    while body and not body[-1]:
        body.pop()
    if any(line.startswith("+") for line in body):
        if any(line and not line.startswith("+") for line in body):
            raise _unreadable(Phrase("each line of the new file {path} must begin with +", path=path))
        body = [line[1:] for line in body]
    return "".join(f"{line}\n" for line in body)


def _unified(lines: Sequence[str]) -> list[FileChange]:
    """Parse a unified diff: `--- a/x`, `+++ b/x`, hunks."""
    changes: list[FileChange] = []
    before, at = "", 0
    while at < len(lines):
        found = _UNIFIED.fullmatch(lines[at])
        at += 1
        if not found or found[1] == "---":
            before = found[2] if found else before
            continue
        end = next((n for n in range(at, len(lines)) if re.match(r"--- \S|diff --git ", lines[n])), len(lines))
        body, after = lines[at:end], found[2]
        if after == _NOWHERE:
            changes.append(FileChange("delete", before))
        elif before == _NOWHERE:
            content = "".join(f"{line[1:]}\n" for line in body if line.startswith("+"))
            changes.append(FileChange("add", after, content=content))
        else:
            moved = after if before not in ("", after) else ""
            changes.append(FileChange("update", before or after, "", tuple(_hunks(after, body)), moved))
        at = end
    return changes


def _hunks(path: str, lines: Sequence[str]) -> Iterator[Replacement]:
    """Yield a replacement for each hunk. If its header names a line, new lines without context are inserted there."""
    header, hunk = "", list[str]()
    for line in [*lines, "@@"]:
        if line.startswith("@@"):
            if made := _replacement(path, header, hunk):
                yield made
            found = _HUNK.fullmatch(line)
            header, hunk = (found[1] if found else "").strip(), []
        elif line.strip() != "*** End of File" and not line.startswith("\\ No newline"):
            hunk.append(line)


def _replacement(path: str, header: str, hunk: list[str]) -> Replacement | None:
    while hunk and not hunk[-1]:
        hunk.pop()
    old = [line[1:] if line[:1] in (" ", "-") else line for line in hunk if not line.startswith("+")]
    new = [line[1:] if line[:1] in (" ", "+") else line for line in hunk if not line.startswith("-")]
    if old == new:
        return None
    if not old:
        if not header:
            raise _unreadable(Phrase("a hunk of {path} has no line of the file to locate it by", path=path))
        old, new = [header], [header, *new]
    if not new:
        return Replacement("\n".join([*old, ""]), "")
    return Replacement("\n".join(old), "\n".join(new))


def _calls(change: FileChange, folder: str) -> Iterator[Call]:
    path = posixpath.join(folder, change.path)
    if change.kind == "add":
        yield "write_file", {"file_path": path, "content": change.content}
    elif change.kind == "delete":
        yield "run_command", {"command": f"rm -- {shlex.quote(path)}"}
    elif change.replacements:
        yield "edit_file", edit(path, change.replacements)
    if change.new_path:
        target = posixpath.join(folder, change.new_path)
        above = posixpath.dirname(target)
        first = f"mkdir -p -- {shlex.quote(above)} && " if above not in ("", posixpath.dirname(path)) else ""
        yield "run_command", {"command": f"{first}mv -- {shlex.quote(path)} {shlex.quote(target)}"}


def edit(path: str, replacements: Sequence[Replacement]) -> dict[str, Json]:
    """Return the arguments of edit_file for the replacements."""
    pairs = [{"old_string": one.old_string, "new_string": one.new_string} for one in replacements]
    return {"file_path": path, **(pairs[0] if len(pairs) == 1 else {"edits": pairs})}


def _path(written: str) -> str:
    return written.strip().strip("`\"'")


def _unreadable(reason: Phrase) -> ToolExecutionError:
    return ToolExecutionError("patch_unreadable", reason=reason)
