"""Manage a project's sessions: list, open, delete; their outputs; interrupted ones.

Outputs are deleted with the last session whose log names them. Only plain names of the expected form are touched, and
links are not followed.
"""

import os
import re
import stat
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import count, takewhile
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.events import RunFinished, RunStarted
from localllm.base.files import open_folder, write_own
from localllm.base.i18n import Phrase
from localllm.base.paths import Storage, project_folder
from localllm.base.regular_files import open_regular, read_beginning
from localllm.sessions.entries import (
    Began,
    Ended,
    Entry,
    Forked,
    OneShot,
    Pointed,
    Resumed,
    Titled,
    decode,
    encode,
    starts,
)
from localllm.sessions.findable import Findable
from localllm.sessions.index import Index, Session
from localllm.sessions.log import (
    PATIENCE,
    SUFFIX,
    Seal,
    SessionLog,
    SessionRead,
    SessionStream,
    hold,
    is_adopted,
    lines_of,
    make_folder,
    new_session_id,
    open_log,
    read_session,
)
from localllm.sessions.relocation import adopt, remove_if_empty, settle

if TYPE_CHECKING:
    from localllm.memory.search import MemoryEntry, Recall

_IN = b"tool-output/"
_NAMED_OUTPUT = re.compile(rb"tool-output/([a-z][a-z_]{0,60}-(?:[0-9a-f]{8}|[0-9a-f]{16})\.txt)")


def outputs_named_in(log: Path) -> set[str]:
    """Return the output files that a log names. Raises OSError."""
    with open_regular(log) as stream:
        return {name.decode() for line in lines_of(stream) if _IN in line for name in _NAMED_OUTPUT.findall(line)}


def forget_outputs(names: set[str], logs: Iterable[Path], folders: Iterable[Path]) -> None:
    """Delete the outputs in `folders` that no log in the folders `logs` names any more.
    If a log cannot be read, none is deleted: it may name any."""
    left = set(names)
    with suppress(OSError):
        for log in _plain_logs(logs):
            if not left:
                return
            left -= outputs_named_in(log)
        for folder in folders:
            _remove_outputs(folder, left)


def _plain_logs(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        with suppress(FileNotFoundError, NotADirectoryError):
            yield from (file for file in folder.iterdir() if file.suffix == ".jsonl" and _is_plain(file))


def _is_plain(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except FileNotFoundError:
        return False


def _remove_outputs(folder: Path, names: Iterable[str]) -> None:
    with suppress(FileNotFoundError):
        opened = open_folder(folder)
        try:
            for name in names:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=opened)
        finally:
            os.close(opened)


_STARTED, _FINISHED, _RESUMED = starts(RunStarted), starts(RunFinished), starts(Resumed)
_TAIL = 1_000_000  # bytes that are read first
_LONGEST = 1_000_000  # bytes of a first line


def broken_off(log: Path, seal: Seal) -> str:
    """Return the request during which the session of this log was interrupted. | Empty if it was not, was resumed
    since, is open in another process, or was not begun by this user. Raises OSError."""
    line = _last_run(log)
    if not line.startswith(_STARTED) or not _is_ours(log, seal) or _is_open(log):
        return ""
    with suppress(msgspec.DecodeError):
        match decode(line):
            case RunStarted(query=query):
                return query
            case _:
                pass
    return ""


def _last_run(log: Path) -> bytes:
    """Return the last line that records the start or end of a run, or a resumption."""
    with open_log(log) as file:
        size = os.fstat(file.fileno()).st_size
        for start in (max(0, size - _TAIL), 0):
            file.seek(start)
            told = [line for line in lines_of(file) if line.startswith((_STARTED, _FINISHED, _RESUMED))]
            if told:
                return told[-1]
    return b""


def _is_ours(log: Path, seal: Seal) -> bool:
    with open_log(log) as file, suppress(msgspec.DecodeError):
        began = decode(file.readline(_LONGEST))
        return isinstance(began, Began) and seal.holds(log.stem, began.seal)
    return False


def _is_open(log: Path) -> bool:
    fd = os.open(log, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        return not hold(fd, 0.0)
    finally:
        os.close(fd)


DAY = 24 * 60 * 60
_ALWAYS_KEPT = 20  # whatever their age
_CLOCKS_DIFFER = 60.0  # seconds, between this machine and one that shares the folder
_NAMED = 5  # sessions that an error names
_LONGEST_COMPARED = 100  # characters of a name
_COPY_NUMBER = re.compile(r"(?<=\S) \(\d{1,4}\)$")


class Pruned(NamedTuple):
    """The names of deleted sessions: for their age, for their number, and because they are empty."""

    old: list[str]
    surplus: list[str]
    empty: list[str]


class Sessions:
    """The sessions in `folder`, where new ones are stored, and in `other`, a folder in the project.

    Sessions in the project came with it, or were stored there by an earlier version. Methods raise ConfigurationError:
    session_unknown, session_ambiguous, session_open and so on.

    `seal` identifies the sessions of this user's program; `outputs` are the folders with their long outputs.
    """

    def __init__(self, folder: Path, seal: Seal, other: Path | None = None, outputs: Sequence[Path] = ()) -> None:
        self.folder = folder
        self._seal = seal
        self._other = other
        self._outputs = outputs
        self._folders = (folder, other) if other else (folder,)
        self._indexes = tuple(Index(each, is_kept=each == folder) for each in self._folders)
        self._findable = Findable(self.is_ours)
        self._known: list[Session] = []
        self._silent: list[Session] = []
        self._orphans: set[str] = set()
        self._lock = Lock()

    @classmethod
    def of_project(cls, root: Path, storage: Storage, seal: Seal) -> "Sessions":
        """Open the sessions of the project at `root`, including those from its previous path."""
        settle(storage.sessions, root, storage.older_sessions)
        project = project_folder(root)
        other = None if project.is_symlink() else project / "sessions"
        return cls(storage.sessions, seal, other, storage.outputs_anywhere)

    def all(self) -> list[Session]:
        """Return every session in which the user said something, the last used first."""
        with self._lock:
            found = {one.id: one for index in reversed(self._indexes) for one in index.read()}
        there = sorted(found.values(), key=lambda session: (session.changed, session.id), reverse=True)
        self._silent = [session for session in there if session.is_silent]
        self._known = [session for session in there if not session.is_silent]
        return self._known

    @property
    def known(self) -> Sequence[Session]:
        """The last result of `all`, without reading again."""
        return self._known

    def newest(self) -> Session:
        """Return the last used session. Raises session_none."""
        if not (there := self.all()):
            raise ConfigurationError("session_none")
        return there[0]

    def broken_off(self) -> str:
        """Return the request during which the newest session was interrupted, or "". Reads only that log."""

        newest = max(self._logs(), default=None)
        with suppress(OSError):
            return broken_off(Path(newest[1]), self._seal) if newest else ""
        return ""

    def _logs(self) -> Iterator[tuple[float, str]]:
        """Yield the modification time and path of each log."""
        for folder in self._folders:
            with suppress(OSError), os.scandir(folder) as there:
                for entry in there:
                    if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False) and not folder.is_symlink():
                        yield entry.stat(follow_symlinks=False).st_mtime, entry.path

    def find(self, wanted: str) -> Session:
        """Return the session with this title, or whose name or title begins with `wanted`."""
        wanted = wanted.strip()
        beginning = wanted.casefold()
        there = self.all()
        found = [one for one in there if one.id == wanted] or [one for one in there if wanted and wanted == one.title]
        found = found or [one for one in there if wanted and one.id.startswith(wanted)]
        found = found or [one for one in there if wanted and one.title.casefold().startswith(beginning)]
        if not found:
            raise _unknown(wanted, _nearest(wanted[:_LONGEST_COMPARED], there))
        if len(found) > 1:
            names = ", ".join(one.id for one in found[:_NAMED]) + (" …" if len(found) > _NAMED else "")
            raise ConfigurationError("session_ambiguous", wanted=wanted, names=names)
        return found[0]

    def search(self, words: str, limit: int = 20) -> list[Session]:
        """Search the sessions' requests; return the best first."""
        sessions = {one.id: one for one in self.all()}
        found = self._recall.search(words, self._findable.requests(sessions.values()), today=_today())[:limit]
        return [sessions[one.entry.id] for one in found if one.entry.id in sessions]

    @cached_property
    def _recall(self) -> "Recall":
        from localllm.memory.search import Recall  # imports the parser of LOCALLLM.md; few search

        return Recall()

    def entries(self, *, but: str = "") -> "list[MemoryEntry]":
        """Return the search entries of each session `but` one: requests, and passages of the newest answers.
        Unchanged entries are the same objects as before."""
        others = [session for session in self.all() if session.id != but]
        return [*self._findable.requests(others), *self._findable.passages(others)]

    def read(self, session_id: str) -> SessionRead:
        """Read the log of a session. Raises session_unreadable."""
        with self._explained(session_id):
            return read_session(self.file_of(session_id))

    @contextmanager
    def stream(self, session_id: str) -> Generator[SessionStream]:
        """Read the log of a session entry by entry in a `with` block. Raises session_unreadable, also in the block."""
        with self._explained(session_id):
            yield SessionStream(self.file_of(session_id))

    def is_adopted(self, session_id: str) -> bool:
        """Return whether a log has an entry Adopted. Raises session_unreadable."""
        with self._explained(session_id):
            return is_adopted(self.file_of(session_id))

    def open_log(self, session_id: str, patience: float = PATIENCE) -> SessionLog:
        """Open a session's log to continue it, as SessionLog.resume; one in the project is adopted."""
        file = self.file_of(session_id)
        if file.parent != self.folder:
            try:
                adopt(file, self.folder, patience)
            except OSError as error:
                log = SessionLog(self.folder, session_id)
                log.failure = error
                return log
        return SessionLog.resume(self.folder, session_id, patience)

    def is_ours(self, session: Session) -> bool:
        """Return whether this user's program began it, and it is stored where no command can change it."""
        return self._seal.holds(session.id, session.seal) and self.file_of(session.id).parent == self.folder

    def adopt_sealed(self) -> None:
        """Move the sessions that an earlier version stored in the project to the current folder.
        Cheap if that is done; logs open in another process stay until the next call."""
        if self._other is None or self._other.is_symlink() or not self._other.is_dir():
            return
        is_read_only = not os.access(self._other, os.W_OK)
        for log in _plain_logs([self._other]):
            is_done = is_read_only and os.path.lexists(self.folder / log.name)
            with suppress(OSError, ConfigurationError):
                if not is_done and _is_ours(log, self._seal):
                    adopt(log, self.folder)
        remove_if_empty(self._other)

    def fork(self, session_id: str, point: int = 0) -> str:
        """Copy a session, whole or up to its checkpoint `point`; return the copy's name.
        Raises session_no_point, session_nothing_before, session_unwritable."""
        there = self.find(session_id)
        entries = [
            each
            for each in self.read(there.id).entries
            if not isinstance(each, Began | Ended | OneShot | Resumed | Titled)
        ]
        if point:
            before = list(takewhile(lambda each: not _is_point(each, point), entries))
            if len(before) == len(entries):
                raise ConfigurationError("session_no_point", wanted=point)
            entries = before
        if not any(isinstance(each, RunStarted) for each in entries):
            raise ConfigurationError("session_nothing_before", point=point)
        copy = new_session_id()
        began = self._seal.begin(copy, forked_from=there.id)
        if not self.is_ours(there):
            began = msgspec.structs.replace(began, seal="")  # untrusted text stays untrusted
        now = time.time()
        title = [Titled(title=self._free(there.title))] if there.title else []
        lines = [began, *entries, *title, Forked(time=now), Ended(time=now)]
        try:
            make_folder(self.folder)
            write_own(self.folder / f"{copy}{SUFFIX}", b"".join(encode(each) + b"\n" for each in lines))
        except OSError as error:
            raise self._unwritable(copy, error) from error
        return copy

    def _free(self, title: str) -> str:
        """Return `title` with the first number that makes it unique: `login (2)`."""
        taken = {one.title for one in self._known}
        title = _COPY_NUMBER.sub("", title)
        return next(name for number in count(2) if (name := f"{title} ({number})") not in taken)

    def delete(self, session_id: str) -> None:
        """Delete a session and its copies; `delete_orphans` removes its outputs.
        Raises session_undeletable, session_unknown."""
        try:
            for file in reversed(self._files_of(session_id) or [self.file_of(session_id)]):
                self._delete(file)
        except FileNotFoundError:
            raise _unknown(session_id) from None
        except OSError as error:
            reason = error.strerror or error
            raise ConfigurationError("session_undeletable", id=session_id, reason=reason) from error

    def _delete(self, file: Path) -> None:
        fd = os.open(file, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            if not hold(fd, 0.0):
                raise ConfigurationError(
                    "session_undeletable", id=file.stem, reason=Phrase("It is open in another program")
                )
            named = outputs_named_in(file)
            file.unlink()
            self._orphans |= named
        finally:
            os.close(fd)

    def delete_orphans(self) -> None:
        """Delete tool outputs named only by sessions deleted here. Reads all other logs if there are any."""
        orphans, self._orphans = self._orphans, set()
        if orphans:
            logs = [folder for folder in self._folders if not folder.is_symlink()]
            forget_outputs(orphans, logs, self._outputs)

    def prune(self, *, keep_days: int, keep_count: int, now: Callable[[], float] = time.time) -> Pruned:
        """Delete sessions unused for `keep_days`, except the newest 20, and those beyond `keep_count`: first one-shots
        that were never resumed, except the newest, then the oldest. 0 keeps all. Never deletes those with a title, open
        ones, or those from elsewhere. Sessions in which nothing was said, perhaps without even a whole line, are
        deleted after a day."""
        there = now()
        since = there - keep_days * DAY if keep_days else 0.0
        plain = [one for one in self.all() if not one.title and self.is_ours(one)]
        plain.sort(key=lambda one: one.last_used(there), reverse=True)  # stable
        latest = min(_ALWAYS_KEPT, keep_count // 2)  # one-shots as well: a script may resume them
        ranked = [*plain[:latest], *sorted(plain[latest:], key=lambda one: one.is_one_shot)]
        surplus = ranked[keep_count:] if keep_count else []
        beyond = {one.id for one in surplus}
        old = [one for one in plain[_ALWAYS_KEPT:] if one.last_used(there) < since and one.id not in beyond]
        empty = [one for one in self._silent if not one.title and (self.is_ours(one) or self._is_torn(one))]
        empty = [one for one in empty if one.changed < there - DAY]
        deleted = Pruned(*([one.id for one in each if self._deleted(one.id)] for each in (old, surplus, empty)))
        self.delete_orphans()
        return deleted

    def correct_future(self) -> None:
        """Set future modification times, from a wrong clock, to now, so that these do not stay the newest."""
        there = time.time()
        ahead = [one for one in reversed(self.all()) if one.changed > there + _CLOCKS_DIFFER and self.is_ours(one)]
        for number, one in enumerate(ahead):
            when = there - (len(ahead) - number) * 0.01  # in their order, and before the next write
            with suppress(OSError):
                os.utime(self.file_of(one.id), (when, when), follow_symlinks=False)

    def _is_torn(self, session: Session) -> bool:
        """Return whether the log ends within its first line, which begins as a log's does."""
        if session.read:
            return False
        try:
            return starts(Began).startswith(read_beginning(self.file_of(session.id), len(starts(Began))))
        except OSError:
            return False

    def _deleted(self, session_id: str) -> bool:
        try:
            self.delete(session_id)
        except ConfigurationError:
            return False
        return True

    @contextmanager
    def _explained(self, session_id: str) -> Generator[None]:
        try:
            yield
        except FileNotFoundError:
            raise _unknown(session_id) from None
        except OSError as error:
            raise ConfigurationError("session_unreadable", id=session_id, reason=error.strerror or error) from error

    def _unwritable(self, session_id: str, error: OSError) -> ConfigurationError:
        return ConfigurationError("session_unwritable", file=self.file_of(session_id), reason=error.strerror or error)

    def file_of(self, session_id: str) -> Path:
        """Return the path of a session's log, or where it would be created."""
        return next(iter(self._files_of(session_id)), self.folder / f"{session_id}{SUFFIX}")

    def _files_of(self, session_id: str) -> list[Path]:
        files = (folder / f"{session_id}{SUFFIX}" for folder in self._folders if not folder.is_symlink())
        return [file for file in files if os.path.lexists(file)]


def _unknown(wanted: str, near: str = "") -> ConfigurationError:
    """Return the error for a session that does not exist; `near` is the most similar name."""
    listing = Phrase("To list them: localllm history list, in the chat /sessions.")
    hint = Phrase("Did you mean “{near}”? {listing}", near=near, listing=listing) if near else listing
    return ConfigurationError("session_unknown", wanted=wanted, hint=hint)


def _nearest(wanted: str, sessions: Sequence[Session]) -> str:
    """Return the name or title whose beginning is most similar to `wanted`, of several the newest; "" if none is."""
    from difflib import get_close_matches  # only needed for an unknown name

    names = {name[: len(wanted)].casefold(): name for one in reversed(sessions) for name in (one.id, one.title) if name}
    near = get_close_matches(wanted.casefold(), names, n=1, cutoff=0.75) if wanted else []
    return names[near[0]] if near else ""


def _is_point(entry: Entry, number: int) -> bool:
    return isinstance(entry, Pointed) and entry.number == number


def _today() -> date:
    return datetime.now(UTC).astimezone().date()
