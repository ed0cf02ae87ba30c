"""What a repository map is asked for, and which files the conversation is about."""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from localllm.repo_map.index import FileRecord


_TURNS = 3
_MOST_CHARACTERS = 4_000  # of one message; a pasted log names everything and so nothing


class Focus:
    """The last things the person said."""

    def __init__(self) -> None:
        self._said: deque[str] = deque(maxlen=_TURNS)

    def heard(self, text: str) -> None:
        """The person said this."""
        if text.strip():
            self._said.append(text[:_MOST_CHARACTERS])

    @property
    def words(self) -> str:
        """What was said last, a message a line."""
        return "\n".join(self._said)


def paths_in(text: str) -> set[str]:
    """The words of a text that may be paths or names of files."""
    found = re.findall(r"[\w$./-]{0,250}[\w$]\.\w+|[\w$.-]{1,250}/[\w$./-]*[\w$]", text)
    return {word.removeprefix("./") for word in found}


def identifiers_in(text: str) -> set[str]:
    """The words of a text that may be identifiers: those that are put together (fetch_page, fetchPage), begin with a
    capital inside a sentence or not, or stand between backticks."""
    quoted = " ".join(re.findall(r"`([^`\n]+)`", text))
    words = re.findall(r"[A-Za-z_$][\w$]{2,}", text)
    return set(re.findall(r"[A-Za-z_$][\w$]*", quoted)) | {word for word in words if not word.islower() or "_" in word}


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


class Part(msgspec.Struct, frozen=True):
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
