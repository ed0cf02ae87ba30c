"""Choose the protected files that are read-only while a command runs."""

from functools import partial
from pathlib import Path

from localllm.sandbox.protect.command_records import CommandRecord
from localllm.sandbox.protect.protected_paths import (
    folders_that_lead_to,
    importance,
    is_of_linked_work_tree,
    is_written_in_work,
    lies_in,
    may_be_read_only,
)
from localllm.sandbox.protect.repositories.linked_trees import LinkedTrees

_MOST_PINS = 200  # each is a mount or two


class ReadOnlyPins:
    """The protected files of the project at `root` that can be read-only while a command runs. If there are very many,
    those from before any command, the project's own repository first; changes of the others are undone all the same, as
    are those in linked work trees: git would remove half of such a tree."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._first: set[str] | None = None
        self._trees = LinkedTrees(root, {})

    def trees(self, known: CommandRecord) -> LinkedTrees:
        """Return the linked work trees and submodules that were there before the commands."""
        if self._trees.before is not known.before:
            self._trees = LinkedTrees(self._root, known.before)
        return self._trees

    def of(self, known: CommandRecord) -> tuple[list[str], list[str]]:
        """Return the absolute paths, and the folders above them that must not be renamed."""
        trees = self.trees(known)
        tops = (top for top in known.tops if may_be_read_only(top) and not is_of_linked_work_tree(top))
        whole = {top for top in tops if not trees.are_around(top)}
        seen: dict[str, bool] = {}
        rest = {
            path
            for path in known.before
            if not (
                is_written_in_work(path)
                or is_of_linked_work_tree(path)
                or trees.are_around(path)
                or path in whole
                or lies_in(whole, path.rpartition("/")[0], seen)
            )
        }
        if self._first is None:
            self._first = whole | rest
        pinned = sorted(whole | rest, key=partial(importance, self._first))[:_MOST_PINS]
        held = dict.fromkeys(folder for path in pinned for folder in folders_that_lead_to(path))
        absolute = f"{self._root}/"
        return [absolute + path for path in pinned], sorted(absolute + folder for folder in held)
