"""List folders, and cache the listings of those that do not change."""

import os
import stat
import time
from collections.abc import Callable

SETTLED = 3_000_000_000
"""Nanoseconds. A folder changed more recently is not cached: it may change again within the same tick of the clock,
which on some file systems is as coarse as two seconds (FAT)."""

MOST_BYTES = 40_000_000
"""Of the paths of folders that are scanned; each is held several times."""

_MOST = 150_000  # folders cached
_Entries = list[os.DirEntry[str]]
_Identity = tuple[int, ...]
"""Device, inode, mtime and ctime: the times alone do not distinguish two folders made within one tick of the clock."""

_UNKNOWN: _Identity = ()


def _identity(about: os.stat_result) -> _Identity:
    return (about.st_dev, about.st_ino, about.st_mtime_ns, about.st_ctime_ns)


def _pass_over(path: str) -> None:
    """Ignore an unreadable folder."""


class FolderListings:
    """Lists folders, with the entries that `matters` selects; unchanged folders are not read again.

    The ctime of a folder changes whenever an entry is added, removed or replaced, and no program can set it back.
    """

    def __init__(
        self, matters: Callable[[os.DirEntry[str]], bool], settled: int = SETTLED, most_bytes: int = MOST_BYTES
    ) -> None:
        self._matters = matters
        self._most_bytes = most_bytes
        self._settled = settled
        self._known: dict[str, tuple[_Identity, _Entries]] = {}
        self._bytes = 0
        self._trees: dict[str, dict[str, tuple[_Identity, bool]]] = {}
        self._cut: set[str] = set()

    def knows(self, path: str) -> bool:
        """Return whether the folder is in the cache; it may have changed."""
        return path in self._known

    def of(self, path: str, if_closed: Callable[[str], object] = _pass_over) -> _Entries:
        """Return the entries of the folder `path`; none if it is missing, not a folder, or unreadable (then `if_closed`
        is called)."""
        try:
            about = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - a Path for each would double the time
            if not stat.S_ISDIR(about.st_mode):
                return []
            identity = _identity(about)
            known = self._known.get(path)
            if known and known[0] == identity:
                return known[1]
            with os.scandir(path) as found:
                entries = [entry for entry in found if self._matters(entry)]
        except PermissionError:
            if_closed(path)
            return []
        except OSError:
            return []
        if max(about.st_mtime_ns, about.st_ctime_ns) + self._settled < time.time_ns():
            self._bytes += len(path) * (1 + len(entries))
            if len(self._known) >= _MOST or self._bytes > 2 * self._most_bytes:
                self._known.clear()
                self._bytes = 0
            self._known[path] = (identity, entries)
        else:
            self._known.pop(path, None)
        return entries

    def search(
        self,
        top: str,
        wanted: Callable[[os.DirEntry[str]], bool],
        deadline: float,
        if_closed: Callable[[str], object] = _pass_over,
        most: int = _MOST,
    ) -> tuple[list[str], bool]:
        """Return the folders at and below `top` with a `wanted` entry, and whether these are all: the search was
        stopped neither by `deadline` (time.monotonic) nor by the limit of `most` folders or the bytes of their paths.

        For trees of very many folders that rarely change: each costs one lstat. `wanted` has to be the same in every
        call.
        """
        tree = self._trees.setdefault(top, {})
        changed = [] if tree else [top]
        stat_of = os.lstat
        room = self._most_bytes - sum(map(len, tree))
        for path, (moment, _) in tree.items():
            try:
                if _identity(stat_of(path)) != moment:
                    changed.append(path)
            except OSError:
                changed.append(path)
        while changed and time.monotonic() < deadline:
            path = changed.pop()
            if path not in tree:
                if len(tree) >= most or room < 0:
                    self._cut.add(top)
                    continue
                room -= len(path)
            tree.pop(path, None)
            changed += self._enter(tree, path, wanted, if_closed)
        for path in changed:
            tree[path] = (_UNKNOWN, False)  # looked into by the next search
        return [path for path, (_, is_wanted) in tree.items() if is_wanted], not (changed or top in self._cut)

    def size_of(self, top: str) -> int:
        """Return the number of folders seen by the last search of `top`."""
        return len(self._trees.get(top, ()))

    def _enter(
        self,
        tree: dict[str, tuple[_Identity, bool]],
        path: str,
        wanted: Callable[[os.DirEntry[str]], bool],
        if_closed: Callable[[str], object],
    ) -> list[str]:
        """Record one folder of a tree; return its subfolders that are not in the tree yet."""
        try:
            status = os.lstat(path)
        except OSError:
            return []
        entries = self.of(path, if_closed)
        is_settled = status.st_ctime_ns + self._settled < time.time_ns()
        tree[path] = (_identity(status) if is_settled else _UNKNOWN, any(map(wanted, entries)))
        inside = (f"{path}/{entry.name}" for entry in entries if entry.is_dir(follow_symlinks=False))
        return [folder for folder in inside if folder not in tree]
