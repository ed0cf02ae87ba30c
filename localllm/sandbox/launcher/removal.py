"""Delete a folder with everything in it. Runs in the launcher, too."""

import itertools
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def delete_tree(folder: str) -> None:
    """Delete the folder, also what a command has made unreadable or read-only. What cannot be deleted stays.

    Works at any depth: the folders in a folder are first moved to the top, so that no path grows long.
    """
    with suppress(OSError):  # it is gone, or another process is deleting it as well
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            return
        os.chmod(folder, stat.S_IRWXU)  # noqa: PTH101 - pathlib takes longer to import than a launcher has
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(folder)  # noqa: PTH106 - as above


def delete_tree_at(name: str, above: int, seconds: float = float("inf")) -> None:
    """Delete the folder `name` in the open folder `above`, as `delete_tree` does. Raises OSError if something of it
    stays. Stops after so many seconds: a command may be adding to it."""
    top = _open_own(name, above)
    try:
        _empty(top, time.monotonic() + seconds)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=above)


def _empty(top: int, until: float = float("inf")) -> None:
    free = (name for name in map(str, itertools.count()) if not exists_at(name, top))
    kept: set[str] = set()
    while names := set(os.listdir(top)) - kept:
        for name in names:
            if time.monotonic() > until:
                return
            try:
                _delete(name, top, free)
            except OSError:
                kept.add(name)


def _delete(name: str, top: int, free: Iterator[str]) -> None:
    """Delete an entry of `top`; the folders in it are moved to `top` under `free` names."""
    if not _is_folder(name, top):
        os.unlink(name, dir_fd=top)
        return
    folder = _open_own(name, top)
    try:
        for inner in os.listdir(folder):  # noqa: PTH208 - by its descriptor, which has no path
            if _is_folder(inner, folder):
                os.close(_open_own(inner, folder))  # without permission its owner cannot move it
                os.rename(inner, next(free), src_dir_fd=folder, dst_dir_fd=top)
            else:
                os.unlink(inner, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def exists_at(name: str, above: int) -> bool:
    """Return whether there is anything, a symlink as well, at the name in an open folder."""
    try:
        os.stat(name, dir_fd=above, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _is_folder(name: str, above: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)


def _open_own(name: str, above: int) -> int:
    """Open a folder, and give its owner access. By descriptors: a command may have put a symlink at its name
    meanwhile."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=above)
    except PermissionError:
        if not hasattr(os, "O_PATH"):
            raise
        place = os.open(name, os.O_PATH | _FOLDER, dir_fd=above)
        try:
            os.chmod(f"/proc/self/fd/{place}", stat.S_IRWXU)  # noqa: PTH101 - as above
            return os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_DIRECTORY)
        finally:
            os.close(place)
    with suppress(OSError):  # it has another owner
        os.fchmod(folder, stat.S_IRWXU)
    return folder
