"""State per project: JSON files in the user's state folder, and the previous path of a moved project."""

import errno
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.file_lock import FileLock
from localllm.base.files import atomic_write
from localllm.base.paths import CACHES, Storage, project_folder

_MARKS = "marks"


def note_place(kept: Path, root: Path) -> None:
    """Store the project's current path in the folder `kept`. Write errors are ignored: it is only a convenience."""
    mark = _mark(root)
    if not mark:
        return
    file, place = kept / _MARKS / mark, os.fsencode(root)
    with suppress(OSError):
        if not file.exists() or file.read_bytes() != place:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            atomic_write(file, place, mode=0o600)


def earlier_place(kept: Path, root: Path) -> Path | None:
    """Return the project's path when last stored in `kept`; None if unknown, or if a project is there.

    A command could have moved the marked file here from a project within this one, whose own file is then put back.
    """
    if not (mark := _mark(root)):
        return None
    try:
        before = Path(os.fsdecode((kept / _MARKS / mark).read_bytes()))
    except OSError:
        return None
    return None if os.path.lexists(project_folder(before)) else before


def give_way(kept: Path, root: Path) -> Path:
    """Return a path, at which nothing is, for what is stored of another project that had the path `root`: wherever that
    one was moved, it finds it as if it had been there."""
    place = project_folder(root) / f"earlier-{os.urandom(4).hex()}"
    ours = _mark(root)
    with suppress(OSError):
        for file in (kept / _MARKS).iterdir():
            if file.name != ours and file.read_bytes() == os.fsencode(root):
                atomic_write(file, os.fsencode(place), mode=0o600)
    return place


_CACHES = "lookup.sqlite", "repomap.msgpack", "analysis.msgpack"
_UNUSED = 90 * 24 * 3600.0  # seconds without use after which a project's caches are deleted


def tidy_caches(storage: Storage) -> None:
    """Delete caches that earlier versions stored in the project, and those of projects unused for 90 days."""
    for folder in (storage.folder, storage.other):
        if folder != storage.caches and not folder.is_symlink():
            for name in _CACHES:
                with suppress(OSError):
                    (folder / name).unlink()
    if storage.caches.parent.name != CACHES:
        return
    with suppress(OSError):
        for folder in storage.caches.parent.iterdir():
            newest_change = max((file.lstat().st_mtime for file in (folder, *folder.iterdir())), default=0.0)
            if folder != storage.caches and newest_change < time.time() - _UNUSED:
                for file in folder.iterdir():
                    file.unlink()
                folder.rmdir()


def _mark(root: Path) -> str:
    """Return an identifier of the project's folder that moves with it, or ""."""
    try:
        facts = (project_folder(root) / ".gitignore").lstat()
    except OSError:
        return ""
    return f"{facts.st_dev}-{facts.st_ino}-{facts.st_mtime_ns}" if stat.S_ISREG(facts.st_mode) else ""


Store = TypeVar("Store", bound=msgspec.Struct)
Value = TypeVar("Value")

KEPT_PROJECTS = 500
"""Maximum projects with stored state, the most recent ones."""


def name_of(root: Path) -> str:
    """Return the project's path in a form JSON can hold, whatever its bytes."""
    return os.fsencode(root).decode("utf-8", "backslashreplace")


def newest(entries: dict[str, Value], most: int = KEPT_PROJECTS) -> dict[str, Value]:
    """Return the last `most` entries, in insertion order."""
    return dict(list(entries.items())[-most:])


def change_file(file: Path, read: Callable[[], Store], change: Callable[[Store], object]) -> None:
    """Read, change and write the file under a lock.
    It and its folder are created if missing, private to the user. Raises ConfigurationError config_unwritable."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock")):
            store = read()
            change(store)
            atomic_write(file, msgspec.json.format(msgspec.json.encode(store), indent=1) + b"\n", mode=0o600)
    except OSError as error:
        reason = os.strerror(error.errno or errno.EIO)
        raise ConfigurationError("config_unwritable", file=file, reason=reason) from error
