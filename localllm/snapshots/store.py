"""Store earlier versions of the files that tools changed, and undo changes.

They are outside the project: the store of contents (blob_store.py) beside the journal of changes (change_log.py).
Several processes may work on one project: the journal has a lock, contents never change.
"""

import os
import re
import stat
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

import msgspec

from localllm.base.errors import LocalLLMError, ToolExecutionError
from localllm.base.file_lock import FileLock
from localllm.base.files import atomic_write
from localllm.base.paths import project_name, state_folder
from localllm.base.project_state import earlier_place, give_way, note_place
from localllm.safety.path_names import shown
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.blob_store import Contents, Programs, changed_by, make_folder, recover, remove_temporaries
from localllm.snapshots.change_log import (
    OWN_WRITE,
    Begun,
    Change,
    ChangeLog,
    Ended,
    MadeChanges,
    TakenBack,
    Transition,
    retained,
)
from localllm.snapshots.file_state import ABSENT, LOST, content_of, is_repository, look, readable_states, state_of

if TYPE_CHECKING:
    from localllm.snapshots.undo import Step, Undone

MAX_AGE = 30 * 24 * 3600.0
"""Seconds a version is retained, unless it is one of the newest."""

_ALWAYS_KEPT = 20  # calls retained at any age: a clock may be wrong, and users return after months

MAX_BYTES = 500_000_000
"""Bytes of all versions of a project."""

_CHUNK = 1_000_000
_DAY = 24 * 3600.0


class Snapshots:
    """The earlier versions of one project's files, in `folder`.

    `patience`: seconds that an undo waits for a concurrent write. `begun` is called before each change. `session` names
    the conversation whose changes these are. `made`: the changes by this process. `not_undone`: files that a killed
    process was to restore, and has not.
    """

    def __init__(
        self, folder: Path, *, patience: float = 5.0, begun: Callable[[], None] = lambda: None, session: str = ""
    ) -> None:
        self._begun = begun
        self._session = session
        self._patience = patience
        self._folder = folder
        self._programs = Programs(folder / "programs")
        self._contents = Contents(folder / "objects", self._programs)
        self.repositories = Contents(folder / "repositories" / "objects", self._programs)
        self._log = ChangeLog(folder / "changes.jsonl")
        self._turn = uuid4().hex
        self._failure = ""
        self._not_ended: list[Ended] = []
        """The ends of calls that could not be recorded: the next process would take what the user changes until then
        for their work."""
        self.made = MadeChanges()
        self._passed_over: set[str] = set()
        self.not_undone: list[str] = []

    @classmethod
    def of_project(cls, root: Path, session: str = "") -> "Snapshots":
        """Return the snapshots of the project at `root`, in the user's state folder."""
        snapshots = state_folder() / "snapshots"
        _follow(snapshots, root)
        return cls(snapshots / project_name(root), begun=partial(note_place, snapshots, root), session=session)

    def begin_turn(self, resumed: str = "") -> None:
        """Start a new turn, or resume one: its changes are undone together by `undo(turn=True)`."""
        self._turn = resumed or uuid4().hex
        self._passed_over.clear()

    @contextmanager
    def around(
        self, root: ProjectRoot, paths: Sequence[str], *, tool: str, enabled: bool = True
    ) -> Generator[list[Change]]:
        """Store `paths`, let a call run, and record its changes; the list is then filled with them.

        Without `enabled` nothing is stored or recorded, but the list is filled. Raises ToolExecutionError
        undo_cannot_keep before the call runs, if a version cannot be stored.
        """
        before = {path: self.take(root, path) if enabled else look(root, path) for path in paths}
        call = self.begin(before, tool=tool) if enabled and before else ""
        changes: list[Change] = []
        try:
            yield changes
        finally:
            self._note(changes, root, before, tool, call)

    def begin(self, before: dict[str, str], *, tool: str, undoes: tuple[str, ...] = ()) -> str:
        """Record that a call is about to change files with these states; return its name. `record` ends it.

        If this process is killed before that, the next one detects the changes: `recover`.
        """
        begun = Begun(
            call=uuid4().hex,
            turn=self._turn,
            tool=tool,
            paths=before,
            time=time.time(),
            program=self._programs.own,
            undoes=undoes,
            session=self._session,
        )
        try:
            with self._locked():
                self._programs.show_alive()
                self._log.append([begun])
            self._begun()
        except OSError as error:  # `record` fails as well then, and the user is notified after the call
            self._failure = str(error)
        return begun.call

    def fail(self, reason: str, *, ended: str = "") -> None:
        """Store the reason for `take_failure` why changes could not be recorded, and the call that has `ended`."""
        self._failure = reason
        self._not_ended += [Ended(ended)] if ended else []

    def take_failure(self) -> str:
        """Return why the last changes could not be recorded, once; otherwise empty."""
        reason, self._failure = self._failure, ""
        return reason

    def _note(self, changes: list[Change], root: ProjectRoot, before: dict[str, str], tool: str, call: str) -> None:
        """Detect and record the changes. A failure is stored, not raised, since the files are changed already."""
        try:
            for path, state in before.items():
                if (after := self._left(root, path, keep=bool(call))) != state:
                    changes.append(self.make(call or uuid4().hex, tool, path, state, after))
            if call:
                self.record(*changes, ended=call)
        except (OSError, LocalLLMError) as error:
            self.fail(str(error), ended=call)

    def _left(self, root: ProjectRoot, path: str, *, keep: bool) -> str:
        """Return the state a call left a file in, stored if possible, so that the change can be removed from a later
        version."""
        if keep:
            with suppress(ToolExecutionError):
                return self.take(root, path)
        return look(root, path)

    def make(self, call: str, tool: str, path: str, before: str, after: str) -> Change:
        """Create a change by this process, with the current time."""
        return Change(
            call=call,
            turn=self._turn,
            tool=tool,
            path=path,
            before=before,
            after=after,
            time=time.time(),
            program=self._programs.own,
            session=self._session,
        )

    def take(self, root: ProjectRoot, relative: str) -> str:
        """Store the current version of a file; return its state. Raises ToolExecutionError undo_cannot_keep."""
        if not root.exists(relative):
            return ABSENT
        with root.open_file(relative) as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            try:
                return state_of(self._contents.put(iter(lambda: file.read(_CHUNK), b"")), mode)
            except OSError as error:
                raise ToolExecutionError(
                    "undo_cannot_keep", path=shown(relative), folder=self._folder, reason=error.strerror
                ) from error

    def keep_bytes(self, data: bytes) -> str:
        """Store a content in memory; return its SHA-256."""
        return self._contents.put_bytes(data)

    def content(self, state: str) -> bytes:
        """Return a file's content in that state, empty if it did not exist. Raises OSError if it was not stored."""
        return b"" if state == ABSENT else self._contents.get(content_of(state))

    def record(self, *changes: Change, ended: str = "", taken_back: Sequence[Change] = ()) -> None:
        """Append changes to the journal, with the ones they undo, and the end of a call; occasionally prune it."""
        undone = [TakenBack(tuple(change.name for change in taken_back))] if taken_back else []
        self._not_ended += [Ended(ended)] if ended else []
        ends = [*self._not_ended]
        lines = [*changes, *undone, *ends]
        if lines:
            with self._locked():
                self._log.append(lines)
            self._not_ended = [one for one in self._not_ended if one not in ends]
            self.made.add([change.transition for change in changes])
            self.made.add([Transition(change.path, change.after, change.before) for change in taken_back])
        if changes:
            self._prune_daily()

    @property
    def recorded(self) -> int:
        """The size of the journal, for `recorded_since`."""
        return self._log.size

    def recorded_since(self, since: float, recorded: int = 0) -> dict[str, tuple[str, str]]:
        """Return the first and last state of each file in the changes recorded from `since` on (seconds since the
        epoch), after the journal had the size `recorded`."""
        states: dict[str, tuple[str, str]] = {}
        for change in self._log.read(recorded).changes:
            if change.time >= since:
                states[change.path] = states.get(change.path, (change.before,))[0], change.after
        return states

    def adopt_recovered(self) -> None:
        """Append the changes of the resumed session that it was killed before it could log."""
        with suppress(OSError):  # `undo` reports the error
            found = [change.transition for change in self._not_taken_back() if change.session == self._session != ""]
            self.made.recover(found)

    def rewind(
        self,
        root: ProjectRoot,
        position: int,
        *,
        tool: str = "rewind",
        turn: str = "",
        only: Collection[str] | None = None,
    ) -> "list[Undone]":
        """Restore the files, or `only` these, to their state at `position`; return the result for each. This is a
        change by `tool` itself, in a new turn or in `turn`, so `undo` reverts it. A file that was changed by others
        since is left as it is, with an `error`.

        Raises ToolExecutionError undo_busy.
        """
        root = root.for_restoring()
        self.begin_turn(turn)
        states = {path: one for path, one in self.made.states_since(position).items() if only is None or path in only}
        lost = {made.before for made in self.made.since(position) if is_repository(made.before)} - {LOST}
        if not (states or lost):
            return []
        with self._writing_soon():
            call = self.begin(readable_states(root, states), tool=tool)
            changes = [self.make(call, tool, path, now, then) for path, (then, now) in sorted(states.items())]
            changes.sort(key=lambda change: change.after != ABSENT)  # deletions first: those files may be in the way
            logged = self._log.read().changes
            times = {change.path: change.time for change in logged}
            repositories = [self._take_back(root, change) for change in reversed(logged) if change.before in lost]
            undone = [self._take_back(root, change.inverse(times.get(change.path, 0.0))) for change in changes]
            done = [change for change, one in zip(changes, undone, strict=True) if not one.error]
            self.record(*done, ended=call)
        return [*undone, *repositories]

    def undo(self, root: ProjectRoot, *, turn: bool = False) -> "list[Undone]":
        """Undo the changes of the last call, or all of the last turn, newest first.

        This process's own changes come first, then those of earlier ones. Later changes to a file are preserved; if
        they conflict, the file is left as it is (with an `error`), and its change skipped until the next turn begins or
        no other is left. Raises ToolExecutionError undo_nothing, undo_busy.
        """
        root = root.for_restoring()
        with self._writing_soon():
            chosen = self._steps(turn=turn)
            if not chosen:
                raise ToolExecutionError("undo_nothing")
            whole = [step.change for step in reversed(chosen)]
            states = {change.path: change.after for change in whole if not is_repository(change.before)}
            names = [part.name for step in chosen for part in step.parts]
            call = self.begin(states, tool="undo", undoes=tuple(names))
            undone = [self._take_back(root, step.change) for step in chosen]
            done = [part for step, one in zip(chosen, undone, strict=True) if not one.error for part in step.parts]
            self.record(ended=call, taken_back=done)
            self._passed_over |= {*names} - {change.name for change in done}
        return undone

    def _steps(self, *, turn: bool) -> "list[Step]":
        from localllm.snapshots.undo import steps

        chosen = {change.name for change in self._last(turn=turn)}
        candidates = [change for change in self._not_taken_back() if change.name in chosen | self._passed_over]
        return [step for step in steps(candidates) if any(part.name in chosen for part in step.parts)]

    def _take_back(self, root: ProjectRoot, change: Change) -> "Undone":
        earlier = 0.0 if self._is_own(change) else change.time
        from localllm.snapshots.undo import put_back_losses, take_back, told_of  # rarely needed

        if is_repository(change.before):
            return put_back_losses(root, change, self.repositories, earlier=earlier)
        with root.open_to_owner(change.path):
            now = readable_states(root, [change.path]).get(change.path, ABSENT)
            left = self._as_left(change, now)
            undone = take_back(root, left, self._contents, keep=self.take, earlier=earlier)
            if undone.merged:
                self.note_own(change.path, now, look(root, change.path))
        made = {name: getattr(change, name) for name in ("tool", "turn", "time", "staged")}
        return msgspec.structs.replace(undone, **made, told=told_of(change, self._contents))

    def _as_left(self, change: Change, now: str) -> Change:
        """Extend the creation of a file to its state `now`, if only localllm has written to it since, so that no other
        work is lost."""
        if change.before != ABSENT or now == change.after or ABSENT in (change.after, now):
            return change
        is_ours = now in self._log.read().own_states(change.path, change.after)
        return msgspec.structs.replace(change, after=now) if is_ours else change

    def note_own(self, path: str, before: str, after: str) -> None:
        """Record a write by localllm itself, which `undo` must not take for someone else's work. Does nothing without
        earlier records, since there is nothing to undo."""
        if before != after and self.recorded:
            with self._locked():
                self._log.append([self.make(uuid4().hex, OWN_WRITE, path, before, after)])

    def goes_on(self) -> Literal["", "own", "earlier"]:
        """Whose change `undo` reaches next: this session's or an earlier one's; "" if only failed ones are left."""
        if not any(change.name not in self._passed_over for change in self._not_taken_back()):
            return ""
        return "earlier" if self.earlier(turn=False) else "own"

    def earlier(self, *, turn: bool) -> list[Change]:
        """Return what `undo` would revert of another session; empty if the next change is this session's."""
        try:
            chosen = self._last(turn=turn)[::-1]
        except OSError:  # `undo` reports the error
            return []
        return [change for change in chosen if not self._is_own(change)]

    def _is_own(self, change: Change) -> bool:
        """Whether this process made the change, or an earlier process in the resumed session."""
        return change.program == self._programs.own or change.transition in self.made.adopted

    def _not_taken_back(self) -> list[Change]:
        with self._locked():
            changes, taken_back, _ = self._log.read()
        return [change for change in changes if change.name not in taken_back and change.tool != OWN_WRITE]

    def _last(self, *, turn: bool) -> list[Change]:
        left = self._not_taken_back()
        left = [change for change in left if change.name not in self._passed_over] or left
        own = [change for change in left if change.program == self._programs.own] or left
        if not own:
            return []
        if turn:  # whose other changes an earlier process may have made, if this one has only redone some
            return [change for change in left if change.turn == own[-1].turn]
        return [change for change in own if change.call == own[-1].call]

    def recover(self, root: ProjectRoot, of_command: Callable[[Begun], list[Change]] | None = None) -> list[Change]:
        """Detect and record the changes of killed processes, so that they can be undone, and remove their temporary
        files. Returns the new changes. Cheap if no process was killed.

        `of_command` detects those of a command, which may have changed any file.
        """
        root = root.for_any_name()

        def find(begun: Begun) -> list[Change]:
            if of_command and not begun.paths and not begun.undoes:
                return of_command(begun)
            return changed_by(root, begun, partial(self.make, begun.call, begun.tool))

        dead = self._programs.dead()
        if not dead:
            return []
        with self._locked():
            changes, not_undone = recover(root, self._log, dead, find)
            remove_temporaries(self._folder)
            unknown = {begun.program for begun in self._log.read().open_calls}  # tried again by the next process
        self.not_undone = sorted({change.path for change in not_undone})
        for name in dead:
            self._contents.remove_half_written(name)
            self.repositories.remove_half_written(name)
            if name not in unknown:
                self._programs.forget(name)
        return changes

    def prune(self, *, max_age: float = MAX_AGE, max_bytes: int = MAX_BYTES, always: int = _ALWAYS_KEPT) -> None:
        """Delete changes older than `max_age` seconds, except those of the newest `always` calls, and the oldest if
        contents exceed `max_bytes`."""
        with self._locked():
            changes, taken_back, open_calls = self._log.read()
            kept = retained(changes, time.time() - max_age, always, max_bytes, self._contents.size)
            names = {change.name for change in kept}
            self._log.replace([*kept, TakenBack(tuple(taken_back & names)), *open_calls])
            needed = {content_of(state) for change in kept for state in (change.before, change.after)}
            needed |= {content_of(state) for begun in open_calls for state in begun.paths.values()}
            self._contents.forget_all_but(needed | _named_in(self.index_file))
            self.repositories.forget_all_but(self._needed_of_repositories(kept))

    def repositories_to_put_back(self) -> list[str]:
        """Return the states of repositories before losses that were not undone. Does not lock the log, since `recover`
        calls this while it holds the lock."""
        changes, taken_back, _ = self._log.read()
        return [change.before for change in changes if is_repository(change.before) and change.name not in taken_back]

    def needed_of_repositories(self) -> set[str]:
        """Return the contents `repositories` must retain."""
        with self._locked():
            return self._needed_of_repositories(self._log.read().changes)

    def _needed_of_repositories(self, changes: list[Change]) -> set[str]:
        from localllm.snapshots.repository_restore import contents_of

        states = [change.before for change in changes if is_repository(change.before)]
        pinned = (contents_of(self.repositories, state) for state in states)
        return _named_in(self.repository_folder / "index").union(*pinned)

    @property
    def repository_folder(self) -> Path:
        """The folder of the repository backups."""
        return self._folder / "repositories"

    def _prune_daily(self) -> None:
        stamp = self._folder / "pruned"
        is_due = stamp.exists() and abs(time.time() - stamp.stat().st_mtime) >= _DAY  # the clock may have gone back
        if is_due:
            self.prune()
        if is_due or not stamp.exists():
            stamp.touch(mode=0o600)

    @property
    def index_file(self) -> Path:
        """The index of stored file versions of `CommandSnapshots`."""
        return self._folder / "index"

    def write_index(self, data: bytes, *, add: bool = False) -> None:
        """Replace `index_file`, or append to it."""
        with self._locked():
            if not add:
                return atomic_write(self.index_file, data, mode=0o600)
            with self.index_file.open("ab") as file:
                file.write(data)
        return None

    def writing(self, patience: float | None = None) -> FileLock:
        """The lock to inspect a file, change it and record the change atomically.

        Acquiring it waits at most `patience` seconds, then raises TimeoutError. Raises ToolExecutionError
        undo_no_folder.
        """
        try:
            make_folder(self._folder)
        except OSError as error:
            raise ToolExecutionError("undo_no_folder", folder=self._folder, reason=error.strerror) from error
        return FileLock(self._folder / "writing", patience)

    @contextmanager
    def _writing_soon(self) -> Generator[None]:
        """Acquire `writing` with a short timeout: a call of this very process may hold it and be unable to continue
        meanwhile."""
        lock = self.writing(self._patience)
        try:
            lock.__enter__()
        except TimeoutError as error:
            raise ToolExecutionError("undo_busy") from error
        try:
            yield
        finally:
            lock.__exit__(None, None, None)

    def _locked(self) -> FileLock:
        make_folder(self._folder)
        return FileLock(self._folder / "lock")


def _follow(snapshots: Path, root: Path) -> None:
    """Move the snapshots of a relocated project to its new place, if it is gone from the old place, and no process uses
    them. Those of another project that had the place before are kept for that one."""
    new = snapshots / project_name(root)
    if not (before := earlier_place(snapshots, root)):
        return
    old = snapshots / project_name(before)
    with suppress(OSError):
        if not old.is_dir() or any(Programs(one / "programs").living() for one in (old, new)):
            return
        if new.exists():
            new.rename(snapshots / project_name(give_way(snapshots, root)))
        old.rename(new)
        note_place(snapshots, root)


def _named_in(index: Path) -> set[str]:
    """Return the contents an index names, including those of files that never changed."""
    try:
        return {name.decode() for name in re.findall(rb"([0-9a-f]{64}):", index.read_bytes())}
    except OSError:
        return set()
