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

_MOST_PINS = 200  # each is a mount or two


class ReadOnlyPins:
    """The protected files of the project at `root` that can be read-only while a command runs. If there are very many,
    those from before any command, the project's own repository first; changes of the others are undone all the same."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._first: set[str] | None = None

    def of(self, known: CommandRecord) -> tuple[list[str], list[str]]:
        """Return the absolute paths, and the folders above them that must not be renamed."""
        whole = {top for top in known.tops if may_be_read_only(top) and not is_of_linked_work_tree(top)}
        seen: dict[str, bool] = {}
        rest = {
            path
            for path in known.before
            if not (
                is_written_in_work(path)
                or is_of_linked_work_tree(path)
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
