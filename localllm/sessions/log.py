"""Write and sign a session's log.

A log in a folder from elsewhere could contain any conversation. The key is in the user's own folder, which no project
can read or write.

The writer of a log holds a lock on it, which the system releases whenever the process ends.
"""

import errno
import hmac
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from io import BufferedReader
from pathlib import Path

import msgspec

from localllm import __version__
from localllm.base.errors import ConfigurationError
from localllm.base.events import AgentEvent, CommandOutput, Consulting, Notice, TextDelta, ThinkingDelta
from localllm.base.file_lock import try_lock
from localllm.base.regular_files import open_regular
from localllm.sessions.entries import Adopted, Began, Entry, Record, decode, encode

_BYTES = 32


class Seal:
    """Creates and verifies seals with the key in `file`, which is created when first needed."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def of(self, session_id: str) -> str:
        """Return the seal of a session; empty if no key can be created."""
        return hmac.digest(self._key, session_id.encode(), "sha256").hex() if self._key else ""

    def holds(self, session_id: str, seal: str) -> bool:
        """Return whether this user's program began the session of this name."""
        return bool(seal) and hmac.compare_digest(self.of(session_id).encode(), seal.encode())

    def begin(self, session_id: str, *, forked_from: str = "") -> Began:
        """Return the first line of a new log."""
        seal = self.of(session_id)
        return Began(session_id=session_id, time=time.time(), version=__version__, seal=seal, forked_from=forked_from)

    @cached_property
    def _key(self) -> bytes:
        with suppress(OSError):
            return self._read() or self._make()
        return b""

    def _read(self) -> bytes:
        with suppress(FileNotFoundError):
            return self._file.read_bytes()
        return b""

    def _make(self) -> bytes:
        """Create a key; return it, or the one another process has created meanwhile."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        beside = self._file.with_name(f"{self._file.name}-{os.getpid()}")
        beside.unlink(missing_ok=True)
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(fd, os.urandom(_BYTES))
        finally:
            os.close(fd)
        try:
            os.link(beside, self._file)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            beside.replace(self._file)
        beside.unlink(missing_ok=True)
        return self._read()


SUFFIX = ".jsonl"
INDEX = "index.msgpack"
"""The index's file, beside the logs."""

PATIENCE = 2.0
"""Seconds to wait for a lock that the program's own clean-up holds briefly."""

_POLL = 0.02
_LONGEST_LINE = 64 << 20  # bytes: contains at most a few images
_LARGEST = 1 << 29  # bytes of a log; a malicious project could contain a sparse file of any size
_LOCKED_BYTE = 1 << 40  # Windows locks bytes and blocks others from reading them: no log is this long


def new_session_id() -> str:
    """Return a name that sorts by time: 20261121-231500-ab12cd34.
    Random, as two sessions of the same second need different names."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.urandom(4).hex()}"


class SessionLog:
    """Appends entries to `folder/session_id.jsonl`, and holds its lock.

    A new log is created at the first event that is worth one, with `began` as its first line, so that a session without
    events leaves no file; `on_made` is called then. A write error does not stop the session: the first is stored in
    `failure`, and nothing more is written, so that the log stays intact.
    """

    def __init__(
        self,
        folder: Path,
        session_id: str,
        began: Began | None = None,
        on_made: Callable[[], object] = lambda: None,
    ) -> None:
        self.file = folder / f"{session_id}{SUFFIX}"
        self.failure: OSError | None = None
        self._fd = -1
        self._waiting: list[Entry] = [began] if began else []
        self._on_made = on_made

    @classmethod
    def resume(cls, folder: Path, session_id: str, patience: float = PATIENCE) -> "SessionLog":
        """Open the log of an earlier session to continue it.
        Raises ConfigurationError session_open if another process has it open for longer than `patience` seconds; a
        read-only file is a `failure`."""
        log = cls(folder, session_id)
        try:
            log._fd = os.open(log.file, os.O_RDWR | os.O_APPEND | _SAFELY)
            if is_held := hold(log._fd, patience):
                _finish_line(log._fd)
        except OSError as error:
            log.failure, is_held = error, True
        if log.failure is not None or not is_held:
            log.close()
        if not is_held:
            raise ConfigurationError("session_open", id=session_id)
        return log

    @property
    def is_open(self) -> bool:
        """Whether the file exists and is being written."""
        return self._fd >= 0

    def append(self, entry: Entry) -> None:
        """Write `entry`. Deltas of an answer or output are skipped: the whole is logged later."""
        if isinstance(entry, TextDelta | ThinkingDelta | CommandOutput | Consulting) or self.failure is not None:
            return
        if self._fd < 0 and isinstance(entry, Record | Notice):
            self._waiting.append(entry)
            return
        try:
            if self._fd < 0:
                self._fd = _made(self.file)
                self._on_made()
            entries, self._waiting = [*self._waiting, entry], []
            _write(self._fd, b"".join(encode(each) + b"\n" for each in entries))
        except OSError as error:
            self.failure = error

    def close(self) -> None:
        """Close the file, which releases the lock."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class SessionRead(msgspec.Struct, frozen=True):
    """The entries of a log, the number of unreadable lines, and whether the last line is torn by a crash."""

    entries: tuple[Entry, ...]
    torn_lines: int = 0
    is_torn: bool = False

    @property
    def events(self) -> tuple[AgentEvent, ...]:
        """Only the events of its runs."""
        return tuple(entry for entry in self.entries if not isinstance(entry, Record))


class SessionStream:
    """The entries of a log, each read when it is taken: a log can be many times the size of its conversation. They can
    be taken once; `torn_lines` and `is_torn` are those of SessionRead, of the lines so far. Raises OSError."""

    def __init__(self, file: Path) -> None:
        self.torn_lines = 0
        self.is_torn = False
        self.entries = self._read(file)

    def _read(self, file: Path) -> Iterator[Entry]:
        for line in _lines(file):
            try:
                entry = decode(line)
            except msgspec.DecodeError:
                self.torn_lines, self.is_torn = self.torn_lines + 1, True
            else:
                self.is_torn = False
                yield entry


def read_session(file: Path) -> SessionRead:
    """Read the entries of a log. Raises OSError."""
    stream = SessionStream(file)
    return SessionRead(tuple(stream.entries), stream.torn_lines, stream.is_torn)


def is_adopted(file: Path) -> bool:
    """Return whether a log has an entry Adopted, without decoding the others. Raises OSError."""
    for line in _lines(file):
        with suppress(msgspec.DecodeError):
            if Adopted.__name__.encode() in line and isinstance(decode(line), Adopted):
                return True
    return False


def hold(fd: int, patience: float = PATIENCE) -> bool:
    """Lock an open log, waiting at most `patience` seconds for another process. Return whether it is locked."""
    deadline = time.monotonic() + patience
    if sys.platform == "win32":
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
    while not (locked := try_lock(fd)) and time.monotonic() < deadline:
        time.sleep(_POLL)
    return locked


_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def lines_of(stream: BufferedReader) -> Iterator[bytes]:
    """Yield the remaining lines; one longer than any valid line comes in parts, none of which is an entry."""
    return iter(partial(stream.readline, _LONGEST_LINE), b"")


def open_log(file: Path) -> BufferedReader:
    """Open a log for reading. OSError as `open_regular`, and EFBIG if it is larger than `_LARGEST`."""
    log = open_regular(file)
    if os.fstat(log.fileno()).st_size > _LARGEST:
        log.close()
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return log


def _lines(file: Path) -> Iterator[bytes]:
    with open_log(file) as stream:
        yield from (line for line in lines_of(stream) if line.strip())


def _made(file: Path) -> int:
    """Create a log, locked and readable only by its owner: it contains what the user said."""
    make_folder(file.parent)
    fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | _SAFELY, 0o600)
    hold(fd)
    return fd


def make_folder(folder: Path) -> None:
    """Create a private folder for logs if missing. Raises OSError, also if it is a link."""
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _finish_line(fd: int) -> None:
    """End a line torn by a crash, so that the next entry starts a new one."""
    if not os.fstat(fd).st_size:
        return
    os.lseek(fd, -1, os.SEEK_END)
    if os.read(fd, 1) != b"\n":
        _write(fd, b"\n")


def _write(fd: int, data: bytes) -> None:
    """Write all data: an almost full disk takes only a part, and fails at the next write."""
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]
