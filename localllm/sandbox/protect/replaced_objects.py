"""Find the replacements of objects (`git replace`) that a command has put into lists of packed refs.

Git shows a replaced commit as the other one, and pushes the one that was replaced. Such refs in files of their own are
protected by their names, see `protected_names`; those of the format reftable are not found, nor those that the command
of a killed program has packed, as only a program that saw the list before can tell.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from localllm.base.regular_files import NO_LINK, READ, opened
from localllm.sandbox.protect.git_files import has_head
from localllm.sandbox.protect.protected_paths import Entry, Reach, identity_of, joined
from localllm.sandbox.protect.repository import data_folders

_NAME = "packed-refs"
_FOLDER = "refs/replace/"
_LARGEST = 64_000_000  # bytes; larger lists are not read
_MOST = 2_000  # repositories


def is_list_of_refs(path: str) -> bool:
    """Return whether the path is that of such a list."""
    return path.endswith(f"/{_NAME}")


class ReplacedObjects:
    """The lists of packed refs in the project at `root`, before commands and after."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, tuple[int, ...]] = {}
        self._allowed: set[bytes] = set()
        self._has_believed = False

    def believe(self, reach: Reach, loose: Mapping[str, Entry]) -> None:
        """Accept the current replacements of all repositories in `reach`, and those among the protected entries, which
        git may pack."""
        for path, entry in loose.items():
            _, is_one, name = path.partition(f"/{_FOLDER}")
            if is_one and entry.content:
                self._allowed.add(b"%b %b%b" % (entry.content.strip(), _FOLDER.encode(), os.fsencode(name)))
        self._has_believed = True
        for path, about, content in self._changed(reach):
            self._known[path] = identity_of(about)
            self._allowed.update(filter(None, map(_replacement, content.split(b"\n"))))

    def look(self, reach: Reach) -> dict[str, Entry]:
        """Return the lists with other replacements, by path below the root; the content of an entry is what may stay
        of it."""
        found: dict[str, Entry] = {}
        for path, about, content in self._changed(reach) if self._has_believed else ():
            left = self._without_new(content)
            if left == content:
                self._known[path] = identity_of(about)
            else:
                found[path] = Entry(about.st_mode, identity_of(about), left)
        return found

    def _without_new(self, content: bytes) -> bytes:
        if _FOLDER.encode() not in content:
            return content
        kept: list[bytes] = []
        is_new = False
        for line in content.split(b"\n"):
            if not line.startswith(b"^"):  # what the tag in the line before stands for
                one = _replacement(line)
                is_new = bool(one) and one not in self._allowed
            if not is_new:
                kept.append(line)
        return b"\n".join(kept)

    def _changed(self, reach: Reach) -> Iterable[tuple[str, os.stat_result, bytes]]:
        start = len(str(self._root)) + 1
        gits = [self._root / folder / ".git" for folder in sorted(reach.repositories)[:_MOST]]
        data = [str(one) for git in gits for one in _data(git) if one.is_relative_to(self._root)]
        bare = [joined(str(self._root), folder) for folder in sorted(reach.bare)[:_MOST]]
        for folder in dict.fromkeys((*data, *bare)):
            path = f"{folder}/{_NAME}"
            with suppress(OSError):
                about = os.lstat(path)
                if self._known.get(path[start:]) == identity_of(about) or about.st_size > _LARGEST:
                    continue
                with opened(os.open(path, READ | NO_LINK)) as file:
                    yield path[start:], about, file.read()


def _replacement(line: bytes) -> bytes:
    """Return the line of a list, with a blank between object and name, if it is that of a replacement; else b"". Git
    takes a tab or a carriage return for the blank as well."""
    words = line.split(maxsplit=1)
    return b" ".join(words) if len(words) > 1 and words[1].startswith(_FOLDER.encode()) else b""


def _data(git: Path) -> list[Path]:
    """Return the folders with the data of the repository with this `.git`."""
    if os.path.isdir(git) and not os.path.islink(git):  # noqa: PTH112, PTH114 - pathlib raises for long names
        return [git]
    return [folder for folder in data_folders(git) if has_head(folder)]
