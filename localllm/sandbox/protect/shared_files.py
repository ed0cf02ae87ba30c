"""Find files that a project shares with the rest of the machine (hard links), and replace them by copies."""

import os
import stat
import sys
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

import msgspec

from localllm.base.files import copy_content
from localllm.sandbox.protect.folder_listings import SETTLED, FolderListings
from localllm.sandbox.protect.restore import open_project

_MOST_FOLDERS = 50_000  # scanned, the nearest first
_MOST_BYTES = 10_000_000  # of their paths
_SHARE = 20  # scans take at most a twentieth of the time
_AT_A_TIME = 0.5  # seconds; some 100,000 files
_MOST_ROUNDS = 50

_Identity = tuple[int, int]
"""Device and inode."""


class Ties(msgspec.Struct, frozen=True):
    """Paths below the project. `linked`: device and inode → the names in the project of a file that has others outside.
    `sockets`, `pipes`: all of them, in use or not."""

    linked: dict[_Identity, tuple[str, ...]] = {}
    sockets: tuple[str, ...] = ()
    pipes: tuple[str, ...] = ()


class Inventory:
    """Scans a project; after the first time only the folders that changed.

    A folder does not change when a file in it gets a second name elsewhere. So where names are missing, it searches the
    project for them, the nearest folders first. No scan and no such search takes much longer than `at_a_time`
    (seconds): in a very large project each scan continues where the last one stopped. A file whose other names in the
    project were not found in time counts as one with names outside.
    """

    def __init__(self, root: Path, at_a_time: float = _AT_A_TIME, settled: int = SETTLED) -> None:
        self._root = root
        self._listings = FolderListings(_matters, settled)
        self._lock = Lock()
        self._found = Ties()
        self._fresh_until = 0.0
        self._at_a_time = at_a_time
        self._known_outside: dict[_Identity, int] = {}  # with the ctime, which changes with the number of names
        self._is_all_read = False  # by the last scan, without the cache
        self.is_complete = False

    def look(self) -> Ties:
        """Return what there is; if scans are slow, as of up to twenty times their duration ago."""
        with self._lock:
            begun = time.monotonic()
            if begun >= self._fresh_until:
                self._found = self._search(begun + self._at_a_time)
                now = time.monotonic()
                self._fresh_until = now + (_SHARE * (now - begun) if self.is_complete else 0.0)
            return self._found

    def look_everywhere(self) -> None:
        """Scan until everything was seen once: for a background thread, ahead of the first command."""
        for _ in range(_MOST_ROUNDS):
            self.look()
            if self.is_complete:
                return

    def forget(self) -> None:
        """Scan anew next time: something was changed."""
        self._fresh_until = 0.0

    def _search(self, deadline: float) -> Ties:
        linked: dict[_Identity, list[str]] = {}
        links: dict[_Identity, int] = {}
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
                links[identity] = max(about.st_nlink, links.get(identity, 0))  # a cached one may be old
        short = {key: paths for key, paths in linked.items() if len(paths) < links[key]}
        return Ties(self._outside(short), tuple(sockets), tuple(pipes))

    def _outside(self, short: dict[_Identity, list[str]]) -> dict[_Identity, tuple[str, ...]]:
        """Return those of the files that have names outside the project, with all their names in it. Names may be
        missing in `short` where a folder was scanned before; others may be gone."""
        files = [_Linked(self._root, key, paths) for key, paths in short.items()]
        unsure = [file for file in files if file.missing > 0 and self._known_outside.get(file.identity) != file.changed]
        is_sure = self.is_complete and self._is_all_read
        if unsure and not is_sure:
            is_sure = _add_names(self._root, unsure, time.monotonic() + self._at_a_time)
        outside = [file for file in files if file.missing > 0]
        new = {file.identity for file in unsure if not is_sure}
        self._known_outside = {file.identity: file.changed for file in outside if file.identity not in new}
        return {file.identity: tuple(sorted(file.paths)) for file in outside}

    def _entries(self, deadline: float) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Yield the entries. Known folders cost next to nothing, so an interrupted search gets further the next time.

        It reads at least one new folder, even if the time is up.
        """
        pending = [""]
        room = _MOST_BYTES
        self.is_complete = self._is_all_read = True
        got_on = False
        for folder in pending:
            if self._listings.knows(f"{self._root}/{folder}"):
                self._is_all_read = False
            else:
                if got_on and time.monotonic() > deadline:
                    self.is_complete = False
                    return
                got_on = True
            for entry in self._listings.of(f"{self._root}/{folder}"):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if not entry.is_dir(follow_symlinks=False):
                    yield path, entry
                elif len(pending) < _MOST_FOLDERS and room >= 0:
                    room -= len(path)
                    pending.append(path)


def _matters(entry: os.DirEntry[str]) -> bool:
    if entry.is_dir(follow_symlinks=False):
        return True
    if entry.is_symlink():
        return False
    try:
        about = entry.stat(follow_symlinks=False)
    except OSError:
        return False  # deleted meanwhile
    if stat.S_ISREG(about.st_mode):
        return about.st_nlink > 1
    return stat.S_ISSOCK(about.st_mode) or stat.S_ISFIFO(about.st_mode)


class _Linked:
    """A file with several names, as it is now. `paths`: those known; `changed`: its ctime."""

    def __init__(self, root: Path, identity: _Identity, paths: Iterable[str]) -> None:
        self.identity = identity
        self.paths: set[str] = set()
        self.changed = self._links = 0
        for path in paths:
            with suppress(OSError):
                self.add(path, os.lstat(f"{root}/{path}"))

    @property
    def missing(self) -> int:
        """The number of names that are not known."""
        return self._links - len(self.paths)

    def add(self, path: str, about: os.stat_result) -> None:
        """Add a name, if it is one of this file."""
        if (about.st_dev, about.st_ino) == self.identity:
            self.paths.add(path)
            self.changed, self._links = about.st_ctime_ns, about.st_nlink


def _add_names(root: Path, files: Iterable[_Linked], deadline: float) -> bool:
    """Search for the other names of `files`: in the folders of those known, then in the folders around these, at last
    in the whole project. Return whether it got to its end before `deadline` (time.monotonic)."""
    wanted: dict[int, list[_Linked]] = {}
    for file in files:
        wanted.setdefault(file.identity[1], []).append(file)
    around = {above for file in files for path in file.paths for above in _folders_above(path)}
    seen: set[str] = set()
    for top in sorted(around, key=lambda path: path.count("/") + bool(path), reverse=True):
        pending = [top]
        for folder in pending:
            if folder in seen:
                continue
            if not wanted:
                return True
            if time.monotonic() > deadline:
                return False
            seen.add(folder)
            for path, entry in _listed(root, folder):
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)
                elif (inode := entry.inode()) in wanted:
                    with suppress(OSError):
                        about = entry.stat(follow_symlinks=False)
                        for file in wanted[inode]:
                            file.add(path, about)
                    if all(file.missing <= 0 for file in wanted[inode]):
                        del wanted[inode]
    return True


def _listed(root: Path, folder: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with suppress(OSError), os.scandir(f"{root}/{folder}") as entries:
        for entry in entries:
            yield (f"{folder}/{entry.name}" if folder else entry.name), entry


def _folders_above(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


MOST_COPIED = 64 << 20
"""Bytes of a file that is copied although it could be made read-only instead."""

_MOST_IN_ALL = 2 << 30  # bytes copied before one command
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK


class Severed(msgspec.Struct, frozen=True):
    """Paths below the project. `copied`: the project's own now; `shared`: still shared with the rest of the machine."""

    copied: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


def sever(root: Path, linked: dict[_Identity, tuple[str, ...]], *, largest: int) -> Severed:
    """Replace each of the files (device and inode → its names below `root`) by a copy: same bytes, permissions, times
    and attributes. The names of one file remain names of one file. Files of more than `largest` bytes are not copied.

    If a folder is replaced by a symlink meanwhile, nothing is done: no symlink is followed.
    """
    copied: list[str] = []
    shared: list[str] = []
    room = _MOST_IN_ALL
    fd = open_project(root)
    try:
        for identity, paths in linked.items():
            size = _sever(fd, identity, paths, min(largest, room))
            room -= size or 0
            (shared if size is None else copied).extend(paths)
    finally:
        os.close(fd)
    return Severed(tuple(sorted(copied)), tuple(sorted(shared)))


def _sever(root: int, identity: _Identity, paths: Iterable[str], most: int) -> int | None:
    """Return the bytes copied; None if that failed, or there are more than `most`."""
    first, *others = paths
    try:
        with _folder_of(root, first) as folder:
            size = _replace_by_copy(folder, _name(first), identity, most)
            if size is not None:
                for other in others:
                    _replace_by_link(root, other, identity, folder, _name(first))
    except OSError:
        return None
    return size


def _replace_by_copy(folder: int, name: str, identity: _Identity, most: int) -> int | None:
    source = os.open(name, os.O_RDONLY | _NO_LINK, dir_fd=folder)
    try:
        about = os.fstat(source)
        if (about.st_dev, about.st_ino) != identity or not stat.S_ISREG(about.st_mode) or about.st_size > most:
            return None
        made = f".localllm-{os.urandom(8).hex()}"
        target = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600, dir_fd=folder)
        try:
            _copy(source, target, about)
            os.rename(made, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(made, dir_fd=folder)
            raise
        finally:
            os.close(target)
        return about.st_size
    finally:
        os.close(source)


def _copy(source: int, target: int, about: os.stat_result) -> None:
    copy_content(source, target)
    with suppress(OSError):
        os.fchown(target, about.st_uid, about.st_gid)
    if sys.platform == "linux":  # Python has these only there
        for attribute in os.listxattr(source):
            with suppress(OSError):  # one that only the system may set
                os.setxattr(target, attribute, os.getxattr(source, attribute))
    os.fchmod(target, stat.S_IMODE(about.st_mode))
    os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))


def _replace_by_link(root: int, path: str, identity: _Identity, first: int, first_name: str) -> None:
    """Make `path` another name of the copy, if it still is a name of the copied file."""
    name = _name(path)
    with _folder_of(root, path) as folder:
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if (about.st_dev, about.st_ino) != identity:
            return
        made = f".localllm-{os.urandom(8).hex()}"
        os.link(first_name, made, src_dir_fd=first, dst_dir_fd=folder, follow_symlinks=False)
        os.rename(made, name, src_dir_fd=folder, dst_dir_fd=folder)


@contextmanager
def _folder_of(root: int, path: str) -> Generator[int]:
    """Open the folder above `path`, without following a symlink."""
    folder = os.dup(root)
    try:
        for name in path.split("/")[:-1]:
            deeper = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = deeper
        yield folder
    finally:
        os.close(folder)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
