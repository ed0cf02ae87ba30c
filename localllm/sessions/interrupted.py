"""Whether the last session was broken off in the middle of a request: told from its log alone, without reading the
others."""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from localllm.base.events import RunFinished, RunStarted
from localllm.sessions.entries import Began, Resumed, decode, starts
from localllm.sessions.log import hold, lines_of, open_log
from localllm.sessions.signature import Seal

_STARTED, _FINISHED, _RESUMED = starts(RunStarted), starts(RunFinished), starts(Resumed)
_TAIL = 1_000_000  # bytes that are looked at first
_LONGEST = 1_000_000  # bytes of a first line


def broken_off(log: Path, seal: Seal) -> str:
    """The request in whose middle the session of this log ended; "" where it did not, where it was looked at since, is
    open in another program, or not this user's. Raises OSError."""
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
    """The last line that tells of a run's beginning or end, or of the session's being gone on with."""
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
