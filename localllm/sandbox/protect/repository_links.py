"""Links, special files and repositories among the data of a project's repositories: git would use them.

Git itself makes none there but for submodules. A message that is committed would be written wherever
`.git/COMMIT_EDITMSG` leads.
"""

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from localllm.base.files import real_path
from localllm.sandbox.protect.folder_listings import FolderListings
from localllm.sandbox.protect.protected_names import IN_GIT, Entry, is_protected, look_at
from localllm.sandbox.protect.repository import data_folders, is_odd_or_folder, odd_entries

_MONITOR = "fsmonitor--daemon.ipc"  # git's own socket, of the file system monitor
_MOST_FOLDERS = 100_000  # as `protected` looks into more, too, than a tool of git waits for


class RepositoryLinks:
    """Looks for those of one project; folders that did not change are not read again."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._listings = FolderListings(is_odd_or_folder)
        self.is_complete = True
        """Whether the last look saw all there is."""

    def look(self, repositories: Collection[str], bare: Collection[str] = ()) -> dict[str, Entry]:
        """What leads out of its repository's data, or to a protected name in it, what is no file at all, and what is
        protected of a repository in it, by path below the root. `repositories`: the folders with a `.git`, by theirs;
        `bare`: those that are such data.
        """
        found: dict[str, Entry] = {}
        odd, self.is_complete = odd_entries(self._data(repositories, bare), self._listings, _MOST_FOLDERS)
        for data, entry in odd:
            if entry.name.casefold() == "objects":
                found |= self._beside(entry)
            if not (entry.is_dir(follow_symlinks=False) or self._is_harmless(entry, data)):
                self._add(found, entry.path[len(str(self._root)) + 1 :], entry, data)
        return found

    def _beside(self, objects: os.DirEntry[str]) -> dict[str, Entry]:
        """What git runs and believes in a repository within the data of another one, which somebody may push to."""
        folder = objects.path[len(str(self._root)) + 1 : -len("/objects")]
        if is_protected(folder) or not os.path.lexists(self._root / folder / "refs"):
            return {}
        return look_at(self._root, [f"{folder}/{name}" for name in IN_GIT if "*" not in name])

    def _data(self, repositories: Collection[str], bare: Collection[str]) -> list[str]:
        """The folders with the data of repositories, the nearest first; none lies in another."""
        found = {os.path.join(self._root, folder) for folder in bare}  # noqa: PTH118 - strings
        for folder in repositories:
            found |= set(map(str, data_folders(self._root / folder / ".git")))
        inside = [data for data in found if data.startswith(f"{self._root}/")]
        return sorted(_outermost(inside), key=lambda path: (path.count("/"), path))

    def _is_harmless(self, entry: os.DirEntry[str], data: str) -> bool:
        if not entry.is_symlink():
            return False
        try:
            target = real_path(entry.path)
        except OSError:
            return False
        return target.startswith(f"{data}/") and not is_protected(target[len(str(self._root)) + 1 :])

    def _add(self, found: dict[str, Entry], path: str, entry: os.DirEntry[str], data: str) -> None:
        try:
            about = entry.stat(follow_symlinks=False)
            target = os.fsencode(os.readlink(entry.path)) if stat.S_ISLNK(about.st_mode) else b""  # noqa: PTH115
        except OSError:
            return  # gone meanwhile
        if stat.S_ISSOCK(about.st_mode) and entry.path == f"{data}/{_MONITOR}":
            return
        identity = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        found[path] = Entry(about.st_mode, identity, target)


def _outermost(folders: Collection[str]) -> Iterator[str]:
    """Those that lie in none of the others."""
    last = None
    for folder in sorted(f"{folder}/" for folder in folders):
        if last is None or not folder.startswith(last):
            last = folder
            yield folder.removesuffix("/")
