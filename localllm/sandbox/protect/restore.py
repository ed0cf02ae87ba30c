"""Restore what a command changed, without following a symlink that it may have created on the way."""

import errno
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from types import TracebackType

from localllm.base.errors import SafetyViolationError
from localllm.base.files import atomic_write_at, open_made
from localllm.base.regular_files import open_folder_linkless
from localllm.sandbox.launcher.removal import delete_tree_at, exists_at
from localllm.sandbox.protect.project_folder import Identity, check_identity
from localllm.sandbox.protect.protected_paths import is_protected

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_MOST_KEPT = 16_000_000  # bytes of a file that is copied
_MOST_COPIED = 100_000_000  # bytes of all files copied at one time
_MOST_ENTRIES = 10_000
_DEEPEST = 50
_LONGEST_NAME = 200  # bytes to which more may be added
_LONGEST = 3.0  # seconds to look through, or delete, a folder that a running command may be filling


class Restorer:
    """Changes entries of one project by their paths in it, with `/` as separator. Used as a context manager.

    What is removed is moved to `quarantine`, to the same path below it, if that is possible; None keeps nothing.
    `is_held`: a running command may hold open what is removed. It would go on writing there, outside the project, so
    the quarantine gets copies. Files from before `started` (nanoseconds since the epoch) that it does not get whole are
    the user's: they stay in the project under the names in `aside`. `identity`: what the folder must be, if another may
    be at the path by now.
    """

    def __init__(
        self,
        root: Path,
        quarantine: Path | None,
        *,
        is_held: bool = False,
        started: int = 0,
        identity: Identity | None = None,
    ) -> None:
        self.aside: list[str] = []
        self._root = root
        self._quarantine = quarantine
        self._is_held = is_held
        self._started = started
        self._identity = identity
        self._copied: set[tuple[int, int]] = set()
        self._numbers: dict[str, count[int]] = {}
        self._room, self._entries = _MOST_COPIED, _MOST_ENTRIES
        self._fd = -1

    def __enter__(self) -> "Restorer":
        """Raises like `open_project`, and SafetyViolationError project_moved."""
        try:
            self._fd = open_project(self._root)
        except PermissionError:
            _give_access(self._root, self._identity)
            self._fd = open_project(self._root)
        try:
            check_identity(self._fd, self._root, self._identity)
        except SafetyViolationError:
            os.close(self._fd)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    def remove(self, path: str) -> None:
        """Remove a file, a symlink, or a folder with everything in it; no error if nothing is there."""
        self._insist(path, lambda: self._remove(path))

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError, NotADirectoryError), self._folder_of(path, make=False) as folder:
            self._take_away(folder, path)

    def _insist(self, path: str, change: Callable[[], None]) -> None:
        """Make a change; if a folder on the way or below is closed to its owner, change the permissions and try
        again."""
        try:
            change()
        except PermissionError:
            if not hasattr(os, "O_PATH"):
                raise
            with suppress(PermissionError):  # it may have another owner
                os.fchmod(self._fd, stat.S_IMODE(os.fstat(self._fd).st_mode) | stat.S_IRWXU)
            self._open_way(path, 0)
            self._open_all(path, 0)
            change()

    def remove_if_empty(self, path: str) -> bool:
        """Delete the folder if it is empty; return whether it was."""
        try:
            with self._folder_of(path, make=False) as folder:
                os.rmdir(_name(path), dir_fd=folder)
        except OSError:
            return False
        return True

    def open_up(self, path: str, since: int) -> bool:
        """Give the owner access to the folder, those above and those below, if it was withdrawn after `since` (ns);
        return whether it was, for the folder or one above."""
        if not self._open_way(path, since):
            return False
        self._open_all(path, since)
        return True

    def _open_way(self, path: str, since: int) -> bool:
        parts = path.split("/")
        opened = [self._open_up("/".join(parts[:end]), since) for end in range(1, len(parts) + 1)]
        return any(opened)

    def _open_all(self, path: str, since: int) -> None:
        pending = [path]
        for folder in pending:
            self._open_up(folder, since)
            with suppress(OSError), os.scandir(self._root / folder) as entries:
                pending += [f"{folder}/{entry.name}" for entry in entries if entry.is_dir(follow_symlinks=False)]

    def _open_up(self, path: str, since: int) -> bool:
        with suppress(OSError), self._folder_of(path, make=False) as above:
            fd = os.open(_name(path), getattr(os, "O_PATH", os.O_RDONLY) | _FOLDER, dir_fd=above)
            try:
                about = os.fstat(fd)
                if about.st_ctime_ns >= since and about.st_mode & stat.S_IRWXU != stat.S_IRWXU:
                    _chmod(fd, stat.S_IMODE(about.st_mode) | stat.S_IRWXU)
                    return True
            finally:
                os.close(fd)
        return False

    def put_file(self, path: str, content: bytes, mode: int) -> None:
        """Create a regular file with this content and these permissions, whatever is there now."""
        self._insist(path, lambda: self._put_file(path, content, mode))

    def _put_file(self, path: str, content: bytes, mode: int) -> None:
        with self._folder_of(path, make=True) as folder:
            self._take_away(folder, path)
            atomic_write_at(folder, _name(path), content, mode=mode)

    def put_folder(self, path: str) -> None:
        """Create a real folder, unless there is one."""

        def put() -> None:
            with self._folder_of(f"{path}/", make=True):
                pass

        self._insist(path, put)

    def put_link(self, path: str, target: bytes) -> None:
        """Create a symlink, whatever is there now."""
        self._insist(path, lambda: self._put_link(path, target))

    def _put_link(self, path: str, target: bytes) -> None:
        with self._folder_of(path, make=True) as folder:
            self._take_away(folder, path)
            os.symlink(target, os.fsencode(_name(path)), dir_fd=folder)

    @contextmanager
    def _folder_of(self, path: str, *, make: bool) -> Generator[int]:
        """Open the folder above `path`. `make`: create it if it is missing, also in place of a file or a symlink."""
        folder = os.dup(self._fd)
        try:
            walked = ""
            for name in path.split("/")[:-1]:
                walked = f"{walked}/{name}" if walked else name
                deeper = self._enter(folder, walked, make=make)
                os.close(folder)
                folder = deeper
            yield folder
        finally:
            os.close(folder)

    def _enter(self, folder: int, path: str, *, make: bool) -> int:
        name = _name(path)
        try:
            return os.open(name, _FOLDER, dir_fd=folder)
        except OSError as error:
            if not make or error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise
        self._take_away(folder, path)
        os.mkdir(name, dir_fd=folder)
        return os.open(name, _FOLDER, dir_fd=folder)

    def _take_away(self, folder: int, path: str) -> None:
        """Move the entry to the quarantine, or copy it if it cannot be moved; in any case it is removed from here."""
        name = _name(path)
        try:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return
        if self._quarantine and self._keep(folder, path, self._quarantine):
            return
        if self._started:
            self._put_aside(name, folder)
        if stat.S_ISDIR(mode):
            delete_tree_at(name, folder, _LONGEST if self._is_held else float("inf"))
        else:
            with suppress(FileNotFoundError):  # it has another name now
                os.unlink(name, dir_fd=folder)

    def _keep(self, folder: int, path: str, quarantine: Path) -> bool:
        """Move the entry, or else copy it; return whether it was moved. Follows no symlink: one may have been moved
        there before."""
        name = _name(path)
        with suppress(OSError):
            quarantine.mkdir(parents=True, exist_ok=True, mode=0o700)
            there = open_made(quarantine, path.rpartition("/")[0])
            try:
                if not self._is_held:
                    with suppress(OSError):
                        os.rename(name, name, src_dir_fd=folder, dst_dir_fd=there)
                        return True
                self._copy(name, folder, there, _DEEPEST)
            finally:
                os.close(there)
        return False

    def _copy(self, name: str, folder: int, there: int, depth: int) -> None:
        """Copy a file, a symlink or a folder with its content, as far as there is room."""
        self._entries -= 1
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(os.fsencode(name), dir_fd=folder), os.fsencode(name), dir_fd=there)
        elif stat.S_ISREG(mode) and self._room > 0:
            new = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600, dir_fd=there)
            with (
                open(new, "wb") as kept,  # noqa: PTH123 - a descriptor
                open(os.open(name, os.O_RDONLY | _NO_LINK, dir_fd=folder), "rb") as file,  # noqa: PTH123
            ):
                self._room -= kept.write(file.read(min(_MOST_KEPT, self._room)))
                if not file.read(1):
                    about = os.fstat(file.fileno())
                    self._copied.add((about.st_dev, about.st_ino))
        elif stat.S_ISDIR(mode) and depth:
            self._copy_folder(name, folder, there, depth - 1)

    def _copy_folder(self, name: str, folder: int, there: int, depth: int) -> None:
        old = os.open(name, _FOLDER, dir_fd=folder)
        try:
            os.mkdir(name, 0o700, dir_fd=there)
            new = os.open(name, _FOLDER, dir_fd=there)
            try:
                for inner in os.listdir(old)[: max(self._entries, 0)]:  # noqa: PTH208 - a descriptor
                    with suppress(OSError):
                        self._copy(inner, old, new, depth)
            finally:
                os.close(new)
        finally:
            os.close(old)

    def _put_aside(self, name: str, folder: int) -> None:
        """Give each file at the name, or below it, that was there before and was not copied another name, beside what
        is in the project."""
        until = time.monotonic() + (_LONGEST if self._is_held else float("inf"))
        with suppress(OSError, RecursionError):
            self._name_anew(name, folder)
            for _, _, names, inner in os.fwalk(name, dir_fd=folder):
                for one in names:
                    with suppress(OSError):
                        self._name_anew(one, inner)
                    if time.monotonic() > until:
                        return

    def _name_anew(self, name: str, folder: int) -> None:
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        is_earlier = stat.S_ISREG(about.st_mode) and about.st_size and about.st_mtime_ns < self._started
        if not is_earlier or (about.st_dev, about.st_ino) in self._copied:
            return
        is_long = len(os.fsencode(name)) > _LONGEST_NAME
        base = "file" if is_long or is_protected(f"{name}.aside1") else name
        for number in self._numbers.setdefault(base, count(1)):
            new = f"{base}.aside{number}"
            try:  # a link takes no name that a command has given meanwhile
                os.link(name, new, src_dir_fd=folder, dst_dir_fd=self._fd, follow_symlinks=False)
            except FileExistsError:
                continue
            except OSError:  # without hard links, as on disks of Windows
                if exists_at(new, self._fd):
                    continue
                os.rename(name, new, src_dir_fd=folder, dst_dir_fd=self._fd)
            self.aside.append(new)
            self._copied.add((about.st_dev, about.st_ino))
            return


def open_project(root: Path, flags: int = 0) -> int:
    """Open the project. Raises SafetyViolationError if a command of a project around it has put a link in its place, or
    in that of a folder above; OSError."""
    try:
        return open_folder_linkless(root, flags)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EXDEV, errno.ENOTDIR):
            raise
        raise SafetyViolationError("command_not_reverted", path=root, reason=os.strerror(errno.ELOOP)) from error


def _give_access(root: Path, identity: Identity | None) -> None:
    path_only = getattr(os, "O_PATH", 0)
    if not path_only:  # macOS
        root.chmod(stat.S_IRWXU)
        return
    fd = open_project(root, path_only)
    try:
        check_identity(fd, root, identity)
        _chmod(fd, stat.S_IRWXU)
    finally:
        os.close(fd)


def _chmod(fd: int, mode: int) -> None:
    """Change permissions through a descriptor: a running command might put a symlink at the name."""
    os.chmod(f"/proc/self/fd/{fd}", mode)  # noqa: PTH101


def _name(path: str) -> str:
    return path.rpartition("/")[2]
