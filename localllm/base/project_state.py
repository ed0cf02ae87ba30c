"""State kept for each project: JSON files in the user's state folder, and where a moved project was before."""

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
    """Remember in the folder `kept` where the project is now. What cannot be written is left: it is only a comfort."""
    mark = _mark(root)
    if not mark:
        return
    file, place = kept / _MARKS / mark, os.fsencode(root)
    with suppress(OSError):
        if not file.exists() or file.read_bytes() != place:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            atomic_write(file, place, mode=0o600)


def earlier_place(kept: Path, root: Path) -> Path | None:
    """Where the project was when its place was last noted in `kept`; None where it still is there, or never was."""
    if not (mark := _mark(root)):
        return None
    try:
        before = Path(os.fsdecode((kept / _MARKS / mark).read_bytes()))
    except OSError:
        return None
    return None if _mark(before) == mark else before


_CACHES = "lookup.sqlite", "repomap.msgpack", "analysis.msgpack"
_UNUSED = 90 * 24 * 3600.0  # seconds after which a project's caches go


def tidy_caches(storage: Storage, now: Callable[[], float] = time.time) -> None:
    """Delete the caches that earlier versions kept in the project, and those of projects nobody has asked about for 90
    days."""
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
            if folder != storage.caches and newest_change < now() - _UNUSED:
                for file in folder.iterdir():
                    file.unlink()
                folder.rmdir()


def _mark(root: Path) -> str:
    """What tells the project's folder from every other on this machine, "" where there is nothing."""
    try:
        facts = (project_folder(root) / ".gitignore").lstat()
    except OSError:
        return ""
    return f"{facts.st_dev}-{facts.st_ino}-{facts.st_mtime_ns}" if stat.S_ISREG(facts.st_mode) else ""


Store = TypeVar("Store", bound=msgspec.Struct)
Value = TypeVar("Value")

KEPT_PROJECTS = 500
"""How many projects are kept: those something was remembered of last."""


def name_of(root: Path) -> str:
    """The project's path as JSON can hold it, whatever its bytes."""
    return os.fsencode(root).decode("utf-8", "backslashreplace")


def newest(entries: dict[str, Value], most: int = KEPT_PROJECTS) -> dict[str, Value]:
    """The last `most` of the entries, which come in the order they were made in."""
    return dict(list(entries.items())[-most:])


def change_file(file: Path, read: Callable[[], Store], change: Callable[[Store], object]) -> None:
    """Read, change and write the file while no other process does; it and its folder are made where they are missing,
    for the user alone to read. ConfigurationError config_unwritable."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock")):
            store = read()
            change(store)
            atomic_write(file, msgspec.json.format(msgspec.json.encode(store), indent=1) + b"\n", mode=0o600)
    except OSError as error:
        reason = os.strerror(error.errno or errno.EIO)
        raise ConfigurationError("config_unwritable", file=file, reason=reason) from error
