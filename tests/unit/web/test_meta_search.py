"""Many queries with all engines at once: merged, counted, and with what failed named."""

import asyncio
from pathlib import Path

import pytest

from localllm.base.errors import WebSearchError
from localllm.config.schema import WebSettings
from localllm.web.engine_pool import EnginePool
from localllm.web.engines.base import EngineLimits, ResultView, SearchAnswer, SearchResult
from localllm.web.meta_search import MetaSearch, open_meta_search
from localllm.web.search_cache import MemoryCache, SearchCache
from tests.support.web_engines import Clock, FakeEngine

pytestmark = pytest.mark.anyio

REFUSED = WebSearchError("serper_key_refused", status=403)
BUSY = WebSearchError("serper_limited", retryable=True)
UNREACHABLE = WebSearchError("searxng_unreachable", url="http://127.0.0.1:1", reason="refused")


def found(*urls: str, snippet: str = "", silent: tuple[str, ...] = ()) -> SearchAnswer:
    return SearchAnswer(tuple(SearchResult(f"T {url}", url, snippet, "x") for url in urls), silent=silent)


def searching(*engines: FakeEngine, keep: bool = False) -> MetaSearch:
    clock = Clock()
    cache = SearchCache(MemoryCache(60.0), MemoryCache(60.0)) if keep else None
    return MetaSearch(EnginePool(engines, cache=cache, clock=clock, pause=clock.pause))


class TestMerging:
    async def test_one_page_under_several_addresses_is_one_and_goes_first(self) -> None:
        one = FakeEngine(found("https://a.example/1", "http://www.b.example/x?utm_source=q"), name="one")
        other = FakeEngine(found("https://m.b.example/x", "https://c.example/", snippet="longer"), name="other")
        answer = await searching(one, other).search(["q"])
        first = answer.pages[0]
        assert (first.url, first.snippet) == ("https://m.b.example/x", "longer")
        assert (first.engines, first.queries) == (("one", "other"), ("q",))
        assert [page.url for page in answer.pages[1:]] == ["https://a.example/1", "https://c.example/"]
        assert [page.score for page in answer.pages] == sorted((page.score for page in answer.pages), reverse=True)

    async def test_the_order_does_not_depend_on_who_answers_first(self) -> None:
        gate = asyncio.Event()
        slow = FakeEngine(found("https://slow.example/"), name="slow", gate=gate)
        quick = FakeEngine(found("https://quick.example/"), name="quick")
        search = asyncio.create_task(searching(slow, quick).search(["q"]))
        while not quick.asked:
            await asyncio.sleep(0)
        gate.set()
        assert [page.url for page in (await search).pages] == ["https://slow.example/", "https://quick.example/"]

    async def test_a_page_names_every_query_that_found_it(self) -> None:
        answer = await searching(FakeEngine(found("https://a.example/"))).search(["one", "other  words", "one"])
        assert answer.pages[0].queries == ("one", "other words")

    async def test_language_and_page_reach_every_engine(self) -> None:
        engines = FakeEngine(name="one"), FakeEngine(name="other")
        await searching(*engines).search(["q"], language="ja", page=2)
        assert [engine.views for engine in engines] == [[ResultView("ja", 2)]] * 2


class TestSideBySide:
    async def test_every_engine_has_its_first_query_before_any_is_answered(self) -> None:
        gate = asyncio.Event()
        engines = [FakeEngine(found("https://a.example/"), name=str(number), gate=gate) for number in range(3)]
        search = asyncio.create_task(searching(*engines).search([f"q{number}" for number in range(4)]))
        while not all(engine.asked for engine in engines):
            await asyncio.sleep(0)
        assert [len(engine.asked) for engine in engines] == [1, 1, 1]  # in turn: none bears two at a time
        gate.set()
        assert (await search).searches == 12
        assert [engine.most for engine in engines] == [1, 1, 1]

    async def test_one_that_hangs_holds_up_its_own_searches_alone(self) -> None:
        gate = asyncio.Event()
        hanging = FakeEngine(found("https://a.example/"), name="hanging", gate=gate)
        quick = FakeEngine(found("https://b.example/"), name="quick")
        queries = [f"q{number}" for number in range(8)]
        search = asyncio.create_task(searching(hanging, quick).search(queries))
        while len(quick.asked) < len(queries):
            await asyncio.sleep(0)
        assert hanging.asked == ["q0"]
        gate.set()
        assert len((await search).pages) == 2

    async def test_one_that_bears_eight_at_a_time_has_eight(self) -> None:
        gate = asyncio.Event()
        engine = FakeEngine(gate=gate, limits=EngineLimits(concurrency=8, per_minute=6_000))
        search = asyncio.create_task(searching(engine).search([f"q{number}" for number in range(9)]))
        while len(engine.asked) < 8:
            await asyncio.sleep(0)
        gate.set()
        await search
        assert engine.most == 8


class TestFailures:
    async def test_one_that_fails_is_named_beside_what_the_others_found(self) -> None:
        answer = await searching(
            FakeEngine(UNREACHABLE, name="searxng"), FakeEngine(found("https://a.example/"), name="other")
        ).search(["one", "two", "three"])
        assert [page.url for page in answer.pages] == ["https://a.example/"]
        assert answer.failures == (UNREACHABLE,)  # once, not for each query
        assert answer.searches == 6

    async def test_that_one_rests_is_not_said_beside_why(self) -> None:
        busy = FakeEngine(BUSY, name="serper")
        answer = await searching(busy, FakeEngine(name="other")).search(["one", "two", "three"])
        assert answer.failures == (BUSY,)
        assert len(busy.asked) == 3  # then the breaker is open: two queries never went out
        assert answer.searches == 1 + 3

    async def test_where_all_fail_the_error_says_why_of_each(self) -> None:
        with pytest.raises(WebSearchError) as caught:
            await searching(FakeEngine(REFUSED, name="serper"), FakeEngine(UNREACHABLE, name="searxng")).search(["q"])
        assert caught.value.key == "web_no_answer"
        assert str(REFUSED) in str(caught.value)
        assert str(UNREACHABLE) in str(caught.value)
        with pytest.raises(WebSearchError) as alone:
            await searching(FakeEngine(REFUSED)).search(["q"])
        assert alone.value is REFUSED

    async def test_where_all_fail_for_one_reason_that_is_the_error(self) -> None:
        offline = WebSearchError("search_offline")
        with pytest.raises(WebSearchError) as caught:
            await searching(FakeEngine(offline, name="serper"), FakeEngine(offline, name="searxng")).search(["q"])
        assert caught.value.key == "search_offline"

    async def test_nothing_found_is_an_answer(self) -> None:
        assert (await searching(FakeEngine(found())).search(["q"])).pages == ()

    async def test_nothing_found_because_all_behind_were_silent_is_a_failure(self) -> None:
        engine = FakeEngine(found(silent=("google: CAPTCHA", "bing: timeout")), name="searxng")
        answer = await searching(engine, FakeEngine(found("https://a.example/"), name="other")).search(["q"])
        assert [error.key for error in answer.failures] == ["search_engines_silent"]
        assert answer.degraded == ("google: CAPTCHA (searxng)", "bing: timeout (searxng)")
        with pytest.raises(WebSearchError, match="google: CAPTCHA"):
            await searching(engine).search(["q"])

    async def test_a_silent_one_among_others_is_no_failure(self) -> None:
        engine = FakeEngine(found("https://a.example/", silent=("bing: timeout",)), name="searxng")
        answer = await searching(engine).search(["one", "two"])
        assert (answer.failures, answer.degraded) == ((), ("bing: timeout (searxng)",))

    async def test_without_engines_or_words_nothing_is_searched(self) -> None:
        for search, queries, key in (
            (searching(), ["q"], "web_no_engine"),
            (searching(FakeEngine()), [" ", ""], "web_no_query"),
            (searching(FakeEngine()), [], "web_no_query"),
        ):
            with pytest.raises(WebSearchError) as caught:
                await search.search(queries)
            assert caught.value.key == key


class TestPrivacy:
    async def test_no_query_leaves_unmasked_and_one_of_nothing_else_stays(self) -> None:
        engine = FakeEngine()
        queries = ["who is taro@example.com", "090-1234-5678", "who is [EMAIL]"]
        answer = await searching(engine).search(queries)
        assert engine.asked == ["who is [EMAIL]"]
        assert answer.searches == 1

    async def test_where_nothing_is_left_it_says_so(self) -> None:
        engine = FakeEngine()
        with pytest.raises(WebSearchError) as caught:
            await searching(engine).search(["090-1234-5678", "taro@example.com"])
        assert (caught.value.key, engine.asked) == ("search_only_private", [])


class TestCache:
    async def test_hits_and_searches_are_counted(self) -> None:
        search = searching(FakeEngine(name="one"), FakeEngine(name="other"), keep=True)
        first = await search.search(["a", "b"])
        again = await search.search(["a", "b", "c"])
        assert (first.searches, first.cache_hits) == (4, 0)
        assert (again.searches, again.cache_hits) == (2, 4)
        assert again.pages[0].queries == ("a", "b", "c")

    async def test_without_it_nothing_is_read_and_nothing_kept(self, tmp_path: Path) -> None:
        settings = WebSettings(engines=("duckduckgo",))
        search = open_meta_search(settings, {"XDG_CACHE_HOME": str(tmp_path)}, cache_ttl=60.0, use_cache=False)
        assert search.pool.cache is None
        await search.aclose()
        assert open_meta_search(settings, {}, cache_ttl=60.0, use_cache=True).pool.cache is not None
