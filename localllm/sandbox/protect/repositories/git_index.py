"""Check the paths in the index of a repository: git writes and reads files wherever its entries point.

Git creates no entry for a path within `.git` or outside the work tree, but does not check those that it reads.
"""

import hashlib
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from localllm.base.errors import ToolExecutionError
from localllm.base.folded_names import folded
from localllm.base.regular_files import hides_changes
from localllm.sandbox.protect.folder_listings import FolderListings
from localllm.sandbox.protect.protected_paths import Entry, Reach, entry_of, identity_of
from localllm.sandbox.protect.repositories.index_entries import (
    MOST_BYTES,
    content_of,
    entries_of,
    hash_size,
    settings_of,
)
from localllm.sandbox.protect.repositories.index_times import IndexTimes
from localllm.sandbox.protect.repositories.repository import MOST_FOLDERS, Place, find_place

_MOST_BARE = 2_000  # bare repositories; a command can create any number of folders that look like one

_IGNORED = rb"(?:\xe2\x80[\x8c-\x8f\xaa-\xae]|\xe2\x81[\xaa-\xaf]|\xef\xbb\xbf)*"  # by the macOS file system
_BY_ANY_SYSTEM = _IGNORED.join((rb"", rb"\.", rb"[gG]", rb"[iI]", rb"[tT]", rb""))
_REFUSED = re.compile(
    rb"(?:^|/)(?:/|\.\.?(?:/|$)|(?:\.git|git~1)[ .]*(?:[/\\:]|$)|" + _BY_ANY_SYSTEM + rb"(?:/|$))",
    re.IGNORECASE,
)
"""Matches path components that git never adds. The last one may be empty: that of a folder which is not checked out."""


class IndexFiles:
    """Finds the indexes of one project that a command has written and git itself would not."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._listings = FolderListings(may_be_index)
        self._believed: dict[str, tuple[int, ...]] = {}
        self._sound: set[tuple[int, bytes]] = set()
        """Hash size and SHA-256 of each content that was accepted."""
        self._times = IndexTimes()
        self.linked: dict[str, Entry] = {}
        """Indexes of the last scan that have other hard links. Git itself never creates one."""

    def believe(self, reach: Reach) -> None:
        """Accept the current indexes of all repositories in `reach`; none where the file system hides changes."""
        self._times.believe(dict(self._with_work_trees(reach)))
        all_now = () if hides_changes(self._root) else self._all(reach)
        self._believed = {path: identity_of(about) for path, about, _ in all_now}

    def look(self, reach: Reach) -> dict[str, Entry]:
        """Return the indexes written since `believe` that name a path git refuses, by path below the root.

        An accepted one is read again by the next scan: while a command has a file mapped, only the first write to a
        page changes the file's times, and on some file systems none does. What exceeds MOST_BYTES in all counts as
        refused, the largest first.
        """
        found: dict[str, Entry] = {}
        every = list(self._all(reach))
        self.linked = {path: entry_of(about) for path, about, _ in every if about.st_nlink > 1}
        changed = [one for one in every if self._believed.get(one[0]) != identity_of(one[1])]
        room = MOST_BYTES
        for path, about, settings in sorted(changed, key=lambda one: one[1].st_size):
            room -= about.st_size
            if room < 0 or not self._is_sound(self._root / path, settings):
                found[path] = entry_of(about)
        return found

    def forget_forged_times(self, reach: Reach, *, is_held: bool) -> dict[str, Entry]:
        """Have git read the files again of which an index written since `believe` wrongly says that they are the same;
        return nothing. `is_held`: see IndexTimes."""
        self._times.check(dict(self._with_work_trees(reach)), is_held=is_held)
        return {}

    def _with_work_trees(self, reach: Reach) -> Iterator[tuple[Path, Path]]:
        """Yield the index of each work tree, and its folder."""
        for folder in sorted(reach.repositories):
            if data := self._data(folder):
                yield data[0] / "index", self._root / folder

    def _is_sound(self, index: Path, settings: Path) -> bool:
        try:
            content, size = content_of(index, MOST_BYTES), hash_size(settings)
        except FileNotFoundError:
            return True
        except (OSError, ValueError):
            return False
        known = size, hashlib.sha256(content).digest()
        if known not in self._sound and not _has_refused_path(content, size):
            self._sound.add(known)
        return known in self._sound

    def _all(self, reach: Reach) -> Iterator[tuple[str, os.stat_result, Path]]:
        """Yield each index with its stat result and the config file of its repository."""
        start = len(str(self._root)) + 1
        of_git = (data for folder in sorted(reach.repositories) for data in self._data(folder))
        bare = (self._root / folder for folder in sorted(reach.bare)[:_MOST_BARE])
        reach.is_complete &= len(reach.bare) <= _MOST_BARE
        for data in dict.fromkeys((*of_git, *bare)):
            for file in indexes_in(data, self._listings):
                try:
                    yield str(file)[start:], file.stat(), settings_of(file)
                except OSError:
                    continue  # deleted meanwhile

    def _data(self, folder: str) -> list[Path]:
        """Return the folders in the project with the data of a repository."""
        git = self._root / folder / ".git"
        if not os.path.islink(git) and os.path.isdir(git):  # noqa: PTH112, PTH114 - pathlib raises for long names
            return [git]
        try:
            place = find_place(git.parent)
        except ToolExecutionError:
            return []
        return [data for data in (place.folder, place.common) if data.is_relative_to(self._root)] if place else []


class IndexCheck:
    """Checks whether git may read an index; one that has not changed is not read again."""

    def __init__(self) -> None:
        self._sound: dict[Path, tuple[int, ...]] = {}

    def refuse_paths(self, place: Place) -> None:
        """Raise ToolExecutionError("git_index_refused") for an entry that git itself would not create."""
        for file in (place.folder / "index", *sorted(place.folder.glob("sharedindex.*"))):
            try:
                identity = identity_of(file.stat())
            except OSError:
                continue
            if self._sound.get(file) == identity:
                continue
            if names_refused_path(file, place.common / "config"):
                raise ToolExecutionError("git_index_refused", path=file)
            self._sound[file] = identity


def indexes_in(data: Path, listings: FolderListings) -> Iterator[Path]:
    """Yield the index of a repository, those of its linked work trees and submodules, and their shared indexes."""
    pending = [str(data)]
    for folder in pending:
        for entry in listings.of(folder):
            if not entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)
            elif folder != pending[0] or entry.name in ("modules", "worktrees"):
                pending.append(entry.path)
        if len(pending) > MOST_FOLDERS:
            return


def may_be_index(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry of a repository's data is an index, or a folder that may contain one."""
    if entry.is_dir(follow_symlinks=False):
        return entry.name not in ("objects", "refs", "logs")
    return folded(entry.name) == "index" or entry.name.startswith("sharedindex.")


def names_refused_path(index: Path, settings: Path) -> bool:
    """Return whether an index has an entry that git itself would not create, or cannot be parsed."""
    try:
        return _has_refused_path(content_of(index, MOST_BYTES), hash_size(settings))
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True


def _has_refused_path(content: bytes, hash_size: int) -> bool:
    try:
        return any(_REFUSED.search(path) for _, path in entries_of(content, hash_size))
    except (ValueError, IndexError, struct.error):
        return True
