"""Find the replacements of objects (`git replace`) that a command has put into lists of packed refs.

Git shows a replaced commit as the other one, and pushes the one that was replaced. Such refs in files of their own are
protected by their names, see `protected_names`; those of the format reftable are not found, nor those that the command
of a killed program has packed, as only a program that saw the list before can tell.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from localllm.base.regular_files import NO_LINK, READ, opened
from localllm.sandbox.protect.protected_paths import Entry, Reach, identity_of
from localllm.sandbox.protect.repositories.git_files import has_head
from localllm.sandbox.protect.repositories.repository import data_folders

_NAME = "packed-refs"
_FOLDER = "refs/replace/"
_LINE = re.compile(rb"^([0-9A-Fa-f]{40,64}) (refs/replace/[^\n]*+)(?>(?:\n\^[^\n]*+)*)(?:\n|\Z)", re.MULTILINE)
"""A replacement in a list, with the lines below that say what it stands for."""
_ODD = re.compile(
    rb"^(?!(?:#[^\n]*+|\^[0-9A-Fa-f]{40,64}+|[0-9A-Fa-f]{40,64}+ [^\x00-\x20\x7f]++)$)[^\n]*+\n?", re.MULTILINE
)
"""A line that git does not write into a list, but may read: any white space, a line break too, counts as the blank."""
_BEGINS = re.compile(rb"\n(?!\^)")
_LARGEST = 64_000_000  # bytes; larger lists are not read
_MOST_BYTES = 128_000_000  # of all lists at one time
_MOST = 2_000  # repositories
_PIECE = 1_000_000  # bytes

_Identity = tuple[int, ...]


def is_list_of_refs(path: str) -> bool:
    """Return whether the path is that of such a list."""
    return f"/{path}".endswith(f"/{_NAME}")


class ReplacedObjects:
    """The lists of packed refs in the project at `root`, before commands and after. `is_cut`: not all of them
    could be read."""

    def __init__(self, root: Path) -> None:
        self.is_cut = False
        self._root = root
        self._known: set[_Identity] = set()
        self._sound: set[bytes] = set()
        self._allowed: set[bytes] = set()
        self._has_believed = False

    def believe(self, reach: Reach, loose: Mapping[str, Entry]) -> None:
        """Accept the current replacements of all repositories in `reach`, and those among the protected entries, which
        git may pack."""
        for path, entry in loose.items():
            _, is_one, name = f"/{path}".partition(f"/{_FOLDER}")
            if is_one and entry.content:
                self._allowed.add(b"%b %b%b" % (entry.content.strip(), _FOLDER.encode(), os.fsencode(name)))
        self._has_believed = True
        for path, about in self._unknown(reach):
            self._known.add(identity_of(about))
            if content := self._read(path):
                self._allowed.update(_said(line) for piece in _pieces(content) for line in _lines(piece))

    def look(self, reach: Reach) -> dict[str, Entry]:
        """Return the lists with other replacements, by path below the root; the content of an entry is what may stay
        of it."""
        found: dict[str, Entry] = {}
        kept: dict[_Identity, bytes | None] = {}
        for path, about in self._unknown(reach) if self._has_believed else ():
            identity = identity_of(about)
            if identity not in kept:
                content = self._read(path)
                kept[identity] = None if content is None else self._left_of(content)
            if (left := kept[identity]) is not None:
                found[path] = Entry(about.st_mode, identity, left)
        return found

    def _left_of(self, content: bytes) -> bytes | None:
        """Return what may stay of a list, None for all. Its content is remembered, not its times, which a command can
        keep while it changes the file by a mapping."""
        digest = hashlib.sha256(content).digest()
        if digest in self._sound:
            return None
        left = b"".join(self._without_new(_ODD.sub(b"", piece)) for piece in _pieces(content))
        if left != content:
            return left
        self._sound.add(digest)
        return None

    def _without_new(self, piece: bytes) -> bytes:
        if not any(_said(line) not in self._allowed for line in _lines(piece)):
            return piece
        return _LINE.sub(lambda line: line[0] if _said(line) in self._allowed else b"", piece)

    def _read(self, path: str) -> bytes | None:
        """Return the content of a list, None if there is no room for more. Raises OSError."""
        with suppress(OSError), opened(os.open(self._root / path, READ | NO_LINK)) as file:
            if os.fstat(file.fileno()).st_size <= min(self._room, _LARGEST):
                content = file.read(self._room)
                self._room -= len(content)
                return content
            self.is_cut = True
        return None

    def _unknown(self, reach: Reach) -> Iterator[tuple[str, os.stat_result]]:
        self._room = _MOST_BYTES
        start = len(str(self._root)) + 1
        gits = [self._root / folder / ".git" for folder in sorted(reach.repositories)[:_MOST]]
        data = [str(one) for git in gits for one in _data(git) if one.is_relative_to(self._root)]
        bare = [str(self._root / folder) for folder in sorted(reach.bare)[:_MOST]]
        for folder in dict.fromkeys((*data, *bare)):
            path = f"{folder}/{_NAME}"
            with suppress(OSError):
                about = os.lstat(path)
                if identity_of(about) not in self._known:
                    yield path[start:], about


def _pieces(content: bytes) -> Iterator[bytes]:
    """Yield whole lines of some 1 MB, as no other thread goes on while a pattern is tried."""
    at = 0
    while at < len(content):
        found = _BEGINS.search(content, at + _PIECE)
        end = found.end() if found else len(content)
        yield content[at:end]
        at = end


def _lines(piece: bytes) -> Iterator[re.Match[bytes]]:
    return _LINE.finditer(piece) if _FOLDER.encode() in piece else iter(())


def _said(line: re.Match[bytes]) -> bytes:
    return b"%b %b" % (line[1], line[2].strip())


def _data(git: Path) -> list[Path]:
    """Return the folders with the data of the repository with this `.git`."""
    if os.path.isdir(git) and not os.path.islink(git):  # noqa: PTH112, PTH114 - pathlib raises for long names
        return [git]
    return [folder for folder in data_folders(git) if has_head(folder)]
