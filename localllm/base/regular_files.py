"""Reading files that may be anything, and may change: what is no regular file does not hold the reader up, and a stamp
tells whether a file is still the same."""

import errno
import os
import stat
import sys
import time
from datetime import UTC, datetime
from functools import lru_cache
from io import BufferedReader
from pathlib import Path

from localllm.base.files import open_beneath

READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags to open a file with for `opened`: a pipe would wait for its writer."""

NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""With these as well, a link is an error (ELOOP): where a project one has been given could have anything."""

Stamp = tuple[int, int, int]
"""When a file and its entry were changed last, in nanoseconds, and its size in bytes."""

UNKNOWN: Stamp = (0, 0, 0)
"""For a file that may change again without its times telling."""

IN_MEMORY = ("tmpfs", "ramfs")
"""File systems that do not set a file's times when a program writes to a page of it that it has mapped and read."""

_LAST_TIME = (1 << 63) - 1
_STILL_CHANGING = 2_000_000_000
"""Nanoseconds: FAT tells the time of a change no more exactly, other file systems to a tick of the kernel's clock."""


def read_regular(path: Path, limit: int) -> bytes:
    """What a regular file holds. OSError: none there, a link, something else than a file, more than `limit` bytes."""
    return _whole(open_regular(path), limit)


def open_regular(path: Path) -> BufferedReader:
    """A regular file, open for reading. OSError: none there, a link, something else than a file."""
    return opened(os.open(path, READ | NO_LINK))


def open_linkless(path: Path) -> BufferedReader:
    """`open_regular` of an absolute path with no link anywhere in it: OSError ELOOP where one has come since it was
    resolved. On Windows only the last part is looked at."""
    if sys.platform == "win32":
        return open_regular(path)
    top = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return opened(open_beneath(top, str(path).lstrip("/"), READ | NO_LINK, links=False))
    finally:
        os.close(top)


def read_linkless(path: Path, limit: int) -> bytes:
    """What the file that `open_linkless` opens holds. OSError EFBIG for more than `limit` bytes."""
    return _whole(open_linkless(path), limit)


def read_beginning(path: Path, most: int) -> bytes:
    """The first `most` bytes of a regular file. OSError as `open_regular`."""
    with open_regular(path) as file:
        return file.read(most)


def read_beneath(root_fd: int, path: str, limit: int) -> bytes:
    """`read_regular` of a path below the open folder `root_fd`; a link on the way is an error as well."""
    return _whole(opened(open_beneath(root_fd, path, READ | NO_LINK, links=False)), limit)


def opened(fd: int) -> BufferedReader:
    """The file that was opened as `fd`, which is closed with it. OSError EINVAL, and closed at once, where that is no
    regular file."""
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
    """A time of a file, or one that a file tells, as the clocks here show it: 1970 where no calendar has that year."""
    try:
        return datetime.fromtimestamp(seconds, UTC).astimezone()
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


def stamp_of(facts: os.stat_result) -> Stamp:
    """The stamp of a file, which is worth something where it is settled."""
    return content_time(facts), facts.st_ctime_ns, facts.st_size


def content_time(facts: os.stat_result) -> int:
    """When (ns) the content changed, by what anybody may have set: of years that 64 bits do not hold the nearest one,
    as no store takes larger numbers."""
    return max(-_LAST_TIME, min(facts.st_mtime_ns, _LAST_TIME))


def is_settled(stamp: Stamp) -> bool:
    """Whether the file was changed so long ago that a further change must show in its times."""
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
