"""Undo one change of one file while preserving later changes (three-way merge)."""

import os
import stat
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec

from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.base.i18n import N_, Counted, _
from localllm.safety.path_names import shown
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.blob_store import Contents
from localllm.snapshots.change_log import Change
from localllm.snapshots.file_state import ABSENT, content_of, is_in_state, is_unkept, mode_of
from localllm.text.diffing import opcodes
from localllm.text.sanitising import clean, shorten

_MOST_LINES = 50_000


class _Hunk(NamedTuple):
    """Lines `start` to `end` of the base text are replaced by these."""

    start: int
    end: int
    lines: tuple[str, ...]


def merged(base: bytes, one: bytes, other: bytes, *, is_list: bool = False) -> bytes | None:
    """Merge the changes from `base` to `one` and to `other`; None for a conflict.

    It is a conflict if both change the same lines differently, or add different lines at one place; also if they change
    adjacent lines, unless each line is independent (`is_list`) and one of the two only deletes, or both change only
    items. Lines are compared byte by byte, in any encoding. Also None for binary data (a zero byte), and above some
    50,000 lines.
    """
    if any(b"\0" in text or text.count(b"\n") > _MOST_LINES for text in (base, one, other)):
        return None
    lines = base.decode("latin-1").split("\n")
    hunks = sorted({*_hunks(lines, one), *_hunks(lines, other)})
    if any(_contradict(first, second, is_list=is_list) for first, second in pairwise(hunks)):
        return None
    for hunk in reversed(hunks):
        lines[hunk.start : hunk.end] = hunk.lines
    return "\n".join(lines).encode("latin-1")


def _hunks(before: list[str], changed: bytes) -> set[_Hunk]:
    after = changed.decode("latin-1").split("\n")
    return {_Hunk(i1, i2, tuple(after[j1:j2])) for tag, i1, i2, j1, j2 in opcodes(before, after) if tag != "equal"}


def _contradict(first: _Hunk, second: _Hunk, *, is_list: bool) -> bool:
    """Whether two consecutive hunks conflict."""
    if second.start != first.end:
        return second.start < first.end
    if not is_list or not (first.lines and second.lines):
        return not is_list
    return not all(
        hunk.end - hunk.start == len(hunk.lines) and all(map(_is_item, hunk.lines)) for hunk in (first, second)
    )


def _is_item(line: str) -> bool:
    return line.lstrip(" ").startswith(("- ", "* ", "+ "))


_MOST_TOLD = 3  # lines
_LARGEST_TOLD = 500_000  # bytes of a file
_LONGEST = 100  # cells of a line


class Told(msgspec.Struct, frozen=True):
    """The list lines restored and removed by an undone change."""

    back: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The restored lines; if there are none, the removed ones."""
        if not (self.back or self.gone):
            return ""
        key, lines = (N_("Back: {lines}"), self.back) if self.back else (N_("Gone: {lines}"), self.gone)
        sentence = _(key, lines=" · ".join(shorten(clean(line, keep_newlines=False), _LONGEST) for line in lines))
        return f" {sentence}"


_LISTS = (".md", ".markdown", ".txt")
"""Files whose lines are mostly independent; in code they may depend on adjacent lines."""


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """The result of undoing the change of one file: `error` is why it was left unchanged.

    `is_gone`: it had been deleted already. `merged`: later changes are preserved in it. `again`: it was restored by
    /redo. `earlier` is when it had been changed (seconds since the epoch), if by another process or session; else 0.
    `tool` is what had changed it, in which `turn`, and `time` when; `staged` as in Change; `told` describes the change,
    if a line can. For a repository, `files` counts the restored ones. `aside` is where an obstacle in the file's place
    was moved.
    """

    path: str
    deleted: bool = False
    is_gone: bool = False
    merged: bool = False
    again: bool = False
    earlier: float = 0.0
    error: LocalLLMError | None = None
    tool: str = ""
    turn: str = ""
    time: float = 0.0
    staged: str = ""
    told: Told = Told()
    files: int = 0
    aside: str = ""

    def __str__(self) -> str:
        if self.error:
            return str(self.error)
        line = f"{_(self._said(), path=shown(self.path), count=self.files)}{self.told}"
        if self.aside:
            line = _("{line} What was in its place is now {aside}.", line=line, aside=shown(self.aside))
        if not self.earlier:
            return line
        return _(
            "{line} (It was changed earlier or in another session, on {when}.)",
            line=line,
            when=time.strftime("%Y-%m-%d %H:%M", time.localtime(self.earlier)),
        )

    def _said(self) -> str | Counted:
        if self.path.endswith("/"):
            return N_(
                "{path}: what the repository had lost is restored ({count} file).",
                "{path}: what the repository had lost is restored ({count} files).",
            )
        if self.is_gone:
            return N_("{path}: it was created by the change and has been deleted since.")
        if self.again and not self.merged:
            return N_("{path}: deleted again.") if self.deleted else N_("{path}: the change is redone.")
        return (
            N_("{path}: removed, as it was not there before.")
            if self.deleted
            else N_("{path}: the change is undone; later changes to the file stay.")
            if self.merged
            else N_("{path}: the previous version is restored.")
        )


class Step(NamedTuple):
    """A change to undo, and the recorded ones it consists of, newest first."""

    change: Change
    parts: tuple[Change, ...]


def steps(changes: Iterable[Change]) -> list[Step]:
    """Return the steps, newest first, that undo these changes, which are given oldest first.

    A change whose earlier state was not kept cannot be undone alone, so it is joined to the one that led to this state.
    """
    found: list[Step] = []
    last: dict[str, int] = {}
    for change in changes:
        at = last.get(change.path)
        if at is not None and is_unkept(change.before) and found[at].change.after == change.before:
            whole, parts = found[at]
            found[at] = Step(msgspec.structs.replace(whole, after=change.after), (change, *parts))
        else:
            last[change.path] = len(found)
            found.append(Step(change, (change,)))
    return found[::-1]


def take_back(
    root: ProjectRoot,
    change: Change,
    contents: Contents,
    *,
    keep: Callable[[ProjectRoot, str], str],
    earlier: float = 0.0,
) -> Undone:
    """Restore the file to its state before `change`; `keep` stores its current state. The caller holds `writing()`.

    If it was changed since, only the change is removed from it, unless later changes depend on it. `root` is one
    `for_restoring`.
    """
    aside = ""
    try:
        if change.after == ABSENT and contents.path(content_of(change.before)).is_file():
            aside = root.make_way(change.path, change.time)
        if change.before == ABSENT and not _is_file(root, change.path):
            return Undone(path=change.path, is_gone=True, earlier=earlier)
        if root.relative(change.path) != change.path and (change.after == ABSENT or root.exists(change.path)):
            raise _changed_since(change, contents)  # now a link: its target is another file
        if not is_in_state(root, change.path, change.after):
            _take_out(root, change, contents, keep)
            return Undone(path=change.path, merged=True, earlier=earlier)
        if is_unkept(change.before):
            raise ToolExecutionError("undo_not_kept", path=shown(change.path))
        over = _kept_now(root, change, contents, keep)
        if change.before == ABSENT:
            root.delete(change.path, even_protected=change.tool.startswith("/"))  # created by the user's own command
            return Undone(path=change.path, deleted=True, earlier=earlier)
        content, mode = _content(change.path, change.before, contents), mode_of(change.before)
        if change.after == ABSENT and not _put_back_gitfile(root, change.path, content, mode):
            root.write_bytes(
                change.path,
                content,
                mode=mode,
                create_only=True,
                even_protected=_is_users(root, change.path, content, mode),
            )
        elif change.after != ABSENT:
            root.write_bytes(change.path, content, mode=mode, over=over)
    except LocalLLMError as error:
        return Undone(path=change.path, error=error)
    except OSError as error:
        unwritable = ToolExecutionError("file_unwritable", path=shown(change.path), reason=error.strerror or str(error))
        return Undone(path=change.path, error=unwritable)
    return Undone(path=change.path, earlier=earlier, aside=aside)


def _put_back_gitfile(root: ProjectRoot, path: str, content: bytes, mode: int) -> bool:
    """Put back the `.git` file of a submodule or linked work tree, if the data that it led to is in the project and
    names it, too; return whether it did. Without it git would take the repository around for that of the files."""
    if not path.endswith("/.git"):
        return False
    from localllm.base.files import atomic_write_at
    from localllm.sandbox.protect.repositories.git_files import gitfile_target, has_head
    from localllm.sandbox.protect.repositories.repository import linked_data

    git, said = root.path / path, gitfile_target(content)
    data = Path(os.path.normpath(git.parent / said))
    is_of_tree = data.parent.name == "worktrees" and data.is_relative_to(root.path)
    back = data / "gitdir"  # restored with the data only where the `.git` file is there
    is_half = bool(said) and is_of_tree and has_head(data) and not os.path.lexists(back)
    if is_half:
        named = git if said.startswith("/") else Path(os.path.relpath(git, data))
        with root.open_parent(str(back.relative_to(root.path))) as folder:
            atomic_write_at(folder, "gitdir", os.fsencode(f"{named}\n"), create_only=True)
    if not said or linked_data(root.path, git, said) is None:
        if is_half:
            back.unlink()
        return False
    with root.open_parent(path, make=True) as folder:
        atomic_write_at(folder, ".git", content, create_only=True, mode=mode)
    return True


def _is_users(root: ProjectRoot, path: str, content: bytes, mode: int) -> bool:
    """Return whether a file may come back even if it is protected: a command took it away with its work tree, and this
    is what had been there. Raises SafetyViolationError path_protected if that was something else: what had been made
    meanwhile by a command in the background may have been kept as well."""
    from localllm.sandbox.protect.gone_files import was_there

    is_users = was_there(root.path, path, content, mode)
    if is_users is False:
        raise SafetyViolationError("path_protected", path=shown(path))
    return bool(is_users)


def _is_file(root: ProjectRoot, path: str) -> bool:
    """Whether there is anything but a folder: an undo that was killed may have made that for the files in it."""
    return root.exists(path) and not stat.S_ISDIR(root.stat(path).st_mode)


def put_back_losses(root: ProjectRoot, change: Change, contents: Contents, *, earlier: float = 0.0) -> Undone:
    """Restore what a command destroyed in a repository and is still missing."""
    from localllm.snapshots.repository_restore import restore

    try:
        count = restore(root, change.before, contents, change.time)
    except LocalLLMError as error:
        return Undone(path=change.path, tool=change.tool, error=error)
    return Undone(path=change.path, tool=change.tool, earlier=earlier, files=count)


def told_of(change: Change, contents: Contents) -> Told:
    """Describe the change of a Markdown file by its few changed list items; empty for a larger one."""
    if not change.path.endswith(".md"):
        return Told()
    try:
        before, after = (_items(state, contents) for state in (change.before, change.after))
    except OSError:
        return Told()
    back = tuple(line for line in before if line not in after)
    gone = tuple(line for line in after if line not in before)
    return Told(back, gone) if max(len(back), len(gone)) <= _MOST_TOLD else Told()


def _items(state: str, contents: Contents) -> dict[str, None]:
    if state == ABSENT or is_unkept(state):
        return {}
    content = contents.get(content_of(state))
    lines = content.decode(errors="replace").splitlines() if len(content) <= _LARGEST_TOLD else ()
    return {line.strip(): None for line in lines if line.lstrip().startswith(("- ", "* ", "+ "))}


def _take_out(root: ProjectRoot, change: Change, contents: Contents, keep: Callable[[ProjectRoot, str], str]) -> None:
    """Remove the change from the current content, and from the permissions unless others changed those too. Raises
    ToolExecutionError undo_changed_since(_made)."""
    states = (change.before, change.after)
    if any(state == ABSENT or is_unkept(state) for state in states) or not root.exists(change.path):
        raise _changed_since(change, contents)
    state = keep(root, change.path)
    try:
        before, after, now = (contents.get(content_of(one)) for one in (*states, state))
    except OSError:
        raise _changed_since(change, contents) from None
    content = merged(after, now, before, is_list=change.path.lower().endswith(_LISTS))
    if content is None:
        raise _changed_since(change, contents)
    mode = mode_of(change.before) if mode_of(state) == mode_of(change.after) else mode_of(state)
    if content != now or mode != mode_of(state):
        root.write_bytes(change.path, content, mode=mode, over=now)


def _kept_now(
    root: ProjectRoot, change: Change, contents: Contents, keep: Callable[[ProjectRoot, str], str]
) -> bytes | None:
    """Store and return the current content; None if the file is missing or not to be stored."""
    if change.after == ABSENT or is_unkept(change.after):
        return None
    if keep(root, change.path) != change.after:  # changed just now
        raise _changed_since(change, contents)
    return _content(change.path, change.after, contents)


def _content(path: str, state: str, contents: Contents) -> bytes:
    try:
        return contents.get(content_of(state))
    except OSError as error:
        raise ToolExecutionError("undo_not_kept", path=shown(path)) from error


def _changed_since(change: Change, contents: Contents) -> ToolExecutionError:
    if is_unkept(change.before):
        return ToolExecutionError("undo_not_kept", path=shown(change.path))
    if change.before == ABSENT:
        return ToolExecutionError("undo_changed_since_made", path=shown(change.path))
    backup = contents.path(content_of(change.before))
    return ToolExecutionError("undo_changed_since", path=shown(change.path), backup=backup)
