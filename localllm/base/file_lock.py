"""Locks between processes: files and folders that one holds at a time."""

import errno
import os
import sys
import time
from pathlib import Path
from types import TracebackType

FOLDER_PATIENCE = 5.0
"""Seconds for the lock of a folder. We hold it for milliseconds, unless a disk hangs; a command may hold it, too."""

_POLL = 0.01  # seconds


class FileLock:
    """Holds a lock between processes (and threads) for a `with` block; waits for as long as another holds it, or
    `patience` seconds at most.

    `path` is a file that serves as the lock, made when missing and left there; or a folder, which is locked itself.
    Not re-entrant. Raises OSError where the lock cannot be opened, TimeoutError where it was waited for in vain.
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
        os.close(self._fd)  # closing gives the lock back


def _open_lock(path: Path) -> int:
    if sys.platform == "win32":
        return os.open(path / ".localllm.lock" if path.is_dir() else path, os.O_RDWR | os.O_CREAT, 0o600)
    if path.is_dir():
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def try_lock(fd: int) -> bool:
    """Lock an open file unless another holds it; whether it is locked now. Closing it gives the lock back."""
    try:
        _lock_at_once(fd)
    except OSError:
        return False
    return True


def lock_within(fd: int, seconds: float) -> None:
    """Lock an open file or folder. Raises TimeoutError where another holds it for that long, another OSError where it
    cannot be locked."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return _lock_at_once(fd)
        except (BlockingIOError, PermissionError):  # the second on Windows
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
            except OSError as error:  # it gives up after ten seconds
                if error.errno != errno.EDEADLOCK:
                    raise
    import fcntl

    return fcntl.flock(fd, fcntl.LOCK_EX)
