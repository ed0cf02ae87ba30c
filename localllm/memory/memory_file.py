"""Read and write LOCALLLM.md, allowing for concurrent changes by other programs and editors."""

import errno
import os
import stat
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from localllm.base.errors import ConfigurationError, SafetyViolationError
from localllm.base.file_lock import FOLDER_PATIENCE, FileLock
from localllm.base.files import ChangedMeanwhileError, atomic_write_at, is_temporary, open_beneath, open_made, real_path
from localllm.base.i18n import N_, Phrase
from localllm.base.instruction_files import is_instruction
from localllm.base.regular_files import open_folder_linkless
from localllm.llm.messages import LINKED
from localllm.memory.document import Document
from localllm.sandbox.protect.protected_paths import is_protected

_FIX = {
    "not_utf8": N_("Save it as UTF-8, or move it away: a new one is created when needed."),
    "too_large": N_("Shorten it, or move it away: a new one is created when needed."),
    "folder": N_("Move the folder away, or name another file: localllm config set project.memory_file NOTES.md"),
    "not_regular": N_("Move it away, or name another file: localllm config set project.memory_file NOTES.md"),
    "linked": N_("Link to a Markdown file (.md), or put the file itself there."),
    "obeyed": N_("Put the file itself there, or name another: localllm config set project.memory_file NOTES.md"),
}
_MEMORY = {
    "not_utf8": N_("Line {line:,} (byte {offset:,} of the file) is not UTF-8 text"),
    "too_large": N_("It is larger than {limit} MB"),
    "folder": N_("There is a folder of that name"),
    "not_regular": N_("It is a pipe or a device, not a file"),
    "not_text": N_("Its encoding is not recognised"),
    "linked": N_("It is a link to a file that is not Markdown"),
    "obeyed": N_("It is a link to a file of instructions for assistants, which is never changed without asking"),
}

NAME = "LOCALLLM.md"
LARGEST = 4_000_000
"""Maximum size of the file, in bytes."""

_TRIES = 50  # attempts at a change when an editor saved meanwhile
_LINK_TRIES = 3  # attempts to resolve the path when a link was placed in it meanwhile
_QUIET = 0.1  # seconds since the last change, for a file that looks half-written
_LONGEST_SETTLING = 1.0  # seconds
_STALE = 60.0  # seconds after which temporary files of killed programs are removed

_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)

T = TypeVar("T")
Change = Callable[[Document], tuple[Document, T]]
"""Returns the changed document, or the same one, and a result. It may be called several times."""


class MemoryFile:
    """The memory file of a project: `name` is relative to `root`, from settings.project.memory_file. `root` is absolute
    with links resolved: one that is put in its place later is not followed.

    A link is followed, and preserved, if it stays in the project and leads to Markdown. What is `closed` (paths in the
    project) is neither read nor written. Errors: SafetyViolationError path_outside, path_protected; ConfigurationError
    memory_unusable (not UTF-8, too large, not a regular file, a link to another kind of file; for changes, also one to
    an instruction file of assistants), memory_unreachable, memory_read_only, memory_busy.
    """

    def __init__(self, root: Path, name: str = NAME, closed: Sequence[str] = ()) -> None:
        self._root = root
        self._closed = [self._root / path for path in closed]
        self._name = name

    @property
    def path(self) -> Path:
        """The file as named in the settings."""
        return self._root / self._name

    @property
    def is_closed(self) -> bool:
        """Whether it is neither read nor written."""
        return self._closes(Path(real_path(self.path)))

    @property
    def real_name(self) -> str:
        """The path in the project, links resolved; that of the settings if it leads out."""
        real = Path(real_path(self.path))
        return real.relative_to(self._root).as_posix() if real.is_relative_to(self._root) else self._name

    def read(self) -> Document:
        """Return the current document; an empty one if there is no file."""
        with self._explained():
            return self._at_place(self._read, make=False)

    def edit(self, change: "Change[T]") -> T:
        """Apply a change and return its result. A missing file is created; an unchanged text is not written.

        A lock serialises programs. If an editor, which does not use the lock, saves meanwhile, the change is applied to
        its text instead. If `change` raises, the file stays as it is.
        """

        def edit(folder: Path, name: str) -> T:
            with FileLock(folder, FOLDER_PATIENCE), self._open_folder(folder) as fd:
                _remove_leftovers(fd)
                return self._edit(fd, name, change)

        with self._explained():
            return self._at_place(edit, make=True)

    def _read(self, folder: Path, name: str) -> Document:
        try:
            with self._open_folder(folder) as fd, _Saved(fd, name) as saved:
                return Document(self._decoded(saved.data))
        except FileNotFoundError:
            return Document("")

    def _edit(self, folder: int, name: str, change: "Change[T]") -> T:
        """Read, change and replace the file; retry if it was saved meanwhile."""
        for _ in range(_TRIES):
            with _Saved(folder, name) as saved, suppress(ChangedMeanwhileError, FileExistsError, FileNotFoundError):
                return self._replace(saved, change)
        raise self._error("memory_busy", Phrase("Another program keeps changing it"))

    def _replace(self, saved: "_Saved", change: "Change[T]") -> T:
        """Replace what was read; repeat while a program that has the replaced file open saves into it.
        Raises ChangedMeanwhileError, FileExistsError or FileNotFoundError if the file was changed meanwhile."""
        base, there = saved.data, saved.data
        for _ in range(_TRIES):
            document = Document(self._decoded(base))
            changed, answer = change(document)
            if changed.text == document.text and base == there:
                return answer
            data = changed.text.encode()
            if len(data) > LARGEST:
                raise self._unusable("too_large", limit=LARGEST // 1_000_000)
            saved.write(data, over=there)
            late = saved.now()
            if late == base:
                return answer
            base, there = late, data
        raise self._error("memory_busy", Phrase("Another program keeps changing it"))

    def _decoded(self, data: bytes | None) -> str:
        if data is None:
            return ""
        if len(data) > LARGEST:
            raise self._unusable("too_large", limit=LARGEST // 1_000_000)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise self._unusable("not_utf8", offset=error.start + 1, line=line) from error

    def _at_place(self, work: "Callable[[Path, str], T]", *, make: bool) -> T:
        """Call `work` with the folder and name of the path, links resolved."""
        for attempt in range(_LINK_TRIES):
            real = Path(real_path(self.path))
            if not real.is_relative_to(self._root) or real == self._root:
                raise SafetyViolationError("path_outside", path=self._name, root=self._root)
            self._refuse_disguised(real, change=make)
            if make:
                self._make(real.parent)
            try:
                return work(real.parent, real.name)
            except OSError as error:
                if error.errno != errno.ELOOP or attempt == _LINK_TRIES - 1:
                    raise
        raise AssertionError

    def _make(self, folder: Path) -> None:
        """Create a folder of the project and its parents if missing, without following links placed meanwhile."""
        os.close(open_made(self._root, str(folder.relative_to(self._root))))

    def _closes(self, real: Path) -> bool:
        return any(place.is_relative_to(path) for place in (real, self.path) for path in self._closed)

    def _refuse_disguised(self, real: Path, *, change: bool) -> None:
        """Reject links by which a malicious project could read the user's secrets or change executed files."""
        if real.name != self.path.name and not real.name.lower().endswith(LINKED):
            raise self._unusable("linked")
        if self._closes(real):
            raise self._error("memory_unreachable", Phrase("A rule closes it"))
        relative = real.relative_to(self._root).as_posix()
        if change and is_protected(relative):
            raise SafetyViolationError("path_protected", path=self._name)
        if change and real != self.path and is_instruction(relative):
            raise self._unusable("obeyed")

    @contextmanager
    def _open_folder(self, folder: Path) -> Generator[int]:
        """Open the folder beneath the project, without following links placed meanwhile."""
        root = open_folder_linkless(self._root)
        try:
            fd = open_beneath(root, str(folder.relative_to(self._root)), os.O_RDONLY | os.O_DIRECTORY, links=False)
        finally:
            os.close(root)
        try:
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except _NotRegularError as error:
            raise self._unusable("folder" if error.is_folder else "not_regular") from error
        except TimeoutError as error:
            raise self._error("memory_busy", Phrase("Another program has its folder locked")) from error
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise SafetyViolationError("path_outside", path=self._name, root=self._root) from error
            if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) and self._takes_nothing():
                raise self._error("memory_read_only", os.strerror(error.errno)) from error
            raise self._error("memory_unreachable", os.strerror(error.errno or errno.EIO)) from error
        except ValueError as error:  # a NUL in the name
            raise self._error("memory_unreachable", os.strerror(errno.EINVAL)) from error

    def _takes_nothing(self) -> bool:
        """Return whether the project is read-only and the file readable or missing."""
        return not os.access(self._root, os.W_OK) and (os.access(self.path, os.R_OK) or not self.path.exists())

    def _unusable(self, why: str, **facts: int) -> ConfigurationError:
        """Build the error for `why`, a key of `_MEMORY` and of `_FIX` (the remedy)."""
        fix = Phrase(_FIX[why])
        reason = Phrase(_MEMORY[why], **facts)
        return ConfigurationError("memory_unusable", file=self._name, reason=reason, fix=fix)

    def _error(self, key: str, reason: object) -> ConfigurationError:
        return ConfigurationError(key, file=self._name, reason=reason)


class _NotRegularError(OSError):
    """A folder, a pipe or a device has the file's name."""

    def __init__(self, *, is_folder: bool) -> None:
        super().__init__(errno.EINVAL, os.strerror(errno.EINVAL))
        self.is_folder = is_folder


class _Saved:
    """The file as found, for a `with` block: `data` is its content, None if missing.
    It stays open, to detect later saves into it."""

    def __init__(self, folder: int, name: str) -> None:
        self._folder = folder
        self._name = name
        self._fd = -1
        self.data: bytes | None = None

    def __enter__(self) -> "_Saved":
        try:
            self._fd = os.open(self._name, _READ, dir_fd=self._folder)
        except FileNotFoundError:
            return self
        try:
            _refuse_irregular(self._fd)
            self.data = self._settled()
        except BaseException:
            os.close(self._fd)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def now(self) -> bytes | None:
        """Return the current content of the file that was found, even if renamed."""
        return self.data if self._fd < 0 else self._settled()

    def write(self, data: bytes, *, over: bytes | None) -> None:
        """Replace the file, which must contain `over` (None: must not exist), or raise as atomic_write_at does."""
        atomic_write_at(self._folder, self._name, data, create_only=over is None, over=over)
        with suppress(OSError):  # unsupported by some file systems; the file itself is on disk
            os.fsync(self._folder)

    def _settled(self) -> bytes:
        """Return the content; wait if it looks half-written, as many editors truncate a file before writing."""
        deadline = time.monotonic() + _LONGEST_SETTLING
        while True:
            data = _content(self._fd)
            if data.endswith((b"\n", b"\r")) or _is_at_rest(self._fd) or time.monotonic() > deadline:
                return data
            time.sleep(_QUIET / 10)


def _is_at_rest(fd: int) -> bool:
    """Return whether the file seems complete: not written recently, or renamed after the last write.
    A rename changes only its ctime."""
    facts = os.fstat(fd)
    return facts.st_ctime_ns != facts.st_mtime_ns or not -_QUIET < time.time() - facts.st_mtime < _QUIET


def _refuse_irregular(fd: int) -> None:
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        raise _NotRegularError(is_folder=stat.S_ISDIR(mode))


def _content(fd: int) -> bytes:
    parts: list[bytes] = []
    at = 0
    while at <= LARGEST and (part := os.pread(fd, LARGEST + 1 - at, at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def _remove_leftovers(folder: int) -> None:
    """Remove temporary files of programs killed while writing; those in use are younger."""
    for name in os.listdir(folder):
        if is_temporary(name):
            with suppress(OSError):
                if time.time() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime > _STALE:
                    os.unlink(name, dir_fd=folder)
