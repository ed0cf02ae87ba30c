"""Which programs work on a project's snapshots, and which of them were killed."""

import os
import weakref
from pathlib import Path
from uuid import uuid4

from localllm.base.files import try_lock


class Programs:
    """The programs that work on a project: a file for each in `folder`, locked by it for as long as it lives.

    `own` is the name of this one.
    """

    def __init__(self, folder: Path) -> None:
        self.own = uuid4().hex
        self._folder = folder
        self._alive = -1

    def show_alive(self) -> None:
        """Let the others see that this program is running. Raises OSError."""
        if self._alive < 0:
            make_folder(self._folder.parent)
            make_folder(self._folder)
            self._alive = _hold(self._folder / self.own)
            weakref.finalize(self, os.close, self._alive)

    def dead(self) -> list[str]:
        """Those that were killed, or ended without being forgotten."""
        return [name for name in _names(self._folder) if name != self.own and _is_free(self._folder / name)]

    def living(self) -> list[str]:
        """Those that are running, this one aside."""
        return [name for name in _names(self._folder) if name != self.own and not _is_free(self._folder / name)]

    def forget(self, name: str) -> None:
        """Remove the file of a dead one."""
        (self._folder / name).unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder, closed to others, if it is not there."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def _hold(file: Path) -> int:
    """A lock on `file` that lasts until the descriptor is closed, or the process ends however it ends."""
    fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try_lock(fd)
    return fd


def _is_free(file: Path) -> bool:
    """Whether nobody holds `file`."""
    try:
        fd = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return try_lock(fd)
    finally:
        os.close(fd)


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names are wanted
    except OSError:
        return []
