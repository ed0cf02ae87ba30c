"""What was found out about files, kept from one run to the next."""

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

_VERSION = 2  # grows with every change to what is kept or how it is measured
_LARGEST_STORE = 100_000_000


class _Store(msgspec.Struct, frozen=True, array_like=True):
    version: int
    files: dict[str, FileFacts]


class FactsStore:
    """The facts of files by path. `path` is the file that keeps them between runs; None keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self.files: dict[str, FileFacts] = {}
        self._path = path
        self._loaded = False
        self._lock = threading.Lock()
        self._read = 0
        self._lost = False

    def load(self) -> None:
        """Take what an earlier run found, once. What cannot be read is found out again."""
        if self._loaded or self._path is None:
            return
        self._loaded = True
        with suppress(OSError, msgspec.DecodeError):
            data = read_regular(self._path, _LARGEST_STORE)
            store = decode_msgpack(data, _Store)
            if store.version == _VERSION:
                self.files = store.files

    def facts_at(self, root_fd: int, path: str, limit: int, *, measured: bool) -> FileFacts:
        """What the source file shows, its habits as well if `measured`. It is read only where it is new or changed,
        and measured only where what it holds has changed. Raises OSError where it cannot be read."""
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
        """How many files were read since this was last asked."""
        with self._lock:
            count, self._read = self._read, 0
        return count

    def keep_only(self, paths: Container[str]) -> None:
        """Forget the files that are gone."""
        gone = [path for path in self.files if path not in paths]
        for path in gone:
            del self.files[path]
        self._lost = bool(gone)

    def save(self) -> None:
        """Keep it for the next run, if there is anything new; a folder that cannot be written to only means that it is
        found out again."""
        if self._path is not None and (self._read or self._lost):
            with suppress(OSError):
                write_own(self._path, msgspec.msgpack.encode(_Store(_VERSION, storable(self.files))))


def _facts(data: bytes, path: str, stamp: Stamp, digest: bytes, *, measured: bool) -> FileFacts:
    language = language_named(path) or language_started(data)
    if not measured or not language:
        return FileFacts(stamp, digest, count_lines(data), language, measured=measured)
    try:
        text = decode(data).text
    except NotTextError:  # data that is called like a source
        return FileFacts(stamp, digest, 0, language, measured=True)
    imports, programs, habits = measure(text, language)
    return FileFacts(
        stamp, digest, count_lines(data), language, measured=True, imports=imports, programs=programs, habits=habits
    )


def stamp_at(root_fd: int, path: str) -> Stamp | None:
    """When a file was changed, and its size; None where there is none. Of one changed a moment ago nothing is known
    that would tell a further change."""
    try:
        facts = os.stat(path, dir_fd=root_fd, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    stamp = stamp_of(facts)
    return stamp if is_settled(stamp) else UNKNOWN


def digest_of(data: bytes) -> bytes:
    """16 bytes that tell one content from another."""
    return blake2b(data, digest_size=16).digest()


def is_known(stamp: Stamp | None) -> bool:
    """Whether the stamp tells anything."""
    return stamp is not None and stamp != UNKNOWN
