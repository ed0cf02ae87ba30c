"""What a map of a repository is asked to show, and what it shows."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from localllm.repo_map.index import FileRecord


class RepoMapText(msgspec.Struct, frozen=True):
    """A map: its text, and how many files and definitions it shows.

    `records` are all source files below the folder that was asked for, those that could not be understood without a
    language. `left_out`: how many files of the project were not looked at for want of time or room. `unmatched`: the
    words that were asked for have to do with none of it. `closed`: how many files may not be shown.
    """

    text: str
    files: int
    definitions: int
    records: Mapping[str, "FileRecord"]
    left_out: int = 0
    unmatched: bool = False
    closed: int = 0

    @property
    def all_definitions(self) -> int:
        """How many definitions there are."""
        return sum(len(record.definitions) for record in self.records.values())


class Part(NamedTuple):
    """What of a project is shown: what lies in the folder `under` ("" for all of it), and not at or below a path of
    `closed`."""

    under: str = ""
    closed: Sequence[str] = ()

    def holds(self, path: str) -> bool:
        """Whether a file lies in the folder."""
        return self.under in {"", "."} or path.startswith(f"{self.under}/")

    def shows(self, path: str) -> bool:
        """Whether it does, and is not closed."""
        return self.holds(path) and not any(
            folder == "." or f"{path}/".startswith(f"{folder}/") for folder in self.closed
        )
