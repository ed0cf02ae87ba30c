"""Engines are asked in turn, not too often, again where that helps, and not at all while they are ill."""

import asyncio

import pytest

from localllm.base.errors import WebSearchError
from localllm.config.schema import WebSettings
from localllm.web.engine_guard import EngineGuard
from localllm.web.engines.base import EngineLimits, ResultView, SearchAnswer
from localllm.web.engines.duckduckgo import DuckDuckGo
from localllm.web.engines.searxng import SearxNG
from localllm.web.engines.serper import Serper
from localllm.web.fetching import Fetcher
from localllm.web.services import WebAccess, open_web
from tests.support.web_engines import FOUND, Clock, FakeEngine
from tests.support.web_server import page, serve

pytestmark = pytest.mark.anyio

KEY = "0123456789abcdef0123456789abcdef01234567"


def busy(retry_after: float | None = None) -> WebSearchError:
    return WebSearchError("serper_limited", retryable=True, retry_after=retry_after)


REFUSED = WebSearchError("serper_key_refused", status=403)


def guarded(clock: Clock, *outcomes: SearchAnswer | WebSearchError) -> tuple[EngineGuard, FakeEngine]:
    engine = FakeEngine(*outcomes)
    return EngineGuard(engine, clock=clock, pause=clock.pause), engine


async def failure(guard: EngineGuard) -> str:
    with pytest.raises(WebSearchError) as caught:
        await guard.search("q", 5)
    return caught.value.key


class TestRetries:
    async def test_what_may_pass_is_tried_three_times_with_longer_pauses(self) -> None:
        clock = Clock()
        guard, engine = guarded(clock, busy(), busy(), FOUND)
        assert await guard.search("q", 5) == FOUND
        assert engine.asked == ["q"] * 3
        first, second = clock.pauses
        assert 0.5 <= first <= 1.0
        assert 1.0 <= second <= 1.5

    async def test_then_the_engine_s_own_words_are_the_error(self) -> None:
        guard, engine = guarded(Clock(), busy())
        assert await failure(guard) == "serper_limited"
        assert len(engine.asked) == 3

    async def test_what_will_not_pass_is_tried_once(self) -> None:
        clock = Clock()
        guard, engine = guarded(clock, REFUSED)
        assert await failure(guard) == "serper_key_refused"
        assert (len(engine.asked), clock.pauses) == (1, [])

    async def test_the_engine_may_say_how_long_to_wait(self) -> None:
        clock = Clock()
        guard, engine = guarded(clock, busy(7.0), FOUND)
        assert await guard.search("q", 5) == FOUND
        assert len(engine.asked) == 2
        assert sum(clock.pauses) == pytest.approx(7.0)

    async def test_one_that_wants_long_rests_so_long_and_nobody_waits(self) -> None:
        clock = Clock()
        guard, engine = guarded(clock, busy(600.0), FOUND)
        assert await failure(guard) == "serper_limited"
        assert (len(engine.asked), clock.pauses) == (1, [])
        clock.now += 599.0
        assert await failure(guard) == "search_engine_resting"
        clock.now += 1.0
        assert await guard.search("q", 5) == FOUND

    async def test_none_rests_longer_than_an_hour(self) -> None:
        clock = Clock()
        guard, _ = guarded(clock, busy(1_000_000.0), FOUND)
        assert await failure(guard) == "serper_limited"
        clock.now += 3_600.0
        assert await guard.search("q", 5) == FOUND

    async def test_over_the_wire(self) -> None:
        clock = Clock()
        limited = page("", "text/html", "429 Too Many Requests", "retry-after: 3")
        answer = page('{"query": "q", "results": [{"url": "https://a.example/"}]}', "application/json")
        async with serve({"/search": [limited, page("", status="502 Bad Gateway"), answer]}) as site:
            guard = EngineGuard(SearxNG(site.url), clock=clock, pause=clock.pause)
            assert (await guard.search("q", 5)).results
        assert len(site.asked) == 3
        assert clock.pauses[0] == 0.0
        assert clock.pauses[1] == pytest.approx(3.0, abs=0.1)


class TestWhatMayPass:
    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            ("400 Bad Request", False),
            ("401 Unauthorized", False),
            ("403 Forbidden", False),
            ("404 Not Found", False),
            ("429 Too Many Requests", True),
            ("500 Oops", True),
            ("503 Service Unavailable", True),
        ],
    )
    async def test_by_the_status(self, status: str, *, expected: bool) -> None:
        async with serve({"/search": page("", "text/html", status, "retry-after: 9")}) as site:
            for engine in (SearxNG(site.url), Serper(site.url, KEY)):
                with pytest.raises(WebSearchError) as caught:
                    await engine.search("q", 5)
                assert caught.value.retryable is expected
                assert caught.value.retry_after == 9.0 or not expected

    async def test_time_outs_may_and_nobody_there_will_not(self) -> None:
        async with serve({}) as site:
            for engine in (SearxNG(site.url, seconds=0.2), Serper(site.url, KEY, seconds=0.2)):
                with pytest.raises(WebSearchError) as caught:
                    await engine.search("q", 5)
                assert caught.value.retryable
        for engine in (SearxNG("127.0.0.1:9"), Serper("http://127.0.0.1:9", KEY)):
            with pytest.raises(WebSearchError) as caught:
                await engine.search("q", 5)
            assert not caught.value.retryable

    async def test_of_the_exceptions_of_ddgs(self) -> None:
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

        for kind, expected in ((RatelimitException, True), (TimeoutException, True), (DDGSException, False)):

            def ask(_query: str, _limit: int, _view: ResultView, kind: type[Exception] = kind) -> list[dict[str, str]]:
                raise kind("202")

            with pytest.raises(WebSearchError) as caught:
                await DuckDuckGo(ask=ask).search("q", 5)
            assert caught.value.retryable is expected


class TestTurns:
    async def test_scraped_engines_are_asked_one_search_at_a_time_and_serper_eight(self) -> None:
        limits = {engine.name: engine.limits.concurrency for engine in open_web(_all_engines()).engines}
        assert limits == {"searxng": 1, "duckduckgo": 1, "serper": 8}

    @pytest.mark.parametrize("concurrency", [1, 3])
    async def test_no_more_at_a_time_than_the_engine_allows(self, concurrency: int) -> None:
        clock = Clock()
        engine = FakeEngine(limits=EngineLimits(concurrency=concurrency, per_minute=6_000))
        guard = EngineGuard(engine, clock=clock, pause=clock.pause)
        await asyncio.gather(*(guard.search(f"q{number}", 5) for number in range(7)))
        assert (engine.most, len(engine.asked)) == (concurrency, 7)

    async def test_no_more_a_minute_than_the_engine_allows(self) -> None:
        clock = Clock()
        engine = FakeEngine(limits=EngineLimits(concurrency=1, per_minute=20))
        guard = EngineGuard(engine, clock=clock, pause=clock.pause)
        for number in range(12):
            await guard.search(f"q{number}", 5)
        assert clock.pauses == pytest.approx([3.0] * 10)  # two at once, then one every three seconds

    async def test_a_search_that_is_cancelled_leaves_its_turn(self) -> None:
        clock, gate = Clock(), asyncio.Event()
        engine = FakeEngine(gate=gate)
        guard = EngineGuard(engine, clock=clock, pause=clock.pause)
        first = asyncio.create_task(guard.search("first", 5))
        while not engine.asked:
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        gate.set()
        assert await guard.search("second", 5) == FOUND


class TestRest:
    async def test_an_engine_that_is_ill_is_not_asked_until_it_rested(self) -> None:
        clock = Clock()
        guard, engine = guarded(clock, busy(), busy(), busy(), busy(), FOUND)
        assert await failure(guard) == "serper_limited"
        assert await failure(guard) == "search_engine_resting"
        assert len(engine.asked) == 3
        clock.now += 60.0
        assert await failure(guard) == "serper_limited"  # tried once, and ill still
        assert await failure(guard) == "search_engine_resting"
        assert len(engine.asked) == 4
        clock.now += 60.0
        assert await guard.search("q", 5) == FOUND

    async def test_a_try_after_the_rest_that_is_cancelled_is_none(self) -> None:
        clock, gate = Clock(), asyncio.Event()
        engine = FakeEngine(busy(600.0), FOUND, gate=gate)
        guard = EngineGuard(engine, clock=clock, pause=clock.pause)
        gate.set()
        assert await failure(guard) == "serper_limited"
        gate.clear()
        clock.now += 600.0
        tried = asyncio.create_task(guard.search("q", 5))
        while len(engine.asked) < 2:
            await asyncio.sleep(0)
        tried.cancel()
        await asyncio.gather(tried, return_exceptions=True)
        gate.set()
        assert await guard.search("q", 5) == FOUND

    async def test_a_refusal_for_good_does_not_count(self) -> None:
        guard, engine = guarded(Clock(), REFUSED)
        assert [await failure(guard) for _ in range(9)] == ["serper_key_refused"] * 9
        assert len(engine.asked) == 9

    async def test_the_next_engine_stands_in_and_the_answer_names_the_one_that_rests(self) -> None:
        clock = Clock()
        ill, well = FakeEngine(busy(), name="ill"), FakeEngine(name="well")
        web = WebAccess([ill, well], Fetcher(), clock=clock, pause=clock.pause)
        answer, (failure,) = await web.search("first")
        assert (answer, failure.key) == (FOUND, "serper_limited")
        answer, (failure,) = await web.search("second")
        assert (answer, failure.key) == (FOUND, "search_engine_resting")
        assert "ill is paused for the next 60 s" in failure.what
        assert "Serper refuses further searches" in failure.what
        assert (len(ill.asked), len(well.asked)) == (3, 2)


def _all_engines() -> WebSettings:
    return WebSettings(engines=("searxng", "duckduckgo", "serper"))
