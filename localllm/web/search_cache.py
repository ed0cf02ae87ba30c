"""Cache search results to avoid repeated requests: in memory, on disk, in Redis or Valkey."""

import asyncio
import hashlib
import os
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import msgspec

from localllm.base.cache import TTLCache
from localllm.base.errors import CacheError
from localllm.base.i18n import Phrase
from localllm.base.jsontext import decode_json
from localllm.base.offline import offline_error_in
from localllm.base.paths import cache_folder
from localllm.base.sqlite_files import check_companions, check_schema
from localllm.config.loader import secret
from localllm.config.schema import WebSettings
from localllm.text.sanitising import clean
from localllm.web.circuit_breaker import CircuitBreaker
from localllm.web.engines.base import SearchAnswer

if TYPE_CHECKING:
    import sqlite3

MEMORY_ENTRIES = 1_000
DISK_ENTRIES = 10_000

_FILE = "searches.sqlite"
_TABLE = "CREATE TABLE IF NOT EXISTS searches (key TEXT PRIMARY KEY, value BLOB NOT NULL, stored REAL NOT NULL)"
_PREFIX = "localllm:search:1:"
_SECONDS = 2.0
"""Timeout of a cache: it exists to save time."""

_LONGEST = 2 * _SECONDS
_LARGEST = 10_000_000  # bytes
"""Time and size of one answer of Redis."""

_REST = 60.0
"""Seconds to skip a cache after a failure."""

_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "valkey": "redis", "valkeys": "rediss"}
"""URL schemes, and their names in the package redis."""


class CacheBackend(Protocol):
    """A store of values with a fixed lifetime. It blocks; its errors are CacheErrors."""

    def get(self, key: str) -> bytes | None:
        """Return the value for `key`; None if there is none or it has expired."""
        ...

    def put(self, key: str, value: bytes) -> None:
        """Store a value."""
        ...

    def clear(self) -> None:
        """Delete all values."""
        ...

    def check(self) -> None:
        """Check that values can be stored, without storing one."""
        ...


class MemoryCache:
    """An in-memory LRU cache, until the program ends."""

    def __init__(self, ttl: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept: TTLCache[str, bytes] = TTLCache(MEMORY_ENTRIES, ttl, clock=clock)

    def get(self, key: str) -> bytes | None:
        """See CacheBackend."""
        return self._kept.get(key)

    def put(self, key: str, value: bytes) -> None:
        """See CacheBackend."""
        self._kept.put(key, value)

    def clear(self) -> None:
        """See CacheBackend."""
        self._kept.clear()

    def check(self) -> None:
        """See CacheBackend: always succeeds."""


_OF_OTHERS = 60.0
"""Tolerance in seconds for timestamps from other processes' clocks."""


class DiskCache:
    """Entries in an SQLite file private to the user; several processes may share it."""

    def __init__(self, file: Path, ttl: float, *, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._ttl = ttl
        self._clock = clock
        self._turn = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """See CacheBackend. A value from the future, due to a wrong clock, counts as expired."""
        with self._opened() as db:
            row = db.execute("SELECT value, stored FROM searches WHERE key = ?", (key,)).fetchone()
        return row[0] if row and 0 <= self._clock() - row[1] < self._ttl else None

    def put(self, key: str, value: bytes) -> None:
        """Store a value; delete expired and excess ones."""
        newest = "SELECT key FROM searches ORDER BY stored DESC LIMIT ?"
        with self._turn, self._opened() as db:  # SQLite retries a lock at growing intervals
            now = self._clock()
            kept = now - self._ttl, now + _OF_OTHERS
            db.execute("DELETE FROM searches WHERE stored NOT BETWEEN ? AND ?", kept)
            db.execute("INSERT OR REPLACE INTO searches VALUES (?, ?, ?)", (key, value, now))
            db.execute(f"DELETE FROM searches WHERE key NOT IN ({newest})", (DISK_ENTRIES,))  # noqa: S608 - no input

    def clear(self) -> None:
        """Delete all values, without creating the file."""
        if self._file.exists():
            with self._opened() as db:
                db.execute("DELETE FROM searches")

    def check(self) -> None:
        """Open an existing file; otherwise check that it can be created."""
        if self._file.exists():
            self.get("")
            return
        folder = next(folder for folder in self._file.parents if folder.exists())
        if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            raise CacheError("cache_failed", where=self._file, reason=Phrase("{path} cannot be written", path=folder))

    @contextmanager
    def _opened(self) -> "Generator[sqlite3.Connection]":
        """Open the database in a transaction. An invalid file is deleted, so that the next use creates one."""
        import sqlite3

        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_companions(self._file)
            self._file.touch(mode=0o600)
            with closing(sqlite3.connect(self._file, timeout=_SECONDS)) as db, db:
                check_schema(db, _TABLE)
                db.execute("PRAGMA synchronous=OFF")  # losing a cache in a power failure is harmless
                db.execute(_TABLE)
                yield db
        except (sqlite3.Error, OSError) as error:
            if type(error) is sqlite3.DatabaseError:
                with suppress(OSError):
                    self._file.unlink()
            raise CacheError("cache_failed", where=self._file, reason=str(error)) from error


class RedisCache:
    """Entries in Redis or Valkey, which several machines may share. The package is imported at first use."""

    def __init__(self, url: str, ttl: float, *, password: str = "") -> None:
        scheme, _, rest = url.partition("://")
        self._url = f"{_SCHEMES[scheme]}://{rest}"
        self._ttl = ttl
        self._password = password
        self._client: Any = None

    def get(self, key: str) -> bytes | None:
        """See CacheBackend."""
        found = self._do(lambda client: client.get(_PREFIX + key))
        if not isinstance(found, bytes | None):
            raise CacheError("cache_failed", where=self._where, reason=type(found).__name__)
        return found

    def put(self, key: str, value: bytes) -> None:
        """See CacheBackend."""
        self._do(lambda client: client.set(_PREFIX + key, value, px=max(1, int(self._ttl * 1_000))))

    def clear(self) -> None:
        """Delete this program's values; others in the same Redis are kept."""

        def delete(client: Any) -> None:
            for key in client.scan_iter(match=f"{_PREFIX}*"):
                client.delete(key)

        self._do(delete)

    def check(self) -> None:
        """Ping the server."""
        self._do(lambda client: client.ping())

    def _do(self, work: Callable[[Any], Any]) -> Any:
        from localllm.base.redis_client import connect_redis, redis_errors

        try:
            errors = redis_errors()
        except ImportError as error:
            raise CacheError("cache_no_package", where=self._where) from error
        try:
            self._client = self._client or connect_redis(
                self._url, password=self._password or None, silence=_SECONDS, longest=_LONGEST, largest=_LARGEST
            )
            return work(self._client)
        except errors as error:
            raise CacheError("cache_failed", where=self._where, reason=_reason(error)) from error

    @property
    def _where(self) -> str:
        """Return the address without user and password."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _reason(error: Exception) -> str:
    """Format a client's error in one line; say if the program is offline."""
    said = str(offline_error_in(error) or error) or type(error).__name__
    return clean(said, keep_newlines=False).rstrip(".")


class SearchCache:
    """Cache the answers of engines in `backend`. If it fails, memory is used for a while, and the search succeeds."""

    def __init__(
        self, backend: CacheBackend, spare: CacheBackend, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.backend = backend
        self._spare = spare
        self._breaker = CircuitBreaker(failures=1, rest=_REST, clock=clock)
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._failure: CacheError | None = None
        self._is_told = False

    async def answer(self, key: str, ask: Callable[[], Awaitable[SearchAnswer]]) -> SearchAnswer:
        """Return the cached answer for `key`, or the answer of `ask`, which is cached if it has results.

        Concurrent callers for one key share one request.
        """
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            if (kept := await self._recalled(key)) is not None:
                return kept
            answer = await ask()
            if answer.results or answer.answers:
                await self._keep(key, msgspec.json.encode(answer))
            return answer

    async def value(self, key: str) -> bytes | None:
        """Return a cached value other than a search, such as generated queries."""
        return await self._tried(lambda: self.backend.get(key)) or self._spare.get(key)

    async def keep_value(self, key: str, data: bytes) -> None:
        """Cache a value other than a search."""
        await self._keep(key, data)

    async def clear(self) -> None:
        """Delete all cached values."""

        def delete() -> None:
            self.backend.clear()

        self._spare.clear()
        await self._tried(delete)

    def take_failure(self) -> CacheError | None:
        """Return why caching failed, once per failure; otherwise None."""
        if self._failure is None or self._is_told:
            return None
        self._is_told = True
        return self._failure

    async def _recalled(self, key: str) -> SearchAnswer | None:
        """Return the cached answer; None if it is damaged."""
        data = await self.value(key)
        try:
            return None if data is None else decode_json(data, SearchAnswer)
        except msgspec.DecodeError:
            return None

    async def _keep(self, key: str, data: bytes) -> None:
        def put() -> bytes:
            self.backend.put(key, data)
            return data

        if await self._tried(put) is None:
            self._spare.put(key, data)

    async def _tried(self, work: Callable[[], bytes | None]) -> bytes | None:
        """Call the backend; None if it fails, or failed a moment ago."""
        if self._breaker.begin():
            return None
        try:
            found = await asyncio.to_thread(work)
        except CacheError as error:
            self._failure = error
            self._breaker.fail()
            return None
        except BaseException:
            self._breaker.release()
            raise
        self._breaker.succeed()
        return found


def search_key(*parts: object) -> str:
    """Return the key of a search: a digest, so that caches do not reveal queries."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def open_cache(settings: WebSettings, environ: Mapping[str, str]) -> SearchCache | None:
    """Open the configured cache; None if it is disabled."""
    if settings.cache_ttl == 0:
        return None
    return SearchCache(_backend(settings, environ), MemoryCache(settings.cache_ttl))


def _backend(settings: WebSettings, environ: Mapping[str, str]) -> CacheBackend:
    match settings.cache:
        case "disk":
            return DiskCache(cache_folder(environ) / _FILE, settings.cache_ttl)
        case "memory":
            return MemoryCache(settings.cache_ttl)
        case url if url.partition("://")[0] in _SCHEMES and "://" in url:
            return RedisCache(url, settings.cache_ttl, password=secret("web.cache_password", environ))
        case other:
            return _NoCache(other)


class _NoCache:
    """The error backend for a setting that names no cache."""

    def __init__(self, name: str) -> None:
        self._name = name

    def get(self, key: str) -> bytes | None:
        raise CacheError("cache_unknown", name=clean(self._name, keep_newlines=False)[:80])

    def put(self, key: str, value: bytes) -> None:
        self.get(key)

    def clear(self) -> None:
        self.get("")

    def check(self) -> None:
        self.get("")
