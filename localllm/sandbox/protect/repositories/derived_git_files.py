"""Remove what a command has written of the files that git derives from the objects of a repository.

Git believes them without a check: a commit graph says what a commit contains, an index of several packs where an object
lies, a bitmap what a push sends. With a forged one `git log`, `git status` and `git diff` show another commit than the
one that is pushed. Git does without them, and makes them again.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from localllm.base.folded_names import folded
from localllm.base.regular_files import hides_changes
from localllm.sandbox.protect.folder_listings import FolderListings
from localllm.sandbox.protect.protected_paths import Entry, entry_of, identity_of

_FOLDERS = ("info", "pack")  # of the objects
_ENDS = (".bitmap", ".rev")
_INDEX_OF_PACKS = "multi-pack-index"  # also a folder, `multi-pack-index.d`, and with the name of a pack behind it
_GRAPHS = frozenset({"commit-graph", "commit-graphs"})


class DerivedGitFiles:
    """The derived files in the project at `root`, before commands and since."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._objects = FolderListings(_is_derived)
        self._graphs = FolderListings(_is_no_lock)
        self._believed: dict[str, tuple[int, ...]] = {}

    def believe(self, folders: Iterable[str]) -> None:
        """Accept the current ones in `folders` with objects of repositories (absolute paths); none where the file
        system hides changes."""
        self._believed = {} if hides_changes(self._root) else dict(self._identities(folders))

    def new(self, folders: Iterable[str]) -> dict[str, Entry]:
        """Return those that are not accepted, by path below the root."""
        start = len(str(self._root)) + 1
        found: dict[str, Entry] = {}
        for path, identity in self._identities(folders):
            if self._believed.get(path) != identity:
                with suppress(OSError):  # deleted meanwhile
                    found[path[start:]] = entry_of(os.lstat(path))
        return found

    def _identities(self, folders: Iterable[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
        for objects in folders:
            for folder in _FOLDERS:
                for path in self._files(f"{objects}/{folder}"):
                    with suppress(OSError):
                        yield path, identity_of(os.lstat(path))

    def _files(self, folder: str) -> Iterator[str]:
        """Yield the derived files in a folder of the objects, and in the folders there that hold only such."""
        for entry in self._objects.of(folder):
            if entry.is_dir(follow_symlinks=False):
                yield from (inner.path for inner in self._graphs.of(entry.path))
            else:
                yield entry.path


def _is_derived(entry: os.DirEntry[str]) -> bool:
    name = folded(entry.name)
    is_named_so = name in _GRAPHS or name.startswith(_INDEX_OF_PACKS) or name.endswith(_ENDS)
    return is_named_so and _is_no_lock(entry)


def _is_no_lock(entry: os.DirEntry[str]) -> bool:
    """Return whether it is not one that git is about to write, in another command."""
    return not entry.name.endswith(".lock")
