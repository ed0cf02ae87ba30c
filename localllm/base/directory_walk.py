"""Walk a project's tree in sorted order, honouring .gitignore, without following links."""

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from localllm.base import gitignore
from localllm.base.files import open_beneath

NEVER_ENTERED = (".git", ".localllm")
"""Folders with records about the project, not its own content."""

DEEPEST = 64
"""Maximum depth of folders entered: no tool accepts a longer path."""

_LARGEST_GITIGNORE = 1_000_000
_MOST_LISTED = 5_000


class Entry(NamedTuple):
    """A file or folder. `path` is relative to the root, with `/`; `size` in bytes, 0 for a folder or link."""

    path: str
    is_dir: bool
    size: int
    is_link: bool = False


class ProjectListing:
    """The files and folders of a project, walked once, when they are first read; of a very large project the first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._entries: list[Entry] | None = None

    @property
    def entries(self) -> Sequence[Entry]:
        """The files and folders in the order of `walk`. Raises OSError if the root cannot be opened."""
        if self._entries is None:
            self._entries = list(islice(walk(self.root, exclude=()), _MOST_LISTED))
        return self._entries

    @property
    def is_complete(self) -> bool:
        """Whether the project has no more than these."""
        return len(self.entries) < _MOST_LISTED

    def forget(self) -> None:
        """Walk the project again when the entries are next read."""
        self._entries = None


class _Folder(NamedTuple):
    entries: Iterator[Entry]
    rules: tuple[gitignore.Rules, ...]


def walk(root: Path, *, exclude: Sequence[str], start: str = ".", depth: int = DEEPEST) -> Iterator[Entry]:
    """Yield everything below the folder `start` (relative to `root`, without `..`). Each folder is sorted by name and
    comes before its content. `depth` 1 lists only `start`, 2 also its subfolders, and so on.

    Skipped: `.git` and `.localllm`; matches of `exclude` (patterns as in .gitignore); what the .gitignore files of
    `root` and below and .git/info/exclude ignore; sockets, pipes and devices. `start` itself is not filtered. Links are
    listed, not followed; unreadable folders are listed, not entered. Memory is bounded by the largest folder, not by
    the tree. Raises OSError if `root` or `start` cannot be opened as a folder beneath `root`.
    """
    root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield from _Walker(root_fd, exclude).walk("" if start == "." else start, min(depth, DEEPEST))
    finally:
        os.close(root_fd)


class _Walker:
    def __init__(self, root_fd: int, exclude: Sequence[str]) -> None:
        self._root_fd = root_fd
        self._reader = gitignore.RulesReader()
        self._excluded = gitignore.judge([*NEVER_ENTERED, *exclude])

    def walk(self, start: str, depth: int) -> Iterator[Entry]:
        stack = [self._open(start, self._rules_above(start))]
        while stack:
            entry = next(stack[-1].entries, None)
            if entry is None:
                stack.pop()
                continue
            yield entry
            if entry.is_dir and len(stack) < depth and (folder := self._try_open(entry.path, stack[-1].rules)):
                stack.append(folder)

    def _try_open(self, folder: str, rules: tuple[gitignore.Rules, ...]) -> _Folder | None:
        try:
            return self._open(folder, rules)
        except OSError:  # removed, replaced by a link, or unreadable since it was listed
            return None

    def _open(self, folder: str, rules: tuple[gitignore.Rules, ...]) -> _Folder:
        """Read the entries of `folder` that are not ignored; its .gitignore is added to the parents' rules."""
        fd = open_beneath(self._root_fd, folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            prefix = folder + "/" if folder else ""
            found = _scan(fd, prefix)
            rules = self._reader.read(_ignore_file(fd, ".gitignore"), prefix, rules)
        finally:
            os.close(fd)
        return _Folder(iter(sorted(entry for entry in found if not self._left_out(entry, rules))), rules)

    def _rules_above(self, start: str) -> tuple[gitignore.Rules, ...]:
        """Return the rules of the folders from the root down to (not including) `start`, the nearest first."""
        rules = self._reader.read(_ignore_file(self._root_fd, ".git/info/exclude"), "")
        parts = start.split("/") if start else []
        for depth in range(len(parts)):
            prefix = "".join(part + "/" for part in parts[:depth])
            rules = self._reader.read(_ignore_file(self._root_fd, prefix + ".gitignore"), prefix, rules)
        return rules

    def _left_out(self, entry: Entry, rules: tuple[gitignore.Rules, ...]) -> bool:
        path = entry.path + "/" if entry.is_dir else entry.path
        return bool(self._excluded and self._excluded(path)) or gitignore.left_out(path, rules)


def _scan(fd: int, prefix: str) -> list[Entry]:
    entries: list[Entry] = []
    with os.scandir(fd) as found:
        for item in found:
            try:
                facts = item.stat(follow_symlinks=False)
            except FileNotFoundError:  # removed since it was listed
                continue
            if entry := _entry(prefix + item.name, facts):
                entries.append(entry)
    return entries


def _entry(path: str, facts: os.stat_result) -> Entry | None:
    match stat.S_IFMT(facts.st_mode):
        case stat.S_IFREG:
            return Entry(path, is_dir=False, size=facts.st_size)
        case stat.S_IFDIR:
            return Entry(path, is_dir=True, size=0)
        case stat.S_IFLNK:
            return Entry(path, is_dir=False, size=0, is_link=True)
        case _:
            return None


def _ignore_file(folder_fd: int, relative: str) -> bytes:
    """Read the ignore file `relative`; empty if unreadable (as git does)."""
    try:
        fd = open_beneath(folder_fd, relative, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(fd, _LARGEST_GITIGNORE) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
