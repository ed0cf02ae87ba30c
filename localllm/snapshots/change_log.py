"""The journal of changes: which call changed which file, which changes were undone, which calls never ended; and the
changes that one process made."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from localllm.base.files import atomic_write
from localllm.base.paths import SETTINGS_FILE
from localllm.snapshots.file_state import content_of, is_repository

OWN_WRITE = "localllm"
"""The tool of a change by localllm itself: a session's record, or a change removed from a later version. `undo` skips
it."""

UNSTAGED = "none"


class Change(msgspec.Struct, frozen=True, kw_only=True, tag="change"):
    """A change of one file by one call. `before` and `after` are states; `time` is seconds since the epoch; `session`
    names its conversation, "" if unknown; `staged` is the object of the file in git's index after the call, if the call
    changed that; UNSTAGED if it has none."""

    call: str
    turn: str
    tool: str
    path: str
    before: str
    after: str
    time: float
    program: str = ""
    session: str = ""
    staged: str = ""

    @property
    def name(self) -> str:
        """The unique name of the change."""
        return f"{self.call} {self.path}"

    @property
    def transition(self) -> "Transition":
        """The change without the call that made it."""
        return Transition(self.path, self.before, self.after)

    def inverse(self, time: float) -> "Change":
        """Return the inverse of a change that was made at `time`."""
        return msgspec.structs.replace(self, before=self.after, after=self.before, time=time)


class Transition(msgspec.Struct, frozen=True):
    """A change of one file that this process made or undid."""

    path: str
    before: str
    after: str


class TakenBack(msgspec.Struct, frozen=True, tag="undo"):
    """Undone changes, by name."""

    changes: tuple[str, ...]


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag="begun"):
    """A call that is about to change `paths`, with their states (empty for a command, which may change any file).

    `undoes` names the changes it undoes.
    """

    call: str
    turn: str
    tool: str
    paths: dict[str, str]
    time: float
    program: str
    undoes: tuple[str, ...] = ()
    session: str = ""


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """A finished call, by name."""

    call: str


Line = Change | TakenBack | Begun | Ended


class Logged(NamedTuple):
    """All changes, oldest first; the names of undone ones; the calls that never ended."""

    changes: list[Change]
    taken_back: set[str]
    open_calls: list[Begun]

    def own_states(self, path: str, state: str) -> set[str]:
        """Return the states that only localllm can have given a file since it was in `state`: by its own writes and by
        undone changes."""
        states = {state}
        for change in self.changes:
            is_own = change.tool == OWN_WRITE or change.name in self.taken_back
            if is_own and change.path == path and change.before in states:
                states.add(change.after)
        return states


class ChangeLog:
    """The journal in `file`. The caller holds a lock to write, or to read before writing. Methods raise OSError."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def size(self) -> int:
        """Its size in bytes, for `read`."""
        try:
            return self._file.stat().st_size
        except FileNotFoundError:
            return 0

    def append(self, lines: Sequence[Line]) -> None:
        """Append lines in one write. A torn line before them stays separate."""
        fd = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            size = os.fstat(fd).st_size
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            os.write(fd, b"\n" * torn + _encoded(lines))
        finally:
            os.close(fd)

    def replace(self, lines: Iterable[Line]) -> None:
        """Replace all lines."""
        atomic_write(self._file, _encoded(lines), mode=0o600)

    def read(self, since: int = 0) -> Logged:
        """Read the journal, or what was added after the size `since`. Torn lines are skipped."""
        changes: list[Change] = []
        taken_back: set[str] = set()
        open_calls: dict[str, Begun] = {}
        for line in self._lines(since):
            with suppress(ValueError):  # of msgspec, or of json
                entry = _decoded(line)
                match entry:
                    case Change() as change:
                        changes.append(change)
                    case TakenBack(names):
                        taken_back.update(names)
                    case Begun() as begun:
                        open_calls[begun.call] = begun
                    case Ended(call):
                        open_calls.pop(call, None)
        return Logged(changes, taken_back, list(open_calls.values()))

    def _lines(self, since: int) -> list[bytes]:
        try:
            with self._file.open("rb") as file:
                file.seek(since if since <= os.fstat(file.fileno()).st_size else 0)  # shorter: it was pruned meanwhile
                return file.read().splitlines()
        except FileNotFoundError:
            return []


class MadeChanges:
    """The changes by this process in order, behind those of an earlier process whose session it resumed (`adopted`).
    A position is the number of changes so far."""

    def __init__(self) -> None:
        self._made: list[Transition] = []
        self.adopted: frozenset[Transition] = frozenset()

    @property
    def position(self) -> int:
        """The number of changes so far."""
        return len(self._made)

    def since(self, position: int) -> list[Transition]:
        """Return the changes since `position`, in order."""
        return self._made[position:]

    def add(self, made: Iterable[Transition]) -> None:
        """Append changes by this process."""
        self._made += made

    def adopt(self, made: Sequence[Transition]) -> None:
        """Insert the changes of an earlier process before those of this one."""
        self._made = [*made, *self._made]
        self.adopted = frozenset(made)

    def recover(self, found: Iterable[Transition]) -> None:
        """Append changes of the earlier process that it could not log, unless adopted already."""
        recovered = [made for made in found if made not in self.adopted]
        self._made += recovered
        self.adopted |= {*recovered}

    def changed_since(self, position: int) -> list[str]:
        """Return the files that differ from their state at `position`, as far as this process knows; sorted."""
        return sorted(self.states_since(position))

    def states_since(self, position: int) -> dict[str, tuple[str, str]]:
        """Return the state of each file at `position`, and the state this process left it in."""
        states: dict[str, tuple[str, str]] = {}
        for made in self._made[position:]:
            if is_repository(made.before) or made.path == SETTINGS_FILE:  # settings are not part of a conversation
                continue
            first = states[made.path][0] if made.path in states else made.before
            states[made.path] = first, made.after
        return {path: (then, now) for path, (then, now) in states.items() if then != now}


def retained(
    changes: list[Change], since: float, always: int, max_bytes: int, size: Callable[[str], int]
) -> list[Change]:
    """Return the newest changes, in order, that are young enough or of the newest `always` calls, and whose contents,
    with these sizes, fit."""
    counted: set[str] = set()
    calls: set[str] = set()
    kept: list[Change] = []
    for change in reversed(changes):
        names = {content_of(change.before), content_of(change.after)} - counted
        counted |= names
        if change.tool != OWN_WRITE:
            calls.add(change.call)
        max_bytes -= sum(map(size, names))
        if (change.time < since and len(calls) > always) or max_bytes < 0:
            break
        kept.append(change)
    return kept[::-1]


def _encoded(lines: Iterable[Line]) -> bytes:
    return b"".join(_line(line) + b"\n" for line in lines)


def _line(line: Line) -> bytes:
    try:
        return msgspec.json.encode(line)
    except UnicodeEncodeError:  # a file name that is not UTF-8: msgspec handles no lone surrogates
        return json.dumps(msgspec.to_builtins(line)).encode()


def _decoded(line: bytes) -> Line:
    """Decode a line. Raises ValueError if it is torn."""
    try:
        return msgspec.json.decode(line, type=Line)
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(line), type=Line)
