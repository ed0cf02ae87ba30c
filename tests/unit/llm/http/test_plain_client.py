"""HTTP over a bare connection, against servers that send exactly these bytes."""

import asyncio
import gzip
import socket
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress

import pytest

from localllm.llm.http import connection
from localllm.llm.http.messages import (
    ConnectError,
    CutError,
    GarbledError,
    HttpCarrier,
    HttpRequest,
    HttpResponse,
    NotHttpError,
    UnwritableError,
)
from localllm.llm.http.plain_client import PlainHttp, is_plain
from localllm.llm.http.transport import LibraryHttp
from tests.support.peers import Peer, closed_ports, serving

pytestmark = pytest.mark.anyio

OK = b"HTTP/1.1 200 OK\r\n"


def always(answer: bytes) -> Peer:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    return serve


def get(url: str, **headers: str) -> HttpRequest:
    return HttpRequest("GET", f"{url}/v1/models?x=1", headers)


async def pieces_of(response: HttpResponse) -> list[bytes]:
    pieces: list[bytes] = []
    while (piece := await response.read()) is not None:
        pieces.append(piece)
    return pieces


async def fetch(http: PlainHttp, request: HttpRequest) -> tuple[int, bytes]:
    response = await http.send(request, 5)
    try:
        return response.status, b"".join(await pieces_of(response))
    finally:
        await response.aclose()


async def answered(answer: bytes) -> tuple[int, bytes]:
    http = PlainHttp()
    async with serving(always(answer)) as url:
        try:
            return await fetch(http, get(url))
        finally:
            await http.aclose()


def named(name: str) -> Peer:
    return always(OK + b"Content-Length: 3\r\n\r\n" + name.encode())


async def test_localhost_is_reached_where_it_was_looked_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ipv6_first(host: str, port: int, **_kind: int) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        assert host == "localhost"
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
        ]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", ipv6_first)
    http = PlainHttp()
    async with serving(named("six"), "::1") as six:
        port = int(six.rpartition(":")[2])
        async with serving(named("own"), port=port):
            assert await fetch(http, get(f"http://localhost:{port}")) == (200, b"own")
            await http.aclose()
        assert await fetch(http, get(f"http://localhost:{port}")) == (200, b"six")
        await http.aclose()


async def test_where_nothing_listens_the_first_address_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many machines have no IPv6: that ::1 cannot be reached there says nothing of the server."""

    def to_try(_host: str) -> tuple[str, ...]:
        return "127.0.0.1", "255.255.255.255"

    monkeypatch.setattr(connection, "hosts_to_try", to_try)
    with closed_ports(1) as (url,), pytest.raises(ConnectError, match=r"127\.0\.0\.1"):
        await PlainHttp().send(get(url.replace("127.0.0.1", "localhost")), 5)


BODIES = {
    "length": OK + b"Content-Length: 5\r\n\r\nhello",
    "chunked": OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n",
    "until it closes": OK + b"\r\nhello",
    "1.0": b"HTTP/1.0 200 OK\r\n\r\nhello",
    "after a 100": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 5\r\n\r\nhello",
    "gzip": OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"hello"),
    "deflate": OK + b"Content-Encoding: deflate\r\n\r\n" + zlib.compress(b"hello"),
}


@pytest.mark.parametrize("answer", BODIES.values(), ids=BODIES)
async def test_a_body_in_every_form(answer: bytes) -> None:
    assert await answered(answer) == (200, b"hello")


BROKEN = {
    "nothing": (b"", CutError),
    "another protocol": (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", CutError),
    "not HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", CutError),
    "half a head": (OK + b"Content-Le", CutError),
    "half a body": (OK + b"Content-Length: 9\r\n\r\nhello", CutError),
    "no last chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", CutError),
    "a bad chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n", CutError),
    "an endless head": (OK + b"X: " + b"y" * 200_000 + b"\r\n\r\n", CutError),
    "broken gzip": (OK + b"Content-Encoding: gzip\r\n\r\nhello", GarbledError),
    "brotli": (OK + b"Content-Encoding: br\r\n\r\nhello", GarbledError),
}


@pytest.mark.parametrize(("answer", "error"), BROKEN.values(), ids=BROKEN)
async def test_what_is_broken_is_no_answer(answer: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        await answered(answer)


async def test_what_is_sent() -> None:
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        seen.append(head + await reader.readexactly(4))
        writer.write(OK + b"Content-Length: 0\r\n\r\n")

    http = PlainHttp()
    async with serving(serve) as url:
        await fetch(http, HttpRequest("POST", f"{url}/v1/chat?a=b", {"content-type": "application/json"}, b"body"))
        await http.aclose()
    head, body = seen[0].split(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /v1/chat?a=b HTTP/1.1"
    assert {f"Host: {url.removeprefix('http://')}".lower(), "content-length: 4"} <= {line.lower() for line in lines}
    assert body == b"body"


async def test_a_connection_that_ended_well_serves_the_next_request_and_a_broken_off_one_does_not() -> None:
    connections, may_end = 0, asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(OK + b"Content-Length: 5\r\n\r\nhel")
            await writer.drain()
            await may_end.wait()
            writer.write(b"lo")

    http = PlainHttp()
    async with serving(serve) as url:
        may_end.set()
        for _ in range(3):
            assert await fetch(http, get(url)) == (200, b"hello")
        assert connections == 1
        may_end.clear()
        await (await http.send(get(url), 5)).aclose()  # its end was still to come
        may_end.set()
        assert await fetch(http, get(url)) == (200, b"hello")
        assert connections == 2
        await http.aclose()


async def test_an_answer_that_has_arrived_need_not_be_read_for_its_connection_to_serve_the_next() -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(BODIES["length"])

    http = PlainHttp()
    async with serving(serve) as url:
        response = await http.send(get(url), 5)
        assert response.has_arrived
        await response.aclose()
        assert await fetch(http, get(url)) == (200, b"hello")
        assert connections == 1
        await http.aclose()


async def test_a_kept_connection_the_server_has_closed_is_replaced() -> None:
    http = PlainHttp()
    async with serving(always(BODIES["length"])) as url:
        for _ in range(3):
            assert await fetch(http, get(url)) == (200, b"hello")
        await http.aclose()


async def test_two_requests_at_once_have_a_connection_each() -> None:
    both = asyncio.Barrier(2)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await both.wait()
        writer.write(BODIES["length"])

    http = PlainHttp()
    async with serving(serve) as url:
        answers = await asyncio.gather(fetch(http, get(url)), fetch(http, get(url)))
        await http.aclose()
    assert answers == [(200, b"hello")] * 2


async def test_a_refusal_is_read_although_the_server_does_not_want_the_rest_of_the_body() -> None:
    http = PlainHttp()
    async with serving(always(b"HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge")) as url:
        assert await fetch(http, HttpRequest("POST", url, {}, b"x" * 20_000_000)) == (413, b"large")
        await http.aclose()


async def test_leaving_the_answer_closes_the_connection() -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"\r\nfirst")
        await reader.read()
        gone.set()

    http = PlainHttp()
    async with serving(serve) as url:
        response = await http.send(get(url), 5)
        assert await response.read() == b"first"
        await response.aclose()
        await asyncio.wait_for(gone.wait(), 10)


@pytest.mark.parametrize("value", ["sk-SECRET\r\nevil: 1", "sk-SECRET\n", "sk-SECRET\0"])
async def test_a_header_that_cannot_be_written_is_refused_without_showing_it(value: str) -> None:
    http = PlainHttp()
    async with serving(always(BODIES["length"])) as url:
        with pytest.raises(UnwritableError) as caught:
            await http.send(get(url, authorization=value), 5)
    assert "SECRET" not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


async def test_nobody_there() -> None:
    with closed_ports(1) as (url,), pytest.raises(ConnectError):
        await PlainHttp().send(get(url), 5)


@pytest.mark.parametrize(
    ("url", "environ", "plain"),
    [
        ("http://localhost:1234/v1", {"http_proxy": "http://proxy:3128"}, True),
        ("http://box:1234", {}, True),
        ("http://box:1234", {"HTTP_PROXY": "http://proxy:3128"}, False),
        ("https://localhost", {}, False),
        ("http://user:word@localhost:1234", {}, False),
        ("http://ホスト:1234", {}, False),
    ],
)
def test_what_goes_over_a_bare_connection(url: str, environ: dict[str, str], plain: bool) -> None:
    assert is_plain(url, environ) is plain


async def test_what_had_arrived_before_a_reset_is_not_lost() -> None:
    """asyncio's own reader throws away what was not read yet when the connection breaks."""
    begun, said, reset, gone = (asyncio.Event() for _ in range(4))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        await begun.wait()
        writer.write(b"5\r\nhello\r\n")
        said.set()
        await reset.wait()
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
        gone.set()

    http = PlainHttp()
    async with serving(serve) as url:
        response = await http.send(get(url), 5)
        begun.set()
        await said.wait()
        for _ in range(3):
            await asyncio.sleep(0)  # the body has arrived, nobody has read it
        reset.set()
        await gone.wait()
        for _ in range(3):
            await asyncio.sleep(0)  # the reset as well
        assert await response.read() == b"hello"
        with pytest.raises(CutError):
            await response.read()
        await response.aclose()
    await http.aclose()


async def test_another_protocol_is_known_by_its_first_words_although_they_never_end() -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await asyncio.sleep(30)

    http = PlainHttp()
    async with serving(greet) as url:
        with pytest.raises(NotHttpError) as caught:
            await http.send(get(url), 5)
    assert caught.value.said.startswith("220 mail.example")


async def test_a_server_that_says_nothing_is_told_in_plain_words() -> None:
    with pytest.raises(CutError, match="without an answer"):
        await answered(b"")


async def test_what_a_server_says_to_an_idle_connection_is_no_answer_to_the_next_request() -> None:
    said, may_say = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(BODIES["length"])
        await writer.drain()
        await may_say.wait()
        writer.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        said.set()
        await reader.read()

    http = PlainHttp()
    async with serving(serve) as url:
        assert await fetch(http, get(url)) == (200, b"hello")
        may_say.set()
        await said.wait()
        for _ in range(3):
            await asyncio.sleep(0)  # it has arrived
        assert await fetch(http, get(url)) == (200, b"hello")
        await http.aclose()


async def test_an_answer_that_ends_after_the_closing_leaves_no_connection_open() -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(BODIES["length"])
        with suppress(OSError):
            await reader.read()
        gone.set()

    http = PlainHttp()
    async with serving(serve) as url:
        response = await http.send(get(url), 5)
        await http.aclose()
        assert b"".join(await pieces_of(response)) == b"hello"
        await response.aclose()
        await gone.wait()


@pytest.mark.parametrize("make", [PlainHttp, lambda: LibraryHttp("http://model.test")])
async def test_a_kilobyte_that_becomes_many_megabytes_comes_in_small_pieces_and_others_have_their_turn(
    make: Callable[[], HttpCarrier],
) -> None:
    bomb = gzip.compress(bytes(16 << 20))
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    http = make()
    async with serving(always(OK + b"Content-Encoding: gzip\r\n\r\n" + bomb)) as url:
        response = await http.send(get(url), 5)
        running = asyncio.create_task(others())
        sizes = [len(piece) for piece in await pieces_of(response)]
        running.cancel()
        await response.aclose()
        await http.aclose()
    assert sum(sizes) == 16 << 20
    assert max(sizes) <= 65_536
    assert turns > len(sizes) // 2


@pytest.mark.parametrize("make", [PlainHttp, lambda: LibraryHttp("http://model.test")])
async def test_what_is_packed_twice_is_not_unpacked(make: Callable[[], HttpCarrier]) -> None:
    bomb = gzip.compress(gzip.compress(bytes(16 << 20)))
    http = make()
    async with serving(always(OK + b"Content-Encoding: gzip, gzip\r\n\r\n" + bomb)) as url:
        response = await http.send(get(url), 5)
        with pytest.raises(GarbledError, match="gzip, gzip"):
            await response.read()
        await response.aclose()
        await http.aclose()


async def test_no_more_connections_wait_than_a_server_that_was_busy_once_will_need() -> None:
    everyone = asyncio.Barrier(100)
    connections = closed = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections, closed
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        await everyone.wait()
        writer.write(BODIES["length"])
        with suppress(OSError):
            await reader.read()
        closed += 1

    http = PlainHttp()
    async with serving(serve) as url:
        assert await asyncio.gather(*(fetch(http, get(url)) for _ in range(100))) == [(200, b"hello")] * 100
        while closed < 36:
            await asyncio.sleep(0)
        assert (connections, closed) == (100, 36)
        await http.aclose()


async def test_headers_that_change_are_sent_as_they_are_now() -> None:
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            seen.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(BODIES["length"])

    http, headers = PlainHttp(), {"x-turn": "1"}
    async with serving(serve) as url:
        await fetch(http, HttpRequest("GET", url, headers))
        headers["x-turn"] = "2"
        await fetch(http, HttpRequest("GET", url, headers))
        await http.aclose()
    assert [b"x-turn: 1\r\n" in seen[0], b"x-turn: 2\r\n" in seen[1]] == [True, True]
