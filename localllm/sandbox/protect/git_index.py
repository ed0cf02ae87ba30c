"""Check the paths in the index of a repository: git writes and reads files wherever its entries point.

Git creates no entry for a path within `.git` or outside the work tree, but does not check those that it reads. The
format: gitformat-index(5).
"""

import hashlib
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from localllm.base.errors import ToolExecutionError
from localllm.base.folded_names import folded
from localllm.base.regular_files import READ, hides_changes, opened
from localllm.sandbox.git_config import parse
from localllm.sandbox.protect.folder_listings import FolderListings
from localllm.sandbox.protect.protected_paths import Entry, Reach, entry_of, identity_of
from localllm.sandbox.protect.repository import MOST_FOLDERS, Place, find_place

_MOST = 128_000_000  # bytes, also of all its paths, and of all indexes that are new in one scan; some 500,000 files
_MOST_SETTINGS = 1 << 20
_MOST_BARE = 2_000  # bare repositories; a command can create any number of folders that look like one
_LONGEST = 4096  # bytes of a path
_CUT = 0xFFF  # stands for this length and any greater one
_EXTENDED = 0x4000

_IGNORED = rb"(?:\xe2\x80[\x8c-\x8f\xaa-\xae]|\xe2\x81[\xaa-\xaf]|\xef\xbb\xbf)*"  # by the macOS file system
_BY_ANY_SYSTEM = _IGNORED.join((rb"", rb"\.", rb"[gG]", rb"[iI]", rb"[tT]", rb""))
_REFUSED = re.compile(
    rb"(?:^|/)(?:/|\.\.?(?:/|$)|(?:\.git|git~1)[ .]*(?:[/\\:]|$)|" + _BY_ANY_SYSTEM + rb"(?:/|$))",
    re.IGNORECASE,
)
"""Matches path components that git never adds. The last one may be empty: that of a folder which is not checked out."""


class IndexFiles:
    """Finds the indexes of one project that a command has written and git itself would not."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._listings = FolderListings(may_be_index)
        self._believed: dict[str, tuple[int, ...]] = {}
        self._sound: set[tuple[int, bytes]] = set()
        """Hash size and SHA-256 of each content that was accepted."""
        self.linked: dict[str, Entry] = {}
        """Indexes of the last scan that have other hard links. Git itself never creates one."""

    def believe(self, reach: Reach) -> None:
        """Accept the current indexes of all repositories in `reach`; none where the file system hides changes."""
        all_now = () if hides_changes(self._root) else self._all(reach)
        self._believed = {path: identity_of(about) for path, about, _ in all_now}

    def look(self, reach: Reach) -> dict[str, Entry]:
        """Return the indexes written since `believe` that name a path git refuses, by path below the root.

        An accepted one is read again by the next scan: while a command has a file mapped, only the first write to a
        page changes the file's times, and on some file systems none does. What exceeds _MOST bytes in all counts as
        refused, the largest first.
        """
        found: dict[str, Entry] = {}
        every = list(self._all(reach))
        self.linked = {path: entry_of(about) for path, about, _ in every if about.st_nlink > 1}
        changed = [one for one in every if self._believed.get(one[0]) != identity_of(one[1])]
        room = _MOST
        for path, about, settings in sorted(changed, key=lambda one: one[1].st_size):
            room -= about.st_size
            if room < 0 or not self._is_sound(self._root / path, settings):
                found[path] = entry_of(about)
        return found

    def _is_sound(self, index: Path, settings: Path) -> bool:
        try:
            content, size = _content(index, _MOST), hash_size(settings)
        except FileNotFoundError:
            return True
        except (OSError, ValueError):
            return False
        known = size, hashlib.sha256(content).digest()
        if known not in self._sound and not _has_refused_path(content, size):
            self._sound.add(known)
        return known in self._sound

    def _all(self, reach: Reach) -> Iterator[tuple[str, os.stat_result, Path]]:
        """Yield each index with its stat result and the config file of its repository."""
        start = len(str(self._root)) + 1
        of_git = (data for folder in sorted(reach.repositories) for data in self._data(folder))
        bare = (self._root / folder for folder in sorted(reach.bare)[:_MOST_BARE])
        reach.is_complete &= len(reach.bare) <= _MOST_BARE
        for data in dict.fromkeys((*of_git, *bare)):
            for file in indexes_in(data, self._listings):
                try:
                    yield str(file)[start:], file.stat(), settings_of(file)
                except OSError:
                    continue  # deleted meanwhile

    def _data(self, folder: str) -> list[Path]:
        """Return the folders in the project with the data of a repository."""
        git = self._root / folder / ".git"
        if not os.path.islink(git) and os.path.isdir(git):  # noqa: PTH112, PTH114 - pathlib raises for long names
            return [git]
        try:
            place = find_place(git.parent)
        except ToolExecutionError:
            return []
        return [data for data in (place.folder, place.common) if data.is_relative_to(self._root)] if place else []


class IndexCheck:
    """Checks whether git may read an index; one that has not changed is not read again."""

    def __init__(self) -> None:
        self._sound: dict[Path, tuple[int, ...]] = {}

    def refuse_paths(self, place: Place) -> None:
        """Raise ToolExecutionError("git_index_refused") for an entry that git itself would not create."""
        for file in (place.folder / "index", *sorted(place.folder.glob("sharedindex.*"))):
            try:
                identity = identity_of(file.stat())
            except OSError:
                continue
            if self._sound.get(file) == identity:
                continue
            if names_refused_path(file, place.common / "config"):
                raise ToolExecutionError("git_index_refused", path=file)
            self._sound[file] = identity


def indexes_in(data: Path, listings: FolderListings) -> Iterator[Path]:
    """Yield the index of a repository, those of its linked work trees and submodules, and their shared indexes."""
    pending = [str(data)]
    for folder in pending:
        for entry in listings.of(folder):
            if not entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)
            elif folder != pending[0] or entry.name in ("modules", "worktrees"):
                pending.append(entry.path)
        if len(pending) > MOST_FOLDERS:
            return


def may_be_index(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry of a repository's data is an index, or a folder that may contain one."""
    if entry.is_dir(follow_symlinks=False):
        return entry.name not in ("objects", "refs", "logs")
    return folded(entry.name) == "index" or entry.name.startswith("sharedindex.")


def settings_of(index: Path) -> Path:
    """Return the config file of the repository that an index belongs to."""
    folder = index.parent
    return (folder.parents[1] if folder.parent.name == "worktrees" else folder) / "config"


def names_refused_path(index: Path, settings: Path) -> bool:
    """Return whether an index has an entry that git itself would not create, or cannot be parsed."""
    try:
        return _has_refused_path(_content(index, _MOST), hash_size(settings))
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True


def _has_refused_path(content: bytes, hash_size: int) -> bool:
    try:
        return any(map(_REFUSED.search, _paths(content, hash_size)))
    except (ValueError, IndexError, struct.error):
        return True


def hash_size(settings: Path) -> int:
    """Return the bytes of a hash in the repository with this config file. Raises OSError or ValueError."""
    try:
        found = list(parse(_content(settings, _MOST_SETTINGS)))
    except FileNotFoundError:
        return 20
    formats = [one.value for one in found if (one.section, one.name) == ("extensions", "objectformat")]
    return 32 if formats[-1:] == ["sha256"] else 20


def _content(path: Path, most: int) -> bytes:
    with opened(os.open(path, READ)) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(path)
    return content


def _paths(content: bytes, hash_size: int) -> Iterator[bytes]:
    """Yield the paths of all entries. Raises ValueError, IndexError or struct.error where git might read others."""
    signature, version, count = struct.unpack_from(">4sLL", content)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(version)
    at, path, total = 12, b"", 0
    starts: list[int] = []
    for _ in range(count):
        starts.append(at)
        begin = at + 42 + hash_size
        flags = content[begin - 2] << 8 | content[begin - 1]
        if flags & _EXTENDED:
            begin += 2
        kept = 0
        if version == 4:
            cut, begin = _varint(content, begin)
            kept = len(path) - cut
            if kept < 0:
                raise ValueError(cut)
        end = content.index(b"\0", begin)
        path = path[:kept] + content[begin:end]
        total += len(path)
        if len(path) > _LONGEST or total > _MOST or min(len(path), _CUT) != flags & _CUT:
            raise ValueError(at)
        yield path
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8
    _check_blocks(content, hash_size, [*starts, at])


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and the offset after it."""
    byte = content[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = content[at]
        value = (value + 1) << 7 | byte & 0x7F
        if value > _LONGEST:
            raise ValueError(value)
    return value, at + 1


def _check_blocks(content: bytes, hash_size: int, starts: list[int]) -> None:
    """Check the offsets in the EOIE and IEOT extensions, from which git reads the blocks of a large index in parallel.
    Raises ValueError if they are not those of the entries."""
    last = len(content) - hash_size
    at = last - 12 - hash_size
    if content[max(at, 0) : at + 4] != b"EOIE":
        return
    (at,) = struct.unpack_from(">L", content, at + 8)
    if at != starts[-1]:
        raise ValueError(at)
    while at < last:
        name, size = struct.unpack_from(">4sL", content, at)
        if name == b"IEOT":
            number = 0
            for begin, length in struct.iter_unpack(">LL", content[at + 12 : at + 8 + size]):
                if starts[number] != begin:
                    raise ValueError(begin)
                number += length
        at += 8 + size
