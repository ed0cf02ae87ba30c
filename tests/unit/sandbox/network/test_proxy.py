"""The proxy as the command's programs meet it. Names and connections to the outside are the test's own."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Sequence

import pytest

from localllm.sandbox.network.hosts import NetworkHosts, Target
from localllm.sandbox.network.proxy import MOST_CONNECTIONS, MOST_HEAD, Contact, Proxy, Streams

pytestmark = pytest.mark.anyio

PUBLIC = "93.184.216.34"


class Outside:
    """A network with one server on it, which keeps what it gets and answers with `answer`."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {"pypi.org": [PUBLIC], "trap.example": [PUBLIC, "127.0.0.1"]}
        self.asked: list[Target] = []
        self.reached: list[tuple[str, int]] = []
        self.got = b""
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        self.answers_at = b"\r\n\r\n"
        self.ended = asyncio.Event()
        self.port = 0

    async def resolve(self, wanted: Target) -> Sequence[str]:
        self.asked.append(wanted)
        if wanted.host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "unknown name")
        return self.names[wanted.host]

    async def connect(self, address: str, port: int) -> Streams:
        self.reached.append((address, port))
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while self.answers_at not in self.got and (data := await reader.read(1 << 16)):
                self.got += data
            if self.answers_at not in self.got:
                return  # they hung up
            writer.write(self.answer)
            await writer.drain()
            writer.write_eof()
            self.got += await reader.read()
        finally:
            self.ended.set()
            writer.close()


class Inside:
    """What a command sees: an address."""

    def __init__(self, outside: Outside, proxy: Proxy, port: int) -> None:
        self.outside = outside
        self.proxy = proxy
        self._port = port

    async def open(self) -> Streams:
        return await asyncio.open_connection("127.0.0.1", self._port)

    async def say(self, *said: bytes) -> bytes:
        """Send it, and all that comes back."""
        reader, writer = await self.open()
        for data in said:
            writer.write(data)
            await writer.drain()
        async with asyncio.timeout(10):
            answer = await reader.read()
        writer.close()
        return answer


@pytest.fixture
async def inside() -> AsyncGenerator[Inside]:
    outside = Outside()
    server = await asyncio.start_server(outside.serve, "127.0.0.1", 0)
    outside.port = server.sockets[0].getsockname()[1]
    hosts = NetworkHosts.of(["pypi.org", "trap.example", "gone.example", "127.0.0.1:8080"])
    proxy = Proxy(hosts, resolve=outside.resolve, connect=outside.connect)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    await proxy.serve(listener)
    yield Inside(outside, proxy, port)
    proxy.close()
    server.close()


async def test_a_request_reaches_an_allowed_host(inside: Inside) -> None:
    answer = await inside.say(b"GET http://PyPI.org/some/?q=1#top HTTP/1.1\r\nHost: pypi.org\r\nAccept: */*\r\n\r\n")
    assert answer.endswith(b"\r\n\r\nok")
    assert inside.outside.got == (
        b"GET /some/?q=1 HTTP/1.1\r\nHost: pypi.org\r\nConnection: close\r\nAccept: */*\r\n\r\n"
    )
    assert inside.outside.reached == [(PUBLIC, 80)]
    assert inside.outside.asked == [Target("pypi.org", 80)]
    assert inside.proxy.contacts == (Contact("pypi.org:80", 1, len(inside.outside.got), len(answer)),)


async def test_the_server_is_told_the_host_that_was_vetted(inside: Inside) -> None:
    await inside.say(b"GET http://pypi.org HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\n\r\n")
    assert b"evil" not in inside.outside.got
    assert b"Proxy" not in inside.outside.got
    assert inside.outside.got.startswith(b"GET / HTTP/1.1\r\nHost: pypi.org\r\n")


async def test_a_body_and_no_second_request(inside: Inside) -> None:
    inside.outside.answers_at = b"body!"
    smuggled = b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    await inside.say(b"POST http://pypi.org/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nbo", b"dy!" + smuggled)
    await inside.outside.ended.wait()
    assert inside.outside.got.endswith(b"\r\n\r\nbody!")


async def test_a_tunnel(inside: Inside) -> None:
    inside.outside.answer, inside.outside.answers_at = b"theirs", b"ours"
    reader, writer = await inside.open()
    writer.write(b"CONNECT pypi.org:443 HTTP/1.1\r\nHost: pypi.org:443\r\n\r\n")
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connection established\r\n\r\n"
    writer.write(b"\0ours")
    writer.write_eof()
    assert await reader.read() == b"theirs"
    writer.close()
    assert inside.outside.got == b"\0ours"
    assert inside.outside.reached == [(PUBLIC, 443)]
    assert inside.proxy.contacts == (Contact("pypi.org:443", 1, 5, 6),)


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET http://evil.example/ HTTP/1.1", b"403"),
        (b"CONNECT evil.example:443 HTTP/1.1", b"403"),
        (b"CONNECT pypi.org:22 HTTP/1.1", b"403"),
        (b"CONNECT 127.0.0.1:22 HTTP/1.1", b"403"),
        (b"GET http://trap.example/ HTTP/1.1", b"403"),
        (b"GET http://gone.example/ HTTP/1.1", b"502"),
        (b"GET / HTTP/1.1", b"400"),
        (b"GET https://pypi.org/ HTTP/1.1", b"400"),
        (b"GET ftp://pypi.org/ HTTP/1.1", b"400"),
        (b"GET http://u:p@pypi.org/ HTTP/1.1", b"400"),
        (b"GET http://pypi.org:x/ HTTP/1.1", b"400"),
        (b"GET http://pypi.org\\@evil.example/ HTTP/1.1", b"400"),
        (b"GET http://pypi.org\0.evil.example/ HTTP/1.1", b"400"),
        (b"GET http://pypi.org./ HTTP/1.1", b"400"),
        (b"CONNECT pypi.org HTTP/1.1", b"400"),
        (b"get http://pypi.org/ HTTP/1.1", b"400"),
        (b"GET  http://pypi.org/ HTTP/1.1", b"400"),
        (b"GET http://pypi.org/ HTTP/9.9", b"400"),
        (b"GET http://pypi.org/ HTTP/1.1\r\n folded: x", b"400"),
        (b"GET http://pypi.org/ HTTP/1.1\r\nA: b\nHost: evil", b"400"),
        (b"GET http://pypi.org/ HTTP/1.1\r\nno colon", b"400"),
        (b"POST http://pypi.org/ HTTP/1.1\r\nTransfer-Encoding: chunked", b"400"),
        (b"POST http://pypi.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2", b"400"),
        (b"POST http://pypi.org/ HTTP/1.1\r\nContent-Length: -1", b"400"),
    ],
)
async def test_what_is_refused(inside: Inside, request_line: bytes, status: bytes) -> None:
    answer = await inside.say(request_line + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert inside.outside.reached == []
    assert inside.outside.got == b""


async def test_a_refusal_is_remembered_with_its_reason(inside: Inside) -> None:
    assert b"safety.network_hosts" in await inside.say(b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n")
    await inside.say(b"GET http://trap.example/ HTTP/1.1\r\n\r\n")
    assert inside.outside.asked == [Target("trap.example", 80)]  # nobody is asked for a name that is not allowed
    assert [(one.host, one.refused) for one in inside.proxy.contacts] == [
        ("evil.example:443", "E9030"),
        ("trap.example:80", "E9031"),
    ]


async def test_a_named_address_is_reached_without_a_look_up(inside: Inside) -> None:
    await inside.say(b"GET http://127.0.0.1:8080/ HTTP/1.1\r\n\r\n")
    assert (inside.outside.reached, inside.outside.asked) == ([("127.0.0.1", 8080)], [])


async def test_a_head_without_end_is_refused(inside: Inside) -> None:
    answer = await inside.say(b"GET http://pypi.org/ HTTP/1.1\r\nA: " + b"x" * (MOST_HEAD + 1))
    assert answer.startswith(b"HTTP/1.1 400")


async def test_too_many_connections_are_closed(inside: Inside) -> None:
    held = [await inside.open() for _ in range(MOST_CONNECTIONS)]
    reader, writer = await inside.open()
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    for _, one in [*held, (reader, writer)]:
        one.close()


async def test_closing_ends_what_is_going_on(inside: Inside) -> None:
    reader, writer = await inside.open()
    writer.write(b"CONNECT pypi.org:443 HTTP/1.1\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    inside.proxy.close()
    async with asyncio.timeout(10):
        assert await reader.read() == b""
        await inside.outside.ended.wait()
    writer.close()
