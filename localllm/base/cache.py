"""What was worked out is kept for a while: three caches, bounded in time, entries and bytes."""

import hashlib
import os
import threading
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import cachetools
import msgspec

from localllm.base.regular_files import READ, is_settled, opened, stamp_of

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

FILE_ENTRIES, FILE_SECONDS, FILE_BYTES = 100, 300.0, 32_000_000
ANALYSIS_ENTRIES, ANALYSIS_SECONDS = 50, 600.0
LLM_ENTRIES, LLM_SECONDS = 200, 1_800.0


class CacheInfo(NamedTuple):
    """How often something was found, and was not; how much is kept now, `size` in bytes where they are counted."""

    hits: int
    misses: int
    entries: int
    size: int


class _Kept(NamedTuple, Generic[V]):
    value: V
    made_from: object
    size: int


class TTLCache(Generic[K, V]):
    """Values for at most `ttl` seconds, the `maxsize` used last, of at most `max_bytes` together (0: not counted).

    A value is kept with what it was made from (a digest, a stamp: anything that can be compared), and is given back
    only for the same; once that has changed it is forgotten. Threads may share it. Values are not copied: keep what
    does not change.
    """

    def __init__(
        self, maxsize: int, ttl: float, *, max_bytes: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.maxsize, self.ttl, self.max_bytes = maxsize, ttl, max_bytes
        self._lock = threading.Lock()
        self._kept: cachetools.TTLCache[K, _Kept[V]] = cachetools.TTLCache(maxsize, ttl, clock)
        self._hits = self._misses = 0

    def get(self, key: K, made_from: object = None) -> V | None:
        """The value kept for `key`, None where there is none that is made from the same and not too old."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.made_from == made_from:
                self._hits += 1
                return kept.value
            self._kept.pop(key, None)
            self._misses += 1
            return None

    def put(self, key: K, value: V, made_from: object = None, *, size: int = 0) -> None:
        """Keep a value of `size` bytes. One larger than all there may be is not kept."""
        with self._lock:
            self._kept.pop(key, None)
            if self.max_bytes and size > self.max_bytes:
                return
            self._kept[key] = _Kept(value, made_from, size)
            while self.max_bytes and self._size > self.max_bytes:
                self._kept.popitem()

    def forget(self, key: K) -> None:
        """Drop what is kept for `key`, if anything is."""
        with self._lock:
            self._kept.pop(key, None)

    def clear(self) -> None:
        """Drop everything; the counts go on."""
        with self._lock:
            self._kept.clear()

    @property
    def info(self) -> CacheInfo:
        """The counts so far."""
        with self._lock:
            return CacheInfo(self._hits, self._misses, len(self._kept), self._size)

    @property
    def _size(self) -> int:
        return sum(kept.size for kept in self._kept.values())


class CacheManager:
    """The caches of one program.

    `file_cache`: the content of files by path, made from their stamps; use `read_file`. `analysis_cache`: what was
    found out about a project or file, made from a digest of it. `llm_cache`: answers of models by `request_key`, only
    for those who ask for it: a conversation never does, for its next answer may well be another one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.file_cache: TTLCache[str, bytes] = TTLCache(FILE_ENTRIES, FILE_SECONDS, max_bytes=FILE_BYTES, clock=clock)
        self.analysis_cache: TTLCache[Hashable, object] = TTLCache(ANALYSIS_ENTRIES, ANALYSIS_SECONDS, clock=clock)
        self.llm_cache: TTLCache[str, object] = TTLCache(LLM_ENTRIES, LLM_SECONDS, clock=clock)

    def read_file(self, path: Path) -> bytes:
        """What a regular file holds now, read only where it has changed since the last time.

        Raises OSError, also for what is no regular file.
        """
        key = str(path)
        if (data := self.file_cache.get(key, _identity(path.stat()))) is not None:
            return data
        with opened(os.open(path, READ)) as file:
            before = _identity(os.fstat(file.fileno()))
            data = file.read()
            after = os.fstat(file.fileno())
        if before == _identity(after) and is_settled(stamp_of(after)):
            self.file_cache.put(key, data, before, size=len(data))
        return data

    def clear(self) -> None:
        """Empty all three."""
        for cache in (self.file_cache, self.analysis_cache, self.llm_cache):
            cache.clear()


def _identity(facts: os.stat_result) -> object:
    """Whether it is the same file, and unchanged."""
    return facts.st_ino, stamp_of(facts)


def request_key(model: str, messages: object, options: object = None) -> str:
    """The digest of a request to a model, for `CacheManager.llm_cache`: what msgspec can encode, in any order of
    keys. Raises TypeError for anything else."""
    return hashlib.sha256(msgspec.json.encode((model, messages, options), order="sorted")).hexdigest()
