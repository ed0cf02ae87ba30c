"""A small, bounded GET, to see who is there. Plain HTTP needs no library here: loading one takes longer than all the
answers of this machine's servers."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.llm.http.transport import HttpFailure, HttpRequest, HttpTransport

MOST_BYTES = 4 * 1024 * 1024
"""The longest body that is read. The list of a gateway with a thousand models is about 1 MB."""


class Answer(msgspec.Struct, frozen=True):
    """An answer: the names of its headers in lower case; `whole` is false where the body was cut at MOST_BYTES."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool = True


class StrangeAnswerError(Exception):
    """What answers does not speak HTTP; its text is the first words it said, empty where it said nothing."""


class _Target(NamedTuple):
    host: str
    port: int
    path: str


async def knock(url: str) -> str:
    """The host that takes connections for `url`. "localhost" may be either loopback address, whatever the resolver
    says of it. Raises OSError."""
    target = _target(url)
    hosts = ("127.0.0.1", "::1") if target.host == "localhost" else (target.host,)
    refusal: OSError | None = None
    for host in hosts:
        try:
            _, writer = await asyncio.open_connection(host, target.port)
        except OSError as error:
            refusal = refusal or error
        else:
            writer.transport.abort()
            return host
    raise refusal or OSError(url)


async def get(url: str, headers: Mapping[str, str], *, host: str) -> Answer:
    """The answer to GET `url`, asked of `host` over a bare connection. Redirects are not followed.

    Raises StrangeAnswerError, OSError. There is no limit of time: the caller cancels.
    """
    target = _target(url)
    lines = [f"GET {target.path} HTTP/1.1", f"host: {urlsplit(url).netloc}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    reader, writer = await asyncio.open_connection(host, target.port)
    try:
        writer.write("\r\n".join((*lines, "", "")).encode("ascii"))
        return await _read_answer(reader)
    except (ConnectionResetError, BrokenPipeError) as error:
        raise StrangeAnswerError from error
    finally:
        writer.transport.abort()


async def get_with_library(url: str, headers: Mapping[str, str], *, seconds: float) -> Answer:
    """As `get`, for what is not plain: over TLS, through a proxy. `seconds` is the time to connect."""
    transport = HttpTransport("", url, seconds)
    try:
        async with transport.stream(HttpRequest("GET", url, dict(headers))) as pieces:
            return await _gather(pieces)
    except HttpFailure as failure:
        return Answer(failure.status, _lowered(failure.headers.items()), failure.body)
    except LLMConnectionError as error:
        if error.key == "llm_refused":
            raise OSError(str(error.params["reason"])) from error
        raise StrangeAnswerError(str(error.params.get("reason", ""))) from error
    finally:
        await transport.aclose()


def _target(url: str) -> _Target:
    parts = urlsplit(url)
    usual = 443 if parts.scheme == "https" else 80
    return _Target(parts.hostname or "", usual if parts.port is None else parts.port, parts.path or "/")


async def _gather(pieces: AsyncIterator[bytes]) -> Answer:
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > MOST_BYTES:
            return Answer(200, {}, bytes(body[:MOST_BYTES]), whole=False)
    return Answer(200, {}, bytes(body))


async def _read_answer(reader: asyncio.StreamReader) -> Answer:
    try:
        status, headers = _read_head(await _head(reader))
        body = b"" if status in (204, 304) else await _body(reader, headers)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        said = error.partial if isinstance(error, asyncio.IncompleteReadError) else b""
        raise StrangeAnswerError(_words(said)) from error
    return Answer(status, headers, body[:MOST_BYTES], whole=len(body) <= MOST_BYTES)


async def _head(reader: asyncio.StreamReader) -> bytes:
    """The status line and the headers. Something else than HTTP is known by its first bytes."""
    first = await reader.readexactly(5)
    if first != b"HTTP/":
        raise StrangeAnswerError(_words(first + await reader.read(75)))
    return first + await reader.readuntil(b"\r\n\r\n")


def _read_head(head: bytes) -> tuple[int, dict[str, str]]:
    """Raises ValueError where it is not HTTP's."""
    status_line, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    status = int(status_line.split(" ", 2)[1]) if " " in status_line else 0
    return status, _lowered((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))


def _lowered(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name.strip().lower(): value for name, value in headers}


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    """The body, or the first MOST_BYTES + 1 of one that is longer."""
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _chunked(reader)
    length = headers.get("content-length")
    room = MOST_BYTES + 1 if length is None else min(int(length), MOST_BYTES + 1)
    body = bytearray()
    while len(body) < room and (piece := await reader.read(room - len(body))):
        body += piece
    if length is not None and len(body) < room:
        raise asyncio.IncompleteReadError(b"", room)
    return bytes(body)


async def _chunked(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        body += await reader.readexactly(min(size, MOST_BYTES + 1))
        if len(body) > MOST_BYTES:
            break
        await reader.readexactly(2)
    return bytes(body)


def _words(said: bytes) -> str:
    return said.decode("utf-8", errors="replace")
