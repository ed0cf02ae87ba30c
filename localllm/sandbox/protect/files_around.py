"""Find what lies outside a project and may name files in it: the repositories that it belongs to, and in the folders
above it the symlinks at protected names and what direnv and mise read."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from localllm.base.errors import ToolExecutionError
from localllm.base.regular_files import read_regular
from localllm.sandbox.protect.protected_paths import Entry, is_protected
from localllm.sandbox.protect.repositories.repository import Place, find_place
from localllm.sandbox.protect.sourced_files import is_sourcing

_MOST_LISTED = 10_000  # names of a folder; a home or a folder of projects has some hundreds
_LARGEST = 1 << 20  # bytes of settings
_OF_SETTINGS = (".config", ".config/mise", ".config/mise/conf.d", ".mise", ".mise/conf.d", "mise", "mise/conf.d")
"""Folders in which mise reads settings, see sourced_files."""

_IN_DATA = ("", "/hooks", "/info")
"""Folders in the data of a repository with files that git trusts."""


def places_around(root: Path, home: str) -> list[Place]:
    """Return the repositories that the project belongs to, as a linked work tree, a submodule, a subfolder or a
    repository in another one, whose data is not in it; the nearest first. None where no tool uses git."""
    found: dict[Path, Place] = {}
    for folder in (root, *_above(root, home)):
        is_one = folder == root or os.path.lexists(folder / ".git")
        if is_one and (place := place_outside(folder, root)):
            found.setdefault(place.folder, place)
    return list(found.values())


def place_outside(folder: Path, root: Path) -> Place | None:
    """Return the repository of which the folder is a linked work tree, a submodule or a subfolder, and whose data is
    not in `root`; none in which no tool uses git."""
    with suppress(ToolExecutionError):
        place = find_place(folder)
        return None if place is None or place.common.is_relative_to(root) else place
    return None


def entries_around(root: Path, home: str, places: Iterable[Place]) -> dict[str, Entry]:
    """Return the entries outside the project that may name files in it, by their absolute paths."""
    found: dict[str, Entry] = {}
    for place in places:
        for data in dict.fromkeys((place.common, place.folder)):
            for folder in _IN_DATA:
                found.update(links_in(f"{data}{folder}"))
    for above in map(str, _above(root, home)):
        for entry in _listed(above):
            if is_sourcing(entry.name) or (entry.is_symlink() and is_protected(entry.name)):
                found.update(_entry(entry.path))
            elif entry.name.startswith(".") and entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                found.update(_links_in_protected(above, entry.name))
        for folder in _OF_SETTINGS:
            for entry in _listed(f"{above}/{folder}"):
                if is_sourcing(f"{folder}/{entry.name}"):
                    found.update(_entry(entry.path))
    return found


def _above(root: Path, home: str) -> Iterator[Path]:
    """Yield the folders above the project, up to the user's home if it lies there."""
    top = os.path.realpath(home) if home else ""
    for folder in root.parents:
        yield folder
        if str(folder) == top:
            return


def links_in(folder: str) -> Iterator[tuple[str, Entry]]:
    """Yield the folder itself if it is a symlink, else the symlinks in it."""
    if os.path.islink(folder):  # noqa: PTH114 - strings
        yield from _entry(folder)
        return
    for entry in _listed(folder):
        if entry.is_symlink():
            yield from _entry(entry.path)


def _links_in_protected(above: str, top: str) -> Iterator[tuple[str, Entry]]:
    """Yield the symlinks at protected names in a hidden folder, and in the protected folders right in it."""
    pending = [top]
    for folder in pending:
        for entry in _listed(f"{above}/{folder}"):
            inside = f"{folder}/{entry.name}"
            if entry.is_symlink() and is_protected(inside):
                yield from _entry(entry.path)
            elif folder == top and entry.is_dir(follow_symlinks=False) and is_protected(inside):
                pending.append(inside)


def _listed(folder: str) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        return list(islice(entries, _MOST_LISTED))
    return []


def _entry(path: str) -> Iterator[tuple[str, Entry]]:
    """Yield a symlink, or a file with its content, by its path."""
    with suppress(OSError):
        if os.path.islink(path):  # noqa: PTH114 - strings
            yield path, Entry(stat.S_IFLNK, (), None)
        else:
            yield path, Entry(stat.S_IFREG, (), read_regular(Path(path), _LARGEST))
