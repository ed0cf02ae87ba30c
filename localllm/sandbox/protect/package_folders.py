"""Remember which folders of packages hold something protected: one that is moved there later has another number.

What stood in a package stays when a file is put beside it. So the times of its folders do not tell what is new.
"""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from localllm.base.folded_names import folded
from localllm.sandbox.protect.command_records import changed_at
from localllm.sandbox.symlinks import SKIPPED


class KnownPackages:
    """The folders of packages in the project at `root`, as they were when they were last looked at. `inodes`: of those
    on the way to something protected."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._changed: dict[str, int] = {}
        self.inodes: dict[str, int] = {}

    def note(self, paths: Iterable[str], packages: Collection[str]) -> None:
        """Remember the folders on the way to the protected paths, and when each of the `packages` changed last."""
        self.inodes = folders_in_packages(self._root, paths)
        self._changed = {folder: changed_at(self._root / folder) for folder in packages}

    def are_known(self, packages: Collection[str]) -> bool:
        """Return whether none of the package folders is new, or has changed since it was looked at."""
        return all(self._changed.get(folder) == changed_at(self._root / folder) for folder in packages)


def folders_in_packages(root: Path, paths: Iterable[str]) -> dict[str, int]:
    """Return the folders in package folders of the project on the way to the paths below it, with their inodes."""
    found: dict[str, int] = {}
    for path in paths:
        if SKIPPED.isdisjoint(folded(path).split("/")):
            continue
        folder = path.rpartition("/")[0]
        while folder not in found and not SKIPPED.isdisjoint(folded(folder.rpartition("/")[0]).split("/")):
            with suppress(OSError):  # deleted meanwhile
                found[folder] = os.lstat(root / folder).st_ino
            folder = folder.rpartition("/")[0]
    return found
