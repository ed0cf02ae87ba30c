"""Journal of tool calls, one line of JSON each, kept outside the project for later inspection.

Each line holds the SHA-256 of the one before it, so that a changed, added or removed line is detected. Lines
removed from the end are not: nothing follows them.
"""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from localllm.base import logs
from localllm.base.events import Json
from localllm.base.file_lock import FileLock
from localllm.base.jsontext import decode_json, encode_json

_BLOCK = 64 << 10


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call.

    `target`: the file or the whole command; `arguments`: the `digest` of all of them, without contents. `paths`: for
    each changed file, its state before and after as `Snapshots` writes it. `outcome`: "ok", "failed", or an error
    code. `approval`: who or what permitted it; `sandbox`: what confined a command. `reverted`: the protected files
    that were restored; `overlooked`: not all folders could be searched for such. `hosts`: for each HOST:PORT a command
    requested, bytes sent and received, and the error code if it was refused. `agent`: the sub-agent that made the
    call.
    """

    tool: str
    arguments: str
    outcome: str
    target: str = ""
    approval: str = ""
    sandbox: str = ""
    paths: dict[str, tuple[str, str]] = {}
    reverted: tuple[str, ...] = ()
    overlooked: bool = False
    hosts: dict[str, tuple[int, int, str]] = {}
    agent: str = ""


class _Line(JournalEntry, frozen=True, kw_only=True):
    """An entry with the journal's own fields. `time` is UTC; `previous` the digest of the line before."""

    time: str
    session: str
    previous: str


class _Link(msgspec.Struct, frozen=True):
    """The field of a line that forms the chain."""

    previous: str


class Journal:
    """Appends to a file that only its owner can read. Several programs may write to it at once."""

    def __init__(self, file: Path, session: str) -> None:
        self._file = file
        self._session = session
        self._has_failed = False

    def write(self, entry: JournalEntry) -> None:
        """Append `entry`. Raises OSError if the file cannot be written."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(self._file.with_name(f"{self._file.name}.lock")):
            fd = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
            try:
                last = _last_line(fd)
                torn = b"\n" if last and not last.endswith(b"\n") else b""  # its writer was killed
                os.write(fd, torn + self._line(entry, last) + b"\n")
            finally:
                os.close(fd)

    def note(self, entry: JournalEntry) -> str:
        """Append `entry`; if that is not possible log it, and return why the first time, to be shown: else empty."""
        try:
            self.write(entry)
        except OSError as error:
            logs.of("TOOL").warning("the journal cannot be written: %s", error)
            is_first, self._has_failed = not self._has_failed, True
            return (error.strerror or str(error)) if is_first else ""
        return ""

    def _line(self, entry: JournalEntry, last: bytes) -> bytes:
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        known = {"time": time, "session": self._session, "previous": _sum(last)}
        return encode_json(_Line(**known, **msgspec.structs.asdict(entry)))


class Checked(msgspec.Struct, frozen=True):
    """Result of `check`: the number of lines, and the numbers (from 1) of those that do not follow from the line
    before them, or are no entries."""

    lines: int
    broken: tuple[int, ...] = ()


def check(file: Path) -> Checked:
    """Check that the journal is unchanged; a missing file counts as unchanged. Raises OSError."""
    count, last, broken = 0, b"", list[int]()
    with suppress(FileNotFoundError), file.open("rb") as lines:
        for line in lines:
            count += 1
            if _link(line) != _sum(last):
                broken.append(count)
            last = line
    return Checked(count, tuple(broken))


def digest(arguments: Mapping[str, Json]) -> str:
    """Return the SHA-256 of a call's arguments as sorted JSON: it identifies calls without their content."""
    return hashlib.sha256(msgspec.json.encode(dict(arguments), order="deterministic")).hexdigest()


def _sum(line: bytes) -> str:
    """Return the digest of this line that the next one holds; "" if there is no line."""
    return hashlib.sha256(line.rstrip(b"\n")).hexdigest() if line else ""


def _link(line: bytes) -> str | None:
    try:
        return decode_json(line, _Link).previous
    except msgspec.MsgspecError:
        return None


def _last_line(fd: int) -> bytes:
    """Return the last line of a file, with its newline if it has one."""
    end = os.fstat(fd).st_size
    start, tail = end, b""
    while start and b"\n" not in tail[:-1]:
        start = max(0, start - _BLOCK)
        os.lseek(fd, start, os.SEEK_SET)
        tail = os.read(fd, end - start)
    return tail[tail.rfind(b"\n", 0, -1) + 1 :]
