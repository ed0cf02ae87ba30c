"""A web on loopback: pages by their paths, and a transport that leads every public address there."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpx

PUBLIC = "93.184.216.34"
"""An address of the public internet. Nothing is ever sent there."""


@dataclass
class Site:
    """What was asked for, as whole heads of requests, and the `bodies` sent; `pages` maps paths to raw answers, of a
    list one after another and the last for good."""

    port: int = 0
    pages: dict[str, bytes | list[bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.place}"


def page(body: bytes | str = b"", content_type: str = "text/html", status: str = "200 OK", *headers: str) -> bytes:
    """An answer as bytes."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"content-type: {content_type}", f"content-length: {len(data)}", *headers]
    return "\r\n".join([*lines, "connection: close", "", ""]).encode() + data


def moved(to: str, *headers: str) -> bytes:
    """A redirect."""
    return page(b"", "text/html", "302 Found", f"location: {to}", *headers)


@asynccontextmanager
async def serve(pages: Mapping[str, bytes | list[bytes]], context: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    """A server for these pages; a path that is not there hangs until the client leaves."""
    site = Site(pages={**pages})

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        site.asked.append(head)
        if length := re.search(r"^content-length: *(\d+)", head, re.MULTILINE | re.IGNORECASE):
            site.bodies.append(await reader.readexactly(int(length[1])))
        path = head.split(" ")[1]
        if found := site.pages.get(path.partition("?")[0]):
            writer.write(found if isinstance(found, bytes) else found.pop(0) if found[1:] else found[0])
        else:
            await reader.read()

    answering: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering[writer] = asyncio.create_task(answer(reader, writer))
        answering[writer].add_done_callback(lambda _task: writer.close())

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    site.port = server.sockets[0].getsockname()[1]
    async with server:
        yield site
    await asyncio.sleep(0)  # who was let in a moment ago is known now
    for task in answering.values():
        task.cancel()
    await asyncio.gather(*answering.values(), return_exceptions=True)
    for writer in answering:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


class Leading(httpx.AsyncBaseTransport):
    """Takes every request to the loopback site, whatever address it was meant for; `meant` keeps those."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._inner = httpx.AsyncHTTPTransport(verify=False)  # there is no TLS on the loopback
        self.meant: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.meant.append(request.url.host)
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._site.port)
        return await self._inner.handle_async_request(request)


class Names:
    """A resolver: each name to its addresses, in turn where there are several lists; `asked` has the names."""

    def __init__(self, **names: list[str] | Callable[[], list[str]]) -> None:
        self._names = {name.replace("_", "."): addresses for name, addresses in names.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        found = self._names.get(host, [PUBLIC])
        return found if isinstance(found, list) else found()
