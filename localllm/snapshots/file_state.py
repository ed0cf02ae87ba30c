"""States of files, and the index that identifies unchanged ones."""

import hashlib
import os
import stat
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from localllm.base.errors import LocalLLMError
from localllm.base.jsontext import decode_msgpack
from localllm.base.regular_files import content_time
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.project_scan import Sign

ABSENT = "absent"
"""The state of a missing file. Any other is `<SHA-256 of the content>:<permissions in octal>`, or a result of
`unkept`."""

_UNKEPT = "unkept:"
_REPOSITORY = "repository:"
LOST = f"{_REPOSITORY}lost:0"
"""The state of a repository after a command destroyed part of it."""


def look(root: ProjectRoot, relative: str) -> str:
    """Return the current state of a file (digest and mode, or ABSENT) without storing it. Raises as
    ProjectRoot.open_file."""
    if not root.exists(relative):
        return ABSENT
    with root.open_file(relative) as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        return state_of(hashlib.file_digest(file, "sha256").hexdigest(), mode)


def readable_states(root: ProjectRoot, paths: Iterable[str]) -> dict[str, str]:
    """Return the states of the readable files. Others may have changed them: if this process is killed now, that must
    not count as its doing."""
    states: dict[str, str] = {}
    for path in paths:
        with suppress(LocalLLMError):
            states[path] = look(root, path)
    return states


_NO_FILE = ("file_is_directory", "path_not_regular")


def is_in_state(root: ProjectRoot, relative: str, state: str) -> bool:
    """Whether a file is in a recorded state. What is no regular file is in none of them. Raises as `look`."""
    if is_repository(state):
        return False
    if not is_unkept(state):
        try:
            return look(root, relative) == state
        except LocalLLMError as error:
            if error.key in _NO_FILE:
                return False
            raise
    if not root.exists(relative):
        return False
    facts = root.stat(relative)
    return state.startswith(f"{_UNKEPT}{facts.st_size}-{content_time(facts)}:")


def state_of(content: str, mode: int) -> str:
    """Return the state of a file with this content's SHA-256 and these permissions."""
    return f"{content}:{mode:o}"


def content_of(state: str) -> str:
    """Return the content's SHA-256; for a state without one, a string that is no SHA-256."""
    return state.partition(":")[0]


def mode_of(state: str) -> int:
    """Return the permissions."""
    return int(state.rpartition(":")[2], 8)


def unkept(facts: Sign) -> str:
    """Return the state of a file whose content is not stored."""
    return f"{_UNKEPT}{facts.size}-{facts.mtime_ns}:{facts.mode:o}"


def state_of_losses(version: str) -> str:
    """Return the state of a repository before it lost what the content of this SHA-256 lists."""
    return f"{_REPOSITORY}{version}:0"


def is_repository(state: str) -> bool:
    """Whether it is the state of a repository, not of a file."""
    return state.startswith(_REPOSITORY)


def losses_of(state: str) -> str:
    """Return the SHA-256 of the content that lists a repository's losses."""
    return state.removeprefix(_REPOSITORY).partition(":")[0]


def is_unkept(state: str) -> bool:
    """Whether it is a result of `unkept`."""
    return state.startswith(_UNKEPT)


_LENGTH = 4  # bytes of the length prefix of the entries
_MOST_PARTS = 100


class Place(Protocol):
    """The storage of an index."""

    @property
    def index_file(self) -> Path:
        """The file."""
        ...

    def write_index(self, data: bytes, *, add: bool = False) -> None:
        """Replace the file, or append to it. Raises OSError."""


class Known(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The last observation of a file. `state` is from Snapshots, "" if the content is not stored. Not `settled`: it may
    have changed again unnoticed."""

    sign: Sign
    state: str
    settled: bool
    ignored: bool


class FileIndex:
    """The observations of files, by path. Each entry is only a hint, valid while the file has its sign. Stored beside
    the snapshots' journal; changes are appended until it is rewritten.

    `left_out` are the paths of files that are not stored, `pending` those to be read next time; `size` is the bytes of
    the stored ones.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._files, self._anew = _decoded(place)
        self._unsaved: dict[str, Known | None] = {}
        self._wanted: list[str] | None = None
        self.left_out = {path for path, known in self._files.items() if not known.state}
        self.pending = {path for path, known in self._files.items() if not known.settled}
        self.size = sum(known.sign.size for known in self._files.values() if known.state)

    def paths(self) -> Collection[str]:
        """Return the known files."""
        return self._files.keys()

    def get(self, path: str) -> Known | None:
        """Return the observation of a file; None if it did not exist."""
        return self._files.get(path)

    def holds(self, path: str) -> bool:
        """Whether the file, or one below the folder if `path` ends with `/`, is known and is the user's own: not
        ignored by .gitignore when it was first seen."""
        if not path.endswith("/"):
            known = self._files.get(path)
            return known is not None and not known.ignored
        if self._wanted is None:
            self._wanted = sorted(path for path, known in self._files.items() if not known.ignored)
        at = bisect_left(self._wanted, path)
        return at < len(self._wanted) and self._wanted[at].startswith(path)

    def put(self, path: str, known: Known | None) -> None:
        """Record the observation of a file; None if it is gone."""
        old = self._files.pop(path, None)
        if old is not None and old.state:
            self.size -= old.sign.size
        self.left_out.discard(path)
        self.pending.discard(path)
        if known is not None:
            self._files[path] = known
            self.size += known.sign.size if known.state else 0
            if not known.state:
                self.left_out.add(path)
            if not known.settled:
                self.pending.add(path)
        if old != known:
            self._unsaved[path] = known
        if old is None or known is None or old.ignored != known.ignored:
            self._wanted = None

    def save(self) -> None:
        """Save new entries. Raises OSError."""
        if not self._unsaved:
            return
        anew = self._anew or len(self._unsaved) * 2 > len(self._files)
        self._place.write_index(_encoded(self._files if anew else self._unsaved), add=not anew)
        self._unsaved, self._anew = {}, False


def _encoded(entries: Mapping[str, Known | None]) -> bytes:
    data = msgspec.msgpack.encode({os.fsencode(path): known for path, known in entries.items()})
    return len(data).to_bytes(_LENGTH, "big") + data


def _decoded(place: Place) -> tuple[dict[str, Known], bool]:
    """Decode the stored entries, and whether to rewrite the file: it is torn, of another version, or in many parts."""
    files: dict[bytes, Known | None] = {}
    torn = False
    at = parts = 0
    try:
        data = place.index_file.read_bytes()
        while at < len(data):
            end = at + _LENGTH + int.from_bytes(data[at : at + _LENGTH], "big")
            files |= decode_msgpack(data[at + _LENGTH : end], dict[bytes, Known | None])
            at, parts = end, parts + 1
    except (OSError, msgspec.DecodeError):
        torn = True
    return {os.fsdecode(path): known for path, known in files.items() if known is not None}, torn or parts > _MOST_PARTS
