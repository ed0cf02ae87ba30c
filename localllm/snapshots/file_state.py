"""States of files, and the index by which unchanged ones are known."""

import hashlib
import os
import stat
from bisect import bisect_left
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from localllm.base.jsontext import decode_msgpack
from localllm.base.regular_files import content_time
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.project_scan import Sign

ABSENT = "absent"
"""The state of a file that is not there. Any other is `<SHA-256 of the content>:<permissions in octal>`, or what
`unkept` gives."""

_UNKEPT = "unkept:"
_REPOSITORY = "repository:"
LOST = f"{_REPOSITORY}lost:0"
"""The state of a repository in which a command destroyed something."""


def look(root: ProjectRoot, relative: str) -> str:
    """The state of a file as it is now (its digest and its mode, or ABSENT), without keeping it. Raises what
    ProjectRoot.open_file does."""
    if not root.exists(relative):
        return ABSENT
    with root.open_file(relative) as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        return state_of(hashlib.file_digest(file, "sha256").hexdigest(), mode)


def is_in_state(root: ProjectRoot, relative: str, state: str) -> bool:
    """Whether a file is in a state that was recorded of it."""
    if is_repository(state):
        return False
    if not is_unkept(state):
        return look(root, relative) == state
    if not root.exists(relative):
        return False
    facts = root.stat(relative)
    return state.startswith(f"{_UNKEPT}{facts.st_size}-{content_time(facts)}:")


def state_of(content: str, mode: int) -> str:
    """The state of a file that has the content of this SHA-256 and these permissions."""
    return f"{content}:{mode:o}"


def content_of(state: str) -> str:
    """The SHA-256 of the content; of a state that has none, something that is no SHA-256."""
    return state.partition(":")[0]


def mode_of(state: str) -> int:
    """The permissions."""
    return int(state.rpartition(":")[2], 8)


def unkept(facts: Sign) -> str:
    """The state of a file whose content is not kept."""
    return f"{_UNKEPT}{facts.size}-{facts.mtime_ns}:{facts.mode:o}"


def state_of_losses(version: str) -> str:
    """The state of a repository before it lost what the content of this SHA-256 lists."""
    return f"{_REPOSITORY}{version}:0"


def is_repository(state: str) -> bool:
    """Whether it is the state of a repository, not of a file."""
    return state.startswith(_REPOSITORY)


def losses_of(state: str) -> str:
    """The SHA-256 of the content that lists what a repository lost."""
    return state.removeprefix(_REPOSITORY).partition(":")[0]


def is_unkept(state: str) -> bool:
    """Whether `unkept` gave it."""
    return state.startswith(_UNKEPT)


_LENGTH = 4  # bytes that say how long the entries behind them are
_MOST_PARTS = 100


class Place(Protocol):
    """Where an index is kept."""

    @property
    def index_file(self) -> Path:
        """The file."""
        ...

    def write_index(self, data: bytes, *, add: bool = False) -> None:
        """Replace the file, or add to it. Raises OSError."""


class Known(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file as it was seen. `state` as Snapshots writes it, "" where the content is not kept. Not `settled`: it may
    have been changed again unseen."""

    sign: Sign
    state: str
    settled: bool
    ignored: bool


class FileIndex:
    """What is known of each file, by its path. It is no more than a hint: each entry counts as long as the file still
    has its sign. Lies beside the snapshots' journal; changes are added at its end until it is written anew.

    `left_out` are the paths of the files that are not kept, `pending` those to be read next time; `size` is the bytes
    of those that are kept.
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
        """The files that are known."""
        return self._files.keys()

    def get(self, path: str) -> Known | None:
        """What is known of a file; None of one that was not there."""
        return self._files.get(path)

    def holds(self, path: str) -> bool:
        """Whether the file, or one below the folder where `path` ends with `/`, is known and counts as the user's own:
        .gitignore did not leave it out when it was first seen."""
        if not path.endswith("/"):
            known = self._files.get(path)
            return known is not None and not known.ignored
        if self._wanted is None:
            self._wanted = sorted(path for path, known in self._files.items() if not known.ignored)
        at = bisect_left(self._wanted, path)
        return at < len(self._wanted) and self._wanted[at].startswith(path)

    def put(self, path: str, known: Known | None) -> None:
        """Take note of a file as it is now; None where it is gone."""
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
        """Write down what is new. Raises OSError."""
        if not self._unsaved:
            return
        anew = self._anew or len(self._unsaved) * 2 > len(self._files)
        self._place.write_index(_encoded(self._files if anew else self._unsaved), add=not anew)
        self._unsaved, self._anew = {}, False


def _encoded(entries: Mapping[str, Known | None]) -> bytes:
    data = msgspec.msgpack.encode({os.fsencode(path): known for path, known in entries.items()})
    return len(data).to_bytes(_LENGTH, "big") + data


def _decoded(place: Place) -> tuple[dict[str, Known], bool]:
    """What was written down, and whether to write it anew: it is torn, of another version, or in many parts."""
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
