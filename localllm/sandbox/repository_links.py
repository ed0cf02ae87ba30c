"""Links and special files among the data of a project's repositories, which git would write and read through.

Git itself makes none there. A message that is committed would be written wherever `.git/COMMIT_EDITMSG` leads.
"""

import os
import stat
from collections.abc import Collection
from pathlib import Path

from localllm.sandbox.folder_listings import FolderListings
from localllm.sandbox.protected import Entry, is_protected
from localllm.sandbox.repository import MOST_FOLDERS, is_odd_or_folder, odd_entries

_OF_GIT = ".ipc"  # the socket of the file system monitor


class RepositoryLinks:
    """Looks for those of one project; folders that did not change are not read again."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._listings = FolderListings(is_odd_or_folder)

    def look(self, repositories: Collection[str]) -> dict[str, Entry]:
        """What leads out of its repository's data, or to a protected name in it, and what is no file at all, by path
        below the root. `repositories`: the folders with a `.git`, by theirs."""
        found: dict[str, Entry] = {}
        room = MOST_FOLDERS
        for folder in sorted(repositories, key=lambda path: (path.count("/"), path)):
            data = self._root / folder / ".git"
            for entry in odd_entries(data, self._listings, room) or ():
                path = entry.path[len(str(self._root)) + 1 :]
                if not entry.name.endswith(_OF_GIT) and not self._is_harmless(entry, data):
                    self._add(found, path, entry)
        return found

    def _is_harmless(self, entry: os.DirEntry[str], data: Path) -> bool:
        if not entry.is_symlink():
            return False
        target = os.path.realpath(entry.path)
        return target.startswith(f"{data}/") and not is_protected(target[len(str(self._root)) + 1 :])

    def _add(self, found: dict[str, Entry], path: str, entry: os.DirEntry[str]) -> None:
        try:
            about = entry.stat(follow_symlinks=False)
            target = os.fsencode(os.readlink(entry.path)) if stat.S_ISLNK(about.st_mode) else b""  # noqa: PTH115
        except OSError:
            return  # gone meanwhile
        identity = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        found[path] = Entry(about.st_mode, identity, target)
