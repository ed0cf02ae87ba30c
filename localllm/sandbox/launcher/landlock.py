"""Restrict which files may be read and written, by Landlock in the kernel. Runs in the launcher.

A ruleset only grants; nothing below a granted folder can be denied. So to hide something, everything around it is
granted. https://docs.kernel.org/userspace-api/landlock.html
"""

import os
import stat

from localllm.sandbox.launcher.syscalls import Kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION = 1  # flag of _CREATE_RULESET
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV, _RESOLVE_UNIX = 1 << 13, 1 << 14, 1 << 15, 1 << 16
_FIRST_ABI_RIGHTS = (1 << 13) - 1
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_BIND_TCP_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1

READ = _EXECUTE | _READ_FILE | _READ_DIR
DEVICE_READ = _READ_FILE
DEVICE_WRITE = _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
TERMINALS = DEVICE_WRITE | _READ_DIR
WRITE = (_FIRST_ABI_RIGHTS | _REFER | _TRUNCATE) & ~(_MAKE_CHAR | _MAKE_BLOCK)

_PATH = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW | os.O_CLOEXEC
_TOP = "bin boot etc lib lib32 lib64 libx32 media mnt nix opt proc sbin snap srv sys usr var"

LEAST_ABI = 6
"""Before it (Linux 6.12), a command could end the assistant and its own supervisor by a signal to any of their threads,
and what it had left would not be undone. Before 3 (Linux 6.2), it could truncate files outside."""

_TCP_SINCE, _SCOPES_SINCE = 4, 6


def abi(kernel: Kernel) -> int:
    """Return the version of Landlock that this kernel offers; 0 for none."""
    try:
        return kernel.syscall(_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def enclose_signals(kernel: Kernel) -> bool:
    """Restrict signals of this process to processes that it will start; return whether that is in force, and verified.

    A signal to all processes then reaches exactly the descendants of this process. Needs no_new_privs.
    """
    if abi(kernel) < _SCOPES_SINCE:
        return False
    rules = Ruleset(kernel, (_REFER, 0, _SIGNALS))
    rules.allow("/", _REFER)  # every ruleset refuses this right unless it is granted
    rules.enforce()
    try:
        os.kill(os.getppid(), 0)  # of the same user, so only the scope can refuse this
    except PermissionError:
        return os.getppid() != 1
    except ProcessLookupError:
        return False
    return False


def everything(version: int, *, has_own_network: bool = False) -> tuple[int, ...]:
    """Return everything that this version of Landlock can refuse, for Ruleset; TCP is allowed in a network of one's
    own.

    Of the sockets in files, only those that are not the command's own are refused.
    """
    rights = _FIRST_ABI_RIGHTS
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV), (9, _RESOLVE_UNIX)):
        if version >= since:
            rights |= right
    fields = (rights, 0 if has_own_network else _BIND_TCP_AND_CONNECT_TCP, _ABSTRACT_SOCKETS | _SIGNALS)
    return fields[: 1 + (version >= _TCP_SINCE) + (version >= _SCOPES_SINCE)]


class Ruleset:
    """What is refused unless a rule grants it. `handled`: rights on files, rights on TCP, and scopes.

    No rule grants the last two: there is no TCP, and abstract sockets and signals reach only the confined processes.
    """

    _leading: frozenset[tuple[int, int]] = frozenset()

    def __init__(self, kernel: Kernel, handled: tuple[int, ...]) -> None:
        self._kernel = kernel
        self._handled = handled[0]
        attributes = b"".join(field.to_bytes(8, "little") for field in handled)
        self._fd = kernel.syscall(_CREATE_RULESET, attributes, len(attributes), 0)

    def allow(self, path: str, rights: int) -> bool:
        """Grant `rights` on `path` and everything below; return False if it is missing, out of reach, or is or leads
        through a symlink.

        A symlink is never followed: another command may be exchanging it. Its target has to be granted by its own name.
        """
        try:
            fd = _open_path(path)
        except OSError:
            return False
        try:
            return self._allow_open(fd, rights)
        finally:
            os.close(fd)

    def _allow_open(self, fd: int, rights: int) -> bool:
        mode = os.fstat(fd).st_mode
        rights &= self._handled
        if not stat.S_ISDIR(mode):
            rights &= _FILE_RIGHTS
        if stat.S_ISLNK(mode) or not rights:
            return False
        rule = rights.to_bytes(8, "little") + fd.to_bytes(4, "little")
        self._kernel.syscall(_ADD_RULE, self._fd, _PATH_BENEATH, rule, 0)
        return True

    def keep_closed(self, hidden: list[str]) -> None:
        """Let `allow_around` grant no folder that leads to one of the paths in `hidden`, by whatever name.

        A rule holds for a folder, and not for its name: made where another mount shows it, it would open what is below
        it here as well.
        """
        above = {path[:end] or "/" for path in hidden for end, sign in enumerate(path) if sign == "/"}
        found: set[tuple[int, int]] = set()
        for folder in above:
            try:
                about = os.lstat(folder)
            except OSError:
                continue
            found.add((about.st_dev, about.st_ino))
        self._leading = frozenset(found)

    def allow_around(self, hidden: list[str], rights: int, start: str = "/") -> None:
        """Grant `rights` on everything below `start` except the paths in `hidden` (absolute, symlinks resolved).

        The folders that lead to a hidden path cannot be listed, and what is created in them later is not granted.
        """
        try:
            fd = _open_path(start)
        except OSError:
            return
        try:
            self._allow_around_in(fd, start, hidden, rights)
        finally:
            os.close(fd)

    def _allow_around_in(self, fd: int, path: str, hidden: list[str], rights: int) -> None:
        """Grant what is in the folder that was opened at `path`: by now the path may be that of something else."""
        if path in hidden:
            return
        inside = path.rstrip("/") + "/"
        beneath = [name for name in hidden if name.startswith(inside)]
        if not beneath:
            about = os.fstat(fd)
            if (about.st_dev, about.st_ino) not in self._leading:
                self._allow_open(fd, rights)
            return
        for name in _names_in(fd, path):
            try:
                entry = os.open(name, _PATH, dir_fd=fd)
            except OSError:
                continue
            try:
                self._allow_around_in(entry, inside + name, beneath, rights)
            finally:
                os.close(entry)

    def enforce(self) -> None:
        """Apply the rules to this thread and everything it will start. Needs no_new_privs."""
        self._kernel.syscall(_RESTRICT_SELF, self._fd, 0)
        os.close(self._fd)


def _open_path(path: str) -> int:
    """Open a descriptor of an absolute path, part by part. Raises OSError where a part but the last is a symlink."""
    fd = os.open("/", _PATH)
    for name in path.split("/"):
        if name:
            above = fd
            try:
                fd = os.open(name, _PATH, dir_fd=above)
            finally:
                os.close(above)
    return fd


def _names_in(fd: int, path: str) -> list[str]:
    """Return the names in a folder; none of one that cannot be listed, as it is not granted then."""
    try:
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
    except OSError:
        return [*_TOP.split()] if path == "/" else []  # within another sandbox
    try:
        return os.listdir(folder)  # noqa: PTH208 - pathlib costs more than the whole ruleset
    finally:
        os.close(folder)
