"""DuckDuckGo's results, and its refusals. Nothing is sent there."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from localllm.base.errors import WebSearchError
from localllm.web.engines.base import FIRST_PAGE, ResultView, SearchResult
from localllm.web.engines.duckduckgo import DuckDuckGo

pytestmark = pytest.mark.anyio


async def test_results_in_our_form() -> None:
    asked: list[tuple[str, int, ResultView]] = []

    def ask(query: str, limit: int, view: ResultView) -> list[dict[str, str]]:
        asked.append((query, limit, view))
        return [{"title": "T", "href": "https://a.example", "body": "B"}, {"title": "no address"}]

    answer = await DuckDuckGo(ask=ask).search("q", 2)
    assert answer.results == (SearchResult("T", "https://a.example", "B", "duckduckgo"),)
    assert asked == [("q", 2, FIRST_PAGE)]


async def test_no_results_is_an_answer_and_a_refusal_is_none() -> None:
    class PackageError(Exception):
        pass

    def none(_query: str, _limit: int, _view: ResultView) -> list[dict[str, str]]:
        raise PackageError("No results found.")

    def limited(_query: str, _limit: int, _view: ResultView) -> list[dict[str, str]]:
        raise PackageError("202 Ratelimit")

    assert (await DuckDuckGo(ask=none).search("q", 2)).results == ()
    with pytest.raises(WebSearchError, match="202 Ratelimit"):
        await DuckDuckGo(ask=limited).search("q", 2)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            r"DNSError('error sending request for url (https://html.duckduckgo.com/html/) \> error resolving DNS \> DNS"
            " error: no records found for Query { name: Name(",
            "its name cannot be resolved",
        ),
        ("ConnectError: Connection refused (os error 111)", "no connection is possible"),
        ("invalid peer certificate: UnknownIssuer", "its certificate was not accepted"),
        ("something else", "something else"),
    ],
)
async def test_a_fault_of_the_http_library_is_said_in_plain_words(said: str, told: str) -> None:
    def fails(_query: str, _limit: int, _view: ResultView) -> list[dict[str, str]]:
        raise RuntimeError(said)

    with pytest.raises(WebSearchError, match=rf"did not answer: {told}\."):
        await DuckDuckGo(ask=fails).search("q", 2)


async def test_the_package_is_told_region_and_page_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []

    class Client:
        def __init__(self, **_: Any) -> None: ...

        def text(self, query: str, **options: Any) -> list[dict[str, str]]:
            told.append({"query": query, **options})
            return []

    monkeypatch.setitem(sys.modules, "ddgs", SimpleNamespace(DDGS=Client))
    monkeypatch.setitem(sys.modules, "ddgs.engines", SimpleNamespace(ENGINES={"text": {"duckduckgo": object}}))
    countries = (ResultView("ja", country="jp"), ResultView("en", country="us"), ResultView("en", country="uk"))
    for view in (FIRST_PAGE, ResultView("ja", 2), ResultView("de"), ResultView("xx"), *countries):
        await DuckDuckGo().search("q", 5, view)
    plain = {"query": "q", "max_results": 5, "backend": "duckduckgo"}
    assert told == [plain, {**plain, "region": "jp-jp", "page": 2}, {**plain, "region": "de-de"}, plain] + [
        {**plain, "region": region} for region in ("jp-jp", "us-en", "uk-en")
    ]


async def test_the_words_go_to_no_other_engine_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from ddgs import engines

    monkeypatch.delitem(engines.ENGINES["text"], "duckduckgo")
    with pytest.raises(WebSearchError, match="this release of the package ddgs does not ask it"):
        await DuckDuckGo().search("q", 5)
