"""Searches kept in a real Redis, which may want a password, be full, die and come back."""

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from localllm.base.errors import CacheError
from localllm.config.schema import WebSettings
from localllm.web.engine_pool import EnginePool
from localllm.web.fetching import Fetcher
from localllm.web.meta_search import MetaSearch
from localllm.web.search_cache import RedisCache, SearchCache, open_cache
from localllm.web.services import WebAccess
from tests.support.redis_server import free_port, redis_server
from tests.support.web_engines import FOUND, Clock, FakeEngine

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux" and shutil.which("redis-server") is None, reason="needs redis-server"),
]

PASSWORD = "sesame-0123456789"


@pytest.fixture
def port() -> int:
    """One that is free."""
    return free_port()


def opened(url: str, **environ: str) -> SearchCache:
    cache = open_cache(WebSettings(cache=url), environ)
    assert cache is not None
    return cache


async def test_what_one_program_has_found_another_need_not_search_for(tmp_path: Path, port: int) -> None:
    engine = FakeEngine()
    with redis_server(tmp_path, port) as url:
        for address in (url, url, url.replace("redis:", "valkey:")):
            access = WebAccess([engine], Fetcher(), cache=opened(address))
            assert await access.search("潮汐") == (FOUND, [])
    assert engine.asked == ["潮汐"]


async def test_what_is_kept_tells_no_words_and_ends(tmp_path: Path, port: int) -> None:
    import redis

    with redis_server(tmp_path, port) as url:
        await WebAccess([FakeEngine()], Fetcher(), cache=opened(url)).search("secret plans")
        connect: Any = redis.Redis.from_url
        with connect(url) as client:
            (key,) = client.keys("*")
            value, seconds = client.get(key), client.ttl(key)
    assert isinstance(key, bytes)
    assert isinstance(value, bytes)
    assert key.startswith(b"localllm:search:")
    assert b"secret" not in key
    assert value.startswith(b'{"results":')
    assert 3_500 < seconds <= 3_600


async def test_with_a_password_of_the_environment(tmp_path: Path, port: int) -> None:
    with redis_server(tmp_path, port, "--requirepass", PASSWORD) as url:
        opened(url, REDIS_PASSWORD=PASSWORD).backend.check()
        for wrong in ({}, {"REDIS_PASSWORD": "wrong-one"}):
            with pytest.raises(CacheError) as caught:
                opened(url, **wrong).backend.check()
            assert "wrong-one" not in str(caught.value)


async def test_it_dies_in_the_middle_and_comes_back(tmp_path: Path, port: int) -> None:
    clock, engine = Clock(), FakeEngine()
    with redis_server(tmp_path, port) as url:
        backend = RedisCache(url, 3_600.0)
        cache = SearchCache(backend, opened("memory").backend, clock=clock)
        access = WebAccess([engine], Fetcher(), cache=cache, clock=clock, pause=clock.pause)
        await access.search("before")
        assert cache.take_failure() is None
    assert await access.search("meanwhile") == (FOUND, [])
    assert await access.search("meanwhile") == (FOUND, [])
    assert engine.asked == ["before", "meanwhile"]
    failure = cache.take_failure()
    assert failure is not None
    assert f"127.0.0.1:{port}" in failure.what
    with redis_server(tmp_path, port):
        clock.now += 60.0
        await access.search("after")
        assert await WebAccess([FakeEngine()], Fetcher(), cache=opened(url)).search("after") == (FOUND, [])
    assert cache.take_failure() is None  # said once


async def test_it_dies_in_the_middle_of_a_meta_search_and_nothing_is_lost(tmp_path: Path, port: int) -> None:
    gate, clock = asyncio.Event(), Clock()
    slow, quick = FakeEngine(name="slow", gate=gate), FakeEngine(name="quick")
    queries = [f"q{number}" for number in range(4)]
    with redis_server(tmp_path, port) as url:
        cache = SearchCache(RedisCache(url, 3_600.0), opened("memory").backend, clock=clock)
        search = MetaSearch(EnginePool([slow, quick], cache=cache, clock=clock, pause=clock.pause))
        before = await MetaSearch(EnginePool([quick], cache=cache)).search(["before"])
        running = asyncio.create_task(search.search(queries))
        while not slow.asked or len(quick.asked) < 5:
            await asyncio.sleep(0.001)
    gate.set()  # Redis is gone, three searches of the slow engine are still to come
    answer = await running
    assert (before.searches, answer.searches, answer.cache_hits) == (1, 8, 0)
    assert answer.failures == ()
    assert answer.pages[0].engines == ("slow", "quick")
    assert answer.pages[0].queries == tuple(queries)
    assert (sorted(slow.asked), sorted(quick.asked)) == (queries, ["before", *queries])
    failure = cache.take_failure()
    assert failure is not None
    assert failure.key == "cache_failed"
    again = await search.search(queries[1:])
    assert again.pages[0].url == answer.pages[0].url
    assert len(slow.asked) == 4  # what was found without Redis is in memory


async def test_a_redis_that_is_full_fails_no_search(tmp_path: Path, port: int) -> None:
    with redis_server(tmp_path, port, "--maxmemory", "1", "--maxmemory-policy", "noeviction") as url:
        cache = opened(url)
        assert await WebAccess([FakeEngine()], Fetcher(), cache=cache).search("q") == (FOUND, [])
    failure = cache.take_failure()
    assert failure is not None
    assert "maxmemory" in failure.what


def test_it_is_not_skipped_on_linux() -> None:
    assert sys.platform != "linux" or shutil.which("redis-server", path=os.environ["PATH"])
