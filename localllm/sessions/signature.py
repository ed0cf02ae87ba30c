"""Seals: how the program knows its own session logs from those that came with somebody's project.

A log in a folder one has been given could hold any conversation. The key lies in the user's own folder, which no
project can read or write.
"""

import hmac
import os
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from localllm import __version__
from localllm.sessions.entries import Began

_BYTES = 32


class Seal:
    """Makes and knows seals, with the key in `file`, which is made when it is first needed."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def of(self, session_id: str) -> str:
        """The seal of a session; "" where there can be no key."""
        return hmac.digest(self._key, session_id.encode(), "sha256").hex() if self._key else ""

    def holds(self, session_id: str, seal: str) -> bool:
        """Whether this user's program has begun the session of this name."""
        return bool(seal) and hmac.compare_digest(self.of(session_id).encode(), seal.encode())

    def begin(self, session_id: str, *, forked_from: str = "") -> Began:
        """The first line of a new log."""
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
        """A new key, or the one another program has made meanwhile."""
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
