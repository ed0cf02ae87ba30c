"""The tests' web on loopback: every host of the data set, a SearxNG-like search, and a count of all requests.

Two ways to reach the hosts. By name: the server is an HTTP proxy (`proxy_url`) and answers `GET http://host/…`, and
also a request with the name in its Host header. By port: each host listens on a port of its own (`allow_private` lists
them), and all links, redirects and search results name those.
"""

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Self
from urllib.parse import parse_qs, urlsplit

from tests.research_web.dataset import Dataset, Page, load
from tests.research_web.rendering import render
from tests.research_web.search_index import SearchIndex
from tests.research_web.searxng import SearchFaults, answer_search

SEARCH_HOST = "search.example"
"""The host of the search; every request for an unknown host gets a 502."""


@dataclass
class Request:
    """A request as it came: method, the name it was for, path with query, and the headers in lower case."""

    method: str
    host: str
    path: str
    headers: dict[str, str]

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.path}"


@dataclass
class Reply:
    status: int
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    hang: float = 0.0
    drop: bool = False
    """The connection is closed without an answer."""


class ResearchWeb:
    """Serves between `__enter__` and `__exit__`, in a thread of this process.

    `asked` counts the requests for each address by name; `queries` are those of the search. `faults` says how the
    search fails; `slow` is how long a slow page takes; `down` holds hosts that take no connection's request.
    """

    def __init__(
        self,
        data: Dataset | None = None,
        *,
        addressing: Literal["name", "port"] = "name",
        slow: float = 0.3,
        hang: float | None = None,
    ) -> None:
        self.data = data or load()
        self.addressing = addressing
        self.slow = slow
        self.hang = hang
        self.faults = SearchFaults()
        self.down: set[str] = set()
        self.asked: Counter[str] = Counter()
        self.queries: list[str] = []
        self.ports: dict[str, int] = {}
        self._index = SearchIndex(self.data.pages.values())
        self._rendered: dict[str, tuple[bytes, str]] = {}
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._connections: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(20), "the tests' web did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    @property
    def proxy_url(self) -> str:
        """The address for `web.proxy`."""
        return f"http://127.0.0.1:{self.ports['']}"

    @property
    def search_url(self) -> str:
        """The base address of the search; works with and without the proxy."""
        return f"http://127.0.0.1:{self.ports[SEARCH_HOST]}"

    @property
    def allow_private(self) -> tuple[str, ...]:
        """`host:port` of every site, for `web.allow_private` where sites are reached by port."""
        return tuple(f"127.0.0.1:{port}" for host, port in self.ports.items() if host)

    def address(self, page: Page | str) -> str:
        """The address by which a page (or its address by name) is reached."""
        url = page if isinstance(page, str) else page.url
        host = urlsplit(url).netloc
        if self.addressing == "name" or host not in self.ports:
            return url
        return url.replace(f"http://{host}", f"http://127.0.0.1:{self.ports[host]}", 1)

    def named(self, url: str) -> str:
        """An address by port as the one by name."""
        found = re.match(r"http://127\.0\.0\.1:(\d+)(?=/|$)", url)
        hosts = {port: host for host, port in self.ports.items() if host}
        return f"http://{hosts[int(found[1])]}{url[found.end() :]}" if found and int(found[1]) in hosts else url

    def text_of(self, url: str) -> str | None:
        """The visible text of the page at an address, redirects followed; None where there is none."""
        name = self.named(url).partition("#")[0]
        for _ in range(5):
            page = self.data.page_at(name)
            if page is None or page.status >= 400:
                return None
            if not page.to:
                return page.text
            name = page.to
        return None

    def asked_twice(self) -> dict[str, int]:
        """The addresses that were asked for more than once, robots.txt and the search left out."""
        with self._lock:
            return {url: times for url, times in self.asked.items() if times > 1 and self.data.page_at(url)}

    def pages_asked(self) -> set[str]:
        """The addresses by name of the pages that were asked for."""
        with self._lock:
            return {url for url in self.asked if self.data.page_at(url)}

    def forget(self) -> None:
        """Set all counts back."""
        with self._lock:
            self.asked.clear()
            self.queries.clear()

    # What runs in the thread.

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        hosts: Iterable[str] = sorted({page.host for page in self.data.pages.values()})
        servers: list[asyncio.Server] = []
        for host in ["", SEARCH_HOST, *(hosts if self.addressing == "port" else ())]:
            server = await asyncio.start_server(self._connected(host), "127.0.0.1", 0)
            self.ports[host] = server.sockets[0].getsockname()[1]
            servers.append(server)
        self._ready.set()
        await self._stop.wait()
        for server in servers:
            server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _connected(self, host: str):
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while await self._one(host, reader, writer):
                    pass
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                pass
            finally:
                writer.close()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(handle(reader, writer))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

        return accept

    async def _one(self, own: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether another may follow on the connection."""
        request = _parsed((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"), own)
        if length := int(request.headers.get("content-length", 0)):
            await reader.readexactly(length)
        reply = self._reply(request)
        if reply.hang:
            await asyncio.sleep(reply.hang)
        if reply.drop:
            return False
        body = b"" if request.method == "HEAD" else reply.body
        keep = request.headers.get("connection", "").lower() != "close"
        lines = [
            f"HTTP/1.1 {reply.status} {'OK' if reply.status == 200 else 'Status'}",
            f"content-type: {reply.content_type}",
            f"content-length: {len(reply.body)}",
            *(f"{name}: {value}" for name, value in reply.headers.items()),
            f"connection: {'keep-alive' if keep else 'close'}",
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        await writer.drain()
        return keep

    def _reply(self, request: Request) -> Reply:
        with self._lock:
            self.asked[request.url] += 1
        if request.method == "CONNECT":
            return Reply(502, b"this web has no https")
        if request.host in self.down:
            return Reply(0, drop=True)
        if request.host == SEARCH_HOST:
            return self._searched(request)
        if request.path == "/robots.txt":
            rules = self.data.robots.get(request.host)
            return Reply(200, rules.encode(), "text/plain") if rules else Reply(404, b"no rules")
        page = self.data.page_at(request.url)
        if page is None:
            known = any(page.host == request.host for page in self.data.pages.values())
            return Reply(404, b"<h1>Not found</h1>") if known else Reply(502, b"no such host")
        return self._page(page)

    def _page(self, page: Page) -> Reply:
        hang = page.hang if self.hang is None else min(page.hang, self.hang)
        if page.to:
            return Reply(page.status, headers={"location": self.address(page.to)}, hang=hang)
        if page.status != 200:
            headers = {"retry-after": "1"} if page.status == 429 else {}
            return Reply(page.status, f"<h1>{page.status}</h1>".encode(), headers=headers)
        if page.id not in self._rendered:
            self._rendered[page.id] = render(page)
        body, content_type = self._rendered[page.id]
        return Reply(200, body, content_type, hang=hang or (self.slow if page.form == "slow" else 0.0))

    def _searched(self, request: Request) -> Reply:
        parts = urlsplit(request.path)
        parameters = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/search" and parameters.get("q"):
            with self._lock:
                self.queries.append(parameters["q"])
                number = len(self.queries)
            hang = self.faults.slow
            answer = answer_search(self._index, parameters, self.faults, number, self.address)
            return Reply(answer.status, answer.body, answer.content_type, answer.headers, hang, answer.drop)
        if parts.path == "/healthz":
            return Reply(200, b"OK", "text/plain; charset=utf-8")
        if parts.path == "/search":
            return Reply(400, b'{"error": "No query"}', "application/json")
        return Reply(200 if parts.path == "/" else 404, b"<title>SearXNG</title>")


def _parsed(head: str, own: str) -> Request:
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
    if target.startswith("http://"):
        parts = urlsplit(target)
        host, path = parts.netloc, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if re.fullmatch(r"127\.0\.0\.1:\d+", host) and not own:
            host = SEARCH_HOST  # the search, asked for by its port through the proxy
        return Request(method, own or host, path, headers)
    return Request(method, own or headers.get("host", ""), target, headers)
