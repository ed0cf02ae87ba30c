"""Lock a shard for one process at a time; report the holder when the wait times out."""

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from localllm.base.errors import KnowledgeBaseError
from localllm.base.file_lock import lock_within, try_lock
from localllm.base.i18n import Phrase

PATIENCE = 5.0
"""Timeout for acquiring a shard, in seconds."""

_LONGEST_NAME = 200


class ShardLock:
    """The lock of the collection `name` in `folder`. A waiting process holds the `turn` file, so that a long-running
    holder notices and yields. `prefix`: of the lock files, for a second lock in the same folder. Raises
    KnowledgeBaseError (rag_busy, rag_no_space)."""

    def __init__(self, folder: Path, name: str, what: str, prefix: str = "") -> None:
        self._folder = folder
        self._name = name
        self._what = what
        self._prefix = prefix
        self.fd = -1
        """The open lock file while it is held, otherwise -1."""

    def acquire(self) -> None:
        """Acquire the lock within PATIENCE seconds."""
        patience = PATIENCE
        deadline = time.monotonic() + patience
        turn, fd = self._open("turn"), -1
        try:
            lock_within(turn, patience)
            fd = self._open("lock")
            lock_within(fd, max(0.0, deadline - time.monotonic()))
        except TimeoutError as error:
            _close(fd)
            raise KnowledgeBaseError("rag_busy", name=self._name, who=self._holder(), seconds=patience) from error
        finally:
            _close(turn)
        self.fd = fd
        with suppress(OSError):  # the holder's name does not fit on a full disk
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{self._what} ({os.getpid()})".encode(), 0)

    @contextmanager
    def held(self) -> Generator[None]:
        """Hold the lock in a `with` block."""
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def is_wanted(self) -> bool:
        """Whether another process waits for the lock, or its folder is deleted."""
        try:
            turn = self._open("turn")
        except KnowledgeBaseError:
            return True
        try:
            return not try_lock(turn)
        finally:
            os.close(turn)

    def release(self) -> None:
        """Release the lock, even if the helper process has inherited it."""
        fd, self.fd = self.fd, -1
        if fd < 0:
            return
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)

    def _holder(self) -> "str | Phrase":
        with suppress(OSError):
            if (
                told := (self._folder / f"{self._prefix}lock")
                .read_bytes()[:_LONGEST_NAME]
                .decode("utf-8", "replace")
                .strip()
            ):
                return told
        return Phrase("Another process")

    def _open(self, name: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            return os.open(self._folder / (self._prefix + name), flags, 0o600)
        except OSError as error:
            reason = error.strerror or str(error)
            raise KnowledgeBaseError("rag_no_space", folder=self._folder, reason=reason) from error


def _close(fd: int) -> None:
    if fd >= 0:
        os.close(fd)
