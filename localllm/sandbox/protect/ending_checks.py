"""Check at the end of a command what takes time: where its links lead, and what git reads without a look at whether it
is what its name says. The protected files are back by then."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from localllm.sandbox.protect.command_records import CommandRecord
from localllm.sandbox.protect.outward_links import OutwardLinks
from localllm.sandbox.protect.protected_paths import Entry
from localllm.sandbox.protect.repositories.derived_git_files import DerivedGitFiles
from localllm.sandbox.protect.repositories.stored_objects import StoredObjects


class EndingChecks:
    """What is checked when a command in the project at `root` has ended. `is_hidden`: see OutwardLinks."""

    def __init__(self, root: Path, is_hidden: Callable[[str], bool]) -> None:
        self._root = root
        self.links = OutwardLinks(root, is_hidden)
        self.forget()

    def forget(self) -> None:
        """Forget the files of git from before: another program has seen what was there."""
        self.derived = DerivedGitFiles(self._root)
        self._stored = StoredObjects(self._root)

    def begin(self) -> None:
        """Start over for new commands."""
        self.links.is_cut = self._stored.is_cut = False

    @property
    def is_cut(self) -> bool:
        """Whether not all could be read."""
        return self.links.is_cut or self._stored.is_cut

    def believe(self, folders: Iterable[str]) -> None:
        """Accept what git has derived and stored in `folders` with objects."""
        folders = list(folders)
        self.derived.believe(folders)
        self._stored.believe(folders)

    def looks(
        self, known: CommandRecord, folders: Iterable[str], seconds: float, *, is_ours: bool, is_held: bool
    ) -> Iterator[Callable[[], dict[str, Entry]]]:
        """Yield the looks, each of which returns what has to go. `folders`: those with objects."""
        yield lambda: self.links.new(known, is_ours=is_ours)
        yield lambda: self._stored.wrong(folders, known.begun, seconds, is_held=is_held)
