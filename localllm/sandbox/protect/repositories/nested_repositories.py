"""Recognise a new repository over files that a repository around it has: `git push` there would send the user's work to
another remote, while `git status` says the same in both."""

import os
import struct
import time
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from localllm.base.folded_names import folded
from localllm.sandbox.git_config import parse
from localllm.sandbox.protect.protected_paths import inode, is_git_settings
from localllm.sandbox.protect.repositories.git_files import led_to
from localllm.sandbox.protect.repositories.git_settings import local_address
from localllm.sandbox.protect.repositories.index_entries import (
    MOST_BYTES,
    content_of,
    entries_of,
    extensions_of,
    hash_size,
    settings_of,
)

_MOST_SETTINGS = 1 << 19  # bytes
_SPLIT = b"link"  # an index whose entries are for the most part in another file
_MOST_KNOWN = 4
_MOST_SECONDS = 10.0  # spent on indexes in one look


class _Tracked(NamedTuple):
    """The folders with files that an index lists, without their last slash, and those it lists as a whole (a sparse
    index), both folded. `is_split`: there are more that it does not name."""

    folders: frozenset[str]
    whole: frozenset[str]
    is_split: bool


_NONE = _Tracked(frozenset(), frozenset(), is_split=False)

_known: dict[bytes, _Tracked] = {}
"""By a hash of the index: one that has not changed since the last look is not parsed again."""


class AroundRepositories:
    """What the repositories around new ones list, during one look, in which each index is read once. Of those that
    exceed `MOST_BYTES` or `_MOST_SECONDS`, for all together, it is not known: they may list anything."""

    def __init__(self) -> None:
        self._listed: dict[Path, _Tracked | None] = {}
        self._room = MOST_BYTES
        self._spent = 0.0

    def diverts_pushes(self, top: Path, settings: bytes) -> bool:
        """Return whether a repository with these settings and its work tree at `top` may send files of a repository
        around to another machine."""
        return bool(remotes_elsewhere(settings)) and any(self._is_tracked(top, above) for above in top.parents)

    def _is_tracked(self, top: Path, above: Path) -> bool:
        """Return whether the repository with its work tree at `above`, if there is one, has files in the folder `top`,
        or cannot be read."""
        if above not in self._listed:
            begun = time.monotonic()
            self._listed[above] = self._read(above) if self._spent < _MOST_SECONDS else None
            self._spent += time.monotonic() - begun
        tracked = self._listed[above]
        if tracked is None:
            return True
        folder = folded(str(top.relative_to(above)))
        ends = (at for at, character in enumerate(f"{folder}/") if character == "/")
        return tracked.is_split or folder in tracked.folders or any(folder[:end] in tracked.whole for end in ends)

    def _read(self, above: Path) -> _Tracked | None:
        """Return what the repository with its work tree at `above`, if there is one, lists; None if it is too much, or
        cannot be read."""
        git = above / ".git"
        data = git if git.is_dir() else git.parent / (led_to(git) or ".git")
        try:
            content, size = content_of(data / "index", self._room), hash_size(settings_of(data / "index"))
            self._room -= len(content)
            return _tracked_in(content, size)
        except (FileNotFoundError, NotADirectoryError):
            return _NONE
        except (OSError, ValueError, IndexError, struct.error):
            return None


def settings_in(data: Path) -> bytes:
    """Return the settings of the repository with this data, or that of a linked work tree. Raises OSError, or
    ValueError for a file that is too long."""
    try:
        return content_of(settings_of(data / "index"), _MOST_SETTINGS)
    except FileNotFoundError:
        return b""


def remotes_elsewhere(settings: bytes) -> set[str]:
    """Return the addresses of remotes on other machines."""
    remotes = (one.value for one in parse(settings) if (one.section, one.name) == ("remote", "url"))
    return {address for address in remotes if not local_address(address)}


def work_tree_in(settings: bytes, data: Path) -> Path | None:
    """Return the work tree that the settings of the repository with this data name; None if they name none."""
    named = [one.value for one in parse(settings) if (one.section, one.name) == ("core", "worktree")]
    return Path(os.path.normpath(data / named[-1])) if named else None


def folder_that_holds(settings: Path) -> Path:
    """Return the folder that is moved with the repository which has these settings: around its `.git`, or its data."""
    data = settings.parent
    return data.parent if folded(data.name) == ".git" else data


def holders_of(root: Path, paths: Iterable[str]) -> dict[str, int]:
    """Return the inodes of the folders that hold the repositories with those of the paths that are config files."""
    return {path: inode(folder_that_holds(root / path)) for path in filter(is_git_settings, paths)}


def _tracked_in(content: bytes, size: int) -> _Tracked:
    """Return what an index with hashes of this size lists. Raises ValueError, IndexError or struct.error."""
    key = blake2b(content, digest_size=32, salt=bytes([size])).digest()
    if (known := _known.get(key)) is None:
        entries = list(entries_of(content, size))
        is_split = any(name == _SPLIT for name, _, _ in extensions_of(content, size, entries))
        paths = {path.rpartition(b"/")[0] for _, path in entries}
        folders = set[str]()
        for path in paths:
            folder = folded(os.fsdecode(path))
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        whole = frozenset(folded(os.fsdecode(path[:-1])) for _, path in entries if path.endswith(b"/"))
        known = _Tracked(frozenset(folders), whole, is_split)
        for old in list(_known)[: len(_known) - _MOST_KNOWN + 1]:
            _known.pop(old, None)
        _known[key] = known
    return known
