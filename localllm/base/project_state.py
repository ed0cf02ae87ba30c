"""JSON files in the user's state folder that keep something for each project: how a project is named in them, how many
are kept, and how they are changed by several programs at a time."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.files import FileLock, atomic_write

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
