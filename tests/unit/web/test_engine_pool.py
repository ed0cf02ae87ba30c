"""Engines of a pool are asked within their limits, and what they answered is kept by engine, query and view."""

import asyncio
from pathlib import Path

import pytest

from localllm.base import offline
from localllm.base.errors import WebSearchError
from localllm.config.schema import WebSettings
from localllm.web.engine_pool import EnginePool, open_pool
from localllm.web.engines.base import ResultView, SearchAnswer, SearchResult
from localllm.web.search_cache import MemoryCache, SearchCache
from tests.support.web_engines import FOUND, FakeEngine

pytestmark = pytest.mark.anyio


def kept() -> SearchCache:
    return SearchCache(MemoryCache(60.0), MemoryCache(60.0))


async def test_what_is_kept_is_given_for_the_same_engine_query_and_view_alone() -> None:
    one, other = FakeEngine(name="one"), FakeEngine(name="other")
    pool = EnginePool([one, other], cache=kept())
    asked = [("one", "q", 5), ("one", "q", 5, ResultView("ja")), ("one", "q", 5, ResultView(page=2)), ("other", "q", 5)]
    for arguments in [*asked, ("one", "other words", 5), ("one", "q", 6)]:
        assert not (await pool.ask(*arguments)).was_kept
        assert (await pool.ask(*arguments)).was_kept
    assert (len(one.asked), len(other.asked)) == (5, 1)
    assert one.views[1:3] == [ResultView("ja"), ResultView(page=2)]


async def test_of_two_who_ask_the_same_at_once_one_is_counted() -> None:
    gate = asyncio.Event()
    engine = FakeEngine(gate=gate)
    pool = EnginePool([engine], cache=kept())
    both = [asyncio.create_task(pool.ask("fake", "q", 5)) for _ in range(2)]
    while not engine.asked:
        await asyncio.sleep(0)
    gate.set()
    assert sorted(reply.was_kept for reply in await asyncio.gather(*both)) == [False, True]
    assert engine.asked == ["q"]


async def test_without_a_cache_each_is_asked_for() -> None:
    engine = FakeEngine()
    pool = EnginePool([engine])
    assert [(await pool.ask("fake", "q", 5)).was_kept for _ in range(2)] == [False, False]
    assert engine.asked == ["q", "q"]


@pytest.mark.parametrize("is_kept", [False, True])
async def test_results_that_are_no_pages_of_the_web_are_left_out(is_kept: bool) -> None:
    urls = ["/home/me/b.md", "docs/b.md", "file:///home/me/b.md", "http:/x", "x:http://a.example/", "http://[x"]
    results = tuple(SearchResult("", url, "", "") for url in [*urls, "HTTPS://a.example/1", "http://a.example/2"])
    pool = EnginePool([FakeEngine(SearchAnswer(results))], cache=kept() if is_kept else None)
    for _ in range(2):
        answer = (await pool.ask("fake", "q", 20)).answer
        assert [one.url for one in answer.results] == ["HTTPS://a.example/1", "http://a.example/2"]


@pytest.fixture
def is_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline, "is_on", lambda: True)


async def test_offline_only_what_is_kept_is_given(is_offline: None, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, cache = FakeEngine(), kept()
    pool = EnginePool([engine], cache=cache)
    with monkeypatch.context() as online:
        online.setattr(offline, "is_on", lambda: False)
        await pool.ask("fake", "q", 5)
    assert (await pool.ask("fake", "q", 5)).answer == FOUND
    with pytest.raises(WebSearchError) as caught:
        await pool.ask("fake", "other words", 5)
    assert (caught.value.key, engine.asked) == ("search_offline", ["q"])


def test_the_settings_choose_engines_and_cache(tmp_path: Path) -> None:
    settings = WebSettings(engines=("duckduckgo", "searxng", "duckduckgo"), searxng_categories=("it",))
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    pool = open_pool(settings, environ)
    assert [engine.name for engine in pool.engines] == ["duckduckgo", "searxng"]
    assert "it" in pool.engines[1].scope
    assert pool.cache is not None
    assert open_pool(settings, environ, use_cache=False).cache is None
    assert open_pool(settings, environ, cache_ttl=0.0).cache is None
