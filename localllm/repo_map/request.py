"""Requests for a repository map, and the topic of the conversation."""

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
    """The user's last messages."""

    def __init__(self) -> None:
        self._said: deque[str] = deque(maxlen=_TURNS)

    def heard(self, text: str) -> None:
        """Add a message of the user."""
        if text.strip():
            self._said.append(text[:_MOST_CHARACTERS])

    @property
    def words(self) -> str:
        """The last messages, one a line."""
        return "\n".join(self._said)


def paths_in(text: str) -> set[str]:
    """Return the words of a text that may be paths or file names."""
    found = re.findall(r"[\w$./-]{0,250}[\w$]\.\w+|[\w$.-]{1,250}/[\w$./-]*[\w$]", text)
    return {word.removeprefix("./") for word in found}


def identifiers_in(text: str) -> set[str]:
    """Return the words of a text that may be identifiers: compound ones (fetch_page, fetchPage), those with a
    capital, inside a sentence or not, and those in backticks."""
    quoted = " ".join(re.findall(r"`([^`\n]+)`", text))
    words = re.findall(r"[A-Za-z_$][\w$]{2,}", text)
    return set(re.findall(r"[A-Za-z_$][\w$]*", quoted)) | {word for word in words if not word.islower() or "_" in word}


class RepoMapText(msgspec.Struct, frozen=True):
    """A map: its text, and the numbers of files and definitions shown.

    `records` are all source files below the requested folder; those that could not be parsed have no
    language. `left_out`: number of project files not read for lack of time or room. `unmatched`: the
    requested words match nothing. `closed`: number of files that may not be shown.
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
        """The number of all definitions."""
        return sum(len(record.definitions) for record in self.records.values())


class Part(msgspec.Struct, frozen=True):
    """The part of a project to show: the folder `under` ("" for all), without paths at or below
    `closed`."""

    under: str = ""
    closed: Sequence[str] = ()

    def holds(self, path: str) -> bool:
        """Return whether a file is in the folder."""
        return self.under in {"", "."} or path.startswith(f"{self.under}/")

    def shows(self, path: str) -> bool:
        """Return whether a file is in the folder, and not closed."""
        return self.holds(path) and not any(
            folder == "." or f"{path}/".startswith(f"{folder}/") for folder in self.closed
        )
