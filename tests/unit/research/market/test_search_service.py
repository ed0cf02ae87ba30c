"""Searches as a scan makes them: kept, asked again where that helps, all at once, the key in no error."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from localllm.base.errors import WebSearchError
from localllm.research.market.market_records import PURPOSES, MarketPurpose, MarketQuery, SearchOptions, region_of
from localllm.research.market.search_service import SearchServiceConfig, SerperSearchService
from tests.ensemble_servers.play import until
from tests.support.market_web import KEY, WORDS, MarketWeb
from tests.support.web_engines import Clock

pytestmark = pytest.mark.anyio


def query(purpose: MarketPurpose = "market_size", num: int = 10, gl: str = "jp") -> MarketQuery:
    options = SearchOptions(gl=gl, hl="ja", num=num)
    return MarketQuery(query=f"x {WORDS[purpose][0]}", purpose=purpose, region=region_of(purpose), options=options)


@asynccontextmanager
async def serper(web: MarketWeb, clock: Clock, **config: Any) -> AsyncIterator[SerperSearchService]:
    with web:
        yield SerperSearchService(
            SearchServiceConfig(**{"api_key": KEY, "base_url": web.url, **config}), clock=clock, pause=clock.pause
        )


async def test_what_is_asked_and_what_comes_back() -> None:
    web = MarketWeb()
    async with serper(web, Clock()) as service:
        response = await service.search(query(num=1))
    assert web.asked == [{"q": "x 市場規模", "gl": "jp", "hl": "ja", "num": 1}]
    assert web.keys == [KEY]
    assert [one.title for one in response.results] == ["market_size 0"]
    assert not response.was_kept


async def test_answers_are_kept_by_query_country_language_and_number() -> None:
    web = MarketWeb()
    async with serper(web, Clock()) as service:
        for one in (query(), query(), query(num=1), query(gl="us")):
            last = await service.search(one)
        assert (len(web.asked), service.api_calls, service.cache_hits) == (3, 3, 1)
        assert not last.was_kept
        assert (await service.search(query())).was_kept
        await service.clear_cache()
        assert not (await service.search(query())).was_kept


async def test_429_is_waited_for_and_asked_again() -> None:
    web, clock = MarketWeb({"*": 429}), Clock()
    web.retry_after = "2"
    async with serper(web, clock) as service:
        with pytest.raises(WebSearchError) as caught:
            await service.search(query())
    assert len(web.asked) == 3
    assert sum(clock.pauses) >= 4
    assert KEY not in repr((str(caught.value), caught.value.params))


async def test_what_may_pass_is_asked_again_twice_and_a_refusal_never() -> None:
    async def asked(outcome: int | str) -> int:
        web = MarketWeb({"*": outcome})
        async with serper(web, Clock()) as service:
            with pytest.raises(WebSearchError) as caught:
                await service.search_with_retry("x 市場規模", query().options)
        assert KEY not in repr((str(caught.value), caught.value.params))
        return len(web.asked)

    assert await asked(500) == 3
    for outcome in (400, 401, 403, "malformed"):
        assert await asked(outcome) == 1, outcome


async def test_a_slow_answer_is_given_up_and_asked_for_again() -> None:
    web = MarketWeb({"*": "slow"})
    async with serper(web, Clock(), timeout=100) as service:
        with pytest.raises(WebSearchError, match=r"0\.1 s"):
            await service.search(query())
        await until(lambda: len(web.asked) == 3, "it is asked three times")


async def test_eight_searches_run_at_once_and_one_that_fails_stops_no_other() -> None:
    web = MarketWeb({"needs": 400})
    web.together = 8
    async with serper(web, Clock()) as service:
        responses = await service.batch_search([query(one) for one in PURPOSES])
    assert web.most == 8
    failed = [one for one in responses if one.failed]
    assert [one.query.purpose for one in failed] == ["needs"]
    assert failed[0].errors[0].purpose == "needs"
    assert all(one.results for one in responses if not one.failed)


async def test_a_key_that_can_be_none_is_an_error_at_once_and_asks_nobody() -> None:
    for key in ("", "short", "with blanks in it, which no key has"):
        with pytest.raises(WebSearchError):
            SerperSearchService(SearchServiceConfig(key))
    with pytest.raises(WebSearchError):
        SerperSearchService(SearchServiceConfig(KEY, base_url="http://serper.example"))
    web = MarketWeb()
    async with serper(web, Clock()) as service:
        assert await service.validate_api_key()
    assert not web.asked


async def test_more_searches_than_the_window_has_wait_for_the_next() -> None:
    web, clock = MarketWeb(), Clock()
    async with serper(web, clock, max_requests=2, window_ms=10_000) as service:
        await service.batch_search([query(one) for one in PURPOSES[:4]])
        assert len(web.asked) == 4
        assert sum(clock.pauses) >= 5
        pauses = len(clock.pauses)
        await service.search(query())
    assert len(clock.pauses) == pauses  # it was kept
