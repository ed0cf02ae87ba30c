"""Scan a project for files at protected names; after the first time only where entries came or went.

In a large project the kernel reports where (see `base.file_watch`); if it cannot, the times of each folder are checked.
"""

import os
import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from functools import cache, partial
from pathlib import Path

from localllm.base.file_watch import NAMES, Touched, Watcher
from localllm.base.folded_names import folded
from localllm.sandbox.protect.content_rules import ADDON, RULES, STANDINS, VERSIONS, is_judged_by_content
from localllm.sandbox.protect.folder_listings import MOST_BYTES, FolderListings
from localllm.sandbox.protect.name_patterns import is_like
from localllm.sandbox.protect.protected_paths import (
    ATTRIBUTES,
    IN_BARE,
    IN_GIT,
    IN_HIDDEN,
    IN_OTHERS,
    WHOLE,
    Entry,
    Reach,
    entries_at,
    inode,
    is_in_hidden,
    is_like_protected,
    joined,
    list_folder,
    matters,
    names_repository,
)
from localllm.sandbox.symlinks import SKIPPED

_OTHER_REPOSITORIES = frozenset({".hg", ".jj", ".sl", "_darcs", ".svn", ".bzr"})
_IN_WORKTREE = (*IN_BARE, "gitdir")
_IN_DATA = {"head", "objects", "refs", *(name.partition("/")[0].casefold() for name in (*IN_GIT, *_IN_WORKTREE))}
_JUDGED = frozenset({ATTRIBUTES, VERSIONS, RULES, STANDINS})
"""Protected from certain content only."""

_LOOKED_FOR = WHOLE | {".git", ADDON, *_JUDGED, *IN_OTHERS} | _IN_DATA | IN_HIDDEN
_IN_PACKAGES = tuple(f"/{name}/" for name in SKIPPED)
_MOST_FOLDERS = 200_000
_MOST_WHOLE = 50_000  # folders in one that is protected as a whole
_DEEPEST = 50  # levels of folders in it
_LONGEST = 3_800  # bytes of a folder's path; the system takes 4,095
_WATCHED_FROM = 500  # folders; fewer are checked as quickly as the kernel reports


def look(
    root: Path, known: Mapping[str, Entry] | None = None, tops: list[str] | None = None, reach: Reach | None = None
) -> dict[str, Entry]:
    """Return every protected entry below `root`; see `ProtectedWalk.look`."""
    return ProtectedWalk(root).look(known, tops, reach)


class ProtectedWalk:
    """Scans one project repeatedly."""

    def __init__(self, root: Path, watched_from: int = _WATCHED_FROM, most_bytes: int = MOST_BYTES) -> None:
        self._root = root
        self._most_bytes = most_bytes
        self._listings = FolderListings(partial(_may_matter, len(str(root))))
        self._with_links: dict[str, list[os.DirEntry[str]]] = {}
        self._watched_from = watched_from
        self._watched: _WatchedFolders | None = None
        self._can_watch = True

    def look(
        self, known: Mapping[str, Entry] | None = None, tops: list[str] | None = None, reach: Reach | None = None
    ) -> dict[str, Entry]:
        """Return every protected entry except folders, by its path below the root, and folders with too long a path.

        Scans as many folders as `reach` permits: new ones first, then the nearest. Neither content in `known` nor
        unchanged folders are read again. The protected paths themselves, including empty folders, are added to `tops`.
        """
        reach = reach or Reach()
        search = _Search(self._root, self._listings, reach, [] if tops is None else tops, self._with_links)
        deadline = time.monotonic() + reach.seconds
        if not (self._watched and self._look_where_touched(self._watched, search, deadline)):
            self._look_everywhere(search, deadline)
        if reach.skipped:
            self._look_in_packages(search, deadline)
        return entries_at(self._root, search.leaves, known, reach.closed)

    def _look_everywhere(self, search: "_Search", deadline: float) -> None:
        """Scan each folder; those unchanged since the last time are not read again."""
        fresh, known = deque([""]), deque[str]()
        reach, knows = search.reach, self._listings.knows
        room = self._most_bytes
        for _ in range(_MOST_FOLDERS):
            if not (fresh or known) or time.monotonic() > deadline or room < 0:
                break
            folder = fresh.popleft() if fresh else known.popleft()
            inside, _ = search.folder(folder)
            reach.visited.add(folder)
            for path in inside:
                room -= len(path)
                (known if knows(f"{self._root}/{path}") else fresh).append(path)
        reach.is_complete &= not (fresh or known)
        if self._can_watch and reach.is_complete and len(reach.visited) >= self._watched_from:
            self._watch()

    def _watch(self) -> None:
        """Start to watch the folders: the next scan still visits each of them."""
        try:
            self._watched = _WatchedFolders(self._root, self._most_bytes)
        except (OSError, ValueError):
            self._can_watch = False

    def _look_where_touched(self, watched: "_WatchedFolders", search: "_Search", deadline: float) -> bool:
        """Scan where entries came or went since the last time; return whether the kernel could report it."""
        if not watched.look(search, deadline):
            watched.close()
            self._watched, self._can_watch = None, False
            return False
        return True

    def _look_in_packages(self, search: "_Search", deadline: float) -> None:
        """Scan package folders, in a cheaper way as there may be very many."""
        start = len(str(self._root)) + 1
        for top in list(search.reach.last):
            found = self._listings.search(f"{self._root}/{top}", _is_wanted, deadline, search.note_closed)
            folders, is_complete = found
            search.reach.is_complete &= is_complete
            for path in folders:
                search.folder(path[start:])


class _WatchedFolders:
    """The folders of a project that the kernel watches, and their subfolders."""

    def __init__(self, root: Path, most_bytes: int) -> None:
        self._root = root
        self._most_bytes = most_bytes
        self._watcher = Watcher(root, NAMES)
        self._inside: dict[str, Collection[str]] = {}
        """For each scanned folder, its subfolders that are to be scanned."""
        self._again: set[str] = set()
        """Those scanned every time: they contain something protected, which may be deeper."""
        self._left: deque[str] = deque([""])
        """Those for which there was no time yet."""

    def close(self) -> None:
        """Stop watching."""
        self._watcher.close()

    def look(self, search: "_Search", deadline: float) -> bool:
        """Scan what was touched, and what contains something protected. Return whether all that was touched is
        known."""
        touched = self._watcher.touched()
        if touched is None:
            return False
        self._note(touched)
        pending = deque(sorted(self._again, key=lambda path: path.count("/")))
        pending += self._left
        room = self._most_bytes - sum(map(len, self._inside))
        while pending and len(self._inside) < _MOST_FOLDERS and time.monotonic() <= deadline and room >= 0:
            folder = pending.popleft()
            if not self._is_there(folder):
                continue  # removed with a parent
            if folder not in self._inside and not self._add(folder):
                return False
            new = self._look_into(folder, search)
            room -= sum(map(len, new))
            pending += new
        self._left = pending
        search.reach.is_complete &= not pending
        search.reach.visited |= self._inside.keys()
        return True

    def _look_into(self, folder: str, search: "_Search") -> list[str]:
        """Scan one folder; return its subfolders that are new."""
        before = self._inside.get(folder, ())
        inside, is_any = search.folder(folder)
        self._inside[folder] = inside or ()
        (self._again.add if is_any else self._again.discard)(folder)
        for gone in set(before).difference(inside):
            self._drop(gone)
        return [path for path in inside if path not in self._inside]

    def _is_there(self, folder: str) -> bool:
        return not folder or folder in self._inside or folder in self._inside.get(folder.rpartition("/")[0], ())

    def _add(self, folder: str) -> bool:
        """Watch a folder: before it is listed, so that no change is missed in between."""
        try:
            self._watcher.add(f"{self._root}/{folder}", folder)
        except (FileNotFoundError, NotADirectoryError):
            pass  # there is nothing to list either
        except OSError:
            return False
        return True

    def _note(self, touched: Touched) -> None:
        for folder in touched.lost:
            self._drop(folder)
        for folder, name in touched.entries:
            if folder in self._inside:
                self._drop(joined(folder, name))  # another folder may have its name
                self._again.add(folder)

    def _drop(self, top: str) -> None:
        """Forget a folder and everything in it; its parent is scanned next time."""
        pending = [top]
        for folder in pending:
            if folder in self._inside:
                pending += self._inside.pop(folder)
                self._again.discard(folder)
                self._watcher.remove(folder)
        above = top.rpartition("/")[0]
        if top and above in self._inside:
            self._again.add(above)


class _Search:
    """Collects what is protected in folders. `leaves`: files, by path below the root, some of them twice.
    `with_links`: the listings of folders with symlinks that earlier scans have reported, which is added to."""

    def __init__(
        self,
        root: Path,
        listings: FolderListings,
        reach: Reach,
        tops: list[str],
        with_links: dict[str, list[os.DirEntry[str]]],
    ) -> None:
        self._with_links = with_links
        self.reach = reach
        self.leaves: list[str] = []
        self._root = root
        self._start = len(str(root)) + 1
        self._listings = listings
        self._tops = tops

    def note_closed(self, path: str) -> None:
        """Record an unreadable folder, given by its absolute path."""
        self.reach.closed.add(path[self._start :])

    def folder(self, folder: str) -> tuple[list[str], bool]:
        """Scan one folder; return its subfolders to be scanned, and whether it contains anything else that matters.

        A folder that looks like a bare repository is scanned like a `.git`.
        """
        entries = self._listings.of(f"{self._root}/{folder}", self.note_closed)
        names = {entry.name for entry in entries}
        inside: list[str] = []
        is_any = "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names)
        if is_any:
            self.reach.bare.add(folder)
            self._search_for(folder, entries, _IN_WORKTREE if "commondir" in names else IN_BARE)
        for entry in entries:
            if not entry.is_symlink() or _is_looked_for(folded(entry.name)):
                is_any |= self._take(folder, entry, inside)
        if entries is not self._with_links.get(folder) and (links := [one for one in entries if one.is_symlink()]):
            self.reach.links += [joined(folder, link.name) for link in links]
            self._with_links[folder] = entries  # the same object as long as the folder does not change
        return inside, is_any

    def _take(self, folder: str, entry: os.DirEntry[str], inside: list[str]) -> bool:
        """Process one entry, and add a folder to be scanned to `inside`; return whether it is, or may lead to, more
        than that."""
        path, name = joined(folder, entry.name), folded(entry.name)
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and _is_too_long(f"{self._root}/{path}"):
            self.leaves.append(path)
            return True
        if name == ".git":
            self.reach.repositories.add(folder)
        if name == ".git" and is_folder:
            self._search_for(path, self._list(path), IN_GIT)
            if entry.name != ".git":  # to git a folder like any other, where the file system tells the two apart
                inside.append(path)
        elif (
            name == ".git"
            or name in WHOLE
            or (not is_folder and (is_like_protected(name) or is_in_hidden(folder, name)))
            or (name in IN_OTHERS and _is_link_on_the_way(entry))
        ):
            self._take_whole(path, entry)
        elif not is_folder and (name in _JUDGED or (name == ADDON and is_judged_by_content(path))):
            self.leaves.append(path)
        elif is_folder and name in SKIPPED:
            self.reach.last[path] = inode(self._root / path)
        elif is_folder:
            if name in IN_OTHERS:
                self._search_for(path, self._list(path), IN_OTHERS[name])
            if name in _OTHER_REPOSITORIES:
                self.reach.others.add(path)
            inside.append(path)
            if name == STANDINS and STANDINS not in folded(folder).split("/"):
                self.leaves += self._below(path)
            return name in IN_OTHERS or name in _OTHER_REPOSITORIES or name == STANDINS
        else:
            return name in IN_OTHERS
        return True

    def _search_for(self, folder: str, entries: Iterable[os.DirEntry[str]], names: tuple[str, ...]) -> None:
        """Take the `entries` whose names begin one of `names` (`a`, `a/b` or `a.*.b`), and the symlinks in place of
        folders on the way to these."""
        steps, patterns = _first_steps(names)
        for entry in entries:
            name = folded(entry.name)
            deeper = steps.get(name, ())
            if not deeper and not any(is_like(name, pattern) for pattern in patterns):
                continue
            path = joined(folder, entry.name)
            if not deeper or "" in deeper or _is_link_on_the_way(entry):
                self._take_whole(path, entry)
            elif entry.is_dir(follow_symlinks=False):
                self._search_for(path, self._list(path), deeper)
            elif names_repository(path):
                self._take_whole(path, entry)

    def _take_whole(self, path: str, entry: os.DirEntry[str]) -> None:
        """Take the entry, or every file below it, except the examples that git ships and never runs."""
        self._tops.append(path)
        self.leaves += filter(matters, self._below(path) if entry.is_dir(follow_symlinks=False) else [path])

    def _below(self, path: str) -> list[str]:
        """Return every file below a folder; add the folders in it that are too deep to be listed to the leaves."""
        pending, leaves = [path], list[str]()
        for folder in pending:  # not recursive: folders may be nested deeper than calls can
            if folder.count("/") > path.count("/") + _DEEPEST:
                self.leaves.append(folder)  # goes as a whole if it is new: listing takes longer the longer the path is
                continue
            for inner in self._list(folder):
                deeper = joined(folder, inner.name)
                (pending if inner.is_dir(follow_symlinks=False) else leaves).append(deeper)
            if len(pending) > _MOST_WHOLE:
                self.reach.is_complete = False
                break
        return leaves

    def _list(self, folder: str) -> list[os.DirEntry[str]]:
        return list_folder(self._root, folder, self.reach.closed)


@cache
def _first_steps(names: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the first components of the names with what follows each ("" for nothing), and those with a `*`."""
    steps: dict[str, tuple[str, ...]] = {}
    for name in names:
        first, _, rest = name.casefold().partition("/")
        steps[first] = (*steps.get(first, ()), rest)
    return steps, tuple(name.casefold() for name in names if "*" in name)


def _may_matter(root_length: int, entry: os.DirEntry[str]) -> bool:
    """Return whether the entry may have a protected name or contain one, or may lead elsewhere. `root_length`: of the
    path of the project, which may itself be a package."""
    return (
        entry.is_dir(follow_symlinks=False)
        or _is_looked_for(folded(entry.name))
        or (entry.is_symlink() and not any(name in folded(entry.path[root_length:]) for name in _IN_PACKAGES))
    )


def _is_wanted(entry: os.DirEntry[str]) -> bool:
    is_wanted = _is_looked_for(folded(entry.name))
    return is_wanted or (_is_too_long(entry.path) and entry.is_dir(follow_symlinks=False))


def _is_too_long(path: str) -> bool:
    """Return whether the system may refuse the path of what lies in the folder, so that nothing there can be read."""
    return len(path) > _LONGEST // 4 and len(os.fsencode(path)) > _LONGEST  # a character has four bytes at most


def _is_looked_for(name: str) -> bool:
    return name in _LOOKED_FOR or is_like_protected(name)


def _is_link_on_the_way(entry: os.DirEntry[str]) -> bool:
    """Return whether this is a symlink that may lead to a folder."""
    return entry.is_symlink() and not os.path.isfile(entry.path)  # noqa: PTH113 - a DirEntry would cache the answer
