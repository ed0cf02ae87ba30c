"""Know which protected files were in a linked work tree or a submodule, and whether that has gone as a whole."""

import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from localllm.sandbox.protect.interrupted_work import is_unfinished_work
from localllm.sandbox.protect.protected_paths import Entry, is_of_linked_work_tree
from localllm.sandbox.protect.repositories.git_files import gitfile_target
from localllm.sandbox.protect.repositories.repository import linked_data, linked_git

_PATIENCE = 3.0  # seconds in which git has removed or moved a work tree of some 100,000 files


class LinkedTrees:
    """The work trees in the project at `root` that had a `.git` file among the protected files `before`."""

    def __init__(self, root: Path, before: Mapping[str, Entry]) -> None:
        self.before = before
        self._root = root
        self._data: dict[str, str] = {}
        self._tree_of: dict[str, str] = {}
        self._linked: set[str] = set()
        self._missing_since: dict[str, float] = {}
        for path, entry in before.items():
            if path.endswith("/.git") and stat.S_ISREG(entry.mode) and entry.content:
                self._add(path.removesuffix("/.git"), gitfile_target(entry.content))

    def _add(self, tree: str, said: str) -> None:
        data = os.path.relpath(os.path.normpath(self._root / tree / said), self._root)
        self._tree_of[tree] = tree
        if said and os.path.basename(os.path.dirname(data)) == "worktrees":  # noqa: PTH119, PTH120 - strings
            self._data[tree] = data
            self._tree_of[data] = tree
            self._linked.update((tree, data))

    def are_around(self, path: str) -> bool:
        """Return whether the path is in a linked work tree, or in the data of one, which git removes as a whole."""
        return bool(self._linked) and not self._linked.isdisjoint(_folders(path))

    def waits(self, path: str, *, is_stopped: bool) -> bool:
        """Return whether the change to a path waits while commands run, unless all are stopped: as one of work that was
        interrupted, until the end, as it only runs when the user continues it; or as one of a work tree that git may be
        removing or moving, for a moment once for each. Without a hook or its `.git`, what the user does there meanwhile
        would go unchecked, or to the repository around it."""
        if is_unfinished_work(path):
            return True
        if is_stopped or not (is_of_linked_work_tree(path) or self.are_around(path)):
            return False
        if os.path.lexists(self._root / path):
            return False
        now = time.monotonic()
        return now - self._missing_since.setdefault(self._tree_around(path) or path, now) < _PATIENCE

    def _tree_around(self, path: str) -> str | None:
        return next((self._tree_of[folder] for folder in _folders(path) if folder in self._tree_of), None)

    def took_along(self, path: str) -> bool:
        """Return whether the path has gone with the work tree it was in: with its data as well, to another place, or so
        that nothing is left in its folder."""
        tree = self._tree_around(path)
        if tree is None or os.path.lexists(self._root / tree / ".git"):
            return False
        if tree in self._data:
            data = self._root / self._data[tree]
            if not os.path.lexists(data / "HEAD") or linked_data(self._root, linked_git(data)) == data:
                return True
        return not has_entries(self._root / tree)


def has_entries(folder: Path) -> bool:
    """Return whether there is anything in the folder."""
    try:
        with os.scandir(folder) as entries:
            return any(entries)
    except OSError:
        return False


def _folders(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path
