"""Read files safely: anything but a regular file is rejected without blocking, and stamps reveal changes."""

import errno
import os
import stat
import sys
import time
from datetime import UTC, datetime
from functools import lru_cache
from io import BufferedReader
from pathlib import Path

from localllm.base.files import open_beneath, open_by_components

READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags for opening a file passed to `opened`: without O_NONBLOCK a pipe would wait for its writer."""

NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""Added to the flags, a link raises an error (ELOOP), as a foreign project could contain any."""

Stamp = tuple[int, int, int]
"""Modification and change time of a file in nanoseconds, and its size in bytes."""

UNKNOWN: Stamp = (0, 0, 0)
"""The stamp of a file that may change again without a change of its times."""

IN_MEMORY = ("tmpfs", "ramfs")
"""File systems that do not set a file's times when a program writes to a page of it that it has mapped and read."""

_LAST_TIME = (1 << 63) - 1
_STILL_CHANGING = 2_000_000_000
"""Nanoseconds: FAT's time resolution; other file systems are as exact as a tick of the kernel's clock."""


def read_regular(path: Path, limit: int) -> bytes:
    """Read a regular file. Raises OSError if it is missing, a link, another kind of file, or exceeds `limit` bytes."""
    return _whole(open_regular(path), limit)


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading. Raises OSError if it is missing, a link or another kind of file."""
    return opened(os.open(path, READ | NO_LINK))


def open_linkless(path: Path) -> BufferedReader:
    """Like `open_regular`, for an absolute path without any link:
    OSError ELOOP if one was added since it was resolved. On Windows only the last component is checked."""
    if sys.platform == "win32":
        return open_regular(path)
    top = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return opened(open_beneath(top, str(path).lstrip("/"), READ | NO_LINK, links=False))
    finally:
        os.close(top)


def open_folder_linkless(folder: Path, flags: int = 0) -> int:
    """Open a folder by an absolute path without any link:
    OSError ELOOP or EXDEV if one was added since it was resolved. On Windows only the last component is checked."""
    flags |= getattr(os, "O_DIRECTORY", 0) | NO_LINK
    if sys.platform == "win32":
        return os.open(folder, flags)
    top = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return open_by_components(top, str(folder).lstrip("/"), flags, links=False)
    finally:
        os.close(top)


def read_linkless(path: Path, limit: int) -> bytes:
    """Read the file that `open_linkless` opens. Raises OSError EFBIG for more than `limit` bytes."""
    return _whole(open_linkless(path), limit)


def read_beginning(path: Path, most: int) -> bytes:
    """Read the first `most` bytes of a regular file. Raises OSError like `open_regular`."""
    with open_regular(path) as file:
        return file.read(most)


def read_beneath(root_fd: int, path: str, limit: int) -> bytes:
    """Like `read_regular`, for a path below the open folder `root_fd`. A link on the way is an error as well."""
    return _whole(opened(open_beneath(root_fd, path, READ | NO_LINK, links=False)), limit)


def opened(fd: int) -> BufferedReader:
    """Wrap the descriptor `fd`, which is closed with the file.
    Raises OSError EINVAL, and closes it, if it is not a regular file."""
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return os.fdopen(fd, "rb")
    os.close(fd)
    raise OSError(errno.EINVAL, "not a regular file")


def _whole(stream: BufferedReader, limit: int) -> bytes:
    with stream as file:
        data = file.read(limit + 1) if os.fstat(file.fileno()).st_size <= limit else None
    if data is None or len(data) > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return data


def clock_time(seconds: float) -> datetime:
    """Convert a file's time, or one stored in a file, to local time; 1970 if out of range."""
    try:
        return datetime.fromtimestamp(seconds, UTC).astimezone()
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


def stamp_of(facts: os.stat_result) -> Stamp:
    """Return a file's stamp, which is only reliable if `is_settled`."""
    return content_time(facts), facts.st_ctime_ns, facts.st_size


def content_time(facts: os.stat_result) -> int:
    """Return the modification time in ns, which anyone may have set, clamped to 64 bits, the maximum of our stores."""
    return max(-_LAST_TIME, min(facts.st_mtime_ns, _LAST_TIME))


def is_settled(stamp: Stamp) -> bool:
    """Return whether the file was changed long enough ago that a further change must show in its times."""
    return time.time_ns() - max(stamp[:2]) > _STILL_CHANGING


@lru_cache(maxsize=8)
def hides_changes(folder: Path) -> bool:
    """Whether files in the file system of `folder` can change while their times stay (see IN_MEMORY). Only Linux tells:
    proc_pid_mountinfo(5)."""
    try:
        device = folder.stat().st_dev
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    kinds = {mount.partition(" - ")[2].partition(" ")[0] for mount in mounts.splitlines() if _is_of(device, mount)}
    return not kinds.isdisjoint(IN_MEMORY)


def _is_of(device: int, mount: str) -> bool:
    return mount.split(" ", 3)[2] == f"{os.major(device)}:{os.minor(device)}"
