"""Locks on files and folders between processes."""

import errno
import os
import sys
import time
from pathlib import Path
from types import TracebackType

FOLDER_PATIENCE = 5.0
"""Timeout in seconds for a folder's lock. We hold it for milliseconds unless a disk hangs; commands may too."""

_POLL = 0.01  # seconds


class FileLock:
    """A lock between processes (and threads) for a `with` block. Waits until it is free, or at most `patience` seconds.

    `path` is a lock file, created if missing and never removed; or a folder, which is locked itself. Not re-entrant.
    Raises OSError if the lock cannot be opened, TimeoutError after `patience`.
    """

    def __init__(self, path: Path, patience: float | None = None) -> None:
        self._path = path
        self._patience = patience
        self._fd = -1

    def __enter__(self) -> "FileLock":
        self._fd = _open_lock(self._path)
        try:
            if self._patience is None:
                _lock(self._fd)
            else:
                lock_within(self._fd, self._patience)
        except BaseException:
            os.close(self._fd)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)  # closing releases the lock


def _open_lock(path: Path) -> int:
    if sys.platform == "win32":
        return os.open(path / ".localllm.lock" if path.is_dir() else path, os.O_RDWR | os.O_CREAT, 0o600)
    if path.is_dir():
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def try_lock(fd: int) -> bool:
    """Try to lock an open file without waiting; return whether it is locked. Closing it releases the lock."""
    try:
        _lock_at_once(fd)
    except OSError:
        return False
    return True


def lock_within(fd: int, seconds: float) -> None:
    """Lock an open file or folder. Raises TimeoutError after `seconds`, another OSError if it cannot be locked."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return _lock_at_once(fd)
        except (BlockingIOError, PermissionError):  # PermissionError on Windows
            if time.monotonic() > deadline:
                raise TimeoutError from None
        time.sleep(_POLL)


def _lock_at_once(fd: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        return msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    import fcntl

    return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock(fd: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        while True:
            try:
                return msvcrt.locking(fd, msvcrt.LK_LOCK, 1)
            except OSError as error:  # msvcrt gives up after ten seconds
                if error.errno != errno.EDEADLOCK:
                    raise
    import fcntl

    return fcntl.flock(fd, fcntl.LOCK_EX)
