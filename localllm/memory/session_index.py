"""What is told of a session in a list, without its log being read again: the index of a folder of logs.

A log only grows, so that each is read once, and then what was added. The index is a convenience: without it all is
read anew.
"""

import errno
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from localllm.base.events import RunStarted
from localllm.base.files import atomic_write
from localllm.memory.session_entries import Began, Ended, Titled, decode, starts
from localllm.memory.sessions import SUFFIX

FILE = "index.msgpack"

_FORMAT = 1
_LARGEST = 100_000_000  # bytes of an index
_LOOK = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")  # other files are none of ours, and their names may hold anything
_FIRST = 200  # characters of the first request
_SAID = 2_000  # characters of all requests that can be searched


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session in a list. `began` and `changed` are seconds since the epoch (`began` 0.0 in logs of old versions);
    `first` is the first request on one line; `said` all of them, as far as they can be searched. `ended`: closed in
    good order. `read`: bytes of the log that were read for this."""

    id: str
    began: float = 0.0
    changed: float = 0.0
    turns: int = 0
    title: str = ""
    first: str = ""
    said: str = ""
    ended: bool = False
    seal: str = ""
    forked_from: str = ""
    read: int = 0


class _Kept(msgspec.Struct, frozen=True):
    format: int
    sessions: dict[str, Session]


class Index:
    """The sessions of a folder, by their logs. Cheap where little has changed since it was last read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Session] | None = None

    def read(self) -> list[Session]:
        """Every session in which something was said, in no order. A log that cannot be read is left out."""
        known = self._load() if self._known is None else self._known
        found = dict(self._look(known))
        if found != known:
            self._save(found)
        self._known = found
        return [session for session in found.values() if session.turns]

    def _look(self, known: dict[str, Session]) -> Iterable[tuple[str, Session]]:
        if self._folder.is_symlink():  # a project one has been given could lead us anywhere with it
            return
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._folder) as there:
            for entry in there:
                session_id = entry.name.removesuffix(SUFFIX)
                if session_id == entry.name or not _NAME.fullmatch(session_id):
                    continue
                with suppress(OSError, msgspec.DecodeError):
                    yield session_id, _followed(known.get(session_id) or Session(id=session_id), entry)

    def _load(self) -> dict[str, Session]:
        with suppress(OSError, msgspec.DecodeError):
            kept = msgspec.msgpack.decode(_own_bytes(self._folder / FILE), type=_Kept)
            return kept.sessions if kept.format == _FORMAT else {}
        return {}

    def _save(self, sessions: dict[str, Session]) -> None:
        file = self._folder / FILE
        if self._folder.is_symlink():
            return
        with suppress(OSError):
            if file.is_symlink():  # writing would go where it leads
                file.unlink()
            atomic_write(file, msgspec.msgpack.encode(_Kept(_FORMAT, sessions)), mode=0o600)


def _own_bytes(file: Path) -> bytes:
    """What a regular file holds, no link followed: a project one has been given could have anything of that name.
    Raises OSError."""
    with os.fdopen(os.open(file, _LOOK), "rb") as opened:
        facts = os.fstat(opened.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return opened.read(_LARGEST)


def _followed(session: Session, entry: "os.DirEntry[str]") -> Session:
    """The session as its log has it by now. Raises OSError."""
    facts = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    if facts.st_size == session.read and facts.st_mtime == session.changed:
        return session
    if facts.st_size < session.read:
        session = Session(id=session.id)
    return _Reader(session).read(Path(entry.path), facts.st_mtime)


_EVENT, _BEGAN, _TITLED, _ENDED = starts(RunStarted), starts(Began), starts(Titled), starts(Ended)


class _Reader:
    """Goes on reading a log where it was left."""

    def __init__(self, session: Session) -> None:
        self._before = session
        self._turns = session.turns
        self._said = [session.said] if session.said else []
        self._first = session.first
        self._title = session.title
        self._ended = session.ended
        self._began: Began | None = None

    def read(self, file: Path, changed: float) -> Session:
        """What is told of it now. A last line that is not whole yet is left for the next time."""
        at = self._before.read
        with file.open("rb") as stream:
            stream.seek(at)
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                at += len(line)
                self._take(line)
        began = self._began
        return msgspec.structs.replace(
            self._before,
            began=began.time if began else self._before.began,
            seal=began.seal if began else self._before.seal,
            forked_from=began.forked_from if began else self._before.forked_from,
            changed=changed,
            turns=self._turns,
            title=self._title,
            first=self._first,
            said="\n".join(self._said)[:_SAID],
            ended=self._ended,
            read=at,
        )

    def _take(self, line: bytes) -> None:
        """Most lines are passed over by their beginning."""
        self._ended = line.startswith(_ENDED)
        if line.startswith((_EVENT, _BEGAN, _TITLED)):
            with suppress(msgspec.DecodeError):
                self._note(line)

    def _note(self, line: bytes) -> None:
        match decode(line):
            case RunStarted(query=query):
                self._turns += 1
                self._first = self._first or " ".join(query.split())[:_FIRST]
                self._said.append(query[:_SAID])
            case Began() as began:
                self._began = self._began or began
            case Titled(title=title):
                self._title = title
            case _:
                pass
