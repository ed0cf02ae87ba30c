"""Searches are kept, asked once, and never fail for their cache."""

import asyncio
import os
import socket
import stat
import sys
from pathlib import Path

import pytest

from localllm.base.errors import CacheError, WebSearchError
from localllm.base.events import Notice
from localllm.config.schema import WebSettings
from localllm.tools.web import web_search
from localllm.web import search_cache as caches
from localllm.web.engines.base import SearchAnswer, SearchEngine
from localllm.web.engines.searxng import SearxNG
from localllm.web.engines.serper import Serper
from localllm.web.fetching import Fetcher
from localllm.web.search_cache import (
    CacheBackend,
    DiskCache,
    MemoryCache,
    RedisCache,
    SearchCache,
    open_cache,
    search_key,
)
from localllm.web.services import WebAccess
from tests.support.tools import make_context, use
from tests.support.web_engines import FOUND, Clock, FakeEngine

pytestmark = pytest.mark.anyio

TTL = 100.0
DAMAGED = [
    b"",
    b"{",
    b"null",
    b'{"results": 3}',
    b"\xff",
    b"\x80\x04N.",
    b'{"x":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
]
BUSY = WebSearchError("serper_limited", retryable=True)


class Broken:
    """A cache that fails, as often as it is told; `asked` counts."""

    def __init__(self, times: int = 1_000) -> None:
        self.asked = 0
        self.times = times

    def get(self, key: str) -> bytes | None:
        self.asked += 1
        if self.asked <= self.times:
            raise CacheError("cache_failed", where="x", reason="gone")
        return None

    def put(self, key: str, value: bytes) -> None:
        self.get(key)

    def check(self) -> None:
        self.get("")


def kept_in(backend: CacheBackend, clock: Clock) -> SearchCache:
    return SearchCache(backend, MemoryCache(TTL, clock=clock), clock=clock)


def web(clock: Clock, *engines: SearchEngine, backend: CacheBackend | None = None) -> WebAccess:
    cache = kept_in(backend or MemoryCache(TTL, clock=clock), clock)
    return WebAccess(engines, Fetcher(), cache=cache, clock=clock, pause=clock.pause)


@pytest.fixture(params=["memory", "disk"])
def backend(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> CacheBackend:
    if request.param == "memory":
        return MemoryCache(TTL, clock=clock)
    return DiskCache(tmp_path / "below" / "searches.sqlite", TTL, clock=clock)


@pytest.fixture
def clock() -> Clock:
    return Clock()


class TestBackends:
    def test_what_was_kept_comes_back_until_it_is_too_old(self, backend: CacheBackend, clock: Clock) -> None:
        backend.check()
        assert backend.get("k") is None
        backend.put("k", b"old")
        backend.put("k", b"\x00new\xff")
        clock.now += TTL - 1.0
        assert backend.get("k") == b"\x00new\xff"
        assert backend.get("K") is None
        clock.now += 1.0
        assert backend.get("k") is None
        backend.check()

    def test_memory_keeps_the_thousand_used_last(self, clock: Clock) -> None:
        memory = MemoryCache(TTL, clock=clock)
        for number in range(1_000):
            memory.put(str(number), b"v")
        assert memory.get("0") == b"v"
        memory.put("one more", b"v")
        assert (memory.get("0"), memory.get("1"), memory.get("2")) == (b"v", None, b"v")

    def test_the_file_is_the_user_s_alone_and_outlives_the_program(self, clock: Clock, tmp_path: Path) -> None:
        file = tmp_path / "cache" / "searches.sqlite"
        DiskCache(file, TTL, clock=clock).put("k", b"v")
        assert DiskCache(file, TTL, clock=clock).get("k") == b"v"
        assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]

    def test_of_the_file_old_entries_are_deleted_and_the_oldest_of_too_many(
        self, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(caches, "DISK_ENTRIES", 3)
        file = tmp_path / "searches.sqlite"
        disk = DiskCache(file, TTL, clock=clock)
        for number in range(5):
            clock.now += 1.0
            disk.put(str(number), b"entry")
        assert [disk.get(str(number)) for number in range(5)] == [None, None, b"entry", b"entry", b"entry"]
        clock.now += TTL + 1.0
        disk.put("last", b"v")
        clock.now -= TTL  # were they there, they would be young enough again
        assert [disk.get(str(number)) for number in range(5)] == [None] * 5

    def test_what_another_program_kept_a_moment_later_stays(self, clock: Clock, tmp_path: Path) -> None:
        disk = DiskCache(tmp_path / "searches.sqlite", TTL, clock=clock)
        clock.now += 0.01
        disk.put("faster", b"1")
        clock.now -= 0.01
        disk.put("slower", b"2")
        clock.now += 0.01
        assert (disk.get("faster"), disk.get("slower")) == (b"1", b"2")

    def test_an_entry_from_the_future_counts_as_too_old(self, clock: Clock, tmp_path: Path) -> None:
        disk = DiskCache(tmp_path / "searches.sqlite", TTL, clock=clock)
        disk.put("k", b"v")
        clock.now -= 10.0
        assert disk.get("k") is None

    def test_a_file_that_is_no_database_is_said_and_made_anew(self, clock: Clock, tmp_path: Path) -> None:
        file = tmp_path / "searches.sqlite"
        file.write_bytes(b"no database " * 1_000)
        disk = DiskCache(file, TTL, clock=clock)
        with pytest.raises(CacheError, match=r"searches\.sqlite: file is not a database"):
            disk.get("k")
        disk.put("k", b"v")
        assert disk.get("k") == b"v"

    @pytest.mark.parametrize("call", ["get", "put", "check"])
    def test_a_folder_that_cannot_be_made(self, clock: Clock, tmp_path: Path, call: str) -> None:
        (tmp_path / "file").write_text("in the way")
        disk = DiskCache(tmp_path / "file" / "cache" / "searches.sqlite", TTL, clock=clock)
        with pytest.raises(CacheError, match=r"web\.cache to memory"):
            disk.put("k", b"v") if call == "put" else disk.get("k") if call == "get" else disk.check()

    def test_a_check_makes_nothing(self, clock: Clock, tmp_path: Path) -> None:
        DiskCache(tmp_path / "cache" / "searches.sqlite", TTL, clock=clock).check()
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("url", ["redis://127.0.0.1:9/0", "valkey://127.0.0.1:9", "redis://h:no-port"])
    def test_no_redis_there(self, url: str) -> None:
        with pytest.raises(CacheError, match="Searches cannot be kept in redis://"):
            RedisCache(url, TTL).get("k")

    def test_without_the_package_it_says_how_to_install_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "redis", None)
        with pytest.raises(CacheError, match=r"pip install 'localllm\[redis\]'"):
            RedisCache("redis://127.0.0.1:9", TTL).get("k")

    def test_a_redis_that_is_silent_is_not_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(caches, "_SECONDS", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(CacheError, match=r"[Tt]imeout"):
            RedisCache(f"redis://127.0.0.1:{silent.getsockname()[1]}", TTL).get("k")

    def test_no_error_tells_a_password(self) -> None:
        for redis in (
            RedisCache("redis://ada:sesame@127.0.0.1:9", TTL),
            RedisCache("redis://127.0.0.1:9", TTL, password="sesame"),
        ):
            with pytest.raises(CacheError) as caught:
                redis.check()
            assert "127.0.0.1:9" in caught.value.what
            assert "sesame" not in str(caught.value)


class TestSearches:
    async def test_the_same_is_asked_once_until_it_is_too_old(self, backend: CacheBackend, clock: Clock) -> None:
        engine = FakeEngine()
        access = web(clock, engine, backend=backend)
        for _ in range(3):
            assert await access.search("q") == (FOUND, [])
        assert engine.asked == ["q"]
        await access.search("other")
        clock.now += TTL
        await access.search("q")
        assert engine.asked == ["q", "other", "q"]

    async def test_what_comes_back_is_whole_and_its_addresses_are_known(
        self, backend: CacheBackend, clock: Clock
    ) -> None:
        answer = SearchAnswer(FOUND.results, ("4 面", "x"), ("slow: timeout",))
        await web(clock, FakeEngine(answer), backend=backend).search("2+2")
        again, engine = FakeEngine(), web(clock, FakeEngine(BUSY), backend=backend)
        assert await engine.search("2+2") == (answer, [])
        assert (engine.found, again.asked) == ({"https://found.example/"}, [])

    async def test_nothing_found_and_failures_are_not_kept(self, clock: Clock) -> None:
        engine = FakeEngine(SearchAnswer((), silent=("all: dead",)), WebSearchError("web_no_query"), FOUND)
        access = web(clock, engine)
        assert (await access.search("q"))[0].silent == ("all: dead",)
        with pytest.raises(WebSearchError):
            await access.search("q")
        assert (await access.search("q"))[0] == FOUND
        assert len(engine.asked) == 3

    async def test_two_equal_searches_at_once_ask_once(self, backend: CacheBackend, clock: Clock) -> None:
        gate = asyncio.Event()
        engine = FakeEngine(gate=gate)
        access = web(clock, engine, backend=backend)
        tasks = [asyncio.create_task(access.search("q")) for _ in range(5)]
        while not engine.asked:
            await asyncio.sleep(0)
        gate.set()
        assert await asyncio.gather(*tasks) == [(FOUND, [])] * 5
        assert engine.asked == ["q"]

    async def test_where_the_one_that_asks_is_cancelled_the_next_asks(self, clock: Clock) -> None:
        gate = asyncio.Event()
        engine = FakeEngine(gate=gate)
        access = web(clock, engine)
        first, second = (asyncio.create_task(access.search("q")) for _ in range(2))
        while not engine.asked:
            await asyncio.sleep(0)
        first.cancel()
        gate.set()
        assert await second == (FOUND, [])
        assert engine.asked == ["q", "q"]

    async def test_engines_addresses_languages_and_limits_have_searches_of_their_own(self) -> None:
        engines: list[SearchEngine] = [
            *(SearxNG("http://a.example"), SearxNG("http://b.example")),
            Serper("https://s.example", "k", language="ja", country="jp"),
            Serper("https://s.example", "k", language="en", country="jp"),
            Serper("https://s.example", "k", language="en", country="us"),
        ]
        keys = {search_key(engine.name, engine.scope, "q", limit) for engine in engines for limit in (5, 8)}
        assert len(keys) == 10
        assert not any(key == "q" or "s.example" in key for key in keys)

    async def test_what_another_engine_found_or_the_same_elsewhere_is_not_shown(self, clock: Clock) -> None:
        cache = kept_in(MemoryCache(TTL, clock=clock), clock)
        engines = [FakeEngine(), FakeEngine(name="other"), FakeEngine(scope="elsewhere")]
        for engine in engines:
            await WebAccess([engine], Fetcher(), cache=cache).search("q")
        assert [engine.asked for engine in engines] == [["q"]] * 3

    @pytest.mark.parametrize("damage", DAMAGED)
    async def test_a_damaged_entry_is_asked_anew(self, backend: CacheBackend, clock: Clock, damage: bytes) -> None:
        engine = FakeEngine()
        backend.put(search_key("fake", "", "q", 8), damage)
        assert await web(clock, engine, backend=backend).search("q") == (FOUND, [])
        assert await web(clock, engine, backend=backend).search("q") == (FOUND, [])
        assert engine.asked == ["q"]


class TestFailures:
    async def test_a_cache_that_fails_fails_no_search_and_memory_stands_in(self, clock: Clock) -> None:
        engine, broken = FakeEngine(), Broken()
        access = web(clock, engine, backend=broken)
        for _ in range(3):
            assert await access.search("q") == (FOUND, [])
        assert (engine.asked, broken.asked) == (["q"], 1)

    async def test_it_is_tried_again_after_a_while(self, clock: Clock) -> None:
        broken = Broken(times=1)
        access = web(clock, FakeEngine(), backend=broken)
        await access.search("a")
        await access.search("b")
        assert broken.asked == 1
        clock.now += 60.0
        await access.search("c")
        assert broken.asked == 3  # looked up and kept

    async def test_it_is_said_once_to_the_user_and_not_to_the_model(self, clock: Clock, tmp_path: Path) -> None:
        import msgspec

        said: list[object] = []
        context = msgspec.structs.replace(
            make_context(tmp_path), web=web(clock, FakeEngine(), backend=Broken()), emit=said.append
        )
        for query in ("a", "b"):
            output = await use(web_search, context, query=query)
            assert "kept" not in output.for_model
            clock.now += 60.0
        (notice,) = said
        assert isinstance(notice, Notice)
        assert (notice.level, "Searches cannot be kept in x: gone." in notice.text) == ("warning", True)

    async def test_a_full_disk(self, clock: Clock, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        access = web(clock, FakeEngine(), backend=DiskCache(tmp_path / "file" / "x.sqlite", TTL, clock=clock))
        assert await access.search("q") == (FOUND, [])
        assert access.cache is not None
        assert (failure := access.cache.take_failure()) is not None
        assert failure.key == "cache_failed"
        assert access.cache.take_failure() is None


class TestSettings:
    def test_which_one(self, tmp_path: Path) -> None:
        environ = {"LOCALLLM_CACHE_DIR": str(tmp_path)}
        chosen = {"disk": DiskCache, "memory": MemoryCache, "redis://h": RedisCache, "valkeys://h:1/2": RedisCache}
        for name, kind in chosen.items():
            cache = open_cache(WebSettings(cache=name), environ)
            assert cache is not None
            assert isinstance(cache.backend, kind)
        assert open_cache(WebSettings(cache_ttl=0), environ) is None
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["", "disc", "http://h", "redis", "redis:/h"])
    def test_what_names_none_is_said(self, name: str) -> None:
        cache = open_cache(WebSettings(cache=name), os.environ)
        assert cache is not None
        with pytest.raises(CacheError, match=r"redis://localhost:6379/0"):
            cache.backend.check()

    async def test_where_none_is_wanted_everything_is_asked(self, clock: Clock) -> None:
        engine = FakeEngine()
        access = WebAccess([engine], Fetcher(), clock=clock, pause=clock.pause)
        await access.search("q")
        await access.search("q")
        assert engine.asked == ["q", "q"]

    def test_the_disk_is_that_of_the_user(self, tmp_path: Path) -> None:
        cache = open_cache(WebSettings(), {"LOCALLLM_CACHE_DIR": str(tmp_path)})
        assert cache is not None
        cache.backend.put("k", b"v")
        assert [path.name for path in tmp_path.iterdir()] == ["searches.sqlite"]


async def test_what_is_cleared_is_asked_for_again(tmp_path: Path) -> None:
    file = tmp_path / "searches.sqlite"
    for backend in (MemoryCache(60), DiskCache(file, 60)):
        cache = SearchCache(backend, MemoryCache(60))
        await cache.keep_value("k", b"v")
        assert await cache.value("k") == b"v"
        await cache.clear()
        assert await cache.value("k") is None
    DiskCache(tmp_path / "none.sqlite", 60).clear()
    assert not (tmp_path / "none.sqlite").exists()
