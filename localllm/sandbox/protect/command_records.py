"""What stood at protected names before a command, kept on the disk while it runs: for the next start, should the
program be killed meanwhile."""

import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec

from localllm.base import logs
from localllm.base.file_lock import try_lock
from localllm.base.paths import is_recorded, records_name
from localllm.sandbox.protect.protected_paths import Entry

_BEAT = 1.0  # seconds between two signs of life
_SLACK = 2_500_000_000  # nanoseconds after the last one in which the program may still have lived
_LARGEST = 200_000_000  # bytes of a record that is read


class CommandRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be put back if the command does not come to its end. `begun`: when it began (ns). `before`, `named`,
    `is_complete`, `last`: see ProtectedFiles and Reach; `repositories`: the folders with a `.git`."""

    begun: int
    before: dict[str, Entry]
    named: tuple[str, ...] = ()
    repositories: frozenset[str] = frozenset()
    is_complete: bool = True
    last: dict[str, int] = {}


class CommandRecords:
    """The record of this program's commands in the project at `root`, and those that killed ones have left in `folder`
    (None: nothing is kept)."""

    def __init__(self, folder: Path | None, root: Path) -> None:
        self._folder = folder
        self._root = root
        self._file: Path | None = None
        self._fd = -1
        self._ended = threading.Event()

    def begin(self, record: CommandRecord) -> None:
        """Keep the record until `end`. Where it cannot be kept, the log says so, and nothing else happens."""
        if self._folder is None:
            return
        name = f"{os.getpid()}-{os.urandom(4).hex()}"
        half = self._folder / f".{name}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = self._folder / f"{records_name(self._root)}{name}"
            self._fd = os.open(half, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try_lock(self._fd)  # held as long as the program lives
            with open(self._fd, "wb", closefd=False) as out:
                out.write(_encoded(record))
            half.replace(self._file)
        except (OSError, ValueError, OverflowError) as error:  # what msgspec raises as well
            logs.of("SANDBOX").warning("what stood at protected names is not recorded: %s", error)
            with suppress(OSError):
                half.unlink(missing_ok=True)
            self.end()
        else:
            self._ended = threading.Event()
            threading.Thread(target=self._beat, args=(self._fd, self._ended), daemon=True).start()

    @property
    def file(self) -> str:
        """The path of the record that is kept now, or ""."""
        return str(self._file or "")

    def _beat(self, fd: int, ended: threading.Event) -> None:
        while not ended.wait(_BEAT):
            with suppress(OSError):
                os.utime(fd)

    def end(self) -> None:
        """The commands have come to their end, and what they changed was undone."""
        self._ended.set()
        if self._file:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)
        if self._fd >= 0:
            os.close(self._fd)
        self._file, self._fd = None, -1

    def is_of_others(self) -> bool:
        """Whether commands of another program, which lives, run in the project."""
        if self._folder is None or not is_recorded(self._root, self._folder):
            return False
        others = (file for file in self._folder.glob(f"{records_name(self._root)}*") if file != self._file)
        return any(map(_is_locked, others))

    def take_dead(self) -> Iterator[tuple[CommandRecord, int]]:
        """The records of programs that were killed, each with the latest time (ns) they may have lived at; the record
        is removed behind each."""
        if self._folder is None or not is_recorded(self._root, self._folder):
            return
        for file in sorted(self._folder.glob(f"{records_name(self._root)}*")):
            with suppress(OSError):
                fd = os.open(file, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
                try:
                    if not try_lock(fd):
                        continue  # it lives
                    lived = os.fstat(fd).st_mtime_ns + _SLACK
                    with open(fd, "rb", closefd=False) as data:
                        record = _decoded(data.read(_LARGEST))
                    yield record, lived
                except (ValueError, TypeError) as error:  # no record, or one of another version
                    logs.of("SANDBOX").warning("a record of a command cannot be read: %s", error)
                finally:
                    os.close(fd)
                file.unlink(missing_ok=True)


def _encoded(record: CommandRecord) -> bytes:
    fields = msgspec.structs.asdict(record)
    return msgspec.msgpack.encode({name: _with_paths(value, os.fsencode) for name, value in fields.items()})


def _decoded(data: bytes) -> CommandRecord:
    """Raises ValueError (of which msgspec's are) or TypeError."""
    fields = msgspec.msgpack.decode(data, type=dict[str, Any])
    return msgspec.convert({name: _with_paths(value, os.fsdecode) for name, value in fields.items()}, CommandRecord)


def _with_paths(value: Any, convert: Callable[[Any], str | bytes]) -> Any:
    """The value of a field with its paths converted: they need not be UTF-8, which text has to be on the disk."""
    match value:
        case dict():
            return {convert(path): what for path, what in cast("dict[Any, Any]", value).items()}
        case list() | tuple() | frozenset():
            return [convert(path) for path in cast("Collection[Any]", value)]
        case _:
            return value


def _is_locked(file: Path) -> bool:
    try:
        fd = os.open(file, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        return not try_lock(fd)
    finally:
        os.close(fd)


def last_change(root: Path, path: str, after: Entry | None) -> int:
    """When (ns) somebody last changed it or, where it is gone, the folder that it was in."""
    if after is not None:
        return after.identity[4]
    folder = root / path
    while folder != root and not os.path.lexists(folder):
        folder = folder.parent
    return changed_at(folder)


def changed_at(folder: Path) -> int:
    """When (ns) anything of the folder last changed; in the far future where it cannot be told."""
    try:
        return folder.lstat().st_ctime_ns
    except OSError:
        return sys.maxsize
