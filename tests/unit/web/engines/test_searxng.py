"""SearxNG's recorded answers."""

from urllib.parse import parse_qs

import msgspec
import pytest

from localllm.base.errors import WebSearchError
from localllm.web.engines.base import ResultView
from localllm.web.engines.searxng import SearxNG
from tests.support.web_server import page, serve
from tests.support.wire_server import cassette

pytestmark = pytest.mark.anyio

STATUS = {200: "200 OK", 400: "400 Bad Request", 403: "403 Forbidden", 429: "429 Too Many Requests"}


def recorded(name: str) -> bytes:
    reply = cassette(f"searxng/{name}")
    return page(reply.pieces[0], reply.headers["content-type"], STATUS[reply.status])


DEEP = "[" * 20_000 + "]" * 20_000


async def failed(answer: bytes) -> str:
    async with serve({"/search": answer}) as site:
        with pytest.raises(WebSearchError) as caught:
            await SearxNG(site.url).search("x", 5)
    return caught.value.key


@pytest.mark.parametrize("tail", ["", "/", "/search", "/search?q=%s"])
async def test_results(tail: str) -> None:
    async with serve({"/search": recorded("json_ok")}) as site:
        answer = await SearxNG(site.url + tail).search("streaming & more", 2)
    assert site.asked[0].startswith("GET /search?q=streaming+%26+more&format=json ") or "%20" in site.asked[0]
    assert [result.url for result in answer.results] == [
        "http://127.0.0.1:8071/page/27",
        "http://127.0.0.1:8071/page/28",
    ]
    assert answer.results[0].title == "Streaming explained (part 1)"
    assert answer.results[0].engine == "corpus json, corpus html"


async def test_pages_found_twice_take_no_place() -> None:
    urls = ["https://a.example/", "https://www.a.example", "https://b.example/"]
    body = msgspec.json.encode({"query": "x", "results": [{"url": url} for url in urls]})
    async with serve({"/search": page(body, "application/json")}) as site:
        answer = await SearxNG(site.url).search("x", 2)
    assert [result.url for result in answer.results] == [urls[0], urls[2]]


async def test_nothing_found_and_who_was_silent() -> None:
    async with serve({"/search": recorded("json_noresult")}) as site:
        answer = await SearxNG(site.url).search("zzz", 5)
    assert (answer.results, answer.silent) == ((), ())
    async with serve({"/search": recorded("json_unresponsive")}) as site:
        answer = await SearxNG(site.url).search("x", 5)
    assert "slow engine: timeout" in answer.silent


async def test_answers_of_old_versions_and_new_ones() -> None:
    body = '{"query": "2+3", "results": [], "answers": ["5", {"answer": "five"}, 3]}'
    async with serve({"/search": page(body, "application/json")}) as site:
        assert (await SearxNG(site.url).search("2+3", 5)).answers == ("5", "five")


async def test_what_is_wrong_says_how_to_fix_it() -> None:
    assert await failed(recorded("json_disabled_403")) == "searxng_no_json"
    assert await failed(recorded("limited_429")) == "searxng_limited"
    assert await failed(page('{"error": "no such path"}', "application/json")) == "searxng_not_one"
    assert await failed(page("<html>", "text/html")) == "searxng_not_one"
    assert await failed(page(f'{{"results": [], "answers": {DEEP}}}', "application/json")) == "searxng_not_one"
    assert await failed(page(f'{{"error": {DEEP}}}', "application/json", "400 No")) == "searxng_refused"
    assert await failed(page("", "text/html", "500 Oops")) == "searxng_unreachable"


async def test_without_an_address_it_is_looked_for() -> None:
    async with (
        serve({"/search": page("llama", "text/plain")}) as other,
        serve({"/search": recorded("json_ok")}) as site,
    ):
        engine = SearxNG(places=["http://127.0.0.1:1", other.url, site.url])
        assert (await engine.search("x", 1)).results
        with pytest.raises(WebSearchError, match=r"127\.0\.0\.1:1 "):
            await SearxNG(places=["http://127.0.0.1:1", other.url]).search("x", 1)


async def test_categories_language_and_page_are_sent_only_where_they_are_wanted() -> None:
    async with serve({"/search": recorded("json_page2")}) as site:
        assert (await SearxNG(site.url).search("x", 5)).results
        engine = SearxNG(site.url, categories=["general", "it"])
        assert (await engine.search("x", 5, ResultView("ja", 2))).results
    queries = [parse_qs(head.split(" ")[1].partition("?")[2]) for head in site.asked]
    plain = {"q": ["x"], "format": ["json"]}
    assert queries == [plain, {**plain, "categories": ["general,it"], "language": ["ja"], "pageno": ["2"]}]
    assert engine.scope != SearxNG(site.url).scope


async def test_a_country_goes_with_a_language_and_not_alone() -> None:
    async with serve({"/search": recorded("json_page2")}) as site:
        for view in (ResultView("ja", country="jp"), ResultView(country="jp")):
            await SearxNG(site.url).search("x", 5, view)
    queries = [parse_qs(head.split(" ")[1].partition("?")[2]) for head in site.asked]
    assert [one.get("language") for one in queries] == [["ja-JP"], None]


async def test_a_refused_parameter_is_named() -> None:
    async with serve({"/search": recorded("json_bad_lang")}) as site:
        with pytest.raises(WebSearchError, match="Invalid value !! for parameter language") as caught:
            await SearxNG(site.url).search("x", 5, ResultView("!!"))
    assert (caught.value.key, caught.value.retryable) == ("searxng_refused", False)
    assert await failed(page("no", "text/html", "400 Bad Request")) == "searxng_refused"
