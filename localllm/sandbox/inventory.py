"""What in a project is something of the rest of the machine as well: files with other names, sockets, named pipes."""

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import msgspec

from localllm.sandbox.folder_listings import SETTLED, FolderListings

_MOST_FOLDERS = 50_000  # looked into, the nearest first
_SHARE = 20  # looking again takes at most a twentieth of the time
_AT_A_TIME = 0.5  # seconds; some 100,000 files
_MOST_ROUNDS = 50


class Ties(msgspec.Struct, frozen=True):
    """Paths below the project. `linked`: device and inode → the names in the project of a file that has others
    outside. `sockets`, `pipes`: all that are there, in use or not."""

    linked: dict[tuple[int, int], tuple[str, ...]] = {}
    sockets: tuple[str, ...] = ()
    pipes: tuple[str, ...] = ()


class Inventory:
    """Looks through a project; the second time only into folders that were changed.

    A file that is given another name somewhere else meanwhile is therefore not noticed. No look takes much longer than
    `at_a_time` (seconds): in a very large project each goes on where the one before was interrupted. Till
    `is_complete`, a file whose other names in the project were not seen yet counts as one with names outside.
    """

    def __init__(self, root: Path, at_a_time: float = _AT_A_TIME, settled: int = SETTLED) -> None:
        self._root = root
        self._listings = FolderListings(_matters, settled)
        self._lock = Lock()
        self._found = Ties()
        self._fresh_until = 0.0
        self._at_a_time = at_a_time
        self.is_complete = False

    def look(self) -> Ties:
        """What there is, as of some time ago where looking is slow: twenty times as long as it takes."""
        with self._lock:
            begun = time.monotonic()
            if begun >= self._fresh_until:
                self._found = self._search(begun + self._at_a_time)
                now = time.monotonic()
                self._fresh_until = now + (_SHARE * (now - begun) if self.is_complete else 0.0)
            return self._found

    def look_everywhere(self) -> None:
        """Look till everything has been seen once: for a thread that has time, ahead of the first command."""
        for _ in range(_MOST_ROUNDS):
            self.look()
            if self.is_complete:
                return

    def forget(self) -> None:
        """Look anew the next time: something was changed."""
        self._fresh_until = 0.0

    def _search(self, deadline: float) -> Ties:
        linked: dict[tuple[int, int], list[str]] = {}
        links: dict[tuple[int, int], int] = {}
        sockets: list[str] = []
        pipes: list[str] = []
        for path, entry in self._entries(deadline):
            about = entry.stat(follow_symlinks=False)
            if stat.S_ISSOCK(about.st_mode):
                sockets.append(path)
            elif stat.S_ISFIFO(about.st_mode):
                pipes.append(path)
            else:
                identity = about.st_dev, about.st_ino
                linked.setdefault(identity, []).append(path)
                links[identity] = about.st_nlink
        outside = {key: tuple(paths) for key, paths in linked.items() if len(paths) < links[key]}
        return Ties(outside, tuple(sockets), tuple(pipes))

    def _entries(self, deadline: float) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Those of what is known cost next to nothing, so that a search that was cut short gets further the next time.

        It gets on by a folder even when the time is up.
        """
        pending = [""]
        self.is_complete = True
        got_on = False
        for folder in pending:
            if not self._listings.knows(f"{self._root}/{folder}"):
                if got_on and time.monotonic() > deadline:
                    self.is_complete = False
                    return
                got_on = True
            for entry in self._listings.of(f"{self._root}/{folder}"):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if not entry.is_dir(follow_symlinks=False):
                    yield path, entry
                elif len(pending) < _MOST_FOLDERS:
                    pending.append(path)


def _matters(entry: os.DirEntry[str]) -> bool:
    if entry.is_dir(follow_symlinks=False):
        return True
    if entry.is_symlink():
        return False
    try:
        about = entry.stat(follow_symlinks=False)
    except OSError:
        return False  # gone meanwhile
    if stat.S_ISREG(about.st_mode):
        return about.st_nlink > 1
    return stat.S_ISSOCK(about.st_mode) or stat.S_ISFIFO(about.st_mode)
