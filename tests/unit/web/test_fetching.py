"""Pages are fetched from the very address that was checked, and from no other."""

import gzip
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.web.fetching import LARGEST, Fetcher, Moved
from tests.support.web_server import PUBLIC, Leading, Names, Site, moved, page, serve

pytestmark = pytest.mark.anyio


def anywhere(_before: str, _after: str) -> bool:
    return True


def fetcher(site: Site, names: Names | None = None, **more: object) -> tuple[Fetcher, Leading]:
    transport = Leading(site)
    return Fetcher(resolve=names or Names(), transport=transport, **more), transport


async def refused(fetching: Fetcher, url: str) -> str:
    with pytest.raises((SafetyViolationError, ToolExecutionError)) as caught:
        await fetching.fetch(url, anywhere)
    return caught.value.key


async def test_a_page_comes_from_the_address_that_was_checked() -> None:
    async with serve({"/a": page("<p>hello", "text/html; charset=UTF-8")}) as site:
        names = Names()
        fetching, transport = fetcher(site, names)
        found = await fetching.fetch("https://example.com/a?b=1#part", anywhere)
    assert (found.data, found.media_type, found.charset) == (b"<p>hello", "text/html", "utf-8")
    assert found.url == "https://example.com/a?b=1"
    assert names.asked == ["example.com"]
    assert transport.meant == [PUBLIC]
    head = site.asked[0].lower()
    assert "host: example.com\r\n" in head
    assert "cookie" not in head


@pytest.mark.parametrize("addresses", [["127.0.0.1"], [PUBLIC, "10.0.0.1"], ["::1"], ["64:ff9b::a00:1"]])
async def test_a_name_that_leads_inside_is_refused(addresses: list[str]) -> None:
    async with serve({}) as site:
        fetching, transport = fetcher(site, Names(evil_example_com=addresses))
        assert await refused(fetching, "http://evil.example.com/") == "web_address_refused"
    assert not transport.meant


async def test_a_name_that_changes_its_mind_is_asked_once(anyio_backend: str) -> None:
    answers = [[PUBLIC], ["127.0.0.1"]]
    async with serve({"/": page("x")}) as site:
        fetching, transport = fetcher(site, Names(evil_example_com=lambda: answers.pop(0)))
        await fetching.fetch("http://evil.example.com/", anywhere)
        assert transport.meant == [PUBLIC]
        assert await refused(fetching, "http://evil.example.com/") == "web_address_refused"


async def test_redirects_are_followed_three_times_and_each_is_checked() -> None:
    pages = {
        "/1": moved("/2", "set-cookie: id=1"),
        "/2": moved("https://other.example.com/3"),
        "/3": moved("//third.example.com/4"),
        "/4": page("end"),
        "/0": moved("/1"),
        "/in": moved("http://127.0.0.1/admin"),
        "/name": moved("http://inside.example.com/"),
        "/file": moved("file:///etc/passwd"),
        "/port": moved("http://example.com:22/"),
    }
    async with serve(pages) as site:
        names = Names(inside_example_com=["192.168.0.1"])
        fetching, _ = fetcher(site, names)
        found = await fetching.fetch("http://example.com/1", anywhere)
        assert (found.url, found.data) == ("https://third.example.com/4", b"end")
        assert names.asked == ["example.com", "example.com", "other.example.com", "third.example.com"]
        assert not any("cookie" in head.lower() for head in site.asked)
        assert await refused(fetching, "http://example.com/0") == "web_redirects"
        for path in ("/in", "/name", "/file", "/port"):
            assert await refused(fetching, f"http://example.com{path}") == "web_address_refused"


async def test_where_a_page_leads_is_asked_for_before_it_is_fetched() -> None:
    asked: list[tuple[str, str]] = []

    def may_follow(before: str, after: str) -> bool:
        asked.append((before, after))
        return after.startswith("https://example.com/")

    async with serve({"/1": moved("https://example.com/2"), "/2": moved("//other.example/3?k=v")}) as site:
        fetching, transport = fetcher(site)
        found = await fetching.fetch("http://example.com/1", may_follow)
    assert found == Moved(url="https://example.com/2", to="https://other.example/3?k=v")
    assert asked == [("http://example.com/1", "https://example.com/2"), (found.url, found.to)]
    assert len(transport.meant) == 2
    assert all(head.startswith("GET ") for head in site.asked)


async def test_size_and_time_are_bounded() -> None:
    bomb = gzip.compress(bytes(100_000_000), 9)
    pages = {
        "/large": page(b"x" * (LARGEST + 5), "text/plain"),
        "/bomb": page(bomb, "text/plain", "200 OK", "content-encoding: gzip"),
        "/packed": page(gzip.compress(b"packed"), "text/plain", "200 OK", "content-encoding: gzip"),
        "/broken": page(b"not gzip", "text/plain", "200 OK", "content-encoding: gzip"),
        "/strange": page(b"x", "text/plain", "200 OK", "content-encoding: br"),
        "/gone": page("no", "text/html", "404 Not Found"),
    }
    async with serve(pages) as site:
        fetching, _ = fetcher(site)
        for path in ("/large", "/bomb"):
            found = await fetching.fetch(f"http://example.com{path}", anywhere)
            assert (len(found.data), found.cut) == (LARGEST, True)
        assert (await fetching.fetch("http://example.com/packed", anywhere)).data == b"packed"
        assert await refused(fetching, "http://example.com/broken") == "web_unreachable"
        assert await refused(fetching, "http://example.com/strange") == "web_unreachable"
        assert await refused(fetching, "http://example.com/gone") == "web_status"
        hasty, _ = fetcher(site, seconds=0.1)
        assert await refused(hasty, "http://example.com/hangs") == "web_slow"


async def test_the_environments_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve({"/": page("direct")}) as site, serve({}) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        fetching = Fetcher(allow_private=[site.place])
        assert (await fetching.fetch(site.url, anywhere)).data == b"direct"
        assert not proxy.asked


async def test_a_proxy_of_the_settings_is_used() -> None:
    async with serve({"http://example.com/": page("through it")}) as proxy:
        found = await Fetcher(proxy=proxy.url, resolve=Names(example_com=[])).fetch("http://example.com/", anywhere)
    assert found.data == b"through it"


async def test_nobody_there() -> None:
    async with serve({}) as site:
        place = site.place
    assert await refused(Fetcher(allow_private=[place], seconds=5), f"http://{place}/") == "web_unreachable"


async def test_the_certificate_must_be_that_of_the_name(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=site.example"]
    names = ["-addext", "subjectAltName=DNS:site.example", "-keyout", str(key), "-out", str(certificate)]
    assert shutil.which("openssl")
    subprocess.run([*make, *names], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    trust = ssl.create_default_context(cafile=str(certificate))
    async with serve({"/": page("safe")}, server) as site:
        names_of = Names(site_example=["127.0.0.1"], other_example=["127.0.0.1"])
        allowed = [f"site.example:{site.port}", f"other.example:{site.port}"]
        trusting = Fetcher(allow_private=allowed, resolve=names_of, trust=trust)
        assert (await trusting.fetch(f"https://site.example:{site.port}/", anywhere)).data == b"safe"
        assert await refused(trusting, f"https://other.example:{site.port}/") == "web_unreachable"
        usual = Fetcher(allow_private=allowed, resolve=names_of)
        assert await refused(usual, f"https://site.example:{site.port}/") == "web_unreachable"
