"""Serper's answers, its refusals, and its key, which nobody else sees."""

from email.utils import formatdate
from time import time

import msgspec
import pytest

from localllm.base.errors import WebSearchError
from localllm.config.schema import SerperSettings, WebSettings
from localllm.web.engines import http
from localllm.web.engines.base import ResultView, SearchResult
from localllm.web.engines.serper import Serper, make, region
from tests.support.web_server import moved, page, serve

pytestmark = pytest.mark.anyio

KEY = "0123456789abcdef0123456789abcdef01234567"

ANSWER = {
    "searchParameters": {"q": "tides", "gl": "jp", "hl": "ja", "num": 2, "type": "search"},
    "answerBox": {"title": "Tides", "answer": "Twice a day", "link": "https://a.example/"},
    "organic": [
        {"title": "A", "link": "https://a.example/", "snippet": "First", "position": 1},
        {"title": "A again", "link": "http://www.a.example/?utm_source=x", "snippet": "First", "position": 2},
        {"title": "no address", "position": 3},
        {"title": "B", "link": "https://b.example/", "date": "2 days ago", "position": 4},
        {"title": "C", "link": "https://c.example/", "position": 5},
    ],
    "credits": 1,
}


def reply(body: object, status: str = "200 OK") -> bytes:
    return page(msgspec.json.encode(body), "application/json", status)


async def failure(answer: bytes, key: str = KEY) -> WebSearchError:
    async with serve({"/search": answer}) as site:
        with pytest.raises(WebSearchError) as caught:
            await Serper(site.url, key).search("x", 5)
    assert key not in repr((str(caught.value), caught.value.params))
    return caught.value


@pytest.mark.parametrize("tail", ["", "/", "/search"])
async def test_what_is_asked_and_what_comes_back(tail: str) -> None:
    async with serve({"/search": reply(ANSWER)}) as site:
        answer = await Serper(site.url + tail, KEY, language="ja", country="jp").search("潮汐 tides", 2)
    (head,), (body,) = site.asked, site.bodies
    assert head.startswith("POST /search ")
    assert f"x-api-key: {KEY}" in head.lower()
    assert "content-type: application/json" in head.lower()
    assert msgspec.json.decode(body) == {"q": "潮汐 tides", "gl": "jp", "hl": "ja", "num": 2}
    assert answer.results == (
        SearchResult("A", "https://a.example/", "First", "serper"),
        SearchResult("B", "https://b.example/", "", "serper"),
    )
    assert answer.answers == ("Twice a day",)


async def test_a_language_asked_for_goes_before_that_of_the_settings_and_pages_are_counted_from_one() -> None:
    async with serve({"/search": reply(ANSWER)}) as site:
        await Serper(site.url, KEY, language="en", country="us").search("x", 2, ResultView("ja", 3))
    assert msgspec.json.decode(site.bodies[0]) == {"q": "x", "gl": "us", "hl": "ja", "num": 2, "page": 3}


async def test_without_a_region_none_is_named_and_nothing_found_is_an_answer() -> None:
    async with serve({"/search": reply({"searchParameters": {"q": "x"}, "organic": []})}) as site:
        answer = await Serper(site.url, KEY).search("x", 500)
    assert msgspec.json.decode(site.bodies[0]) == {"q": "x", "num": 100}
    assert (answer.results, answer.answers) == ((), ())


DEEP = "[" * 20_000 + "]" * 20_000
REFUSALS: list[tuple[bytes, str, str]] = [
    (reply({"message": "Not enough credits", "statusCode": 400}, "400 Bad Request"), "serper_bad_request", "credits"),
    (page("<html>", status="400 Bad Request"), "serper_bad_request", "web.serper.country"),
    (reply({"message": "Unauthorized."}, "401 Unauthorized"), "serper_key_refused", "SERPER_API_KEY"),
    (reply({"message": "Unauthorized."}, "403 Forbidden"), "serper_key_refused", "SERPER_API_KEY"),
    (reply({"message": "Too many"}, "429 Too Many Requests"), "serper_limited", "Wait"),
    (page("", status="503 Service Unavailable"), "serper_unreachable", "another engine"),
    (moved("https://elsewhere.example/search"), "serper_unreachable", "another engine"),
    (page("<html>"), "serper_not_one", "web.serper.base_url"),
    (reply({"organic": [{"link": 3}]}), "serper_not_one", "web.serper.base_url"),
    (reply({"results": []}), "serper_not_one", "web.serper.base_url"),
    (reply([]), "serper_not_one", "web.serper.base_url"),
    (page(f'{{"organic": [], "answerBox": {{"a": {DEEP}}}}}'), "serper_not_one", "web.serper.base_url"),
    (page(f'{{"message": {DEEP}}}', status="400 Bad Request"), "serper_bad_request", "web.serper.country"),
    (b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{", "serper_unreachable", "another engine"),
]


@pytest.mark.parametrize(("answer", "key", "fix"), REFUSALS)
async def test_what_is_wrong_says_how_to_fix_it(answer: bytes, key: str, fix: str) -> None:
    error = await failure(answer)
    assert error.key == key
    assert fix in error.fix


async def test_a_key_in_what_serper_says_is_not_passed_on() -> None:
    error = await failure(reply({"message": f"the key {KEY} has no credits\x1b[31m"}, "400 Bad Request"))
    assert "the key … has no credits␛" in error.what


async def test_silence_and_nobody_there() -> None:
    async with serve({}) as site:
        with pytest.raises(WebSearchError, match=r"0\.2 s"):
            await Serper(site.url, KEY, seconds=0.2).search("x", 5)
    with pytest.raises(WebSearchError, match=r"127\.0\.0\.1:9"):
        await Serper("http://127.0.0.1:9", KEY).search("x", 5)


@pytest.mark.parametrize(
    ("key", "trouble"),
    [
        ("", "serper_no_key"),
        ("your-key-here", "serper_key_malformed"),
        (f"Bearer {KEY}", "serper_key_malformed"),
        (f'"{KEY}"', "serper_key_malformed"),
        (f"{KEY}\n{KEY}", "serper_key_malformed"),
        ("ｋ" * 40, "serper_key_malformed"),
    ],
)
async def test_without_a_key_nobody_is_asked(key: str, trouble: str) -> None:
    async with serve({"/search": reply(ANSWER)}) as site:
        engine = Serper(site.url, key)
        for call in (engine.check(), engine.search("x", 5)):
            with pytest.raises(WebSearchError) as caught:
                await call
            assert caught.value.key == trouble
            assert not key or key not in str(caught.value)
    assert site.asked == []


async def test_a_key_travels_encrypted_or_stays_on_this_machine() -> None:
    for url in ("http://google.serper.dev", "http://127.0.0.1.nip.example", "ftp://google.serper.dev", "//x"):
        with pytest.raises(WebSearchError, match="unencrypted"):
            await Serper(url, KEY).search("x", 5)
    await Serper("https://google.serper.dev", KEY).check()
    await Serper("http://localhost:1", KEY).check()


async def test_a_redirect_is_not_followed_with_the_key() -> None:
    async with serve({"/search": moved("/other"), "/other": reply(ANSWER)}) as site:
        with pytest.raises(WebSearchError, match="HTTP 302"):
            await Serper(site.url, KEY).search("x", 5)
    assert len(site.asked) == 1


async def test_only_the_proxy_of_the_settings_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve({"/search": reply(ANSWER)}) as site, serve({f"{site.url}/search": reply(ANSWER)}) as proxy:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(variable, proxy.url)
        await Serper(site.url, KEY).search("x", 5)
        assert (len(site.asked), len(proxy.asked)) == (1, 0)
        await Serper(site.url, KEY, proxy=proxy.url).search("x", 5)
        assert (len(site.asked), len(proxy.asked)) == (1, 1)


async def test_of_an_answer_without_end_the_beginning_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_LARGEST", 1_000)
    endless = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n" + b"x" * 5_000
    assert (await failure(endless)).key == "serper_not_one"


async def test_when_to_come_back_may_be_a_date() -> None:
    for header, expected in ((formatdate(time() + 500), True), ("-5", False), ("soon", False), ("٣", False)):
        limited = page("", "text/html", "429 Too Many Requests", f"retry-after: {header}")
        seconds = (await failure(limited)).retry_after
        assert 300 < seconds <= 500 if expected and seconds else seconds is None


async def test_a_check_costs_no_search() -> None:
    async with serve({"/search": reply(ANSWER)}) as site:
        await Serper(site.url, KEY).check()
    assert site.asked == []


LOCALES: list[tuple[dict[str, str], tuple[str, str]]] = [
    ({"LANG": "ja_JP.UTF-8"}, ("ja", "jp")),
    ({"LANG": "ja_JP.UTF-8", "LC_ALL": "de_AT@euro"}, ("de", "at")),
    ({"LANG": "zh_TW.Big5"}, ("zh-tw", "tw")),
    ({"LANG": "pt_BR.UTF-8", "LC_MESSAGES": ""}, ("pt-br", "br")),
    ({"LANG": "eo"}, ("eo", "")),
    ({"LANG": "C.UTF-8"}, ("", "")),
    ({"LC_ALL": "POSIX", "LANG": "ja_JP.UTF-8"}, ("", "")),
    ({}, ("", "")),
]


@pytest.mark.parametrize(("environ", "expected"), LOCALES)
def test_the_region_of_the_locale(environ: dict[str, str], expected: tuple[str, str]) -> None:
    assert region(SerperSettings(), environ) == expected


def test_the_settings_come_before_the_locale() -> None:
    assert region(SerperSettings(language="fr", country="ch"), {"LANG": "ja_JP.UTF-8"}) == ("fr", "ch")


async def test_it_is_made_of_settings_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    monkeypatch.setenv("SERPER_API_KEY", f" {KEY}\n")
    async with serve({"/search": reply(ANSWER)}) as site:
        await make(WebSettings(serper=SerperSettings(base_url=site.url))).search("x", 5)
    assert f"x-api-key: {KEY}\r\n" in site.asked[0].lower()
    assert msgspec.json.decode(site.bodies[0]) == {"q": "x", "gl": "jp", "hl": "ja", "num": 5}
