"""Pages as text."""

import asyncio
import codecs
import os
import threading
import time

import pytest

from localllm.documents.pdf import PdfError
from localllm.web import extraction
from localllm.web.extraction import NoTextError, decoded, extract
from localllm.web.fetching import Page
from tests.support.pdfs import make_pdf

pytestmark = pytest.mark.anyio

JAPANESE = "設定ファイルを読み込む"


def made(data: bytes | str, media_type: str = "text/html", charset: str = "", *, cut: bool = False) -> Page:
    body = data.encode() if isinstance(data, str) else data
    return Page(url="https://example.com/", media_type=media_type, charset=charset, data=body, cut=cut)


@pytest.mark.parametrize("name", ["shift_jis", "x-sjis", "Windows-31J", "euc-jp", "iso-2022-jp", "utf-8", "utf-16"])
def test_the_encoding_is_the_servers_word_or_the_pages(name: str) -> None:
    codec = {"x-sjis": "cp932", "Windows-31J": "cp932"}.get(name, name)
    assert decoded(made(JAPANESE.encode(codec), charset=name)) == JAPANESE
    if name != "utf-16":
        html = f'<html><head><meta charset="{name}"></head>{JAPANESE}'
        assert decoded(made(html.encode(codec))) == html


def test_an_encoding_nobody_names_is_recognised() -> None:
    for codec in ("cp932", "euc_jp", "utf-8"):
        assert decoded(made(JAPANESE.encode(codec), charset="no-such")) == JAPANESE
    assert decoded(made(codecs.BOM_UTF16_LE + JAPANESE.encode("utf-16-le"))) == JAPANESE
    assert decoded(made("café".encode("latin-1"))) == "café"
    assert decoded(made("語\n語".encode()[:-1], cut=True)) in ("語\n", "語\n�")
    assert decoded(made(b"zip", charset="base64")) == "zip"


async def test_a_page_without_what_stands_around_it() -> None:
    html = (
        "<html><head><title>The &amp; title</title><style>p{}</style></head><body><nav>Menu <a>Home</a></nav>"
        "<h1>Heading</h1><p>One <b>two</b>\n three.</p><ul><li>first</li><li>second</li></ul>"
        "<script>alert('no')</script><footer>imprint</footer>"
    )
    found = await extract(made(html))
    assert found.title == "The & title"
    assert "alert" not in found.text
    assert "Menu" not in found.text
    for expected in ("Heading", "One", "first", "second"):
        assert expected in found.text


async def test_of_an_article_the_main_text_is_taken() -> None:
    article = "".join(
        f"<p>Paragraph {number} says something about the subject at some length.</p>" for number in range(9)
    )
    around = "<div class='sidebar'><ul>" + "<li><a href='/x'>Related</a></li>" * 30 + "</ul></div>"
    found = await extract(made(f"<title>T</title><body>{around}<article><h1>T</h1>{article}</article>{around}"))
    assert found.by == "trafilatura"
    assert "Paragraph 8 says" in found.text
    assert "Related" not in found.text


async def test_pages_that_keep_threads_busy_leave_others_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    end = threading.Event()
    monkeypatch.setattr(extraction, "_SECONDS", 0.05)
    monkeypatch.setattr(extraction, "_SECONDS_TO_BEGIN", 0.05)
    monkeypatch.setattr(extraction, "main_text", lambda _html: end.wait(60) and "")
    page = made(f"<body><p>{'words of a page ' * 40}</p></body>")
    try:
        for _ in range(min(32, (os.cpu_count() or 1) + 4) + 1):
            assert (await extract(page)).by == "html"
        async with asyncio.timeout(10):
            assert await asyncio.to_thread(lambda: "free") == "free"
    finally:
        end.set()
        for thread in threading.enumerate():
            if thread.name == "main-text":
                thread.join(10)


async def test_pages_that_are_read_at_once_wait_for_a_free_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "main_text", lambda _html: time.sleep(0.05) or "main " * 100)
    page = made(f"<body><p>{'words of a page ' * 40}</p></body>")
    found = await asyncio.gather(*(extract(page) for _ in range(20)))
    assert {one.by for one in found} == {"trafilatura"}


async def test_of_a_short_page_all_text_is_taken() -> None:
    found = await extract(made("<title>T</title><h2>A</h2><div>b<br>c<div></div></nav></div><li>d"))
    assert found.by == "html"
    assert found.text == "## A\n\nb\nc\n\n- d"


async def test_text_json_and_pdf_come_as_they_are() -> None:
    assert (await extract(made('{"a": 1}', "application/json"))).text == '{"a": 1}'
    assert (await extract(made("a < b", "text/plain"))).text == "a < b"
    assert (await extract(made("plain", "text/html"))).text == "plain"
    found = await extract(made(make_pdf("Hello"), "application/pdf"))
    assert (found.by, found.text) == ("pdf", "--- page 1 of 1 ---\nHello\n")


async def test_what_is_no_text_is_refused() -> None:
    for page in (made(b"\x89PNG\0", "image/png"), made(b"PK\3\4\0", "application/zip"), made(b"\0\1\2", "text/plain")):
        with pytest.raises(NoTextError):
            await extract(page)
    with pytest.raises(PdfError):
        await extract(made(b"%PDF-1.4 broken", "application/pdf"))


@pytest.mark.parametrize("unit", ["<a", "<!--", "<?"])
async def test_a_page_made_to_take_forever_does_not(unit: str) -> None:
    html = f"<p>{'before ' * 10}</p>" + unit * (1_000_000 // len(unit))
    assert (await extract(made(html))).text.startswith("before")


@pytest.mark.parametrize("name", ["unicode_escape", "raw-unicode-escape", "idna", "punycode", "undefined", "utf-7"])
def test_a_page_in_an_encoding_of_no_browser_is_read_as_what_it_is(name: str) -> None:
    data = b"\\ud800 +AHg-"
    assert decoded(Page(url="", media_type="text/html", charset=name, data=data)) == data.decode()
