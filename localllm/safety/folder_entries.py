"""Operate on files and folders by their names in an open folder."""

import errno
import os
import stat
import sys
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from itertools import count, islice, product
from typing import Literal

from localllm.base.files import open_beneath
from localllm.base.lazy_patterns import late_pattern

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_ENTER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW  # also one that may not be listed
_PART = 1 << 16  # bytes
_SHORT = late_pattern(r"~[0-9]")
"""In the short name that Windows gives a long one (`VSCODE~1`)."""

_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
_MOST_SPELLINGS = 100  # of a path; each is a mount for commands
_LONGEST_NAME = 255  # bytes, on nearly every file system
_DEEPEST_REMOVED = 200  # nested folders that a command left in the place of a file


def as_listed(folder: str, relative: str) -> str:
    """Return a path below a folder with each part as its own folder lists it, as far as it exists. File systems of
    Windows and macOS take names in other letters (`.VSCODE`) and short ones (`VSCODE~1`) for the same file; everywhere,
    a missing name is that of the only file whose name looks the same, as macOS writes が in two characters."""
    parts: list[str] = []
    for part in relative.split("/"):
        parts.append(_listed(f"{folder}/{part}", folder, part))
        folder = f"{folder}/{parts[-1]}"
    return "/".join(parts)


def _listed(path: str, folder: str, name: str) -> str:
    try:
        about = os.lstat(path)
        if not _may_be_alias(folder, name, about):
            return name
        names = os.listdir(folder)  # noqa: PTH208 - names
    except FileNotFoundError:
        return name if name.isascii() else _composed_alike(folder, name)
    except OSError:
        return name
    if name in names:
        return name
    same = [one for one in names if _is_same(f"{folder}/{one}", about)]
    return min(same, key=lambda one: one.casefold() != name.casefold(), default=name)


def _composed_alike(folder: str, name: str) -> str:
    """Return the only name in the folder that consists of the same letters, composed or not; else `name`."""
    import unicodedata  # hardly ever needed

    composed = unicodedata.normalize("NFC", name)
    if name == composed == unicodedata.normalize("NFD", name):
        return name
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names
    except OSError:
        return name
    same = [one for one in names if unicodedata.normalize("NFC", one) == composed]
    return same[0] if len(same) == 1 else name


def spellings(path: str) -> list[str]:
    """Return the ways to write a path that look the same: each of its names composed and decomposed."""
    if path.isascii():
        return [path]
    import unicodedata  # hardly ever needed

    forms = [dict.fromkeys((name, *(unicodedata.normalize(form, name) for form in _FORMS))) for name in path.split("/")]
    return ["/".join(names) for names in islice(product(*forms), _MOST_SPELLINGS)]


def _may_be_alias(folder: str, name: str, about: os.stat_result) -> bool:
    if _SHORT.search(name) or name.endswith((".", " ")):
        return True
    others = {name.swapcase()}
    if not name.isascii():
        import unicodedata  # hardly ever needed

        others |= {unicodedata.normalize(form, name) for form in ("NFC", "NFD")}
    return any(_is_same(f"{folder}/{other}", about) for other in others - {name})


def _is_same(path: str, about: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), about)
    except OSError:
        return False


def open_regular(folder: int, relative: str, *, even_closed: bool = False) -> BufferedReader:
    """Open a regular file beneath an open folder, following no links. Raises OSError.

    `even_closed`: also one of the user's that its permissions close to them (on Linux); they are changed for a moment.
    """
    try:
        fd = open_beneath(folder, relative, _READ, links=False)
    except PermissionError:
        if not even_closed:
            raise
        fd = _open_closed(folder, relative)
    try:
        refuse_irregular(fd)
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def _open_closed(folder: int, relative: str) -> int:
    if sys.platform != "linux":
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), relative)
    found = open_beneath(folder, relative, os.O_PATH | os.O_NOFOLLOW, links=False)
    try:
        refuse_irregular(found)
        place, mode = f"/proc/self/fd/{found}", stat.S_IMODE(os.fstat(found).st_mode)
        os.chmod(place, mode | stat.S_IRUSR)  # noqa: PTH101 - a descriptor's: the name may be a link by now
        try:
            return os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        finally:
            os.chmod(place, mode)  # noqa: PTH101 - as above
    finally:
        os.close(found)


@contextmanager
def open_to_owner(root: int, relative: str) -> Generator[None]:
    """Let the user list, enter and write their own folders on the way to a path, and one at it, for a while.

    A command may have closed them. Links are not followed. Raises nothing: what needs the access fails then,
    as it does on other systems than Linux.
    """
    if sys.platform != "linux":
        yield
        return
    names = ["", *relative.rstrip("/").split("/")]
    with ExitStack() as stack:
        folder = root
        for name in names:
            try:
                if name:
                    folder = open_beneath(folder, name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, links=False)
                    stack.callback(os.close, folder)
                mode = stat.S_IMODE(os.fstat(folder).st_mode)
                if mode & stat.S_IRWXU != stat.S_IRWXU:
                    _set_mode(folder, mode | stat.S_IRWXU)
                    stack.callback(_set_mode, folder, mode)
            except OSError:  # missing, no folder, or somebody else's
                break
        yield


def _set_mode(folder: int, mode: int) -> None:
    with suppress(OSError):
        os.chmod(f"/proc/self/fd/{folder}", mode)  # noqa: PTH101 - as above


def read_each(root: int, folder: str, files: Iterable[str], limit: int) -> Generator[bytes | None]:
    """Read the regular files with the names of `files` in a folder beneath the open folder `root`, following no links,
    at most `limit` bytes of each; None for one that cannot be read."""
    with ExitStack() as stack:
        top = -1
        with suppress(OSError):
            top = open_beneath(root, folder or ".", _ENTER, links=False)
            stack.callback(os.close, top)
        for file in files:
            data = None
            with suppress(OSError):
                data = _read_regular(top, file.rpartition("/")[2], limit)
            yield data


def _read_regular(folder: int, name: str, limit: int) -> bytes:
    fd = os.open(name, _READ, dir_fd=folder)
    try:
        refuse_irregular(fd)
        data = os.read(fd, min(os.fstat(fd).st_size + 1, limit))
        while len(data) < limit and (more := os.read(fd, min(_PART, limit - len(data)))):
            data += more
        return data
    finally:
        os.close(fd)


def refuse_irregular(fd: int) -> None:
    """Raise OSError if the open file is not a regular file."""
    mode = os.fstat(fd).st_mode
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))


def enter_folder(folder: int, name: str, *, make: bool) -> int:
    """Open a folder in an open folder; with `make`, create it if it is missing."""
    try:
        return open_beneath(folder, name, _FOLDER)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    return open_beneath(folder, name, _FOLDER)


def refuse_read_only(folder: int, name: str) -> None:
    """Raise OSError for a read-only file, which could be replaced, but was made read-only on purpose."""
    with suppress(FileNotFoundError):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode) and not mode & 0o222:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), name)


def is_regular(folder: int, name: str) -> bool:
    """Return whether a name in an open folder is a regular file."""
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def is_folder(folder: int, name: str) -> bool:
    """Return whether a name in an open folder is a folder, not a link to one."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def clear(folder: int, name: str, until: float) -> str:
    """Free a name for a file or folder to restore; return the old entry's new name, "" if it is gone.

    Anything but a regular file or folder is removed if unchanged since `until`; so are empty folders.
    Raises OSError.
    """
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(facts.st_mode):
            remove_empty(folder, name)
        elif not stat.S_ISREG(facts.st_mode) and facts.st_ctime <= until:
            os.unlink(name, dir_fd=folder)
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return ""
    taken = set(os.listdir(folder))
    aside = next(new for number in count(1) if (new := _aside(name, number)) not in taken)
    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    return aside


def _aside(name: str, number: int) -> str:
    """Return the name of what has to make way; the end of one that would be too long for a file system is left out."""
    ending = f".aside{number}"
    while len(os.fsencode(name)) + len(ending) > _LONGEST_NAME:
        name = name[:-1]
    return name + ending


def remove_empty(folder: int, name: str, depth: int = 0) -> None:
    """Remove a folder and the folders in it, unless they hold anything else or are nested too deeply."""
    if depth > _DEEPEST_REMOVED:
        return
    inner = os.open(name, _FOLDER, dir_fd=folder)
    try:
        for entry in os.listdir(inner):  # noqa: PTH208 - by its descriptor
            if is_folder(inner, entry):
                remove_empty(inner, entry, depth + 1)
    finally:
        os.close(inner)
    with suppress(OSError):  # not empty
        os.rmdir(name, dir_fd=folder)


def holds(folder: int, name: str, data: bytes, *, even_closed: bool = False) -> bool:
    """Return whether a file holds exactly these bytes."""
    with open_regular(folder, name, even_closed=even_closed) as file:
        return file.read(len(data) + 1) == data
