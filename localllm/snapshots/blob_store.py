"""Store earlier contents of files, track the processes that use them, and recover after a crash."""

import hashlib
import os
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import msgspec

from localllm.base import logs
from localllm.base.errors import LocalLLMError
from localllm.base.file_lock import try_lock
from localllm.base.files import copy_content, is_temporary
from localllm.base.own_folders import reopen_file
from localllm.safety.path_names import shown
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.change_log import Begun, Change, ChangeLog, Ended, TakenBack
from localllm.snapshots.file_state import is_in_state, look

_FEW_FILES = 2_000
_FEW_BYTES = 20_000_000
SECONDS_FOR_FEW = 12.0
"""Seconds to read this much beyond the usual time: it takes less than a second, but on a machine that is busy."""


def more_seconds(sizes: Sequence[int]) -> float:
    """Return how much longer than usual may be waited for files of these sizes to be read."""
    return SECONDS_FOR_FEW if len(sizes) <= _FEW_FILES and sum(sizes) <= _FEW_BYTES else 0.0


class Programs:
    """The processes that work on a project: a file for each in `folder`, locked for as long as it lives.

    `own` is the name of this process.
    """

    def __init__(self, folder: Path) -> None:
        self.own = uuid4().hex
        self._folder = folder
        self._alive = -1

    def show_alive(self) -> None:
        """Create this process's lock file. Raises OSError."""
        if self._alive < 0:
            make_folder(self._folder.parent)
            make_folder(self._folder)
            self._alive = _hold(self._folder / self.own)
            weakref.finalize(self, os.close, self._alive)

    def dead(self) -> list[str]:
        """Return the processes that were killed, or ended without being removed."""
        return [name for name in _names(self._folder) if name != self.own and _is_free(self._folder / name)]

    def living(self) -> list[str]:
        """Return the other running processes."""
        return [name for name in _names(self._folder) if name != self.own and not _is_free(self._folder / name)]

    def forget(self, name: str) -> None:
        """Remove the file of a dead process."""
        (self._folder / name).unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Create a private folder if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def _hold(file: Path) -> int:
    """Lock `file` until the descriptor is closed or the process ends."""
    fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try_lock(fd)
    return fd


def _is_free(file: Path) -> bool:
    """Whether `file` is not locked."""
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


_GRACE = 3600.0  # seconds: a content not yet in the journal may belong to a running call


class Contents:
    """The contents in `folder`. Methods raise OSError."""

    def __init__(self, folder: Path, programs: Programs) -> None:
        self._folder = folder
        self._programs = programs

    def put(self, chunks: Iterable[bytes]) -> str:
        """Store a content; return its SHA-256."""
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
        """Store a content in memory; return its SHA-256. Cheap if it is stored already."""
        name = hashlib.sha256(data).hexdigest()
        try:
            os.utime(self.path(name))
        except OSError:
            return self.put([data])
        return name

    def put_file(self, name: str, file: int) -> None:
        """Store an open file under a name that identifies its content (64 hexadecimal digits); the file system may
        share its blocks."""
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
        """Store a content under a name that identifies it: faster than `put_file`, but if the process is killed
        meanwhile, its `size` is not that of `data`."""
        try:
            self.path(name).write_bytes(data)
        except FileNotFoundError:
            make_folder(self.path(name).parent)
            self.path(name).write_bytes(data)

    def get(self, name: str) -> bytes:
        """Read a content."""
        file = self.path(name)
        try:
            return file.read_bytes()
        except PermissionError:
            if not reopen_file(file):
                raise
            return file.read_bytes()

    def size(self, name: str) -> int:
        """Return its size in bytes; 0 if it is missing."""
        try:
            return self.path(name).stat().st_size
        except FileNotFoundError:
            return 0

    def path(self, name: str) -> Path:
        """Return the path of a content."""
        return self._folder / name[:2] / name

    def forget_all_but(self, names: set[str], grace: float = _GRACE) -> None:
        """Remove all other contents, except those of the last `grace` seconds."""
        young = time.time() - grace
        for file in self._folder.glob("*/*"):
            with suppress(FileNotFoundError):
                if file.name not in names and file.stat().st_mtime < young:
                    file.unlink()

    def remove_half_written(self, program: str) -> None:
        """Remove temporary files of a killed process."""
        for temporary in self._folder.glob(f"{program}-*.tmp"):
            temporary.unlink(missing_ok=True)


Finder = Callable[[Begun], list[Change]]
"""Returns the changes of a call that never ended."""


class Recovered(NamedTuple):
    """What killed processes had changed, and the changes that they were undoing and had not undone yet."""

    changes: list[Change]
    not_undone: list[Change]


def recover(root: ProjectRoot, log: ChangeLog, dead: list[str], find: Finder) -> Recovered:
    """Record and return what the calls of the `dead` processes had changed when they were killed.

    The caller holds the journal's lock. A call or file that cannot be looked at is only logged: such a call stays open.
    """
    changes: list[Change] = []
    ended: list[Begun] = []
    logged = log.read()
    for begun in logged.open_calls:
        if begun.program not in dead:
            continue
        of_call = {"turn": begun.turn, "program": begun.program, "session": begun.session}
        try:
            found = find(begun)
        except (LocalLLMError, OSError) as error:
            logs.of("UNDO").warning("what a killed program had changed is not known: %s", error)
            continue
        changes += [msgspec.structs.replace(one, **of_call) for one in found]
        ended.append(begun)
    undoing = {name for begun in ended for name in begun.undoes} - logged.taken_back
    begun_to_undo = [one for one in logged.changes if one.name in undoing]
    undone = {one.name: None for one in begun_to_undo if _is_undone(root, one)}
    log.append([*changes, TakenBack((*undone,)), *(Ended(begun.call) for begun in ended)])
    return Recovered(changes, [one for one in begun_to_undo if one.name not in undone])


def _is_undone(root: ProjectRoot, change: Change) -> bool:
    try:
        return is_in_state(root, change.path, change.before)
    except (LocalLLMError, OSError) as error:
        logs.of("UNDO").warning("whether %s is as it was before is not known: %s", shown(change.path), error)
        return False


def changed_by(root: ProjectRoot, begun: Begun, make: Callable[[str, str, str], Change]) -> list[Change]:
    """Return what a call on known files has changed; remove its temporary files.

    `make` creates the change from a path and its states before and after.
    """
    changes: list[Change] = []
    for path, before in begun.paths.items():
        with suppress(LocalLLMError, OSError):
            root.remove_leftovers(path)
        with suppress(LocalLLMError):  # replaced by something else: its stored version can still be named
            if (after := look(root, path)) != before and not begun.undoes:
                changes.append(make(path, before, after))
    return changes


def remove_temporaries(folder: Path) -> None:
    """Remove the temporary files of `atomic_write` in `folder`."""
    for file in folder.glob("*"):
        if is_temporary(file.name):
            file.unlink()
