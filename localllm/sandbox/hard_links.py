"""Giving a project files of its own where it shares them with the rest of the machine by hard links.

What a command writes into such a file would be written into the other as well, wherever that is.
"""

import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from localllm.base.files import copy_content

MOST_COPIED = 64 << 20
"""Bytes of a file that is copied where it could be made read-only instead."""

_MOST_IN_ALL = 2 << 30  # bytes copied before one command
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK


class Severed(msgspec.Struct, frozen=True):
    """Paths below the project. `copied` are its own now; `shared` are still files of others as well."""

    copied: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


def sever(root: Path, linked: dict[tuple[int, int], tuple[str, ...]], *, largest: int) -> Severed:
    """Replace each of the files (device and inode → its names below `root`) by a copy: same bytes, permissions, times
    and attributes. The names of one file go on being names of one file. Not those of more than `largest` bytes.

    Where a folder is swapped for a link meanwhile, nothing is done: no link is followed.
    """
    copied: list[str] = []
    shared: list[str] = []
    room = _MOST_IN_ALL
    fd = os.open(root, _FOLDER)
    try:
        for identity, paths in linked.items():
            size = _sever(fd, identity, paths, min(largest, room))
            room -= size or 0
            (shared if size is None else copied).extend(paths)
    finally:
        os.close(fd)
    return Severed(tuple(sorted(copied)), tuple(sorted(shared)))


def _sever(root: int, identity: tuple[int, int], paths: Iterable[str], most: int) -> int | None:
    """Bytes copied; None where that failed, or there are more than `most`."""
    first, *others = paths
    try:
        with _folder_of(root, first) as folder:
            size = _replace_by_copy(folder, _name(first), identity, most)
            if size is not None:
                for other in others:
                    _replace_by_link(root, other, identity, folder, _name(first))
    except OSError:
        return None
    return size


def _replace_by_copy(folder: int, name: str, identity: tuple[int, int], most: int) -> int | None:
    source = os.open(name, os.O_RDONLY | _NO_LINK, dir_fd=folder)
    try:
        about = os.fstat(source)
        if (about.st_dev, about.st_ino) != identity or not stat.S_ISREG(about.st_mode) or about.st_size > most:
            return None
        made = f".localllm-{os.urandom(8).hex()}"
        target = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600, dir_fd=folder)
        try:
            _copy(source, target, about)
            os.rename(made, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(made, dir_fd=folder)
            raise
        finally:
            os.close(target)
        return about.st_size
    finally:
        os.close(source)


def _copy(source: int, target: int, about: os.stat_result) -> None:
    copy_content(source, target)
    with suppress(OSError):
        os.fchown(target, about.st_uid, about.st_gid)
    for attribute in os.listxattr(source):
        with suppress(OSError):  # one that only the system may set
            os.setxattr(target, attribute, os.getxattr(source, attribute))
    os.fchmod(target, stat.S_IMODE(about.st_mode))
    os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))


def _replace_by_link(root: int, path: str, identity: tuple[int, int], first: int, first_name: str) -> None:
    """Make `path` another name of the copy, if it still is one of the file that was copied."""
    name = _name(path)
    with _folder_of(root, path) as folder:
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if (about.st_dev, about.st_ino) != identity:
            return
        made = f".localllm-{os.urandom(8).hex()}"
        os.link(first_name, made, src_dir_fd=first, dst_dir_fd=folder, follow_symlinks=False)
        os.rename(made, name, src_dir_fd=folder, dst_dir_fd=folder)


@contextmanager
def _folder_of(root: int, path: str) -> Generator[int]:
    """The open folder above `path`, reached without a link."""
    folder = os.dup(root)
    try:
        for name in path.split("/")[:-1]:
            deeper = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = deeper
        yield folder
    finally:
        os.close(folder)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
