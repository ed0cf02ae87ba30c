"""The sessions of a project: found, listed, searched, copied, deleted."""

import os
import re
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import count, takewhile
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.events import RunStarted
from localllm.base.files import atomic_write
from localllm.memory.session_entries import Began, Ended, Entry, Forked, Pointed, Resumed, Titled, encode
from localllm.memory.session_index import Index, Session
from localllm.memory.session_seal import Seal
from localllm.memory.sessions import SUFFIX, SessionRead, hold, new_session_id, read_session

if TYPE_CHECKING:
    from localllm.memory.recall import MemoryEntry, Recall

DAY = 24 * 60 * 60
_NAMED = 5  # sessions an error names
_COPY_NUMBER = re.compile(r"(?<=\S) \(\d{1,4}\)$")


class Sessions:
    """Those in `folder`. Methods raise ConfigurationError: session_unknown, session_ambiguous, session_open and so on.

    `seal` tells the sessions of this user's program from others.
    """

    def __init__(self, folder: Path, seal: Seal) -> None:
        self.folder = folder
        self._seal = seal
        self._index = Index(folder)
        self._entries: dict[str, tuple[Session, MemoryEntry]] = {}
        self._known: list[Session] = []
        self._lock = Lock()

    def all(self) -> list[Session]:
        """Every session in which something was said, the one that was last worked in first."""
        with self._lock:
            found = self._index.read()
        self._known = sorted(found, key=lambda session: (session.changed, session.id), reverse=True)
        return self._known

    @property
    def known(self) -> Sequence[Session]:
        """What `all` gave the last time, told without looking."""
        return self._known

    def newest(self) -> Session:
        """The one that was last worked in. Raises session_none."""
        if not (there := self.all()):
            raise ConfigurationError("session_none")
        return there[0]

    def find(self, wanted: str) -> Session:
        """The session whose name or title begins so, or whose title this is."""
        wanted = wanted.strip()
        beginning = wanted.casefold()
        there = self.all()
        found = [one for one in there if one.id == wanted] or [one for one in there if wanted and wanted == one.title]
        found = found or [one for one in there if wanted and one.id.startswith(wanted)]
        found = found or [one for one in there if wanted and one.title.casefold().startswith(beginning)]
        if not found:
            raise ConfigurationError("session_unknown", wanted=wanted)
        if len(found) > 1:
            names = ", ".join(one.id for one in found[:_NAMED]) + (" …" if len(found) > _NAMED else "")
            raise ConfigurationError("session_ambiguous", wanted=wanted, names=names)
        return found[0]

    def search(self, words: str, limit: int = 20) -> list[Session]:
        """The sessions in which something like this was asked for, the best first."""
        sessions = {one.id: one for one in self.all()}
        found = self._recall.search(words, self.entries(), limit, today=_today())
        return [sessions[one.entry.id] for one in found if one.entry.id in sessions]

    @cached_property
    def _recall(self) -> "Recall":
        from localllm.memory.recall import Recall  # brings what reads LOCALLLM.md; few search

        return Recall()

    def entries(self) -> "list[MemoryEntry]":
        """What can be found of each: its title and what the person asked for. What has not changed is the same object
        as before."""
        sessions = self.all()
        self._entries = {one.id: self._entry(one) for one in sessions}
        return [self._entries[one.id][1] for one in sessions]

    def _entry(self, session: Session) -> "tuple[Session, MemoryEntry]":
        from localllm.memory.recall import MemoryEntry

        known = self._entries.get(session.id)
        if known is not None and known[0] == session:
            return known
        when = datetime.fromtimestamp(session.changed).astimezone().strftime("%Y-%m-%d %H:%M")
        return session, MemoryEntry(session.id, "conversation", session.said, when, heading=session.title)

    def read(self, session_id: str) -> SessionRead:
        """All that is in the log of a session. Raises session_unreadable."""
        with self._explained(session_id):
            return read_session(self._file(session_id))

    def is_ours(self, session: Session) -> bool:
        """Whether this user's program has begun it."""
        return self._seal.holds(session.id, session.seal)

    def fork(self, session_id: str, point: int = 0) -> str:
        """A copy that goes on on its own, whole or as the session was at its checkpoint `point`; its name. Raises
        session_no_point, session_nothing_before, session_unwritable."""
        there = self.find(session_id)
        entries = [
            each for each in self.read(there.id).entries if not isinstance(each, Began | Ended | Resumed | Titled)
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
            began = msgspec.structs.replace(began, seal="")  # what a stranger has written stays a stranger's
        now = time.time()
        title = [Titled(title=self._free(there.title))] if there.title else []
        lines = [began, *entries, *title, Forked(time=now), Ended(time=now)]
        try:
            atomic_write(self._file(copy), b"".join(encode(each) + b"\n" for each in lines), mode=0o600)
        except OSError as error:
            raise self._unwritable(copy, error) from error
        return copy

    def _free(self, title: str) -> str:
        """`title` with the first number behind it that makes it one no session has: `login (2)`."""
        taken = {one.title for one in self._known}
        title = _COPY_NUMBER.sub("", title)
        return next(name for number in count(2) if (name := f"{title} ({number})") not in taken)

    def delete(self, session_id: str) -> None:
        """Delete a session. Raises session_open, session_unwritable."""
        with self._explained(session_id), self._locked(session_id, 0.0) as is_locked:
            if not is_locked:
                raise ConfigurationError("session_open", id=session_id)
            self._file(session_id).unlink()

    def prune(self, *, keep_days: int, keep_count: int, now: Callable[[], float] = time.time) -> list[str]:
        """Delete what was not worked in for `keep_days`, and all but the newest `keep_count` (0 keeps all); never what
        has a title, is open, or came with the project from elsewhere. The names of those deleted."""
        since = now() - keep_days * DAY if keep_days else 0.0
        plain = [one for one in self.all() if not one.title and self.is_ours(one)]
        old = [one for number, one in enumerate(plain) if one.changed < since or 0 < keep_count <= number]
        return [one.id for one in old if self._deleted(one.id)]

    def _deleted(self, session_id: str) -> bool:
        try:
            self.delete(session_id)
        except ConfigurationError:
            return False
        return True

    @contextmanager
    def _locked(self, session_id: str, patience: float) -> Generator[bool]:
        fd = os.open(self._file(session_id), os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            yield hold(fd, patience)
        finally:
            os.close(fd)

    @contextmanager
    def _explained(self, session_id: str) -> Generator[None]:
        try:
            yield
        except FileNotFoundError:
            raise ConfigurationError("session_unknown", wanted=session_id) from None
        except OSError as error:
            raise ConfigurationError("session_unreadable", id=session_id, reason=error.strerror or error) from error

    def _unwritable(self, session_id: str, error: OSError) -> ConfigurationError:
        return ConfigurationError("session_unwritable", file=self._file(session_id), reason=error.strerror or error)

    def _file(self, session_id: str) -> Path:
        return self.folder / f"{session_id}{SUFFIX}"


def _is_point(entry: Entry, number: int) -> bool:
    return isinstance(entry, Pointed) and entry.number == number


def _today() -> date:
    return datetime.now(UTC).astimezone().date()
