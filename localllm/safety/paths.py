"""The project folder: every file that a tool reads or writes is opened beneath it."""

import errno
import os
import posixpath
import stat
import sys
import weakref
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from functools import cache
from io import BufferedReader
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.base.directory_walk import walk
from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.base.file_lock import FOLDER_PATIENCE, lock_within
from localllm.base.files import atomic_write_at, is_temporary, open_beneath, open_folder, real_path
from localllm.base.i18n import Phrase
from localllm.safety.folder_entries import (
    as_listed,
    clear,
    enter_folder,
    holds,
    is_folder,
    is_regular,
    open_regular,
    open_to_owner,
    read_each,
    refuse_read_only,
)
from localllm.safety.path_names import refuse_odd, shown

if TYPE_CHECKING:
    from localllm.safety.protection import Protection

_LOOK = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_NOFOLLOW
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OUTPUTS = ".localllm/tool-output/"
_NEIGHBOURS = 5_000  # files checked for a name similar to a missing one
_RACES = 100  # attempts to resolve a path while links in it are being exchanged


class ProjectRoot:
    """The folder in which tools may work, held open: the same folder wherever its path leads later.

    Paths are relative to it, or absolute if inside. Symbolic links are followed as long as they stay
    inside. Errors are ToolExecutionError (file_missing, file_is_directory, file_unreadable, …) and
    SafetyViolationError (path_outside, path_invalid, path_not_regular, path_protected).
    """

    def __init__(self, path: Path, outputs: Path | None = None, named: Callable[[], Collection[str]] = tuple) -> None:
        """Open the folder `path`. Raises OSError. `outputs`: the folder outside for printed output, if the
        project cannot hold it: its files are read by the names they would have in the project. `named`: returns the
        current paths that protected files and git settings lead to."""
        self._named = named
        self.path = path.resolve(strict=True)
        self._outputs = outputs
        self._takes_any_name = self._is_for_restoring = False
        self._settled: dict[str, str] | None = None
        self._protection: Protection | None = None
        self._original: ProjectRoot | None = None  # which closes the folder when it is collected
        self._fd = os.open(self.path, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._fd)

    def for_any_name(self) -> "ProjectRoot":
        """Return a copy for paths that were found, not given: it also accepts misleading names and deep
        nesting."""
        made = copy(self)
        made._takes_any_name, made._original = True, self
        return made

    def for_restoring(self) -> "ProjectRoot":
        """Return a copy `for_any_name` that replaces read-only files, and opens files a command closed to their
        owner."""
        made = self.for_any_name()
        made._is_for_restoring = True
        return made

    def for_one_call(self) -> "ProjectRoot":
        """Return a copy that resolves each path once: the path that was judged is the one opened, even if
        links are exchanged meanwhile. The paths that protected files lead to are read once as well."""
        made = copy(self)
        made._settled, made._original = {}, self
        made._named, made._protection = cache(self._named), None
        return made

    def relative(self, file_path: str) -> str:
        """Return the canonical path below the root ("." for it), links resolved, with `/`. It may be missing."""
        if self._settled is None:
            return self._relative(file_path)
        if file_path not in self._settled:
            found = self._relative(file_path)
            self._settled[file_path] = found
            self._settled[found] = found
        return self._settled[file_path]

    def _relative(self, file_path: str) -> str:
        self._refuse_odd(file_path)
        if self._kept_outside(file_path):
            return file_path
        inside = str(self.path).rstrip("/") + "/"
        real = self._resolve(file_path)
        if real == str(self.path):
            return "."
        if not real.startswith(inside):
            raise self._outside(file_path)
        relative = as_listed(str(self.path), real[len(inside) :])
        if not relative.isascii() and relative != real[len(inside) :]:
            return self._relative(relative)  # a link may have been found by this name only
        self._refuse_odd(relative)
        self._refuse_special(relative, file_path)
        return relative

    def _outside(self, file_path: str) -> SafetyViolationError:
        """Return the error for a path outside, suggesting the path meant if only the root was invented."""
        names = file_path.strip("/").split("/")
        if file_path.startswith("/") and not {"", ".", ".."} & set(names):
            for start in range(len(names)):
                near = "/".join(names[start:])
                with suppress(LocalLLMError):
                    if self.exists(near):
                        return SafetyViolationError(
                            "path_outside_near", path=shown(file_path), root=self.path, near=shown(near)
                        )
        is_top = file_path.startswith("/") and len(names) == 1 and "." not in names[0]  # / or /workspace
        key = "path_outside_near" if is_top else "path_outside"
        return SafetyViolationError(key, path=shown(file_path), root=self.path, near=".")

    def name_of(self, file: Path) -> str:
        """Return the path by which tools read a file: absolute if neither in the project nor in `outputs`."""
        if file.parent == self._outputs:
            return _OUTPUTS + file.name
        return file.relative_to(self.path).as_posix() if file.is_relative_to(self.path) else str(file)

    def is_kept_outside(self, file_path: str) -> bool:
        """Return whether this is printed output that is kept outside of the project."""
        return bool(self._kept_outside(file_path))

    def _kept_outside(self, file_path: str) -> str:
        """Return the name in `outputs` of printed output that is kept there; "" for any other path."""
        folder, _, name = file_path.rpartition("/")
        is_name = folder + "/" == _OUTPUTS and name not in (".", "..")
        is_there = self._outputs and is_name and os.path.lexists(self._outputs / name)
        return name if is_there else ""

    @contextmanager
    def _beneath(self, relative: str) -> Generator[tuple[int, str]]:
        """Yield the open folder to find the file in, and the path relative to it. Raises OSError."""
        name = self._kept_outside(relative)
        if not name or self._outputs is None:
            yield self._fd, relative
            return
        folder = open_folder(self._outputs)
        try:
            yield folder, name
        finally:
            os.close(folder)

    def stat(self, file_path: str) -> os.stat_result:
        """Return the status of a file or folder."""
        relative = self.relative(file_path)
        with self._explained(file_path, "file_unreadable"), self._beneath(relative) as place:
            fd = open_beneath(*place, _LOOK, links=False)
            try:
                return os.fstat(fd)
            finally:
                os.close(fd)

    def exists(self, file_path: str) -> bool:
        """Return whether there is a file or folder."""
        relative = self.relative(file_path)
        with self._explained(file_path, "file_unreadable"), self._beneath(relative) as place:
            try:
                os.close(open_beneath(*place, _LOOK, links=False))
            except (FileNotFoundError, NotADirectoryError):
                return False
        return True

    def open_file(self, file_path: str) -> BufferedReader:
        """Open a regular file for reading. Raises SafetyViolationError for a path that leads out of the project, or
        to no regular file; ToolExecutionError if it is missing or may not be read."""
        relative = self.relative(file_path)
        with self._explained(file_path, "file_unreadable"), self._beneath(relative) as place:
            return open_regular(*place, even_closed=self._is_for_restoring)

    def open_listed(self, path: str, *, even_closed: bool = False) -> BufferedReader:
        """Open a file whose path comes from a walk, without resolving it or explaining errors. Raises OSError."""
        with self._beneath(path) as place:
            return open_regular(*place, even_closed=even_closed)

    def read_listed(self, paths: Iterable[str], limit: int) -> Generator[tuple[str, bytes | None]]:
        """Read files as `open_listed` opens them, at most `limit` bytes of each; None for one that cannot be read. Far
        faster than one by one: each folder is opened once for those of its files that follow each other."""
        for _, group in groupby(paths, key=lambda path: path if path.startswith(_OUTPUTS) else posixpath.dirname(path)):
            found = list(group)
            with self._beneath(found[0]) as (top, relative):
                yield from zip(found, read_each(top, posixpath.dirname(relative), found, limit), strict=True)

    def read_bytes(self, file_path: str, limit: int) -> bytes:
        """Return the whole content. Raises file_too_large if it exceeds `limit` bytes."""
        with self.open_file(file_path) as file, self._explained(file_path, "file_unreadable"):
            data = file.read(limit + 1)
            size = os.fstat(file.fileno()).st_size
        if len(data) > limit:
            raise ToolExecutionError("file_too_large", path=shown(file_path), size=size, limit=limit)
        return data

    def write_bytes(
        self,
        file_path: str,
        data: bytes,
        *,
        create_only: bool = False,
        mode: int | None = None,
        over: bytes | None = None,
        even_protected: bool = False,
    ) -> None:
        """Replace the whole content with `data`, atomically; read it back and compare. Creates missing folders.

        An existing file keeps its permissions unless `mode` is given; other hard links of it keep the old content.
        `create_only` refuses an existing file (file_exists), `over` one that no longer holds these bytes
        (file_changed_since). Folders, (unless `even_protected`) protected names and (unless `for_restoring`) read-only
        files are refused.
        """
        relative = self._writable(
            file_path, even_protected=even_protected, data=b"" if self._is_for_restoring else data
        )
        with self._explained(file_path, "file_unwritable"), self._folder_of(relative, make=True) as (folder, name):
            _lock_folder(folder, file_path)
            self._refuse_moved(relative, folder)
            if create_only:
                atomic_write_at(folder, name, data, create_only=True, mode=mode)
            else:
                if not self._is_for_restoring:
                    refuse_read_only(folder, name)
                if over is not None and not holds(folder, name, over, even_closed=self._is_for_restoring):
                    raise ToolExecutionError("file_changed_since", path=shown(file_path))
                atomic_write_at(folder, name, data, mode=mode, even_read_only=self._is_for_restoring)
            try:
                self._refuse_moved(relative, folder)
            except ToolExecutionError:
                os.unlink(name, dir_fd=folder)
                raise
            with suppress(OSError):  # not supported by every file system; the file itself is on the disk
                os.fsync(folder)
            with open_regular(folder, name, even_closed=self._is_for_restoring) as file:
                kept = file.read(len(data) + 1)
        if kept != data:
            raise ToolExecutionError("file_not_kept", path=shown(file_path))

    def _refuse_moved(self, relative: str, folder: int) -> None:
        """Raise file_changed_since if the open folder of a file was moved: its path may be protected now."""
        try:
            with self._folder_of(relative, make=False) as (now, _):
                is_there = os.path.samestat(os.fstat(now), os.fstat(folder))
        except OSError:
            is_there = False
        if not is_there:
            raise ToolExecutionError("file_changed_since", path=shown(relative))

    def delete(self, file_path: str, *, even_protected: bool = False) -> None:
        """Delete a file. Folders and (unless `even_protected`) protected names are refused."""
        relative = self._writable(file_path, even_protected=even_protected)
        with self._explained(file_path, "file_unwritable"), self._folder_of(relative, make=False) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def make_way(self, file_path: str, until: float) -> str:
        """Free the path of a file to restore; return the new path of what was in the way, "" if nothing.

        In the way are a folder, link, pipe or socket in the place of the file, and anything but a folder in the place
        of a parent. Links, pipes and sockets that existed at `until` (seconds since the epoch) and folders
        without a file are removed, the rest is renamed beside it. No link is followed; protected paths and a
        regular file in the place of the file are not touched.
        """
        from localllm.sandbox.protect.protected_paths import is_protected

        if is_protected(file_path):
            return ""
        *parents, name = file_path.split("/")
        with self._explained(file_path, "file_unwritable"):
            folder = open_beneath(self._fd, ".", _FOLDER)
            try:
                for depth, parent in enumerate(parents):
                    if not is_folder(folder, parent):
                        return _beside(parents[:depth], clear(folder, parent, until))
                    deeper = os.open(parent, _FOLDER, dir_fd=folder)
                    os.close(folder)
                    folder = deeper
                return "" if is_regular(folder, name) else _beside(parents, clear(folder, name, until))
            finally:
                os.close(folder)

    def open_to_owner(self, path: str) -> AbstractContextManager[None]:
        """Let the user list, enter and write their own folders above a path, and one at it, while this is entered."""
        return open_to_owner(self._fd, path)

    @contextmanager
    def open_parent(self, relative: str, *, make: bool = False) -> Generator[int]:
        """Open the folder of a file, following no links; with `make`, create it if missing. For saving
        and restoring protected files: nothing is refused. Raises OSError."""
        with self._folder_of(relative, make=make) as (folder, _):
            yield folder

    def remove_leftovers(self, file_path: str) -> None:
        """Remove half-written files that a killed program left beside a file. No other program writes there."""
        relative = self._writable(file_path)
        with self._folder_of(relative, make=False) as (folder, _):
            _lock_folder(folder, file_path)
            for name in os.listdir(folder):  # noqa: PTH208 - by its descriptor
                if is_temporary(name):
                    os.unlink(name, dir_fd=folder)

    def is_protected(self, file_path: str, data: bytes = b"") -> bool:
        """Return whether only the user may change it, to `data`: it would run, or be trusted, outside the sandbox."""
        if self._protection is None:
            from localllm.safety.protection import Protection  # loaded with the first change

            self._protection = Protection(self.path, self._named)
        return self._protection.covers(self.relative(file_path), data)

    def refuse_protected(self, file_path: str, data: bytes = b"") -> None:
        """Raise SafetyViolationError path_protected if `is_protected`."""
        if self.is_protected(file_path, data):
            raise SafetyViolationError("path_protected", path=shown(file_path))

    def near(self, file_path: str) -> list[str]:
        """Return up to five existing paths with the same name as `file_path`, or else with a similar one."""
        import difflib
        import unicodedata
        from functools import partial

        fold = partial(unicodedata.normalize, "NFKC")
        wanted = fold(posixpath.basename(posixpath.normpath(file_path))).casefold()
        by_name: dict[str, list[str]] = {}
        for entry in islice(walk(self.path, exclude=()), _NEIGHBOURS):
            by_name.setdefault(fold(posixpath.basename(entry.path)).casefold(), []).append(entry.path)
        names = [wanted] if wanted in by_name else difflib.get_close_matches(wanted, by_name, n=5, cutoff=0.7)
        return [shown(path) for name in names for path in by_name[name]][:5]

    def meant(self, file_path: str, *, by_name: bool) -> str:
        """Return the path that a missing `file_path` clearly stands for, "" if none: with / for \\ if its folder
        exists; with `by_name` also without a leading @, or the only file in the project of that name."""
        if "/" in file_path and not file_path.startswith("@") and "\\" not in file_path:
            return ""
        try:
            if self.exists(file_path):
                return ""
            if by_name and file_path.startswith("@") and self.exists(file_path[1:]):
                return file_path[1:]
            slashed = file_path.replace("\\", "/")
            if slashed != file_path and self.exists(posixpath.dirname(slashed) or "."):
                return slashed
        except LocalLLMError:  # reported when it is used
            return ""
        if not by_name or "/" in file_path or file_path in ("", ".", ".."):
            return ""
        files = [entry.path for entry in islice(walk(self.path, exclude=()), _NEIGHBOURS) if not entry.is_dir]
        named = [path for path in files if posixpath.basename(path) == file_path]
        return named[0] if len(named) == 1 and len(files) < _NEIGHBOURS else ""

    def _resolve(self, file_path: str) -> str:
        for _ in range(_RACES):
            try:
                return real_path(self.path / file_path)
            except OSError:  # a link until a moment ago
                continue
        raise SafetyViolationError(
            "path_invalid", path=shown(file_path), reason=Phrase("a symbolic link in it is broken")
        )

    def _refuse_odd(self, file_path: str) -> None:
        if not self._takes_any_name:
            refuse_odd(file_path)

    def _refuse_special(self, relative: str, file_path: str) -> None:
        try:
            mode = (self.path / relative).lstat().st_mode
        except OSError:
            return  # missing or not reachable: reported when it is opened
        if stat.S_ISLNK(mode):  # a link that could not be resolved
            raise SafetyViolationError(
                "path_invalid", path=shown(file_path), reason=Phrase("a symbolic link in it is broken")
            )
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise SafetyViolationError("path_not_regular", path=shown(file_path))

    def _writable(self, file_path: str, *, even_protected: bool = False, data: bytes = b"") -> str:
        relative = self.relative(file_path)
        if relative == ".":
            raise ToolExecutionError("file_is_directory", path=shown(file_path))
        if not even_protected:
            self.refuse_protected(relative, data)
        return relative

    @contextmanager
    def _folder_of(self, relative: str, *, make: bool) -> Generator[tuple[int, str]]:
        """Yield the open folder that holds `relative`, and the name in it.

        `relative` is canonical, so a link on the way was created since: following none keeps a
        write from landing at a protected name.
        """
        *parents, name = relative.split("/")
        folder = open_beneath(self._fd, ".", _FOLDER)
        try:
            for parent in parents:
                deeper = enter_folder(folder, parent, make=make)
                os.close(folder)
                folder = deeper
            yield folder, name
        finally:
            os.close(folder)

    @contextmanager
    def _explained(self, file_path: str, otherwise: str) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise self._explain(error, file_path, otherwise) from error

    def _explain(self, error: OSError, file_path: str, otherwise: str) -> LocalLLMError:
        path = shown(file_path)
        match error.errno:
            case errno.EXDEV:
                return SafetyViolationError("path_outside", path=path, root=self.path)
            case errno.ELOOP:
                return SafetyViolationError("path_invalid", path=path, reason=Phrase("a symbolic link in it is broken"))
            case errno.ENXIO | errno.EINVAL:
                return SafetyViolationError("path_not_regular", path=path)
            case errno.EISDIR:
                return ToolExecutionError("file_is_directory", path=path)
            case errno.EROFS | errno.EACCES | errno.EPERM if self._takes_nothing(otherwise):
                return ToolExecutionError("project_read_only", path=path, reason=error.strerror)
            case errno.EEXIST:
                return ToolExecutionError("file_exists", path=path)
            case errno.ENOENT:
                return self.missing(file_path)
            case errno.ENOTDIR if otherwise == "file_unreadable":
                return self.missing(file_path)
            case _:
                return ToolExecutionError(otherwise, path=path, reason=error.strerror)

    def _takes_nothing(self, otherwise: str) -> bool:
        """Return whether it failed because the project is not writable, rather than this one file."""
        return otherwise == "file_unwritable" and not os.access(self.path, os.W_OK)

    def missing(self, file_path: str) -> ToolExecutionError:
        """Return the error for a missing file, with the names that may have been meant."""
        names = self.near(file_path)
        hint = (
            Phrase("Did you mean: {names}?", names=", ".join(names))
            if names
            else Phrase("Use list_files to see what there is.")
        )
        return ToolExecutionError("file_missing", path=shown(file_path), hint=hint)


def _beside(parents: list[str], name: str) -> str:
    return "/".join((*parents, name)) if name else ""


def _lock_folder(folder: int, file_path: str) -> None:
    """Lock this folder, so that only one program at a time replaces files in it, until it is closed."""
    if sys.platform != "win32":
        try:
            lock_within(folder, FOLDER_PATIENCE)
        except TimeoutError:
            raise ToolExecutionError(
                "file_unwritable", path=shown(file_path), reason=Phrase("Another program has its folder locked")
            ) from None
        except OSError:
            pass  # not supported by every file system
