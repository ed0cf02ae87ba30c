"""Cache computed values in memory: three caches bounded by age, entries and bytes."""

import os
import threading
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import cachetools

from localllm.base.regular_files import READ, is_settled, opened, stamp_of

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

FILE_ENTRIES, FILE_SECONDS, FILE_BYTES = 100, 300.0, 32_000_000
ANALYSIS_ENTRIES, ANALYSIS_SECONDS = 50, 600.0
LLM_ENTRIES, LLM_SECONDS = 200, 1_800.0


class CacheInfo(NamedTuple):
    """Cache statistics: hits, misses, current entries, and their `size` in bytes where counted."""

    hits: int
    misses: int
    entries: int
    size: int


class _Kept(NamedTuple, Generic[V]):
    value: V
    made_from: object
    size: int


class TTLCache(Generic[K, V]):
    """A thread-safe LRU cache: values live at most `ttl` seconds, up to `maxsize` entries and `max_bytes` (0: not
    counted).

    A value is stored with what it was made from (a digest, a stamp: anything comparable) and only returned for the
    same; otherwise it is evicted. Values are not copied: store immutable ones.
    """

    def __init__(
        self, maxsize: int, ttl: float, *, max_bytes: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.maxsize, self.ttl, self.max_bytes = maxsize, ttl, max_bytes
        self._lock = threading.Lock()
        self._kept: cachetools.TTLCache[K, _Kept[V]] = cachetools.TTLCache(maxsize, ttl, clock)
        self._hits = self._misses = 0

    def get(self, key: K, made_from: object = None) -> V | None:
        """Return the value cached for `key`; None if there is none, it has expired or is from another source."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.made_from == made_from:
                self._hits += 1
                return kept.value
            self._kept.pop(key, None)
            self._misses += 1
            return None

    def put(self, key: K, value: V, made_from: object = None, *, size: int = 0) -> None:
        """Cache a value of `size` bytes. One larger than `max_bytes` is not cached."""
        with self._lock:
            self._kept.pop(key, None)
            if self.max_bytes and size > self.max_bytes:
                return
            self._kept[key] = _Kept(value, made_from, size)
            while self.max_bytes and self._size > self.max_bytes:
                self._kept.popitem()

    def forget(self, key: K) -> None:
        """Remove the entry for `key`, if any."""
        with self._lock:
            self._kept.pop(key, None)

    def clear(self) -> None:
        """Remove all entries; the statistics continue."""
        with self._lock:
            self._kept.clear()

    @property
    def info(self) -> CacheInfo:
        """The statistics so far."""
        with self._lock:
            return CacheInfo(self._hits, self._misses, len(self._kept), self._size)

    @property
    def _size(self) -> int:
        return sum(kept.size for kept in self._kept.values())


class CacheManager:
    """The caches of one program.

    `file_cache`: contents of files by path, validated by their stamps; use `read_file`. `analysis_cache`: results about
    a project or file, validated by a digest of it. `llm_cache`: answers of models by their requests, only for callers
    that want identical answers: conversations never do.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.file_cache: TTLCache[str, bytes] = TTLCache(FILE_ENTRIES, FILE_SECONDS, max_bytes=FILE_BYTES, clock=clock)
        self.analysis_cache: TTLCache[Hashable, object] = TTLCache(ANALYSIS_ENTRIES, ANALYSIS_SECONDS, clock=clock)
        self.llm_cache: TTLCache[str, object] = TTLCache(LLM_ENTRIES, LLM_SECONDS, clock=clock)

    def read_file(self, path: Path) -> bytes:
        """Return the content of a regular file, read only if it has changed since the last time.

        Raises OSError, also for anything but a regular file.
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
        """Clear all three caches."""
        for cache in (self.file_cache, self.analysis_cache, self.llm_cache):
            cache.clear()


def _identity(facts: os.stat_result) -> object:
    """Return a value that identifies the file and its version."""
    return facts.st_ino, stamp_of(facts)
