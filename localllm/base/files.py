"""Write files atomically, and open files beneath a folder without leaving it."""

import errno
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec

_COPIED_AT_ONCE = 1 << 20
_FICLONE = 0x40049409  # linux/fs.h


def atomic_write(path: Path, data: bytes, *, mode: int | None = None, create_only: bool = False) -> None:
    """Replace the whole content of `path` with `data`: after a crash it holds either the old or the new bytes.

    A symbolic link is followed and stays a link. The file keeps its permissions (and its owner, where the system allows
    it) unless `mode` is given; a new file gets `mode` or the umask's default. Other hard links keep the old content.
    With `create_only` nothing may exist there, not even a link: FileExistsError.

    Raises OSError and leaves nothing behind, also for a read-only or non-regular file.
    """
    target = os.fspath(path) if create_only else os.path.realpath(path)
    _replace(target, data, mode, None, create_only=create_only)


def write_own(file: Path, data: bytes) -> None:
    """Like `atomic_write`, for the program's own private files in a folder that others may have prepared: if the folder
    is a link nothing is written, and a link with the file's name is replaced.

    Raises OSError. The folder is not created.
    """
    if sys.platform == "win32":
        if file.parent.is_symlink() or file.is_symlink():
            raise _os_error(errno.ELOOP, str(file))
        return atomic_write(file, data, mode=0o600)
    folder = open_folder(file.parent)
    try:
        with suppress(FileNotFoundError):
            if stat.S_ISLNK(os.stat(file.name, dir_fd=folder, follow_symlinks=False).st_mode):
                os.unlink(file.name, dir_fd=folder)
        return atomic_write_at(folder, file.name, data, mode=0o600)
    finally:
        os.close(folder)


def open_own(file: Path, flags: int) -> int:
    """Open one of the program's own files like os.open, in a folder others may have prepared. A new file is private.

    Raises OSError: ELOOP or ENOTDIR if the file or its folder is a link, EMLINK if it has several hard links, EINVAL if
    it is not a regular file.
    """
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if sys.platform == "win32":
        if file.parent.is_symlink() or file.is_symlink():
            raise _os_error(errno.ELOOP, str(file))
        fd = os.open(file, flags, 0o600)
    else:
        folder = open_folder(file.parent)
        try:
            fd = os.open(file.name, flags | os.O_CLOEXEC, 0o600, dir_fd=folder)
        finally:
            os.close(folder)
    facts = os.fstat(fd)
    if stat.S_ISREG(facts.st_mode) and facts.st_nlink <= 1:
        return fd
    os.close(fd)
    raise _os_error(errno.EMLINK if stat.S_ISREG(facts.st_mode) else errno.EINVAL, str(file))


def open_folder(folder: Path) -> int:
    """Open the folder. Raises OSError, also if its path ends in a link (ELOOP or ENOTDIR). Not on Windows."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def is_read_only(path: str | Path | int) -> bool:
    """Return whether the path's, or open file's, file system is mounted read-only. Raises OSError."""
    return sys.platform != "win32" and bool(os.statvfs(path).f_flag & os.ST_RDONLY)


class ChangedMeanwhileError(OSError):
    """The file no longer holds what the new content was derived from."""


def atomic_write_at(
    folder_fd: int,
    name: str,
    data: bytes,
    *,
    mode: int | None = None,
    create_only: bool = False,
    over: bytes | None = None,
    even_read_only: bool = False,
) -> None:
    """Like `atomic_write`, for the entry `name` in an open folder, independent of the folder's path.

    `name` is one component. With `create_only` nothing may exist there: FileExistsError. With `over` the file must
    still hold these bytes right before it is replaced: ChangedMeanwhileError. `even_read_only` replaces a read-only
    file. A symbolic link is not followed: OSError ELOOP. Not on Windows.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise _os_error(errno.EINVAL, name)
    _replace(name, data, mode, folder_fd, create_only=create_only, over=over, even_read_only=even_read_only)


class _Wanted(msgspec.Struct, frozen=True):
    """Attributes of the new file. `mode` None leaves it to the umask."""

    mode: int | None
    owner: tuple[int, int] | None


_TEMPORARY = (".localllm-", ".tmp")


def is_temporary(name: str) -> bool:
    """Return whether the name is that of a temporary file of `atomic_write`, left behind if it is killed."""
    return name.startswith(_TEMPORARY[0]) and name.endswith(_TEMPORARY[1])


def _replace(
    name: str,
    data: bytes,
    mode: int | None,
    folder_fd: int | None,
    *,
    create_only: bool = False,
    over: bytes | None = None,
    even_read_only: bool = False,
) -> None:
    wanted = _Wanted(mode, None) if create_only else _take_over(name, mode, folder_fd, even_read_only=even_read_only)
    beside = f"{_TEMPORARY[0]}{os.urandom(6).hex()}{_TEMPORARY[1]}"
    temporary = os.path.join(os.path.dirname(name), beside)  # noqa: PTH118, PTH120 - relative to folder_fd
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    fd = os.open(temporary, flags, 0o666 if wanted.mode is None else 0o600, dir_fd=folder_fd)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            _apply(wanted, fd)
            os.fsync(fd)
        if create_only:
            _link(temporary, name, folder_fd)
        elif over is None or not _put_over(temporary, name, data, over, folder_fd):
            os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder_fd)
        raise


def _put_over(temporary: str, name: str, data: bytes, over: bytes, folder_fd: int | None) -> bool:
    """Exchange the two files if the named one holds `over`; return whether the system supports it.

    The displaced file is checked again: content saved just before the exchange gets the name back, by another exchange.
    Raises ChangedMeanwhileError if a text other than `data` has the name in the end.
    """
    most = max(len(over), len(data))
    if _bytes_of(name, folder_fd, most) != over:
        raise _changed(name)
    shown: bytes | None = data
    expected: bytes | None = over
    while _exchange(temporary, name, folder_fd):
        try:
            displaced = _bytes_of(temporary, folder_fd, most)
        except OSError:  # a link, a pipe
            displaced = None
        if displaced == expected:
            os.unlink(temporary, dir_fd=folder_fd)
            if shown is not data:
                raise _changed(name)
            return True
        shown, expected = displaced, shown
    if shown is data:
        return False
    os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)  # the name has been removed since
    raise _changed(name)


_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def _bytes_of(name: str, folder_fd: int | None, most: int) -> bytes:
    """Return the file's content, at most `most` + 1 bytes. Raises OSError, also for a link or non-regular file."""
    fd = os.open(name, _READ, dir_fd=folder_fd)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _os_error(errno.EINVAL, name)
        return file.read(most + 1)


def _changed(name: str) -> ChangedMeanwhileError:
    return ChangedMeanwhileError(errno.EBUSY, os.strerror(errno.EBUSY), name)


_AT_FDCWD = -100  # fcntl.h of Linux
_RENAME_EXCHANGE = 2  # linux/fs.h


def _exchange(one: str, other: str, folder_fd: int | None) -> bool:
    """Exchange the names of two files atomically; return False if unsupported."""
    renameat2 = _renameat2()
    if renameat2 is None:
        return False
    fd = _AT_FDCWD if folder_fd is None else folder_fd
    return renameat2(fd, os.fsencode(one), fd, os.fsencode(other), _RENAME_EXCHANGE) == 0


@cache
def _renameat2() -> Callable[..., int] | None:
    """Return the C library's function (glibc 2.28), or None."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    function = getattr(ctypes.CDLL(None), "renameat2", None)
    if function is not None:
        function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return function


def _link(temporary: str, name: str, folder_fd: int | None) -> None:
    """Give the file its name unless that exists. Without hard links the name is reserved first."""
    try:
        os.link(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder_fd))
        os.replace(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    else:
        os.unlink(temporary, dir_fd=folder_fd)


def _take_over(name: str, mode: int | None, folder_fd: int | None, *, even_read_only: bool) -> _Wanted:
    try:
        old = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return _Wanted(mode, None)
    if stat.S_ISLNK(old.st_mode):
        raise _os_error(errno.ELOOP, name)
    if stat.S_ISDIR(old.st_mode):
        raise _os_error(errno.EISDIR, name)
    if not stat.S_ISREG(old.st_mode):
        raise _os_error(errno.EINVAL, name)
    if not even_read_only and not os.access(name, os.W_OK, dir_fd=folder_fd):
        raise _os_error(errno.EROFS if is_read_only(name if folder_fd is None else folder_fd) else errno.EACCES, name)
    return _Wanted(stat.S_IMODE(old.st_mode) if mode is None else mode, (old.st_uid, old.st_gid))


def _apply(wanted: _Wanted, fd: int) -> None:
    if sys.platform == "win32":
        return
    made = os.fstat(fd)
    if wanted.owner not in (None, (made.st_uid, made.st_gid)):
        with suppress(PermissionError):  # only root may change owners; the content matters more
            os.fchown(fd, *wanted.owner)
    if wanted.mode is not None:  # after the owner: fchown clears set-id bits
        made = os.fstat(fd)
        is_owners = wanted.owner == (made.st_uid, made.st_gid)
        os.fchmod(fd, wanted.mode if is_owners else wanted.mode & ~_SET_ID)


_SET_ID = stat.S_ISUID | stat.S_ISGID
"""Not for a file that gets another owner than it had: a program would run with this one's rights."""


def real_path(path: str | Path) -> str:
    """Resolve the links of a path, like os.path.realpath. Raises OSError ELOOP instead of RecursionError for too many
    links. A link replaced while it is read (EINVAL) is retried."""
    for attempt in range(_RACES):
        try:
            real = os.path.realpath(path)
            if sys.version_info < (3, 13) or attempt == _RACES - 1 or not _has_link(real):
                return real  # from 3.13 on a link that could not be read stays in the path, as those in a circle do
        except RecursionError as error:
            raise _os_error(errno.ELOOP, str(path)) from error
        except OSError as error:
            if error.errno != errno.EINVAL or attempt == _RACES - 1:
                raise
    raise AssertionError


def _has_link(path: str) -> bool:
    return any(part.is_symlink() for part in (Path(path), *Path(path).parents))


def open_beneath(root_fd: int, relative: str, flags: int, mode: int = 0o644, *, links: bool = True) -> int:
    """Open `relative` below the open folder `root_fd`, like os.open, without ever leaving that folder.

    `..` and, with `links`, symbolic links are followed while every step stays beneath; the descriptor is not inherited.
    Raises OSError: EXDEV if the path (absolute, or through a replaced link) would leave the folder, ELOOP for links
    that are not followed, links of /proc and circular ones, EINVAL for a NUL, ENOTSUP on Windows; otherwise as os.open.
    """
    if sys.platform == "win32":
        raise _os_error(errno.ENOTSUP, relative)
    if _has_openat2():
        return _openat2(root_fd, relative, flags, mode, links=links)
    return open_by_components(root_fd, relative, flags, mode, links=links)


def open_made(root: Path, relative: str) -> int:
    """Open a folder below `root`, created with its parents if missing.
    Links below `root` are not followed: OSError ELOOP or ENOTDIR. `relative` has no `..`. Not on Windows."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in Path(relative).parts:
        try:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=fd)
            deeper = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        finally:
            os.close(fd)
        fd = deeper
    return fd


_OPENAT2 = 437  # the same number on every architecture Linux runs Python on (asm-generic/unistd.h)
_RESOLVE_NO_MAGICLINKS = 0x02  # linux/openat2.h
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_RACES = 1000  # EAGAIN: something was renamed while `..` was being resolved


@cache
def _has_openat2() -> bool:
    """Return whether the system call exists (Linux 5.6) and no filter of a container runtime blocks it."""
    if not sys.platform.startswith("linux"):
        return False
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.close(_openat2(root, ".", os.O_RDONLY | os.O_DIRECTORY, 0))
    except OSError:
        return False
    finally:
        os.close(root)
    return True


@cache
def _syscall() -> Callable[..., int]:
    import ctypes

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    return syscall


def _openat2(root_fd: int, relative: str, flags: int, mode: int, *, links: bool = True) -> int:
    import ctypes

    if sys.platform != "linux":
        raise _os_error(errno.ENOSYS, relative)
    if "\0" in relative:
        raise _os_error(errno.EINVAL, relative)
    creates = flags & os.O_CREAT or flags & os.O_TMPFILE == os.O_TMPFILE
    resolve = _RESOLVE_BENEATH | (_RESOLVE_NO_MAGICLINKS if links else _RESOLVE_NO_SYMLINKS)
    how = (ctypes.c_uint64 * 3)(flags | os.O_CLOEXEC, mode & 0o7777 if creates else 0, resolve)
    number, size = ctypes.c_long(_OPENAT2), ctypes.c_size_t(ctypes.sizeof(how))
    path = ctypes.c_char_p(os.fsencode(relative))
    for _ in range(_RACES):
        fd = _syscall()(number, ctypes.c_int(root_fd), path, ctypes.byref(how), size)
        if fd >= 0:
            return fd
        if ctypes.get_errno() not in (errno.EAGAIN, errno.EINTR):
            break
    raise _os_error(ctypes.get_errno(), relative)


_LINKS = 40  # maximum links of one path, as in Linux


def open_by_components(root_fd: int, relative: str, flags: int, mode: int = 0o644, *, links: bool = True) -> int:
    """Like `open_beneath`, without openat2: opens one component at a time and resolves each link here."""
    if "\0" in relative:
        raise _os_error(errno.EINVAL, relative)
    if not relative:
        raise _os_error(errno.ENOENT, relative)
    if relative.startswith("/"):
        raise _os_error(errno.EXDEV, relative)
    if relative.endswith("/"):
        flags |= os.O_DIRECTORY
    pending = relative.split("/")[::-1]
    folders = [os.dup(root_fd)]
    followed = 0
    try:
        while True:
            step = _step(folders, pending, flags, mode)
            if isinstance(step, int):
                return step
            if not step:
                continue
            followed += 1
            if step.startswith("/"):
                raise _os_error(errno.EXDEV, relative)
            if followed > (_LINKS if links else 0):
                raise _os_error(errno.ELOOP, relative)
            pending += step.split("/")[::-1]
    finally:
        for folder in folders:
            os.close(folder)


def _step(folders: list[int], pending: list[str], flags: int, mode: int) -> int | str:
    """Open the next component: return the last one's descriptor, else the link to follow ("" if none)."""
    name = pending.pop()
    last = not any(pending)
    if name == "..":
        if len(folders) == 1:
            raise _os_error(errno.EXDEV, name)
        os.close(folders.pop())
    if name in ("", ".", ".."):
        return os.open(".", flags, dir_fd=folders[-1]) if last else ""
    exclusive = flags & os.O_NOFOLLOW or (flags & os.O_CREAT and flags & os.O_EXCL)
    if not (last and exclusive) and (link := _read_link(name, folders[-1])):
        return link
    wanted = flags if last else getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
    fd = os.open(name, wanted | os.O_NOFOLLOW, mode, dir_fd=folders[-1])
    if last:
        return fd
    folders.append(fd)
    return ""


def _read_link(name: str, folder: int) -> str:
    """Return the target of the link `name`; "" if it is no link or missing."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return ""  # any error shows when it is opened


def _os_error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def copy_content(source: int, target: int) -> None:
    """Copy one open file to another from its current position. Raises OSError."""
    if not _clone(source, target):
        while data := os.read(source, _COPIED_AT_ONCE):
            view = memoryview(data)
            while view:
                view = view[os.write(target, view) :]


def _clone(source: int, target: int) -> bool:
    """Try to share the blocks copy-on-write; return whether the file system supports it."""
    import fcntl  # not on Windows

    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        return False
    return True
