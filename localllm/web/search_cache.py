"""Searches are kept for a while, so that the same is not asked twice: in memory, on disk, in a Redis or Valkey."""

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
"""How long a cache may take: it is there to save time."""

_REST = 60.0
"""Seconds for which a cache that failed is left alone."""

_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "valkey": "redis", "valkeys": "rediss"}
"""Schemes of an address, and what the package redis calls them."""


class CacheBackend(Protocol):
    """Where values are kept, for so long as it was made for. It blocks; what is wrong is a CacheError."""

    def get(self, key: str) -> bytes | None:
        """The value kept for `key`, None where there is none or it is too old."""
        ...

    def put(self, key: str, value: bytes) -> None:
        """Keep a value."""
        ...

    def clear(self) -> None:
        """Delete all values."""
        ...

    def check(self) -> None:
        """Find out whether values can be kept; nothing is."""
        ...


class MemoryCache:
    """Keeps the entries used last, until the program ends."""

    def __init__(self, ttl: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept: TTLCache[str, bytes] = TTLCache(MEMORY_ENTRIES, ttl, clock=clock)

    def get(self, key: str) -> bytes | None:
        """The value kept for `key`."""
        return self._kept.get(key)

    def put(self, key: str, value: bytes) -> None:
        """Keep a value."""
        self._kept.put(key, value)

    def clear(self) -> None:
        """Delete all values."""
        self._kept.clear()

    def check(self) -> None:
        """There is always memory."""


_OF_OTHERS = 60.0
"""Seconds: what others have kept meanwhile, who were faster, is no value from the future."""


class DiskCache:
    """Keeps entries in an SQLite file that only the user can read; several programs may share it."""

    def __init__(self, file: Path, ttl: float, *, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._ttl = ttl
        self._clock = clock
        self._turn = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """The value kept for `key`. One from the future, of a clock that was wrong, counts as too old."""
        with self._opened() as db:
            row = db.execute("SELECT value, stored FROM searches WHERE key = ?", (key,)).fetchone()
        return row[0] if row and 0 <= self._clock() - row[1] < self._ttl else None

    def put(self, key: str, value: bytes) -> None:
        """Keep a value; what is too old, or too much, is deleted."""
        newest = "SELECT key FROM searches ORDER BY stored DESC LIMIT ?"
        with self._turn, self._opened() as db:  # SQLite lets writers wait by turns that get longer and longer
            now = self._clock()
            kept = now - self._ttl, now + _OF_OTHERS
            db.execute("DELETE FROM searches WHERE stored NOT BETWEEN ? AND ?", kept)
            db.execute("INSERT OR REPLACE INTO searches VALUES (?, ?, ?)", (key, value, now))
            db.execute(f"DELETE FROM searches WHERE key NOT IN ({newest})", (DISK_ENTRIES,))  # noqa: S608 - no input

    def clear(self) -> None:
        """Delete all values; a file that is not there is not made."""
        if self._file.exists():
            with self._opened() as db:
                db.execute("DELETE FROM searches")

    def check(self) -> None:
        """Open the file where there is one; else see whether it can be made."""
        if self._file.exists():
            self.get("")
            return
        folder = next(folder for folder in self._file.parents if folder.exists())
        if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            raise CacheError("cache_failed", where=self._file, reason=Phrase("{path} cannot be written", path=folder))

    @contextmanager
    def _opened(self) -> "Generator[sqlite3.Connection]":
        """The database, in a transaction. A file that is none is deleted, so that the next use makes one."""
        import sqlite3

        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_companions(self._file)
            self._file.touch(mode=0o600)
            with closing(sqlite3.connect(self._file, timeout=_SECONDS)) as db, db:
                check_schema(db)
                db.execute("PRAGMA synchronous=OFF")  # what a power cut takes from a cache is asked for again
                db.execute(_TABLE)
                yield db
        except (sqlite3.Error, OSError) as error:
            if type(error) is sqlite3.DatabaseError:
                with suppress(OSError):
                    self._file.unlink()
            raise CacheError("cache_failed", where=self._file, reason=str(error)) from error


class RedisCache:
    """Keeps entries in a Redis or Valkey, which several machines may share. The package is imported at first use."""

    def __init__(self, url: str, ttl: float, *, password: str = "") -> None:
        scheme, _, rest = url.partition("://")
        self._url = f"{_SCHEMES[scheme]}://{rest}"
        self._ttl = ttl
        self._password = password
        self._client: Any = None

    def get(self, key: str) -> bytes | None:
        """The value kept for `key`."""
        return self._do(lambda client: client.get(_PREFIX + key))

    def put(self, key: str, value: bytes) -> None:
        """Keep a value."""
        self._do(lambda client: client.set(_PREFIX + key, value, px=max(1, int(self._ttl * 1_000))))

    def clear(self) -> None:
        """Delete the values of this program; others in the same Redis stay."""

        def delete(client: Any) -> None:
            for key in client.scan_iter(match=f"{_PREFIX}*"):
                client.delete(key)

        self._do(delete)

    def check(self) -> None:
        """Ask whether it is there."""
        self._do(lambda client: client.ping())

    def _do(self, work: Callable[[Any], Any]) -> Any:
        try:
            import redis
        except ImportError as error:
            raise CacheError("cache_no_package", where=self._where) from error
        try:
            self._client = self._client or self._connected(redis)
            return work(self._client)
        except (redis.RedisError, OSError, ValueError) as error:
            raise CacheError("cache_failed", where=self._where, reason=_reason(error)) from error

    def _connected(self, redis: Any) -> Any:
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        once = Retry(NoBackoff(), 0)
        return redis.Redis.from_url(
            self._url,
            password=self._password or None,
            socket_timeout=_SECONDS,
            socket_connect_timeout=_SECONDS,
            retry=once,
        )

    @property
    def _where(self) -> str:
        """The address without user and password, which may stand in it."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _reason(error: Exception) -> str:
    """What a client says of a failure, in one line; that the program is offline, where that is why."""
    said = str(offline_error_in(error) or error) or type(error).__name__
    return clean(said, keep_newlines=False).rstrip(".")


class SearchCache:
    """Answers of engines, kept in `backend`. A backend that fails fails no search: memory stands in for a while."""

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
        """What is kept for `key`; else what `ask` gives, which is kept where anything was found.

        Of several who want the same at once one asks, and the others wait for that.
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
        """What else than a search is kept for `key`, such as queries that were made."""
        return await self._tried(lambda: self.backend.get(key)) or self._spare.get(key)

    async def keep_value(self, key: str, data: bytes) -> None:
        """Keep something else than a search."""
        await self._keep(key, data)

    async def clear(self) -> None:
        """Delete everything that is kept."""

        def delete() -> None:
            self.backend.clear()

        self._spare.clear()
        await self._tried(delete)

    def take_failure(self) -> CacheError | None:
        """Why nothing could be kept, the first time it is asked for after that; None from then on."""
        if self._failure is None or self._is_told:
            return None
        self._is_told = True
        return self._failure

    async def _recalled(self, key: str) -> SearchAnswer | None:
        """What is kept; None also for what is damaged."""
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
        """What the backend gives, None also where it fails, or did so a moment ago."""
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
    """The key of a search: a digest, so that no cache tells what was searched for."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def open_cache(settings: WebSettings, environ: Mapping[str, str]) -> SearchCache | None:
    """The cache the settings choose; None where they want none."""
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
    """What a setting that names no cache leads to."""

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
