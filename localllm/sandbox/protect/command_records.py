"""Keep the state before a command on disk while the command runs.

If the program is killed meanwhile, or cannot scan all after it, a later scan undoes what the command changed.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

import msgspec

from localllm.base import logs
from localllm.base.errors import ToolExecutionError
from localllm.base.file_lock import FOLDER_PATIENCE, FileLock, try_lock
from localllm.base.i18n import Phrase
from localllm.base.paths import is_recorded, records_name
from localllm.base.regular_files import read_regular
from localllm.sandbox.protect.protected_paths import Entry
from localllm.sandbox.protect.repositories.repository_data import KnownData

PATIENCE = 30.0
"""Seconds to wait while git runs outside the sandbox."""
_BETWEEN_LOOKS = 0.05  # seconds
_HELD_OFF = ".held-off-"  # begins the names of the files that say where; those of records begin with a number
_BEAT = 1.0  # seconds between two updates of the record's time
_SLACK = 2_500_000_000  # nanoseconds after the last update during which the program may still have lived
_LARGEST = 200_000_000  # bytes of a record
_MOST_KEPT = 20  # records of commands that have ended; each is as large as what was protected
_LONGEST_ROOT = 8_192  # bytes read of a record for its root


class CommandRecord(KnownData, kw_only=True):
    """The state before commands, which the state after them is compared with: by this program or, if killed, the next.

    `begun`, `opened`: when the commands and the program began (ns, less a margin, as file times are coarse).
    `started`: no command had begun before; closer than `begun`, and of the file system of the root alone. 0: not known.
    `before`: the entries at protected names, and those of no known kind in repository data (`in_data`).
    `gone`: config and `.git` files of repositories that no longer exist. `tops`: protected paths, also empty folders.
    `holders`: the inodes of the folders that the repositories with the config files in `before` are moved with.
    `named`: what the protected files refer to; `places`: see Leads; `linkless`: other paths that may have no symlink.
    The other fields are those of the Reach of that scan, `visited` only as far as it is needed, and `last` with the
    folders in packages that held something protected after the commands before.
    """

    root: str = ""
    begun: int = 0
    started: int = 0
    opened: int = 0
    before: dict[str, Entry] = msgspec.field(default_factory=dict[str, Entry])
    in_data: frozenset[str] = frozenset()
    gone: dict[str, Entry] = msgspec.field(default_factory=dict[str, Entry])
    holders: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    tops: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    places: frozenset[str] = frozenset()
    linkless: tuple[str, ...] = ()
    repositories: frozenset[str] = frozenset()
    visited: frozenset[str] = frozenset()
    last: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    is_complete: bool = True


class OthersRecord(NamedTuple):
    """What stood in `folder` ("", or a path that ends in /) of this project before commands of another program, with
    all paths below this project's root: only `begun`, `before` and `is_complete` of the record. `lived`: the latest
    time (ns) at which the program may have lived."""

    record: CommandRecord
    folder: str
    lived: int


class _Before(msgspec.Struct, frozen=True):
    """What is read of another program's record: decoding the rest of a large one takes far longer."""

    begun: int = 0
    before: dict[bytes, Entry] = {}
    is_complete: bool = True


class _ReadRecord(NamedTuple):
    """A record of another program as it was read from a file; None if it is of another version."""

    identity: tuple[int, int]
    record: CommandRecord | None


class CommandRecords:
    """The record of this program's commands in the project at `root`, and those that killed programs have left in
    `folder` (None: nothing is recorded)."""

    def __init__(self, folder: Path | None, root: Path) -> None:
        self._folder = folder
        self._root = root
        self._file: Path | None = None
        self._taken: Path | None = None
        self._keeps_taken = False
        self._read: dict[Path, _ReadRecord] = {}
        self._fd = -1
        self._ended = threading.Event()
        self.unreadable = ""

    def wait(self, deadline: float, is_stopped: Callable[[], bool]) -> None:
        """Wait while commands are held off here. Raises ToolExecutionError after the `deadline` (time.monotonic), or
        when the command was stopped."""
        while self._folder and any(_overlap([self._root], held) for held in _held_off(self._folder)):
            if is_stopped() or time.monotonic() > deadline:
                reason = Phrase("another localllm has been running git here for {seconds:.0f} s", seconds=PATIENCE)
                raise ToolExecutionError("command_failed_to_start", reason=reason)
            time.sleep(_BETWEEN_LOOKS)

    @property
    def are_kept(self) -> bool:
        """Whether there is a folder for records, where a later program finds them."""
        return self._folder is not None

    def begin(self, record: CommandRecord) -> bool:
        """Write the record, which is kept until `end`; return False where commands are held off. If it cannot be
        written, this is only logged."""
        if self._folder is None:
            return True
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._folder, PATIENCE):
                if any(_overlap([self._root], held) for held in _held_off(self._folder)):
                    return False
                self._write(self._folder, record)
        except OSError as error:
            logs.of("SANDBOX").warning("what stood at protected names is not recorded: %r", error)
        return True

    def _write(self, folder: Path, record: CommandRecord) -> None:
        name = f"{os.getpid()}-{os.urandom(4).hex()}"
        half = folder / f".{name}"
        try:
            self._file = folder / f"{records_name(self._root)}{name}"
            self._fd = os.open(half, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try_lock(self._fd)  # held as long as the program lives
            with open(self._fd, "wb", closefd=False) as out:
                out.write(_encoded(record))
            half.replace(self._file)
        except (OSError, ValueError, OverflowError) as error:  # msgspec raises these as well
            logs.of("SANDBOX").warning("what stood at protected names is not recorded: %s", error)
            with suppress(OSError):
                half.unlink(missing_ok=True)
            self.end()
        else:
            self._ended = threading.Event()
            threading.Thread(target=self._beat, args=(self._fd, self._ended), daemon=True).start()

    @property
    def file(self) -> str:
        """The path of the current record, or ""."""
        return str(self._file or "")

    def _beat(self, fd: int, ended: threading.Event) -> None:
        while not ended.wait(_BEAT):
            with suppress(OSError):
                os.utime(fd)

    def end(self, *, is_kept: bool = False) -> bool:
        """Delete the record: the commands have ended, and their changes are undone. If not all could be scanned, it
        `is_kept` as one of a killed program is, until a later scan is complete. Return whether it was."""
        self._ended.set()
        was_kept = False
        if self._file:
            with suppress(OSError):
                if is_kept and _has_room(self._file):
                    was_kept = True
                    now = time.time_ns() - _SLACK  # what is changed from now on is the user's
                    os.utime(self._fd, ns=(now, now))
                else:
                    self._file.unlink(missing_ok=True)
        if self._fd >= 0:
            os.close(self._fd)
        self._file, self._fd = None, -1
        return was_kept

    @contextmanager
    def hold_off(self, folders: Collection[Path]) -> Generator[bool]:
        """Let no command of any program start meanwhile in the project, or in one that is, holds or lies in one of
        `folders`; yield False if another program runs one there now. Raises OSError."""
        folders = [self._root, *folders]
        with ExitStack() as stack:
            if self._folder is None:
                yield True
                return
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._folder, FOLDER_PATIENCE):
                is_alone = not any(_is_locked(file) for file, _ in self._others(folders))
                if is_alone:
                    stack.enter_context(_hold_file(self._folder, folders))
            yield is_alone

    def is_of_others(self) -> bool:
        """Return whether commands of another living program run in the project, or in one above or below it."""
        return any(_is_locked(file) for file, _ in self._others([self._root]))

    def of_others(self) -> Iterator["OthersRecord"]:
        """Yield the records of other programs in the project, and in those above and below it. Those of killed programs
        are among them: where the project is another only the next start there undoes their changes, and here they are
        kept as long as not all could be scanned. Each is read once, as it never changes: that of a killed program may
        be large and lie there for long."""
        known, self._read = self._read, {}
        for file, root in self._others([self._root]):
            with suppress(OSError):  # it has just ended
                is_alive = _is_locked(file)
                about = file.stat()
                identity = about.st_ino, about.st_size
                read = known.get(file)
                if read is None or read.identity != identity:
                    read = _ReadRecord(identity, self._read_before(file, root))
                self._read[file] = read
                if read.record:
                    lived = sys.maxsize if is_alive else about.st_mtime_ns + _SLACK
                    yield OthersRecord(read.record, _between(self._root, root), lived)

    def _read_before(self, file: Path, root: Path) -> CommandRecord | None:
        """Return `begun` and `before` of a record of the project at `root`, as far as it is about this project; None if
        it is of another version. Raises OSError."""
        try:
            read = msgspec.msgpack.decode(read_regular(file, _LARGEST).partition(b"\0")[2], type=_Before)
        except (ValueError, TypeError):
            return None
        above, below = _between(root, self._root), _between(self._root, root)
        start = os.fsencode(above)
        before = {
            f"{below}{os.fsdecode(path[len(start) :])}": was
            for path, was in read.before.items()
            if path.startswith(start)
        }
        return CommandRecord(begun=read.begun, before=before, is_complete=read.is_complete)

    def _others(self, folders: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
        """Yield the records of this project, and of those above and below the `folders`, each with its root."""
        if self._folder is None:
            return
        with suppress(OSError):
            ours = records_name(self._root)
            for file in self._folder.iterdir():
                if file in (self._file, self._taken) or file.name.startswith("."):
                    continue
                root = self._root if file.name.startswith(ours) else _root_of(file)
                if root and _overlap(folders, [root]):
                    yield file, root

    def take_dead(self) -> Iterator[tuple[CommandRecord, int]]:
        """Yield the records of killed programs, and those kept by `end`, each with the latest time (ns) at which the
        command may have run; delete each record when the next one is asked for."""
        self.unreadable = ""
        if self._folder is None or not is_recorded(self._root, self._folder):
            return
        try:
            names = sorted(os.listdir(self._folder))  # noqa: PTH208 - names; glob passes over what cannot be read
        except OSError as error:
            self._note_unreadable(self._folder, error)
            return
        for file in [self._folder / name for name in names if name.startswith(records_name(self._root))]:
            try:
                fd = os.open(file, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            except FileNotFoundError:  # another program has just taken it
                continue
            except OSError as error:
                self._note_unreadable(file, error)
                continue
            with suppress(OSError):
                try:
                    if not try_lock(fd):
                        continue  # its program is alive
                    lived = os.fstat(fd).st_mtime_ns + _SLACK
                    with open(fd, "rb", closefd=False) as data:
                        self._taken, self._keeps_taken = file, False
                        record = _decoded(data.read(_LARGEST), str(self._root))
                    yield record, lived
                except (ValueError, TypeError) as error:  # no record, or of another version
                    logs.of("SANDBOX").warning("a record of a command cannot be read: %s", error)
                finally:
                    self._taken = None
                    os.close(fd)
                if not self._keeps_taken:
                    file.unlink(missing_ok=True)

    def _note_unreadable(self, file: Path, error: OSError) -> None:
        self.unreadable = self.unreadable or f"{file}: {error.strerror}"
        logs.of("SANDBOX").warning("a record of a command cannot be read: %s", error)

    def keep_taken(self) -> None:
        """Let the record that was taken last stay: not all could be scanned."""
        self._keeps_taken = True


@contextmanager
def _hold_file(folder: Path, held: Iterable[Path]) -> Generator[None]:
    """Keep a locked file that names the folders in which no command may start."""
    name = f"{os.getpid()}-{os.urandom(4).hex()}"
    half, file = folder / f".{name}", folder / f"{_HELD_OFF}{name}"
    fd = os.open(half, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try_lock(fd)
        os.write(fd, b"\0".join(map(os.fsencode, held)))
        half.replace(file)
        yield
    finally:
        for one in (half, file):
            with suppress(OSError):
                one.unlink(missing_ok=True)
        os.close(fd)


def _held_off(folder: Path) -> Iterator[list[Path]]:
    """Yield the folders in which each living program lets no command start."""
    for file in folder.glob(f"{_HELD_OFF}*"):
        if _is_locked(file):
            with suppress(OSError):  # it has just ended
                yield [Path(os.fsdecode(held)) for held in file.read_bytes().split(b"\0")]
        else:
            file.unlink(missing_ok=True)  # of a killed program


def _has_room(record: Path) -> bool:
    """Return whether one more record of the same project may be kept; it may no longer be at its path."""
    of_project = record.name.rsplit("-", 2)[0]
    return sum(1 for _ in record.parent.glob(f"{of_project}-*")) <= _MOST_KEPT


def _overlap(some: Iterable[Path], others: Sequence[Path]) -> bool:
    """Return whether one of the folders is, holds or lies in one of the others."""
    return any(one.is_relative_to(other) or other.is_relative_to(one) for one in some for other in others)


def _encoded(record: CommandRecord) -> bytes:
    """Encode the record, with its root in front, which is then read without the rest."""
    fields = msgspec.structs.asdict(record)
    encoded = msgspec.msgpack.encode({name: _with_paths(value, os.fsencode) for name, value in fields.items()})
    return os.fsencode(record.root) + b"\0" + encoded


def _root_of(file: Path) -> Path | None:
    try:
        with file.open("rb") as data:
            root, end, _ = data.read(_LONGEST_ROOT).partition(b"\0")
    except OSError:
        return None  # it has just ended
    return Path(os.fsdecode(root)) if end else None


def _between(root: Path, folder: Path) -> str:
    """Return the path from `root` to `folder`, with a slash at its end; "" if it does not lie below."""
    return f"{folder.relative_to(root)}/" if folder != root and folder.is_relative_to(root) else ""


def _decoded(data: bytes, root: str) -> CommandRecord:
    """Return the record, with its paths moved to `root`. Raises ValueError (of which msgspec's are subclasses) or
    TypeError."""
    fields = msgspec.msgpack.decode(data.partition(b"\0")[2], type=dict[str, Any])
    record = msgspec.convert({name: _with_paths(value, os.fsdecode) for name, value in fields.items()}, CommandRecord)
    start = f"{record.root}/"
    for name in ("folders", "alternates", "strange", "places"):
        paths: frozenset[str] = getattr(record, name)
        moved = (f"{root}/{path.removeprefix(start)}" if path.startswith(start) else path for path in paths)
        setattr(record, name, frozenset(moved))
    return record


def _with_paths(value: Any, convert: Callable[[Any], str | bytes]) -> Any:
    """Return the value of a field with its paths converted: they need not be UTF-8, as msgpack requires of text."""
    match value:
        case str() | bytes():
            return convert(value)
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


class Lifetime:
    """The time during which a killed command may have changed something. Create it before anything is restored or
    opened. `lived`: the latest time (ns) at which the command may have lived."""

    def __init__(self, root: Path, record: CommandRecord, lived: int) -> None:
        self._root = root
        self._begun = record.begun
        self._lived = lived
        paths = (*record.before, *record.heads)
        self._gone = {path: self._gone_at(path) for path in paths}

    def _gone_at(self, path: str) -> int:
        """Return the time of the last change of the path's folder, or of the nearest parent that still exists."""
        folder = self._root / path
        while folder != self._root and not os.path.lexists(folder):
            folder = folder.parent
        return changed_at(folder)

    def saw_change(self, after: Entry) -> bool:
        """Return whether the file itself was last changed within that time."""
        return self._begun <= after.identity[4] <= self._lived

    def holds(self, path: str, after: Entry | None) -> bool:
        """Return whether the last change of a file is within that time. A file moved there in a folder may itself be
        older."""
        if after is None:
            return self._begun <= self._gone.get(path, self._begun) <= self._lived
        folders = [self._root / folder for folder in PurePosixPath(path).parents[:-1]]
        return after.identity[4] <= self._lived and max(after.identity[4], *map(changed_at, folders), 0) >= self._begun


def changed_at(folder: Path) -> int:
    """Return the ctime (ns) of the folder; sys.maxsize if it is not known."""
    try:
        return folder.lstat().st_ctime_ns
    except OSError:
        return sys.maxsize
