"""DuckDuckGo's results, and its refusals. Nothing is sent there."""

import pytest

from localllm.base.errors import WebSearchError
from localllm.web.engines.base import SearchResult
from localllm.web.engines.duckduckgo import DuckDuckGo

pytestmark = pytest.mark.anyio


async def test_results_in_our_form() -> None:
    asked: list[tuple[str, int]] = []

    def ask(query: str, limit: int) -> list[dict[str, str]]:
        asked.append((query, limit))
        return [{"title": "T", "href": "https://a.example", "body": "B"}, {"title": "no address"}]

    answer = await DuckDuckGo(ask=ask).search("q", 2)
    assert answer.results == (SearchResult("T", "https://a.example", "B", "duckduckgo"),)
    assert asked == [("q", 2)]


async def test_no_results_is_an_answer_and_a_refusal_is_none() -> None:
    class PackageError(Exception):
        pass

    def none(_query: str, _limit: int) -> list[dict[str, str]]:
        raise PackageError("No results found.")

    def limited(_query: str, _limit: int) -> list[dict[str, str]]:
        raise PackageError("202 Ratelimit")

    assert (await DuckDuckGo(ask=none).search("q", 2)).results == ()
    with pytest.raises(WebSearchError, match="202 Ratelimit"):
        await DuckDuckGo(ask=limited).search("q", 2)
