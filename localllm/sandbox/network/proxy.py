"""Proxy through which commands reach allowed hosts.

Its listening socket is in the command's own network and came from there; the process that serves it is ours. No
port on this machine exists that another program could find.
"""

import asyncio
import hmac
import re
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from typing import Protocol

import msgspec

from localllm.base import logs
from localllm.base.errors import SafetyViolationError
from localllm.sandbox.network.hosts import Target, target

MOST_CONNECTIONS = 64
"""Limit of simultaneous connections; further ones are closed."""

MOST_HEAD = 16 << 10
"""Size limit of a request without its body."""

_PATIENCE = 10.0  # seconds for the head of a request, a look-up, or a connection
_SILENCE = 120.0  # seconds without a byte in either direction
_CHUNK = 1 << 16
_MOST_REMEMBERED = 100  # hosts
_NOT_PASSED_ON = {b"host", b"connection", b"keep-alive", b"te", b"trailer", b"upgrade"}
_ASK_FOR_PASSWORD = b'Proxy-Authenticate: Basic realm="localllm"\r\n'
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*+([^\r\n\0]*)")
_REQUEST = re.compile(rb"([A-Z]{1,20}) ([!-~]+) HTTP/1\.[01]")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Resolve = Callable[[Target], Awaitable[Sequence[str]]]
Connect = Callable[[str, int], Awaitable[Streams]]


class Contact(msgspec.Struct, frozen=True):
    """Traffic with one HOST:PORT: connections made, bytes sent and received; and why it was refused."""

    host: str
    connections: int = 0
    sent: int = 0
    received: int = 0
    refused: str = ""


async def look_up(wanted: Target) -> Sequence[str]:
    """Resolve a host's addresses, with one query. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(wanted.host, wanted.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(where[0]) for *_, where in found))


async def dial(address: str, port: int) -> Streams:
    """Connect to an address. Raises OSError."""
    return await asyncio.open_connection(address, port, limit=_CHUNK)


class _BadRequestError(Exception):
    """The data received is no valid proxy request."""


class ProxyRequest(msgspec.Struct, frozen=True):
    """`head`: sent to the server, empty for a tunnel; `body`: bytes that follow it; `credential`: the
    client's Proxy-Authorization."""

    target: Target
    head: bytes = b""
    body: int = 0
    credential: bytes = b""


class HostPolicy(Protocol):
    """Decides which hosts may be reached; NetworkHosts is that of commands."""

    def check(self, wanted: Target) -> None:
        """Raise SafetyViolationError if the host may not be reached."""
        ...

    def vet(self, wanted: Target, addresses: Sequence[str]) -> None:
        """Raise SafetyViolationError if one of its addresses may not be reached."""
        ...


class Proxy:
    """Serves one command, or the `client` named in the log. With a `credential`, only clients that send it are
    served. `on_received` is called with the size of all that comes from a host, before the client gets it. Tests
    replace `resolve` and `connect`."""

    def __init__(
        self,
        hosts: HostPolicy,
        *,
        resolve: Resolve = look_up,
        connect: Connect = dial,
        credential: bytes = b"",
        client: str = "a command",
        category: str = "SANDBOX",
        on_received: Callable[[int], None] | None = None,
    ) -> None:
        self._hosts = hosts
        self._on_received = on_received
        self._credential = credential
        self._client = client
        self._log = logs.of(category)
        self._resolve = resolve
        self._connect = connect
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._contacts: dict[str, Contact] = {}
        self._closed = False

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Every requested host, in the order of first requests."""
        return tuple(self._contacts.values())

    async def serve(self, listener: socket.socket) -> None:
        """Start to accept at `listener`, and take ownership of it."""
        listener.setblocking(False)  # noqa: FBT003 - positional only
        self._server = await asyncio.start_server(self._take, sock=listener, limit=MOST_HEAD)
        if self._closed:
            self._server.close()

    def close(self) -> None:
        """Close every connection, and accept no more."""
        self._closed = True
        if self._server:
            self._server.close()
        self.cut()

    def cut(self) -> None:
        """Close every current connection."""
        for task in self._serving:
            task.cancel()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            task = asyncio.current_task()
            if task is None or self._closed or len(self._serving) >= MOST_CONNECTIONS:
                return
            self._serving.add(task)
            try:
                await self._answer(reader, writer)
            except (OSError, asyncio.CancelledError):  # somebody hung up, or the command has ended
                return
            finally:
                self._serving.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read_request(reader)
        except (_BadRequestError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError) as error:
            await _refuse(writer, b"400 Bad Request", str(error) or "no request")
            return
        if self._credential and not hmac.compare_digest(request.credential, self._credential):
            await _refuse(writer, b"407 Proxy Authentication Required", "a password is needed", _ASK_FOR_PASSWORD)
            return
        name = str(request.target)
        try:
            theirs, ours = await self._reach(request)
        except SafetyViolationError as error:
            self._note(name, refused=error.code)
            self._log.info("%s was refused %s: %s", self._client, name, error.key)
            await _refuse(writer, b"403 Forbidden", error.english)
            return
        except OSError as error:
            self._note(name)
            await _refuse(writer, b"502 Bad Gateway", f"{name}: {error.strerror or error or 'no answer'}")
            return
        self._note(name, connections=1)
        self._log.info("%s reaches %s", self._client, name)
        with closing(ours):
            await self._carry(request, (reader, writer), (theirs, ours))

    async def _reach(self, request: ProxyRequest) -> Streams:
        """Connect to one of the addresses that were resolved and vetted, and to no other."""
        wanted = request.target
        self._hosts.check(wanted)
        async with asyncio.timeout(_PATIENCE):
            addresses = [wanted.host] if wanted.address else await self._resolve(wanted)
        self._hosts.vet(wanted, addresses)
        failure: OSError = OSError("it has no address")
        for address in addresses:
            try:
                async with asyncio.timeout(_PATIENCE):
                    return await self._connect(address, wanted.port)
            except OSError as error:  # includes TimeoutError
                failure = error
        raise failure

    async def _carry(self, request: ProxyRequest, inside: Streams, outside: Streams) -> None:
        """Forward both directions, until both have ended or both have been silent for long."""
        name = str(request.target)
        flow = _Flow()

        def sent(count: int) -> None:
            self._note(name, sent=count)

        def received(count: int) -> None:
            self._note(name, received=count)
            if self._on_received:
                self._on_received(count)

        if request.head:
            outside[1].write(request.head)
            sent(len(request.head))
        else:
            inside[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        up = flow.pump(inside[0], outside[1], sent, request.body if request.head else None)
        down = flow.pump(outside[0], inside[1], received)
        await _both(up, down)

    def _note(self, name: str, *, connections: int = 0, sent: int = 0, received: int = 0, refused: str = "") -> None:
        if name not in self._contacts and len(self._contacts) >= _MOST_REMEMBERED:
            name = "…"
        old = self._contacts.get(name) or Contact(name)
        self._contacts[name] = Contact(
            name, old.connections + connections, old.sent + sent, old.received + received, refused or old.refused
        )


class _Flow:
    """Two pumps, of which each keeps the other from timing out."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    async def pump(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        count: Callable[[int], None],
        most: int | None = None,
    ) -> None:
        """Forward everything, or `most` bytes; without a limit, the end of the stream too."""
        left = _CHUNK if most is None else most
        while left and (data := await self._read(source, min(left, _CHUNK))):
            count(len(data))  # first, as the command may end with the data it waited for
            sink.write(data)
            await sink.drain()
            left = left if most is None else left - len(data)
        if most is None:
            with suppress(OSError):
                sink.write_eof()

    async def _read(self, source: asyncio.StreamReader, most: int) -> bytes:
        """Read the next data; b"" at the end, or when both directions have been silent for too long."""
        while True:
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + _SILENCE):
                    data = await source.read(most)
            except TimeoutError:
                if time.monotonic() - self._last >= _SILENCE:
                    return b""
                continue
            self._last = time.monotonic()
            return data


async def _both(up: Awaitable[None], down: Awaitable[None]) -> None:
    """Wait for both directions; an error in one ends the other."""
    tasks = [asyncio.ensure_future(up), asyncio.ensure_future(down)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader) -> ProxyRequest:
    """Read a request. Raises _BadRequestError, or what the reader raises."""
    async with asyncio.timeout(_PATIENCE):
        head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head[:-4].split(b"\r\n")
    asked = _REQUEST.fullmatch(first)
    headers = [_HEADER.fullmatch(line) for line in lines]
    if asked is None or None in headers:
        raise _BadRequestError("not a request as HTTP/1.1 has them")
    method, where = asked[1], asked[2].decode("ascii")
    named = [(found[1].lower(), found[0], found[2]) for found in headers if found]
    if method == b"CONNECT":
        return ProxyRequest(_target(where), credential=_credential_of(named))
    return _plain_request(method, where, named)


def _plain_request(method: bytes, where: str, headers: list[tuple[bytes, bytes, bytes]]) -> ProxyRequest:
    """Build the request for the server, whose only host is the one that was vetted."""
    scheme, _, rest = where.partition("://")
    if scheme.lower() != "http":
        raise _BadRequestError("only http://HOST/… and CONNECT are served")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    wanted = _target(authority, 80)
    path = rest[len(authority) :].partition("#")[0]
    path = path if path.startswith("/") else f"/{path}"
    body = _length_of_body(headers)
    kept = [line for name, line, _ in headers if name not in _NOT_PASSED_ON and not name.startswith(b"proxy-")]
    host = str(wanted).removesuffix(":80")
    begin = [method + b" " + path.encode() + b" HTTP/1.1", b"Host: " + host.encode(), b"Connection: close"]
    return ProxyRequest(wanted, b"\r\n".join([*begin, *kept, b"", b""]), body, _credential_of(headers))


def _credential_of(headers: list[tuple[bytes, bytes, bytes]]) -> bytes:
    return next((value for name, _, value in headers if name == b"proxy-authorization"), b"")


def _length_of_body(headers: list[tuple[bytes, bytes, bytes]]) -> int:
    lengths = [value.strip() for name, _, value in headers if name == b"content-length"]
    if any(name == b"transfer-encoding" for name, _, _ in headers) or len(lengths) > 1:
        raise _BadRequestError("a body needs one Content-Length")
    if lengths and not re.fullmatch(rb"\d{1,15}", lengths[0]):
        raise _BadRequestError("Content-Length is not a number")
    return int(lengths[0]) if lengths else 0


def _target(authority: str, usual_port: int | None = None) -> Target:
    try:
        return target(authority, usual_port)
    except ValueError as error:
        raise _BadRequestError("not a host") from error


async def _refuse(writer: asyncio.StreamWriter, status: bytes, why: str, more: bytes = b"") -> None:
    text = f"{why}\n".encode()
    writer.write(
        b"HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n%sConnection: close\r\n\r\n"
        % (status, len(text), more)
        + text
    )
    await writer.drain()
