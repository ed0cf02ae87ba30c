"""The changes made by tools in a session: back up files before each call, undo, redo and rewind."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from localllm.base.errors import LocalLLMError
from localllm.base.file_lock import FileLock
from localllm.base.i18n import N_, _
from localllm.base.paths import SETTINGS_FILE
from localllm.base.regular_files import clock_time
from localllm.safety.path_names import shown, some_of
from localllm.safety.policy import Verdict
from localllm.safety.rules import COMMAND_TOOL
from localllm.safety.tool_definition import Preview, Risk, Tool
from localllm.snapshots.change_log import Change, Transition
from localllm.snapshots.file_state import ABSENT, look
from localllm.snapshots.recorder import CommandSnapshots
from localllm.snapshots.store import Snapshots
from localllm.text.decoding import NotTextError, decode
from localllm.tools.context import ToolContext, holds_commands
from localllm.tools.text_files import load

if TYPE_CHECKING:
    from localllm.snapshots.undo import Undone

_GOES_ON = {
    "": N_("There is nothing else to undo."),
    "earlier": N_("Another /undo continues with a change from before this session."),
    "own": N_("Another /undo undoes the change before."),
}


class FileDiff(msgspec.Struct, frozen=True):
    """The change of a file: a unified `diff`, or the `reason` why there is none to show."""

    path: str
    diff: str = ""
    reason: str = ""


class Broken(NamedTuple):
    """The errors of a changed file, for the model; `in_conflict` if a merge left them in it; or the names that it uses
    `unbound`."""

    errors: str
    in_conflict: bool
    unbound: str = ""


def _unbound(path: str, old: str, new: str) -> Broken | None:
    from localllm.code.unbound_names import new_unbound, unbound_since

    remarks = new_unbound(path, old, new)
    return (
        Broken(remarks[0].strip("[]"), in_conflict=False, unbound=", ".join(unbound_since(path, old, new)))
        if remarks
        else None
    )


class _Undo(NamedTuple):
    """An undo that can be redone: the positions before and after it, and the turn of what it undid."""

    before: int
    after: int
    turn: str


class ChangeHistory:
    """The changes of one project's files by tools."""

    def __init__(self, context: ToolContext, snapshots: Snapshots, commands: CommandSnapshots) -> None:
        self._root = context.root
        self._context = context
        self._is_kept = context.settings.safety.auto_backup
        self._snapshots = snapshots
        self._commands = commands
        self._undone: list[_Undo] = []
        self._undone_until = 0
        self._beside: list[tuple[int, str]] = []
        """The files that the user's own commands changed since the first of `_undone`, each with the position."""

    @asynccontextmanager
    async def around(self, tool: Tool, paths: Sequence[str], command: str = "") -> AsyncGenerator[list[Change]]:
        """Back up what a call may change, run it, and record its actual changes in the yielded list.
        Backed up are `paths`, or anything a program may change, first what `command` names."""
        if tool.runs_programs and self._is_kept:
            async with self._commands.around(self._root, tool=tool.name, command=command) as changes:
                yield changes
            return
        if self._is_kept and any(path.rpartition("/")[2] == ".gitignore" for path in paths):
            await asyncio.to_thread(self._commands.keep, self._root)  # before more files become unignored
        async with self.recorded(tool.name, paths) as changes:
            yield changes

    @asynccontextmanager
    async def recorded(self, tool: str, paths: Sequence[str]) -> AsyncGenerator[list[Change]]:
        """Record the changes of `paths` in this context in the yielded list."""
        async with _held(self._snapshots.writing() if paths and self._is_kept else None):
            with self._snapshots.around(self._root, paths, tool=tool, enabled=self._is_kept) as changes:
                yield changes

    @asynccontextmanager
    async def recorded_beside(self, command: str, paths: Sequence[str]) -> AsyncGenerator[list[Change]]:
        """Record the changes of `paths` by a command of the user's own. They do not stop `redo`, unless it is to change
        the same file: a note is no new work on what was taken back."""
        undone = self._redoable(self.position)
        async with self.recorded(command, paths) as changes:
            yield changes
        if undone:
            self._beside += [(self.position, change.path) for change in changes]
            self._undone_until = self.position

    def undo(self, *, turn: bool = False, with_words: bool = False) -> list[str]:
        """Undo the last change, or all of the last turn; return a line for each.
        Raises ToolExecutionError. `with_words`: the conversation is restored as well, if this undoes a rewind."""
        before = self.position
        undone = self._snapshots.undo(self._root, turn=turn)
        if self.position != before:
            newest = next((one.turn for one in undone if not one.error), "")
            self._undone = [*self._redoable(before), _Undo(before, self.position, newest)]
            self._undone_until = self.position
        more = [_(_GOES_ON[self._snapshots.goes_on()])] if any(one.error for one in undone) else []
        if not with_words and any(one.tool == "rewind" and not one.error for one in undone):
            more.append(_("That was a rewind: the files are as they were before it; the conversation is unchanged."))
        if any(one.tool == COMMAND_TOOL and not one.error for one in undone):
            more += self._in_progress()
        return [*map(str, undone), *more, *self._still_staged(undone)]

    def _in_progress(self) -> list[str]:
        """Return a line on what git has begun and not ended: it would go on with files that are others now. Empty if
        there is nothing."""
        from localllm.tools.merge_state import operation_of  # rarely needed

        operation = operation_of(self._root.path)
        if not operation:
            return []
        end = "git bisect reset" if operation == "bisect" else f"git {operation} --abort"
        key = N_("A {operation} is in progress in the repository and stays so: “{command}” ends it.")
        return [_(key, operation=operation, command=end)]

    def _still_staged(self, undone: Sequence["Undone"]) -> list[str]:
        """Return a line on what undone commands staged, as git's index is left as it is; empty if there is none."""
        staged = {one.path: (one.staged, one.time) for one in reversed(undone) if one.staged and not one.error}
        if not staged:
            return []
        from localllm.snapshots.repository_restore import still_staged  # rarely needed

        left = still_staged(self._root, staged)
        key = N_("git's index still has what was staged ({files}): “git reset -- FILE” takes it out.")
        return [_(key, files=some_of(left))] if left else []

    def redo(self) -> list[str]:
        """Redo what `undo` reverted last, unless something was changed since; return a line for each.
        It can be undone, also with the turn whose changes it restores. Raises ToolExecutionError undo_busy."""
        undone = self._redoable(self.position)
        made = self._snapshots.made.since(undone[-1].before)[: undone[-1].after - undone[-1].before] if undone else []
        paths = {one.path for one in made}
        is_beside = bool(undone) and any(at > undone[-1].after and path in paths for at, path in self._beside)
        if not undone or is_beside:
            is_late = is_beside or (self._undone and self.position != self._undone_until)
            late = _("There is nothing to redo: files were changed since the last /undo.")
            return [late if is_late else _("There is nothing to redo.")]
        last = undone[-1]
        redone = self._snapshots.rewind(self._root, last.before, tool="redo", turn=last.turn, only=paths)
        lines = [str(msgspec.structs.replace(one, again=True)) for one in redone]
        self._undone, self._undone_until = undone[:-1], self.position
        if any(one.path == SETTINGS_FILE for one in made):
            lines.append(_("{file} is not created again; /init does that.", file=SETTINGS_FILE))
        return lines or [_("What was restored in a repository stays there.")]

    def _redoable(self, position: int) -> list[_Undo]:
        """Return the undos that can be redone, newest last.
        Empty if something was changed since, according to `position`."""
        return self._undone if position == self._undone_until else []

    def forget_undone(self) -> None:
        """Clear what `redo` could restore."""
        self._undone, self._beside = [], []

    def earlier_changes(self, *, turn: bool) -> list[str]:
        """Return what `undo` would revert of another session, a line each. Empty if the changes are this session's."""
        return [
            f"{shown(change.path)} ({change.tool}, {clock_time(change.time):%Y-%m-%d %H:%M})"
            for change in self._snapshots.earlier(turn=turn)
        ]

    def rewind(self, position: int) -> list[str]:
        """Restore the files to their state at `position`; return a line for each. It can be undone."""
        undone = self._snapshots.rewind(self._root, position)
        return [*map(str, undone), *(self._in_progress() if any(not one.error for one in undone) else ())]

    def recover(self) -> int:
        """Make the changes of a killed program undoable and clean up after it. Return how many files it had changed."""
        return len(self._commands.recover(self._root))

    @property
    def not_undone(self) -> list[str]:
        """The files that a killed program's /undo had not restored yet when `recover` looked."""
        return self._snapshots.not_undone

    @property
    def position(self) -> int:
        """The current position, for `rewind` and `changed_since`."""
        return self._snapshots.made.position

    def made_since(self, position: int) -> list[Transition]:
        """Return the changes by tools since `position`, in order."""
        return self._snapshots.made.since(position)

    def changed_since(self, position: int) -> list[str]:
        """Return the files changed by tools since `position` that differ from then."""
        return self._snapshots.made.changed_since(position)

    def are_reverted(self, position: int, paths: Collection[str]) -> bool:
        """Return whether tools have changed `paths` since `position`, and all files are again as they were then."""
        changed = {made.path for made in self._snapshots.made.since(position)}
        return bool(paths) and changed.issuperset(paths) and not self._snapshots.made.changed_since(position)

    async def lost_edits(self, command: str, changes: Sequence[Change]) -> list[str]:
        """Return the files in which git has taken away uncommitted lines that were there before this session."""
        if "git" not in command or not changes:
            return []
        from localllm.tools.git_repository import opened_repository  # rarely needed
        from localllm.tools.lost_edits import committed_lines, lost_lines  # most commands put nothing back

        lost = await asyncio.to_thread(lost_lines, command, changes, self._snapshots)
        known: dict[str, set[str]] = {}
        if lost:
            with suppress(LocalLLMError):
                async with opened_repository(self._context) as repository:
                    known = await committed_lines(repository, [*lost])
        return [path for path, lines in lost.items() if lines - known.get(path, set())]

    async def committed(self, paths: Sequence[str]) -> set[str]:
        """Return those of the files that are, according to git, as in the last commit."""
        if not paths:
            return set()
        from localllm.tools.git_repository import opened_repository  # rarely needed

        try:
            async with opened_repository(self._context) as repository:
                status = await repository.status(*paths)
        except LocalLLMError:
            return set()
        return {*paths} - {change.path for change in status.changes}

    async def files_between(self, before: str, after: str) -> list[str]:
        """Return the files of the project in which two commits differ; all of `after` if `before` is none."""
        if not after:
            return []
        from localllm.tools.git_execution import Question  # rarely needed
        from localllm.tools.git_repository import names_in, opened_repository

        options = ("-r", "--name-only", "-z")
        first, diff = ("ls-tree", *options, after), ("diff-tree", *options, "--relative", "--no-renames", before, after)
        try:
            async with opened_repository(self._context) as repository:
                return [*names_in(await repository.run(Question(diff if before.strip("0") else first)))]
        except LocalLLMError:
            return []

    def diffs_since(self, position: int) -> list[FileDiff]:
        """Return the diffs of these files since `position`, including changes by others."""
        states = self._snapshots.made.states_since(position)
        diffs = [self._diff(path, then) for path, (then, _now) in sorted(states.items())]
        return [one for one in diffs if one.diff or one.reason]

    def _diff(self, path: str, then: str) -> FileDiff:
        root = self._root.for_any_name()
        try:
            old = None if then == ABSENT else decode(self._snapshots.content(then)).text
            new = load(root, path).text if root.exists(path) else None
            is_as_before = old == new and look(root, path) == then
        except NotTextError:
            return FileDiff(path, reason=_("it was not text"))
        except OSError:
            return FileDiff(path, reason=_("what it held before was not kept"))
        except LocalLLMError as error:
            return FileDiff(path, reason=error.what)
        reason = "" if is_as_before or old != new else _("the text is the same; its permissions or its form are not")
        from localllm.text.diffing import unified  # few diffs are shown

        return FileDiff(path, unified(old, new, shown(path)), reason)

    def adopt(self, made: Sequence[Transition]) -> None:
        """Add changes made earlier in this session by another process, before all others."""
        self._snapshots.made.adopt(made)

    def adopt_recovered(self) -> None:
        """Append the changes of this session that an earlier process was killed before it could log."""
        self._snapshots.adopt_recovered()

    def broken_since(self, position: int, paths: Collection[str], marked: Collection[str] = ()) -> dict[str, Broken]:
        """Return the errors introduced since `position` in those of `paths` that tools changed: of syntax, or a
        conflict that is resolved in part; and the conflict markers that are left in those that were `marked`. Reads
        files; of the former none if earlier versions are not stored."""
        return self._marked(marked) | self._broken(position, paths)

    def _marked(self, paths: Collection[str]) -> dict[str, Broken]:
        if not paths:
            return {}
        from localllm.safety.code_loss import left_in_conflict
        from localllm.tools.merge_state import marked

        return {
            path: Broken(left_in_conflict(lines), in_conflict=True) for path, lines in marked(self._root, paths).items()
        }

    def _broken(self, position: int, paths: Collection[str]) -> dict[str, Broken]:
        found: dict[str, Broken] = {}
        for path, old, new in self._texts_since(position, paths):
            from localllm.safety.code_loss import new_errors  # most runs change nothing
            from localllm.text.conflict_markers import left_markers

            if errors := new_errors(path, old, new):
                found[path] = Broken(" ".join(errors), bool(left_markers(old, new)))
            elif path.endswith(".py") and (unbound := _unbound(path, old, new)):
                found[path] = unbound
        return found

    def with_same_code(self, position: int, paths: Collection[str]) -> frozenset[str]:
        """Return those of `paths` in which tools have changed nothing since `position` but comments and docstrings."""
        found: list[str] = []
        for path, old, new in self._texts_since(position, paths):
            from localllm.code.comments import have_same_code  # most runs change nothing
            from localllm.code.grammars import language_of

            language = language_of(path)
            if language is not None and have_same_code(old, new, language):
                found.append(path)
        return frozenset(found)

    def _texts_since(self, position: int, paths: Collection[str]) -> Iterator[tuple[str, str, str]]:
        """Yield those of `paths` that tools have changed since `position`, with the text of then and of now, if both
        can be read."""
        before: dict[str, str] = {}
        for made in self._snapshots.made.since(position):
            before.setdefault(made.path, made.before)
        for path in before.keys() & set(paths):
            with suppress(LocalLLMError, OSError, NotTextError):
                yield path, decode(self._snapshots.content(before[path])).text, load(self._root, path).text

    async def with_warning(self, tool: Tool, verdict: Verdict, preview: Preview | None) -> Preview | None:
        """Return a command's preview with its risk, and a warning if /undo could not restore the repository."""
        if tool.risk is not Risk.HIGHEST or preview is None:
            return preview
        warning = await self._unkept_warning(verdict)
        if not warning and await asyncio.to_thread(holds_commands, self._context):
            return msgspec.structs.replace(preview, risk=Risk.HIGH)  # like a change of a file
        said = _("{summary}. {warning}", summary=preview.summary, warning=warning) if warning else preview.summary
        return msgspec.structs.replace(preview, summary=said)

    async def _unkept_warning(self, verdict: Verdict) -> str:
        """Return a warning for a command's confirmation if /undo could not restore the repository; else ""."""
        if self._is_kept:
            is_kept = await asyncio.to_thread(self._commands.keep_repositories, self._root)
        else:  # backups are disabled by the user
            is_kept = not verdict.dangerous or not (self._root.path / ".git").is_dir()
        if is_kept:
            return ""
        return _(
            "The git repository is not kept, or not all of it: /undo cannot restore what a command destroys in it."
        )


@asynccontextmanager
async def _held(lock: FileLock | None) -> AsyncGenerator[None]:
    """Hold an optional lock, waiting for it without blocking the event loop."""
    if lock is None:
        yield
        return
    waiting = asyncio.ensure_future(asyncio.to_thread(lock.__enter__))
    try:
        await asyncio.shield(waiting)
    except asyncio.CancelledError:
        waiting.add_done_callback(lambda _: lock.__exit__(None, None, None))
        raise
    try:
        yield
    finally:
        lock.__exit__(None, None, None)
