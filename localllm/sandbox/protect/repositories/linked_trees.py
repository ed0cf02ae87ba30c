"""Know which protected files were in a linked work tree or a submodule, and whether that has gone as a whole."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from localllm.sandbox.protect.interrupted_work import is_unfinished_work
from localllm.sandbox.protect.protected_paths import Entry, is_of_linked_work_tree
from localllm.sandbox.protect.repositories.git_files import gitfile_target
from localllm.sandbox.protect.repositories.repository import linked_data, linked_git


class LinkedTrees:
    """The work trees in the project at `root` that had a `.git` file among the protected files `before`."""

    def __init__(self, root: Path, before: Mapping[str, Entry]) -> None:
        self.before = before
        self._root = root
        self._data: dict[str, str] = {}
        self._tree_of: dict[str, str] = {}
        self._linked: set[str] = set()
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

    def may_be_removing(self, path: str) -> bool:
        """Return whether the change to a path waits for the end of the command, as one of work that was interrupted,
        which only runs when the user continues it, or of a work tree that git is removing."""
        is_of_tree = is_of_linked_work_tree(path) or self.are_around(path)
        return is_unfinished_work(path) or (is_of_tree and not os.path.lexists(self._root / path))

    def took_along(self, path: str) -> bool:
        """Return whether the path has gone with the work tree it was in: with its data as well, to another place, or so
        that nothing is left in its folder."""
        tree = next((self._tree_of[folder] for folder in _folders(path) if folder in self._tree_of), None)
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
