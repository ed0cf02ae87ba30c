"""Reading pages for research: on a loopback web of many hosts, with rules, redirects, encodings and faults."""

import asyncio
import re
from collections.abc import Iterator

import pytest

from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.config.research_settings import ResearchSettings
from localllm.config.schema import Settings, WebSettings
from localllm.web import robots, services
from localllm.web.fetching import Fetcher
from localllm.web.host_turns import HostTurns
from localllm.web.page_reader import PageReader, ReadPage
from localllm.web.polite_reader import PoliteReader
from localllm.web.robots import Robots
from tests.research_web.dataset import Page
from tests.research_web.server import ResearchWeb
from tests.support.pdfs import make_pdf
from tests.support.web_engines import Clock
from tests.support.web_server import Leading, Names, Site, moved, page, serve

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def web() -> Iterator[ResearchWeb]:
    with ResearchWeb(slow=0.0, hang=0.5) as running:
        yield running


def reader_of(web: ResearchWeb, *, respect: bool = True, seconds: float = 30.0) -> PageReader:
    settings = Settings(
        web=WebSettings(proxy=web.proxy_url, timeout=seconds), research=ResearchSettings(respect_robots=respect)
    )
    reader = services.page_reader(settings)
    assert reader
    return reader


async def fault(reader: PageReader, url: str) -> str:
    with pytest.raises(LocalLLMError) as caught:
        await reader.read(url)
    return caught.value.key


def pages_of(web: ResearchWeb, form: str) -> list[Page]:
    return [one for one in web.data.pages.values() if one.form == form and one.text and one.status == 200]


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize(
    ("form", "kind"),
    [("html", "html"), ("shift_jis", "html"), ("euc_jp", "html"), ("broken", "html"), ("huge", "html"), ("pdf", "pdf")],
)
async def test_all_paragraphs_are_read_whatever_the_form(web: ResearchWeb, form: str, kind: str) -> None:
    found = next(
        one for one in pages_of(web, form) if one.host not in ("members-only.example", "partly-closed.example")
    )
    read = await reader_of(web).read(found.url)
    assert (read.url, read.kind) == (found.url, kind)
    for paragraph in found.text.split("\n\n"):
        assert squeezed(paragraph) in squeezed(read.text)
    assert found.title in read.title or kind == "pdf"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", read.accessed)


async def test_what_robots_txt_forbids_is_not_asked_for(web: ResearchWeb) -> None:
    web.forget()
    reader = reader_of(web)
    for path in ("members-only.example/oskarfell", "partly-closed.example/dunmere.pdf"):
        assert await fault(reader, f"http://{path}") == "web_robots_forbid"
    assert not web.pages_asked()
    unasked = reader_of(web, respect=False)
    assert (await unasked.read("http://partly-closed.example/dunmere.pdf")).kind == "pdf"
    assert not [url for url in web.asked if url.endswith("robots.txt") and web.asked[url] > 1]


async def test_redirects_lead_to_where_the_page_is(web: ResearchWeb) -> None:
    read = await reader_of(web).read("http://go.link-short.example/k")
    assert read.url == "http://www.harrowgate-courier.example/2025/05/kelloway-sound-opens"
    assert web.asked["http://www.harrowgate-courier.example/robots.txt"]


async def test_what_a_rule_closes_is_not_asked_for_through_a_redirect_either(web: ResearchWeb) -> None:
    def check(url: str) -> None:
        if "courier" in url:
            raise SafetyViolationError("denied_by_rule", name=url, rule="x")

    web.forget()
    reader = services.page_reader(Settings(web=WebSettings(proxy=web.proxy_url)), check)
    assert reader
    target = "http://www.harrowgate-courier.example/2025/05/kelloway-sound-opens"
    for url in (target, "http://go.link-short.example/k"):
        assert await fault(reader, url) == "denied_by_rule"
    assert target not in web.asked


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("go.link-short.example/loop", "web_redirects"),
        ("go.link-short.example/inside", "web_address_refused"),
        ("go.link-short.example/router", "web_address_refused"),
        ("gone-away.example/kelloway-porpoises", "web_status"),
        ("broken-server.example/sorrel-valley", "web_status"),
        ("busy-server.example/norrick", "web_status"),
        ("picture-host.example/kirisawa.png", "web_no_text"),
        ("169.254.169.254/latest", "web_address_refused"),
    ],
)
async def test_what_cannot_be_read_says_why(web: ResearchWeb, path: str, key: str) -> None:
    assert await fault(reader_of(web), f"http://{path}") == key


async def test_a_page_that_takes_too_long_is_left(web: ResearchWeb) -> None:
    assert await fault(reader_of(web, respect=False, seconds=0.1), "http://never-answers.example/minase") == "web_slow"


async def test_a_host_that_is_down_is_not_asked_for_its_page(web: ResearchWeb) -> None:
    web.down.add("gone-away.example")
    try:
        assert await fault(reader_of(web), "http://gone-away.example/kelloway-porpoises") == "web_robots_unknown"
    finally:
        web.down.clear()


async def reading(site: Site, *urls: str, names: Names | None = None, turns: HostTurns | None = None) -> list[ReadPage]:
    fetcher = Fetcher(resolve=names or Names(), transport=Leading(site))
    reader = PoliteReader(fetcher, Robots(fetcher), turns=turns or HostTurns(0.0), clock=lambda: "now")
    return list(await asyncio.gather(*map(reader.read, urls)))


JAPANESE = "市は学校給食を無償にした。費用は年に3億円である。"


NAMED = ("header", "meta", "wrong header", "nowhere")
ENCODINGS = [(codec, named) for codec in ("shift_jis", "euc_jp", "iso2022_jp", "utf-8") for named in NAMED]
ENCODINGS.remove(("iso2022_jp", "wrong header"))  # all of it is ASCII, and so reads as UTF-8 too: browsers do the same


@pytest.mark.parametrize(("codec", "named"), ENCODINGS)
async def test_japanese_is_read_in_every_encoding(codec: str, named: str) -> None:
    web_name = {"shift_jis": "Shift_JIS", "euc_jp": "EUC-JP", "iso2022_jp": "ISO-2022-JP"}.get(codec, codec)
    meta = f'<meta charset="{web_name}">' if named in ("meta", "wrong header") else ""
    wrong = "utf-8" if codec != "utf-8" else "euc-jp"
    header = {"header": f"; charset={web_name}", "wrong header": f"; charset={wrong}"}.get(named, "")
    body = f"<html><head>{meta}<title>給食</title></head><body><p>{JAPANESE}</p></body></html>".encode(codec)
    async with serve({"/robots.txt": page(status="404 No"), "/": page(body, f"text/html{header}")}) as site:
        (read,) = await reading(site, "http://a.example.com/")
    assert (read.title, read.text, read.accessed) == ("給食", JAPANESE, "now")


async def test_text_json_and_pdf() -> None:
    pdf = make_pdf("Hello", "")
    pages = {
        "/robots.txt": page(status="404 No"),
        "/a.txt": page("a < b", "text/plain"),
        "/a.json": page('{"a": "ä"}', "application/json"),
        "/a.pdf": page(pdf, "application/pdf"),
    }
    async with serve(pages) as site:
        read = await reading(site, *(f"http://a.example.com/a.{kind}" for kind in ("txt", "json", "pdf")))
    assert [one.kind for one in read] == ["text", "text", "pdf"]
    assert [one.text for one in read[:2]] == ["a < b", '{"a": "ä"}']
    assert "--- page 1 of 2 ---\nHello\n" in read[2].text
    assert "no text on this page" in read[2].text.partition("--- page 2 of 2 ---")[2]


async def test_a_pdf_of_pictures_is_said_to_be_one() -> None:
    pages = {"/robots.txt": page(status="404 No"), "/a.pdf": page(make_pdf("", ""), "application/pdf")}
    async with serve(pages) as site:
        with pytest.raises(ToolExecutionError) as caught:
            await reading(site, "http://a.example.com/a.pdf")
    assert (caught.value.key, caught.value.params["pages"]) == ("pdf_pictures", 2)


async def test_a_pdf_that_cannot_be_had_whole_is_not_called_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localllm.web.fetching.LARGEST_PDF", 300)
    pages = {"/robots.txt": page(status="404 No"), "/a.pdf": page(make_pdf("Hello"), "application/pdf")}
    async with serve(pages) as site:
        with pytest.raises(ToolExecutionError) as caught:
            await reading(site, "http://a.example.com/a.pdf")
    assert caught.value.key == "web_pdf_large"


async def test_a_redirect_to_what_is_forbidden_is_not_followed() -> None:
    pages = {
        "/robots.txt": page("User-agent: *\nDisallow: /secret"),
        "/a": moved("/secret/b"),
        "/secret/b": page("<p>no"),
        "/c": moved("https://b.example.com/secret/b"),
    }
    async with serve(pages) as site:
        for path in ("a", "c"):
            with pytest.raises(ToolExecutionError) as caught:
                await reading(site, f"http://a.example.com/{path}")
            assert caught.value.key == "web_robots_forbid"
        assert not [head for head in site.asked if head.startswith("GET /secret")]


async def test_a_site_gets_the_delay_it_asks_for() -> None:
    clock = Clock()
    turns = HostTurns(0.2, clock=clock, sleep=clock.pause)
    rules = page("User-agent: *\nCrawl-delay: 4\n")
    async with serve({"/robots.txt": rules, "/a": page("<p>a"), "/b": page("<p>b"), "/c": page("<p>c")}) as site:
        before = clock()
        await reading(site, *(f"http://a.example.com/{path}" for path in "abc"), turns=turns)
        assert clock() - before == 8.0


async def test_a_busy_host_is_left_in_peace() -> None:
    clock = Clock()
    turns = HostTurns(0.2, clock=clock, sleep=clock.pause)
    pages = {"/robots.txt": page(status="404 No"), "/a": page(status="429 Busy"), "/b": page("<p>b")}
    async with serve(pages) as site:
        before = clock()
        with pytest.raises(ToolExecutionError):
            await reading(site, "http://a.example.com/a", turns=turns)
        await reading(site, "http://a.example.com/b", turns=turns)
        assert clock() - before == 5.0


async def test_a_name_that_leads_inside_is_refused_by_its_page() -> None:
    async with serve({}) as site:
        with pytest.raises(LocalLLMError) as caught:
            await reading(site, "http://evil.example.com/page", names=Names(evil_example_com=["127.0.0.1"]))
    assert (caught.value.key, caught.value.params["url"]) == ("web_address_refused", "http://evil.example.com/page")
    assert not site.asked


class TestBySettings:
    async def test_it_calls_itself_as_the_settings_say(self) -> None:
        async with serve({"/robots.txt": page(status="404 No"), "/": page("<p>x")}) as site:
            web = WebSettings(allow_private=(site.place,))
            for agent, sent in (("", "localllm (reads pages for one person)"), ("Mine/1.0", "Mine/1.0")):
                reader = services.page_reader(Settings(web=web, research=ResearchSettings(user_agent=agent)))
                assert reader
                assert (await reader.read(site.url)).text == "x"
                await reader.aclose()
                assert f"\r\nuser-agent: {sent}\r\n" in site.asked[-1]

    def test_offline_nothing_is_read(self) -> None:
        assert services.page_reader(Settings(offline=True)) is None

    def test_without_the_package_for_rules_it_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(robots, "is_installed", lambda: False)
        with pytest.raises(ToolExecutionError) as caught:
            services.page_reader(Settings())
        assert caught.value.key == "web_robots_no_package"
        assert services.page_reader(Settings(research=ResearchSettings(respect_robots=False)))
