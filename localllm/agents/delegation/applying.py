"""Taking what an agent changed in its work tree over into the project, as one call behind the guards of all tools."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from localllm.agents.delegation.worktrees import FileChange
from localllm.base.errors import LocalLLMError, ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import tr
from localllm.text.decoding import NotTextError, decode
from localllm.text.diffing import changed_lines, unified
from localllm.text.three_way import merged
from localllm.tools.context import ToolContext
from localllm.tools.guard.destruction import detect_code_destruction
from localllm.tools.guard.paths import ProjectRoot, shown
from localllm.tools.guard.rules import WRITING_TOOL
from localllm.tools.registry import Preview, Risk, Tool, ToolOutput, tool

LARGEST = 50_000_000

_MOST_NAMED = 5


class Patch(msgspec.Struct, frozen=True):
    """What `agent` changed, and the file in which all of it is kept."""

    agent: str
    changes: Sequence[FileChange]
    file: Path


class Applied(msgspec.Struct, frozen=True):
    """One file of the project as it is and as it shall be; None where there is none. `mode`: None for as it is."""

    path: str
    now: bytes | None
    then: bytes | None
    mode: int | None = None


def plan(root: ProjectRoot, patch: Patch) -> list[Applied]:
    """What is to be done in the project: all of the changes. Where one cannot be made, because the project has another
    change at the same place, none is: raises ToolExecutionError coordinate_conflict."""
    planned: list[Applied] = []
    conflicts: list[str] = []
    for change in patch.changes:
        try:
            found = None if change.odd else _planned(root, change)
        except LocalLLMError:
            found = None
        if found is None:
            conflicts.append(shown(change.path))
        elif found.now != found.then or found.mode is not None:
            planned.append(found)
    if conflicts:
        files = ", ".join([*conflicts[:_MOST_NAMED], *(["…"] if len(conflicts) > _MOST_NAMED else [])])
        raise ToolExecutionError("coordinate_conflict", agent=patch.agent, files=files, patch=patch.file)
    return planned


def _planned(root: ProjectRoot, change: FileChange) -> Applied | None:
    """None where both have changed it, and not so that one can have both."""
    root.refuse_protected(change.path)
    if root.relative(change.path) != change.path:  # a link stands on the way by now
        return None
    now = root.read_bytes(change.path, LARGEST) if root.exists(change.path) else None
    if now == change.before:
        return Applied(change.path, now, change.after, change.mode)
    if now == change.after:
        return Applied(change.path, now, now, change.mode)
    if now is None or change.before is None or change.after is None:
        return None
    both = merged(change.before, now, change.after)
    return None if both is None else Applied(change.path, now, both, change.mode)


def apply_tool(patch: Patch) -> Tool:
    """A tool that takes over `patch`; its argument `files` are the paths of all its changes. For the rules it is
    write_file: it writes files of the project, and whoever may do that may do this."""

    def preview(context: ToolContext, agent: str, files: list[str]) -> Preview:
        planned = plan(context.root, patch)
        summary = tr("coordinate.apply", agent=agent, count=len(planned))
        return Preview(summary, "".join(map(_shown_change, planned)), "diff", _danger(planned))

    @tool(risk=Risk.HIGH, writes=("files",), paths=("files",), preview=preview)
    async def apply_changes(context: ToolContext, agent: str, files: list[str]) -> ToolOutput:
        """Take over what an agent has changed in its work tree."""
        planned = plan(context.root, patch)
        _write(context.root, planned)
        added, removed = _size(planned)
        names = [shown(one.path) for one in planned]
        said = tr("coordinate.applied", count=len(planned), added=added, removed=removed)
        payload: dict[str, Json] = {"agent": agent, "files": names, "file_path": ", ".join(names), "changed": True}
        return ToolOutput(payload=payload, for_model=said, summary=said)

    return msgspec.structs.replace(apply_changes, name=WRITING_TOOL)


def _write(root: ProjectRoot, planned: Sequence[Applied]) -> None:
    """Make all changes, or none: what was made before one failed is taken back."""
    made: list[Applied] = []
    try:
        for one in planned:
            _put(root, one.path, one.now, one.then, one.mode)
            made.append(one)
    except LocalLLMError:
        for one in reversed(made):
            _put(root, one.path, one.then, one.now, None)
        raise


def _put(root: ProjectRoot, path: str, now: bytes | None, then: bytes | None, mode: int | None) -> None:
    if then is None:
        root.delete(path)
    else:
        root.write_bytes(path, then, create_only=now is None, mode=mode, over=now)


def _text(data: bytes | None) -> str | None:
    """The content as text; "" for no file, None for what is no text."""
    try:
        return decode(data or b"").text
    except NotTextError:
        return None


def _shown_change(one: Applied) -> str:
    old, new, path = _text(one.now), _text(one.then), shown(one.path)
    if old is None or new is None:
        return tr("coordinate.binary", path=path) + "\n"
    if one.then is None:
        return f"--- a/{path}\n+++ /dev/null\n" + unified(old, "", path).partition(f"+++ b/{path}\n")[2]
    if one.now == one.then:
        return tr("coordinate.mode", path=path, mode=f"{one.mode or 0:o}") + "\n"
    return unified(None if one.now is None else old, new, path)


def _danger(planned: Sequence[Applied]) -> str:
    """What would be lost, if that is much."""
    found: list[str] = []
    for one in planned:
        old, new = _text(one.now), _text(one.then)
        if one.then is not None and old and new is not None and (lost := detect_code_destruction(old, new, one.path)):
            found.append(f"{shown(one.path)}: {lost}")
    return "; ".join(found)


def _size(planned: Sequence[Applied]) -> tuple[int, int]:
    """Lines added and removed."""
    added = removed = 0
    for one in planned:
        old, new = _text(one.now), _text(one.then)
        if old is not None and new is not None:
            more, less = changed_lines(old, new)
            added, removed = added + more, removed + less
    return added, removed
