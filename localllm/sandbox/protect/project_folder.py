"""Tell the folder of a project from another one at its path, and find it again where it was renamed or moved."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from localllm.base.errors import SafetyViolationError
from localllm.base.i18n import Phrase
from localllm.base.regular_files import open_folder_linkless

_PATH_ONLY = getattr(os, "O_PATH", 0)  # opens what is closed to its owner, too
_LONGEST_PATH = 1024  # MAXPATHLEN of macOS

Identity = tuple[int, int]
"""The device and inode of a folder."""


class ProjectFolder:
    """The folder that is at `root` when it is held: the same one wherever it is moved, and no other at its path.

    While it is held its number on its disk cannot pass to another folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._fd = -1
        self.identity: Identity | None = None

    def hold(self) -> None:
        """Hold the folder that is at the path now, until `release`; if there is none, any is taken for it."""
        self.release()
        self.identity = None
        with suppress(OSError):
            self._fd = open_folder_linkless(self.root, _PATH_ONLY)
            self.identity = _of(os.fstat(self._fd))
            return
        with suppress(OSError):  # closed to its owner, or Windows, which opens no folder
            self.identity = identity_at(self.root)

    def release(self) -> None:
        """Close the folder; its identity is still known."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    @property
    def is_in_place(self) -> bool:
        """Whether the path leads to it, and through no link. Where that cannot be seen for lack of permission, what is
        done there will fail."""
        try:
            there = identity_at(self.root)
        except PermissionError:
            return True
        except FileNotFoundError:
            return self.identity is None
        except OSError:
            return False
        return self.identity in (None, there)

    def insist_on_place(self) -> None:
        """Raise SafetyViolationError project_moved if it is no longer in its place."""
        if not self.is_in_place:
            raise moved_error(self.root)

    def place(self) -> Path | None:
        """Return where it is now; None if it was deleted, or this system does not tell."""
        with suppress(OSError):
            found = Path(_name_of(self._fd))
            if identity_at(found) == self.identity:
                return found
        return None

    @property
    def is_deleted(self) -> bool:
        """Whether it is known not to be anywhere."""
        return self._fd >= 0 and not os.fstat(self._fd).st_nlink


def identity_at(root: Path) -> Identity:
    """Return the identity of the folder at the path. Raises OSError: ELOOP, EXDEV or ENOTDIR if a link leads there."""
    try:
        fd = open_folder_linkless(root, _PATH_ONLY)
    except PermissionError:
        return _of(root.lstat())  # it may be closed to its owner, on a system without O_PATH
    try:
        return _of(os.fstat(fd))
    finally:
        os.close(fd)


def check_identity(fd: int, root: Path, identity: Identity | None) -> None:
    """Raise SafetyViolationError project_moved if the open folder is another one."""
    if identity not in (None, _of(os.fstat(fd))):
        raise moved_error(root)


def moved_error(
    root: Path,
    place: Path | None = None,
    restored: Sequence[str] = (),
    *,
    is_deleted: bool = False,
) -> SafetyViolationError:
    """Return the error for a project that is no longer at `root`. `restored`: what was put back at its `place`."""
    if is_deleted:
        reason = Phrase("It was deleted")
    elif place is None:
        reason = Phrase(
            "What the command left at protected names there is put back by the next start of localllm in it"
        )
    elif restored:
        reason = Phrase("In {place}, where it is now, was put back: {paths}", place=place, paths=", ".join(restored))
    else:
        reason = Phrase("In {place}, where it is now, nothing had to be put back", place=place)
    return SafetyViolationError("project_moved", root=root, reason=reason)


def _of(about: os.stat_result) -> Identity:
    return about.st_dev, about.st_ino


def _name_of(fd: int) -> str:
    """Return the path of an open folder. Raises OSError."""
    if sys.platform == "darwin":
        import fcntl

        return os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(_LONGEST_PATH)).rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - in the bytes of the system
