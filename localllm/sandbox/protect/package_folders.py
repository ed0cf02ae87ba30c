"""Remember which folders of packages hold something protected: one that is moved there later has another number.

What stood in a package stays when a file is put beside it. So the times of its folders do not tell what is new.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from localllm.base.folded_names import folded
from localllm.sandbox.symlinks import SKIPPED


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
