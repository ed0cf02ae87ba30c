"""Earlier versions of the files the tools changed, so that a change can be taken back.

The contents lie outside the project under their SHA-256, beside a journal of the changes. Several programs may work
on one project: the journal has a lock, contents never change.
"""

import hashlib
import os
import stat
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import msgspec

from localllm.base.errors import LocalLLMError, ToolExecutionError
from localllm.base.files import FileLock, atomic_write
from localllm.base.i18n import Phrase, tr
from localllm.base.paths import state_folder
from localllm.tools.guard.paths import ProjectRoot, shown

ABSENT = "absent"
"""The state of a file that is not there. Any other is `<SHA-256 of the content>:<permissions in octal>`."""

MAX_AGE = 30 * 24 * 3600.0
"""Seconds a version is kept."""

MAX_BYTES = 500_000_000
"""Bytes of all versions of a project together."""

_CHUNK = 1_000_000
_DAY = 24 * 3600.0
_GRACE = 3600.0  # a content not yet in the journal may belong to a call that is still running


class Change(msgspec.Struct, frozen=True, kw_only=True, tag="change"):
    """What one call made of one file. `before` and `after` are states; `time` is seconds since the epoch."""

    call: str
    turn: str
    tool: str
    path: str
    before: str
    after: str
    time: float
    program: str = ""

    @property
    def name(self) -> str:
        """What tells it from every other change."""
        return f"{self.call} {self.path}"


class _TakenBack(msgspec.Struct, frozen=True, tag="undo"):
    changes: tuple[str, ...]


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one file when a change was taken back: `error` says why it was left as it is.

    `earlier` is when it had been changed (seconds since the epoch), where another program or session did it; else 0.
    """

    path: str
    deleted: bool = False
    earlier: float = 0.0
    error: LocalLLMError | None = None

    def __str__(self) -> str:
        if self.error:
            return str(self.error)
        line = tr("undo.deleted" if self.deleted else "undo.restored", path=shown(self.path))
        if not self.earlier:
            return line
        return tr("undo.earlier", line=line, when=time.strftime("%Y-%m-%d %H:%M", time.localtime(self.earlier)))


class Snapshots:
    """The earlier versions of one project's files, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._objects = folder / "objects"
        self._journal = folder / "changes.jsonl"
        self._program = uuid4().hex
        self._turn = uuid4().hex
        self._failure = ""

    @classmethod
    def of_project(cls, root: Path) -> "Snapshots":
        """Those of the project at `root`, in the user's state folder."""
        name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
        return cls(state_folder() / "snapshots" / name)

    def begin_turn(self) -> None:
        """What is changed from here on is taken back together by `undo(turn=True)`."""
        self._turn = uuid4().hex

    @contextmanager
    def around(
        self, root: ProjectRoot, paths: Sequence[str], *, tool: str, enabled: bool = True
    ) -> Generator[list[Change]]:
        """Keep `paths` as they are, let a call run, and record what it changed; the changes are in the list then.

        Without `enabled` nothing is kept or recorded, but the list is filled. Raises ToolExecutionError
        undo_cannot_keep, before the call ran, where a version cannot be stored.
        """
        before = {path: self.take(root, path) if enabled else look(root, path) for path in paths}
        changes: list[Change] = []
        try:
            yield changes
        finally:
            self._note(changes, root, before, tool, enabled=enabled)

    def take_failure(self) -> str:
        """Why the last changes could not be recorded, once; empty where they were."""
        reason, self._failure = self._failure, ""
        return reason

    def _note(
        self, changes: list[Change], root: ProjectRoot, before: dict[str, str], tool: str, *, enabled: bool
    ) -> None:
        """Find and record the changes. The files are as they are by now: a failure is kept, not raised."""
        try:
            changes += self._changes(root, before, tool)
            if enabled:
                self.record(*changes)
        except (OSError, LocalLLMError) as error:
            self._failure = str(error)

    def take(self, root: ProjectRoot, relative: str) -> str:
        """Keep a file as it is now; its state."""
        if not root.exists(relative):
            return ABSENT
        with root.open_file(relative) as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            try:
                return f"{self._store(iter(lambda: file.read(_CHUNK), b''))}:{mode:o}"
            except OSError as error:
                raise ToolExecutionError(
                    "undo_cannot_keep", path=shown(relative), folder=self._folder, reason=error.strerror
                ) from error

    def record(self, *changes: Change) -> None:
        """Put changes into the journal; now and then what is too old or too much is dropped."""
        if changes:
            with self._locked():
                self._append(changes)
            self._prune_daily()

    def undo(self, root: ProjectRoot, *, turn: bool = False) -> list[Undone]:
        """Take back the last call's changes, or all of the last turn's, the newest first.

        This program's own changes come first, then those of earlier ones. A file that was changed since is left as
        it is (its `error` says so), and its change stays the next one. Raises ToolExecutionError undo_nothing.
        """
        with self._locked():
            chosen = self._last(turn=turn)
            if not chosen:
                raise ToolExecutionError("undo_nothing")
            undone = [self._restore(root, change) for change in reversed(chosen)]
            pairs = zip(reversed(chosen), undone, strict=True)
            self._append([_TakenBack(tuple(change.name for change, done in pairs if not done.error))])
        return undone

    def prune(self, *, max_age: float = MAX_AGE, max_bytes: int = MAX_BYTES) -> None:
        """Forget changes older than `max_age` seconds, and the oldest where contents exceed `max_bytes`."""
        with self._locked():
            changes, taken_back = self._read()
            kept = self._worth_keeping(changes, time.time() - max_age, max_bytes)
            names = {change.name for change in kept}
            lines = [*kept, _TakenBack(tuple(taken_back & names))]
            atomic_write(self._journal, b"".join(map(_line, lines)), mode=0o600)
            self._forget_all_but({_content(change.before) for change in kept})

    def _changes(self, root: ProjectRoot, before: dict[str, str], tool: str) -> list[Change]:
        call, now = uuid4().hex, time.time()
        return [
            Change(
                call=call,
                turn=self._turn,
                tool=tool,
                path=path,
                before=state,
                after=after,
                time=now,
                program=self._program,
            )
            for path, state in before.items()
            if (after := look(root, path)) != state
        ]

    def _last(self, *, turn: bool) -> list[Change]:
        changes, taken_back = self._read()
        left = [change for change in changes if change.name not in taken_back]
        left = [change for change in left if change.program == self._program] or left
        if not left:
            return []
        if turn:
            return [change for change in left if change.turn == left[-1].turn]
        return [change for change in left if change.call == left[-1].call]

    def _restore(self, root: ProjectRoot, change: Change) -> Undone:
        earlier = 0.0 if change.program == self._program else change.time
        try:
            if look(root, change.path) != change.after:
                raise self._changed_since(change)
            if change.after != ABSENT:
                self.take(root, change.path)
            if change.before == ABSENT:
                root.delete(change.path)
                return Undone(path=change.path, deleted=True, earlier=earlier)
            content, mode = self._kept(change)
            root.write_bytes(change.path, content, mode=mode)
        except LocalLLMError as error:
            return Undone(path=change.path, error=error)
        return Undone(path=change.path, earlier=earlier)

    def _kept(self, change: Change) -> tuple[bytes, int]:
        try:
            content = self._object(_content(change.before)).read_bytes()
        except OSError as error:
            raise ToolExecutionError("undo_not_kept", path=shown(change.path)) from error
        return content, int(change.before.partition(":")[2], 8)

    def _changed_since(self, change: Change) -> ToolExecutionError:
        nowhere = Phrase("undo.was_absent")
        backup = nowhere if change.before == ABSENT else self._object(_content(change.before))
        return ToolExecutionError("undo_changed_since", path=shown(change.path), backup=backup)

    def _store(self, chunks: Iterable[bytes]) -> str:
        """Put a content where its SHA-256 says; the SHA-256."""
        self._ready(self._objects)
        temporary = self._objects / f"{uuid4().hex}.tmp"
        digest = hashlib.sha256()
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                for chunk in chunks:
                    digest.update(chunk)
                    out.write(chunk)
            name = digest.hexdigest()
            self._object(name).parent.mkdir(exist_ok=True, mode=0o700)
            temporary.replace(self._object(name))
        finally:
            temporary.unlink(missing_ok=True)
        return name

    def _object(self, name: str) -> Path:
        return self._objects / name[:2] / name

    def _ready(self, folder: Path) -> None:
        """Make our folders, closed to others (the mode of `mkdir` counts for the last one alone)."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)

    def _locked(self) -> FileLock:
        self._ready(self._folder)
        return FileLock(self._folder / "lock")

    def _append(self, lines: Sequence["Change | _TakenBack"]) -> None:
        fd = os.open(self._journal, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            size = os.fstat(fd).st_size
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            os.write(fd, b"\n" * torn + b"".join(map(_line, lines)))
        finally:
            os.close(fd)

    def _read(self) -> tuple[list[Change], set[str]]:
        """All changes, the oldest first, and the names of those that were taken back. A torn line is passed over."""
        changes: list[Change] = []
        taken_back: set[str] = set()
        for line in self._journal.read_bytes().splitlines() if self._journal.exists() else []:
            with suppress(msgspec.DecodeError):
                entry = msgspec.json.decode(line, type=Change | _TakenBack)
                if isinstance(entry, Change):
                    changes.append(entry)
                else:
                    taken_back.update(entry.changes)
        return changes, taken_back

    def _prune_daily(self) -> None:
        stamp = self._folder / "pruned"
        if stamp.exists() and time.time() - stamp.stat().st_mtime < _DAY:
            return
        stamp.touch(mode=0o600)
        self.prune()

    def _worth_keeping(self, changes: list[Change], since: float, max_bytes: int) -> list[Change]:
        """The newest changes that are young enough and whose contents fit, in their order."""
        counted: set[str] = set()
        kept: list[Change] = []
        for change in reversed(changes):
            name = _content(change.before)
            if name not in counted:
                counted.add(name)
                with suppress(FileNotFoundError):
                    max_bytes -= self._object(name).stat().st_size
            if change.time < since or max_bytes < 0:
                break
            kept.append(change)
        return kept[::-1]

    def _forget_all_but(self, names: set[str]) -> None:
        young = time.time() - _GRACE
        for file in self._objects.glob("*/*"):
            with suppress(FileNotFoundError):
                if file.name not in names and file.stat().st_mtime < young:
                    file.unlink()


def look(root: ProjectRoot, relative: str) -> str:
    """The state of a file as it is now, without keeping it."""
    if not root.exists(relative):
        return ABSENT
    with root.open_file(relative) as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        return f"{hashlib.file_digest(file, 'sha256').hexdigest()}:{mode:o}"


def _content(state: str) -> str:
    return state.partition(":")[0]


def _line(line: "Change | _TakenBack") -> bytes:
    return msgspec.json.encode(line) + b"\n"
