"""Earlier contents of files, who uses them, and what is recovered after a crash."""

import hashlib
import os
import time
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import msgspec

from localllm.base.errors import LocalLLMError
from localllm.base.file_lock import try_lock
from localllm.base.files import copy_content, is_temporary
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.change_log import Begun, Change, ChangeLog, Ended, Line, TakenBack
from localllm.snapshots.file_state import is_in_state, look


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


_GRACE = 3600.0  # seconds: a content not yet in the journal may belong to a call that is still running


class Contents:
    """The contents in `folder`. Methods raise OSError."""

    def __init__(self, folder: Path, programs: Programs) -> None:
        self._folder = folder
        self._programs = programs

    def put(self, chunks: Iterable[bytes]) -> str:
        """Keep a content; its SHA-256."""
        self._programs.show_alive()
        make_folder(self._folder)
        temporary = self._folder / f"{self._programs.own}-{uuid4().hex[:8]}.tmp"
        digest = hashlib.sha256()
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                for chunk in chunks:
                    digest.update(chunk)
                    out.write(chunk)
            name = digest.hexdigest()
            self.path(name).parent.mkdir(exist_ok=True, mode=0o700)
            temporary.replace(self.path(name))
        finally:
            temporary.unlink(missing_ok=True)
        return name

    def put_bytes(self, data: bytes) -> str:
        """Keep a content that is in memory; its SHA-256. Cheap where it is there already."""
        name = hashlib.sha256(data).hexdigest()
        try:
            os.utime(self.path(name))
        except OSError:
            return self.put([data])
        return name

    def put_file(self, name: str, file: int) -> None:
        """Keep what an open file holds under a name that stands for it (64 hexadecimal digits); blocks are shared with
        it where the file system can."""
        self._programs.show_alive()
        make_folder(self._folder)
        temporary = self._folder / f"{self._programs.own}-{uuid4().hex[:8]}.tmp"
        try:
            target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                copy_content(file, target)
            finally:
                os.close(target)
            self.path(name).parent.mkdir(exist_ok=True, mode=0o700)
            temporary.replace(self.path(name))
        finally:
            temporary.unlink(missing_ok=True)

    def put_small(self, name: str, data: bytes) -> None:
        """Keep a content under a name that stands for it: quicker than `put_file`, but where the program is killed
        meanwhile its `size` is not that of `data`."""
        try:
            self.path(name).write_bytes(data)
        except FileNotFoundError:
            make_folder(self.path(name).parent)
            self.path(name).write_bytes(data)

    def get(self, name: str) -> bytes:
        """The content."""
        return self.path(name).read_bytes()

    def size(self, name: str) -> int:
        """Its bytes; 0 where it is not there."""
        try:
            return self.path(name).stat().st_size
        except FileNotFoundError:
            return 0

    def path(self, name: str) -> Path:
        """Where a content lies."""
        return self._folder / name[:2] / name

    def forget_all_but(self, names: set[str], grace: float = _GRACE) -> None:
        """Remove the others, but for those of the last hour, or of `grace` seconds."""
        young = time.time() - grace
        for file in self._folder.glob("*/*"):
            with suppress(FileNotFoundError):
                if file.name not in names and file.stat().st_mtime < young:
                    file.unlink()

    def remove_half_written(self, program: str) -> None:
        """Remove what another program, which was killed, left half written."""
        for temporary in self._folder.glob(f"{program}-*.tmp"):
            temporary.unlink(missing_ok=True)


Finder = Callable[[Begun], list[Change]]
"""What a call that never ended has changed."""


def recover(root: ProjectRoot, log: ChangeLog, dead: list[str], find: Finder) -> list[Change]:
    """Record what the `dead` programs' calls had changed by when they were killed; these changes.

    Whoever calls it holds the journal's lock.
    """
    changes: list[Change] = []
    logged = log.read()
    open_calls = [begun for begun in logged.open_calls if begun.program in dead]
    for begun in open_calls:
        changes += [msgspec.structs.replace(one, turn=begun.turn, program=begun.program) for one in find(begun)]
    undoing = {name for begun in open_calls for name in begun.undoes}
    undone = [one for one in logged.changes if one.name in undoing and is_in_state(root, one.path, one.before)]
    lines: list[Line] = [*changes, TakenBack(tuple(one.name for one in undone))]
    log.append([*lines, *(Ended(begun.call) for begun in open_calls)])
    return changes


def changed_by(root: ProjectRoot, begun: Begun, make: Callable[[str, str, str], Change]) -> list[Change]:
    """What a call on known files has changed; what it left half written beside them is removed.

    `make` gives the change of a path, its state before and after.
    """
    changes: list[Change] = []
    for path, before in begun.paths.items():
        with suppress(LocalLLMError, OSError):
            root.remove_leftovers(path)
        with suppress(LocalLLMError):  # something else stands there now: what was kept of it can still be named
            if (after := look(root, path)) != before and not begun.undoes:
                changes.append(make(path, before, after))
    return changes


def remove_temporaries(folder: Path) -> None:
    """Remove what `atomic_write` left in `folder`."""
    for file in folder.glob("*"):
        if is_temporary(file.name):
            file.unlink()
