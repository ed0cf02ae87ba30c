"""Cache the facts about files between runs."""

import os
import threading
from collections.abc import Container
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from localllm.base.files import write_own
from localllm.base.jsontext import decode_msgpack, storable
from localllm.base.regular_files import UNKNOWN, Stamp, is_settled, read_beneath, read_regular, stamp_of
from localllm.project.file_facts import FileFacts, count_lines, measure
from localllm.project.languages import language_named, language_started
from localllm.text.decoding import NotTextError, decode

_VERSION = 2  # increment when the stored data or its measurement changes
_LARGEST_STORE = 100_000_000


class _Store(msgspec.Struct, frozen=True, array_like=True):
    version: int
    files: dict[str, FileFacts]


class FactsStore:
    """The facts of files by path. `path` is the cache file; None for no cache."""

    def __init__(self, path: Path | None) -> None:
        self.files: dict[str, FileFacts] = {}
        self._path = path
        self._loaded = False
        self._lock = threading.Lock()
        self._read = 0
        self._lost = False

    def load(self) -> None:
        """Load the cache, once. Unreadable entries are computed again."""
        if self._loaded or self._path is None:
            return
        self._loaded = True
        with suppress(OSError, msgspec.DecodeError):
            data = read_regular(self._path, _LARGEST_STORE)
            store = decode_msgpack(data, _Store)
            if store.version == _VERSION:
                self.files = store.files

    def facts_at(self, root_fd: int, path: str, limit: int, *, measured: bool) -> FileFacts:
        """Return the facts of a source file, with its habits if `measured`. It is read only if new or changed, and
        measured only if its content changed. Raises OSError if it is unreadable."""
        stamp = stamp_at(root_fd, path)
        known = self.files.get(path)
        if known and known.stamp == stamp and is_known(stamp) and known.measured >= measured:
            return known
        data = read_beneath(root_fd, path, limit)
        digest = digest_of(data)
        if known and known.digest == digest and known.measured >= measured:
            facts = msgspec.structs.replace(known, stamp=stamp or UNKNOWN)
        else:
            facts = _facts(data, path, stamp or UNKNOWN, digest, measured=measured)
        with self._lock:
            self.files[path] = facts
            self._read += 1
        return facts

    def take_count(self) -> int:
        """Return the number of files read since the last call."""
        with self._lock:
            count, self._read = self._read, 0
        return count

    def keep_only(self, paths: Container[str]) -> None:
        """Drop the files that no longer exist."""
        gone = [path for path in self.files if path not in paths]
        for path in gone:
            del self.files[path]
        self._lost = bool(gone)

    def save(self) -> None:
        """Save the cache if there is anything new; an unwritable folder is ignored."""
        if self._path is not None and (self._read or self._lost):
            with suppress(OSError):
                write_own(self._path, msgspec.msgpack.encode(_Store(_VERSION, storable(self.files))))


def _facts(data: bytes, path: str, stamp: Stamp, digest: bytes, *, measured: bool) -> FileFacts:
    language = language_named(path) or language_started(data)
    if not measured or not language:
        return FileFacts(stamp, digest, count_lines(data), language, measured=measured)
    try:
        text = decode(data).text
    except NotTextError:  # data with a source file's name
        return FileFacts(stamp, digest, 0, language, measured=True)
    imports, programs, habits = measure(text, language)
    return FileFacts(
        stamp, digest, count_lines(data), language, measured=True, imports=imports, programs=programs, habits=habits
    )


def stamp_at(root_fd: int, path: str) -> Stamp | None:
    """Return modification time and size of a file; None if it is missing. For a file changed a moment ago, the stamp is
    unknown, since another change might not alter it."""
    try:
        facts = os.stat(path, dir_fd=root_fd, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    stamp = stamp_of(facts)
    return stamp if is_settled(stamp) else UNKNOWN


def digest_of(data: bytes) -> bytes:
    """Return a 16-byte digest of a content."""
    return blake2b(data, digest_size=16).digest()


def is_known(stamp: Stamp | None) -> bool:
    """Whether the stamp identifies a version."""
    return stamp is not None and stamp != UNKNOWN
