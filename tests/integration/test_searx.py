"""A real searx answers: categories, language, pages, engines that are dead."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base.errors import WebSearchError
from localllm.web.engine_pool import EnginePool
from localllm.web.engines.base import ResultView
from localllm.web.engines.searxng import SearxNG
from localllm.web.meta_search import MetaSearch
from tests.support.searx import SearchedSite, is_installed, searx
from tests.support.web_engines import Clock, FakeEngine

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux" and not is_installed(), reason="needs python3-searx"),
]


@pytest.fixture
def port() -> int:
    """One that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def site() -> Iterator[SearchedSite]:
    with SearchedSite() as site:
        yield site


async def test_it_answers_in_categories_languages_and_pages(tmp_path: Path, port: int, site: SearchedSite) -> None:
    engines = {"corpus": (f"{site.url}/corpus", "general"), "code": (f"{site.url}/code", "it")}
    with searx(tmp_path, port, engines) as url:
        engine = SearxNG(url)
        await engine.check()
        site.asked.clear()
        first = await engine.search("潮汐 tides", 5)
        assert [result.url for result in first.results] == ["https://1.example/corpus", "https://2.example/corpus"]
        assert first.results[0].title == "潮汐 tides 1"
        assert {result.engine for result in first.results} == {"corpus"}
        second = await SearxNG(url, categories=["it"]).search("tides", 5, ResultView("ja", 2))
        assert [result.url for result in second.results] == ["https://3.example/code", "https://4.example/code"]
        with pytest.raises(WebSearchError, match="language") as caught:
            await engine.search("x", 5, ResultView("!!"))
        assert caught.value.key == "searxng_refused"
    assert site.asked == [("/corpus", "潮汐 tides", "1"), ("/code", "tides", "2")]


async def test_dead_engines_are_named_and_all_of_them_dead_is_a_failure(
    tmp_path: Path, port: int, site: SearchedSite
) -> None:
    engines = {"dead": ("http://127.0.0.1:9/x", "general"), "corpus": (f"{site.url}/corpus", "it")}
    clock, other = Clock(), FakeEngine(name="other")
    with searx(tmp_path, port, engines) as url:
        pool = EnginePool([SearxNG(url, categories=["general", "it"]), other], clock=clock, pause=clock.pause)
        answer = await MetaSearch(pool).search(["tides", "moon"])
        assert {page.url for page in answer.pages} > {"https://1.example/corpus", "https://2.example/corpus"}
        assert answer.failures == ()
        assert all(text.startswith("dead: ") and text.endswith(" (searxng)") for text in answer.degraded)
        assert answer.degraded
        with pytest.raises(WebSearchError) as caught:
            await MetaSearch(EnginePool([SearxNG(url, categories=["general"])])).search(["tides"])
        assert caught.value.key == "search_engines_silent"


def test_it_is_not_skipped_on_linux() -> None:
    assert sys.platform != "linux" or is_installed()
