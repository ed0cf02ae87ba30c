"""What tools have changed in a session: kept before each call, taken back by undo and rewind."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec

from localllm.base.errors import LocalLLMError
from localllm.base.file_lock import FileLock
from localllm.base.i18n import N_, _
from localllm.base.paths import SETTINGS_FILE
from localllm.base.regular_files import clock_time
from localllm.safety.paths import shown
from localllm.safety.policy import Verdict
from localllm.safety.tool_definition import Tool
from localllm.snapshots.change_log import Change
from localllm.snapshots.file_state import ABSENT, look
from localllm.snapshots.recorder import CommandSnapshots
from localllm.snapshots.store import Snapshots, Transition
from localllm.text.decoding import NotTextError, decode
from localllm.text.diffing import unified
from localllm.tools.context import ToolContext
from localllm.tools.text_files import load

_GOES_ON = {
    "": N_("There is nothing else to undo."),
    "earlier": N_("Another /undo goes on with a change from before this session."),
    "own": N_("Another /undo goes on with the change before."),
}


class FileDiff(msgspec.Struct, frozen=True):
    """What has become of a file: a unified `diff`, or the `reason` why there is none to show."""

    path: str
    diff: str = ""
    reason: str = ""


class ChangeHistory:
    """The changes of one project's files by tools, and their way back."""

    def __init__(self, context: ToolContext, snapshots: Snapshots, commands: CommandSnapshots) -> None:
        self._root = context.root
        self._is_kept = context.settings.safety.auto_backup
        self._snapshots = snapshots
        self._commands = commands
        self._undone: list[tuple[int, int]] = []
        self._undone_until = 0

    @asynccontextmanager
    async def around(self, tool: Tool, paths: Sequence[str]) -> AsyncGenerator[list[Change]]:
        """Keep what a call may change, `paths` or what programs may, let it run, and record what it did change; the
        changes are in the list then."""
        if tool.runs_programs and self._is_kept:
            async with self._commands.around(self._root, tool=tool.name) as changes:
                yield changes
            return
        if self._is_kept and any(path.rpartition("/")[2] == ".gitignore" for path in paths):
            await asyncio.to_thread(self._commands.keep, self._root)  # what was not ignored before it is kept
        async with self.recorded(tool.name, paths) as changes:
            yield changes

    @asynccontextmanager
    async def recorded(self, tool: str, paths: Sequence[str]) -> AsyncGenerator[list[Change]]:
        """Record what becomes of `paths` while this is open; the changes are in the list then."""
        async with _held(self._snapshots.writing() if paths and self._is_kept else None):
            with self._snapshots.around(self._root, paths, tool=tool, enabled=self._is_kept) as changes:
                yield changes

    def undo(self, *, turn: bool = False, with_words: bool = False) -> list[str]:
        """Take back the last change, or all of the last turn; a line for each. Raises ToolExecutionError. `with_words`:
        what was said comes back as well, if this takes a rewind back."""
        before = self.position
        undone = self._snapshots.undo(self._root, turn=turn)
        if self.position != before:
            self._undone = [*self._redoable(before), (before, self.position)]
            self._undone_until = self.position
        more = [_(_GOES_ON[self._snapshots.goes_on()])] if any(one.error for one in undone) else []
        if not with_words and any(one.tool == "rewind" and not one.error for one in undone):
            more.append(_("That was a rewind: its files are as before it, and the conversation stays as it is."))
        return [*map(str, undone), *more]

    def redo(self) -> list[str]:
        """Make again what `undo` took back last, unless something was changed since; a line for each. It can be undone.
        Raises ToolExecutionError undo_busy."""
        if not (undone := self._redoable(self.position)):
            return [_("There is nothing to redo.")]
        before, after = undone[-1]
        made = self._snapshots.made_since(before)[: after - before]
        redone = self._snapshots.rewind(self._root, before, tool="redo")
        lines = [str(msgspec.structs.replace(one, again=True)) for one in redone]
        self._undone, self._undone_until = undone[:-1], self.position
        if any(one.path == SETTINGS_FILE for one in made):
            lines.append(_("{file} is not made again; /init does that.", file=SETTINGS_FILE))
        return lines or [_("What was lost in a repository and put back stays there.")]

    def _redoable(self, position: int) -> list[tuple[int, int]]:
        """The positions before and after what was taken back, the newest last; none where something was changed since,
        by `position`."""
        return self._undone if position == self._undone_until else []

    def forget_undone(self) -> None:
        """Let `redo` have nothing to make again."""
        self._undone = []

    def earlier_changes(self, *, turn: bool) -> list[str]:
        """What `undo` would take back of an earlier session or another one, a line each; nothing where it is this
        session's."""
        return [
            f"{shown(change.path)} ({change.tool}, {clock_time(change.time):%Y-%m-%d %H:%M})"
            for change in self._snapshots.earlier(turn=turn)
        ]

    def rewind(self, position: int) -> list[str]:
        """Make the files what they were at `position`; a line for each. It can be undone."""
        return [str(undone) for undone in self._snapshots.rewind(self._root, position)]

    def recover(self) -> int:
        """Make what a killed program had changed undoable, and clear up after it; how many files it had changed."""
        return len(self._commands.recover(self._root))

    @property
    def position(self) -> int:
        """Where the files are now, for `rewind` and `changed_since`."""
        return self._snapshots.position

    def made_since(self, position: int) -> list[Transition]:
        """What tools have made of files since `position`, in order."""
        return self._snapshots.made_since(position)

    def changed_since(self, position: int) -> list[str]:
        """The files that tools changed since `position`, and that are not as they were."""
        return self._snapshots.changed_since(position)

    def diffs_since(self, position: int) -> list[FileDiff]:
        """What has become of these files until now, whoever has changed them since."""
        states = self._snapshots.states_since(position)
        diffs = [self._diff(path, then) for path, (then, _now) in sorted(states.items())]
        return [one for one in diffs if one.diff or one.reason]

    def _diff(self, path: str, then: str) -> FileDiff:
        root = self._root.for_any_name()
        try:
            old = None if then == ABSENT else decode(self._snapshots.content(then)).text
            new = load(root, path).text if root.exists(path) else None
            is_as_before = old == new and look(root, path) == then
        except NotTextError:
            return FileDiff(path, reason=_("it was no text"))
        except OSError:
            return FileDiff(path, reason=_("what it held before was not kept"))
        except LocalLLMError as error:
            return FileDiff(path, reason=error.what)
        reason = "" if is_as_before or old != new else _("the text is the same; its permissions or its form are not")
        return FileDiff(path, unified(old, new, shown(path)), reason)

    def adopt(self, made: Sequence[Transition]) -> None:
        """Count what was made of files earlier in this session, by another program, as made before all else."""
        self._snapshots.adopt(made)

    def broken_since(self, position: int, paths: Collection[str]) -> dict[str, str]:
        """Those of the files `paths` that tools have changed since `position` and that have syntax errors now they did
        not have then, with what to tell of these. Reads files; none where earlier versions are not kept."""
        before: dict[str, str] = {}
        for made in self._snapshots.made_since(position):
            before.setdefault(made.path, made.before)
        changed = before.keys() & set(paths)
        if not changed:
            return {}
        from localllm.safety.code_loss import new_errors  # most runs change nothing

        found: dict[str, str] = {}
        for path in changed:
            with suppress(LocalLLMError, OSError, NotTextError):
                old = decode(self._snapshots.content(before[path])).text
                if errors := new_errors(path, old, load(self._root, path).text):
                    found[path] = " ".join(errors)
        return found

    async def unkept_warning(self, verdict: Verdict) -> str:
        """What a question about a command says where /undo would not bring back the repository; else nothing."""
        if self._is_kept:
            is_kept = await asyncio.to_thread(self._commands.keep_repositories, self._root)
        else:  # that nothing is kept was chosen
            is_kept = not verdict.dangerous or not (self._root.path / ".git").is_dir()
        if is_kept:
            return ""
        return _(
            "The git repository is not kept, or not all of it: /undo does not bring back what a command destroys in it."
        )


@asynccontextmanager
async def _held(lock: FileLock | None) -> AsyncGenerator[None]:
    """Hold a lock (or none) without keeping other work of this program from going on while it is waited for."""
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
