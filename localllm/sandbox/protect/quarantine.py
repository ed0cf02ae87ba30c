"""Bound what is kept of the files that commands put at protected names: one folder for each time, named after it."""

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from localllm.sandbox.launcher.removal import delete_tree

MAX_AGE = 30 * 24 * 3600.0
"""Seconds."""

MOST_BYTES = 500_000_000
MOST_FILES = 100_000
"""Bytes on disk and number of files, of all folders together; the newest folder is always kept."""


def prune(quarantine: Path, now: Callable[[], float] = time.time) -> None:
    """Delete the folders that are too old or too much, the oldest first. What cannot be deleted stays."""
    room, files = MOST_BYTES, MOST_FILES
    with suppress(OSError):
        with os.scandir(quarantine) as entries:
            times = {entry.path: entry.stat(follow_symlinks=False).st_mtime_ns for entry in entries}
        for number, folder in enumerate(sorted(times, key=times.__getitem__, reverse=True)):
            with suppress(OSError):  # another program may be pruning, too
                sizes = list(islice(_sizes(folder), files + 1))
                room, files = room - sum(sizes), max(0, files - len(sizes))
                is_late = times[folder] / 1e9 < now() - MAX_AGE
                if number and (room < 0 or not files or is_late):
                    delete_tree(folder)


def _sizes(folder: str) -> Iterator[int]:
    """Yield the bytes on disk of each entry; an unreadable folder counts as too much. Follows no symlink."""
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(place, name)  # noqa: PTH118 - strings
            with suppress(OSError):
                about = os.lstat(path)
                is_closed = stat.S_ISDIR(about.st_mode) and not os.access(path, os.R_OK | os.X_OK)
                yield MOST_BYTES + 1 if is_closed else getattr(about, "st_blocks", 0) * 512
