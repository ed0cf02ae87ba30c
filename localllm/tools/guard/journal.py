"""What the tools did, one line of JSON a call: kept outside the project, for whoever wants to know afterwards."""

import hashlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from localllm.base.events import Json


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call.

    `target` is the file or the whole command, `arguments` the `digest` of all of them: contents stay out. `paths` has,
    for each file that was changed, its state before and after as `Snapshots` writes it. `outcome` is "ok", "failed",
    or the code of an error. `approval` says who or what permitted it, `sandbox` what held a command.
    """

    tool: str
    arguments: str
    outcome: str
    target: str = ""
    approval: str = ""
    sandbox: str = ""
    paths: dict[str, tuple[str, str]] = {}


class _Line(JournalEntry, frozen=True, kw_only=True):
    """An entry with what the journal itself knows. `time` is UTC."""

    time: str
    session: str


class Journal:
    """Appends to a file only its owner can read. Several programs may write to the same file."""

    def __init__(self, file: Path, session: str) -> None:
        self._file = file
        self._session = session

    def write(self, entry: JournalEntry) -> None:
        """Append `entry`. Raises OSError where the file cannot be written."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = _Line(time=time, session=self._session, **msgspec.structs.asdict(entry))
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            os.write(fd, msgspec.json.encode(line) + b"\n")
        finally:
            os.close(fd)


def digest(arguments: Mapping[str, Json]) -> str:
    """The SHA-256 of a call's arguments as JSON with sorted keys: enough to tell two calls apart, and no content."""
    return hashlib.sha256(msgspec.json.encode(dict(arguments), order="deterministic")).hexdigest()
