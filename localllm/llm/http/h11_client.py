"""HTTP/1.1 over a bare connection: for model servers without TLS and without a proxy before them.

The wire is h11's; loading it costs a tenth of what a whole HTTP client costs, and most starts of the program need no
more. Everything else goes through httpx, see `transport`.
"""

import asyncio
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, SupportsIndex
from urllib.parse import urlsplit

from localllm.base import offline
from localllm.llm.addresses import is_loopback
from localllm.llm.http.messages import (
    ConnectError,
    CutError,
    GarbledError,
    HttpRequest,
    NotHttpError,
    UnwritableError,
)

if TYPE_CHECKING:
    import h11

_READ_SIZE = 65_536
_LONGEST_HEAD = 65_536
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_SECONDS_TO_SEND_ON = 0.25

_HTTP = b"HTTP/"
_WORDS = 80
"""Bytes that are quoted of what is no HTTP."""

_Keep = Callable[["_Connection"], bool]
"""Takes a connection for the next request; False where there will be none."""

_Expand = Callable[[bytes], Iterator[bytes]]
"""Decompresses, in pieces of bounded size."""


def is_plain(url: str, environ: Mapping[str, str]) -> bool:
    """Whether `url` can be asked over a bare connection: no TLS, no password in it, no proxy before it."""
    parts = urlsplit(url)
    return parts.scheme == "http" and "@" not in parts.netloc and url.isascii() and not is_proxied(url, environ)


def is_proxied(url: str, environ: Mapping[str, str]) -> bool:
    """Whether a proxy may stand between us and `url`. None is asked for what is on this machine, and none while the
    program is offline: it would pass on what we must not reach."""
    if offline.is_on() or is_loopback(url):
        return False
    return any(environ.get(name) or environ.get(name.upper()) for name in _PROXIES)


class PlainHttp:
    """Sends requests, one connection for each that is going on; one that has ended well serves the next."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, int], list[_Connection]] = {}
        self._is_closed = False

    async def send(self, request: HttpRequest, connect_seconds: float | None) -> "PlainResponse":
        """The beginning of the answer; see HttpCarrier.

        A kept-alive connection may turn out to have been closed by the server meanwhile: that is no failure of the
        server, and a new connection is tried at once.
        """
        place = _place(request.url)
        while idle := self._idle.get(place):
            connection = idle.pop()
            if not connection.is_quiet:
                await connection.abort()
                continue
            try:
                return await connection.exchange(request, self._keep)
            except CutError:
                await connection.abort()
            except BaseException:
                await connection.abort()
                raise
        connection = await _connect(place, connect_seconds)
        try:
            return await connection.exchange(request, self._keep)
        except BaseException:
            await connection.abort()
            raise

    async def aclose(self) -> None:
        """Close the connections that wait for a next request. Those in use are closed when their answers end."""
        self._is_closed = True
        for connections in self._idle.values():
            for connection in connections:
                await connection.abort()
        self._idle.clear()

    def _keep(self, connection: "_Connection") -> bool:
        if not self._is_closed:
            self._idle.setdefault(connection.place, []).append(connection)
        return not self._is_closed


class PlainResponse:
    """An answer whose status and headers (names in lower case) are there."""

    def __init__(self, connection: "_Connection", head: "h11.Response", keep: _Keep) -> None:
        self.status = head.status_code
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head.headers}
        self._connection = connection
        self._keep = keep
        self._ended = False
        self._expand: _Expand | None = None
        self._expanded: Iterator[bytes] = iter(())

    async def read(self) -> bytes | None:
        """Return the next piece of the body, decompressed; None at its end. Raises CutError, GarbledError."""
        self._expand = self._expand or _decompressor(self.headers.get("content-encoding", ""))
        while (piece := next(self._expanded, None)) is None:
            data = None if self._ended else await self._connection.body_piece()
            if data is None:
                self._ended = True
                return None
            self._expanded = _expanded(self._expand, data)
        if len(piece) >= _READ_SIZE:  # much more may be in these bytes: others have their turn
            await asyncio.sleep(0)
        return piece

    async def aclose(self) -> None:
        """Keep the connection for the next request where the body was read to its end; else close it, so that the
        server stops."""
        if not (self._ended and self._connection.is_reusable() and self._keep(self._connection)):
            await self._connection.abort()


class _Reader(asyncio.StreamReader):
    """Gives everything that has arrived before it tells that the connection broke: a StreamReader of asyncio would
    throw that away, and with it the end of an answer whose server resets the connection at once. `unread`: bytes
    that have arrived and were not read."""

    broken: Exception | None = None
    unread = 0

    def feed_data(self, data: Iterable[SupportsIndex]) -> None:
        """Take what has arrived."""
        arrived = bytes(data)
        self.unread += len(arrived)
        super().feed_data(arrived)

    def set_exception(self, exc: Exception) -> None:
        """Remember the failure; it is raised when all has been read."""
        self.broken = exc
        self.feed_eof()

    async def read(self, n: int = -1) -> bytes:
        """The next bytes, b"" at the end. Raises OSError."""
        data = await super().read(n)
        self.unread -= len(data)
        if not data and self.broken is not None:
            raise self.broken
        return data


class _Connection:
    """One connection to `place`, and where it is in the protocol."""

    def __init__(self, place: tuple[str, int], reader: _Reader, writer: asyncio.StreamWriter) -> None:
        import h11

        self.place = place
        self._h11 = h11
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LONGEST_HEAD)
        self._reader = reader
        self._writer = writer

    @property
    def is_quiet(self) -> bool:
        """Whether the server has neither closed the connection nor said anything on it that nobody has asked for, such
        as 408 when it has kept it long enough."""
        return not (self._reader.unread or self._reader.at_eof())

    async def exchange(self, request: HttpRequest, keep: _Keep) -> PlainResponse:
        """Send `request`, wait for the head of its answer. Raises CutError, UnwritableError."""
        sending = asyncio.ensure_future(self._write(self._written(request)))
        try:
            head = await self._head()
        finally:
            await _finished(sending)
        return PlainResponse(self, head, keep)

    def _written(self, request: HttpRequest) -> bytes:
        h11 = self._h11
        parts = urlsplit(request.url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = [*({"host": parts.netloc} | request.headers).items(), ("accept-encoding", "identity")]
        if request.body or request.method != "GET":
            headers.append(("content-length", str(len(request.body))))
        try:
            head = h11.Request(method=request.method, target=target, headers=headers)
        except h11.LocalProtocolError:
            raise UnwritableError from None
        events = (head, h11.Data(data=request.body), h11.EndOfMessage())
        return b"".join(self._protocol.send(event) or b"" for event in events)

    async def body_piece(self) -> bytes | None:
        """The next piece of the body, None at its end. Raises CutError."""
        event = await self._event()
        if isinstance(event, self._h11.Data):
            return bytes(event.data)
        return None

    def is_reusable(self) -> bool:
        """Whether another request may follow on this connection; afterwards it is ready for one."""
        states = (self._protocol.our_state, self._protocol.their_state)
        unread, _ = self._protocol.trailing_data
        if states != (self._h11.DONE, self._h11.DONE) or unread or not self.is_quiet:
            return False
        self._protocol.start_next_cycle()
        return True

    async def abort(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _write(self, data: bytes) -> None:
        """A server may answer (a refusal) before it has read everything: that it closes then is no failure yet."""
        with suppress(OSError):
            self._writer.write(data)
            await self._writer.drain()

    async def _head(self) -> "h11.Response":
        while not isinstance(event := await self._event(), self._h11.Response):
            if isinstance(event, self._h11.EndOfMessage | self._h11.ConnectionClosed):
                raise CutError("the server closed the connection without an answer")
        return event

    async def _event(self) -> "h11.Event":
        h11 = self._h11
        while True:
            try:
                event = self._protocol.next_event()
                if isinstance(event, h11.Event):
                    return event
                if event is h11.PAUSED:
                    raise CutError("the server went on after the end of its answer")
                data = await self._reader.read(_READ_SIZE)
                if not data and self._protocol.their_state is h11.SEND_RESPONSE and not self._protocol.trailing_data[0]:
                    raise CutError("the server closed the connection without an answer")
                self._refuse_other_protocols(data)
                self._protocol.receive_data(data)
            except h11.RemoteProtocolError as error:
                raise CutError(str(error)) from error
            except OSError as error:
                raise CutError(error.strerror or str(error)) from error

    def _refuse_other_protocols(self, data: bytes) -> None:
        """Raises NotHttpError where an answer begins with anything else: it may never end as HTTP does."""
        begins = self._protocol.their_state is self._h11.SEND_RESPONSE and not self._protocol.trailing_data[0]
        if begins and not _HTTP.startswith(data[: len(_HTTP)]):
            raise NotHttpError(data[:_WORDS].decode("utf-8", errors="replace"))


async def _connect(place: tuple[str, int], seconds: float | None) -> _Connection:
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await _open(place)
    except TimeoutError as error:
        raise ConnectError(f"no connection within {seconds:g} s") from error
    except (OSError, UnicodeError) as error:
        raise ConnectError(getattr(error, "strerror", None) or str(error)) from error
    return _Connection(place, reader, writer)


async def _open(place: tuple[str, int]) -> tuple[_Reader, asyncio.StreamWriter]:
    """As asyncio.open_connection, which does not let the reader be chosen."""
    loop = asyncio.get_running_loop()
    reader = _Reader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.create_connection(lambda: protocol, *place)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def _finished(sending: asyncio.Future[None]) -> None:
    """Give what is being sent a moment to end once the answer has begun; then it is of no use any more."""
    try:
        if not sending.done():
            await asyncio.wait({sending}, timeout=_SECONDS_TO_SEND_ON)
    finally:
        sending.cancel()


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", 80 if parts.port is None else parts.port


def _decompressor(encoding: str) -> _Expand:
    """For gzip and deflate; asked for is neither, but some gateways compress all the same."""
    match encoding.strip().lower():
        case "gzip" | "x-gzip" | "deflate":
            return _inflating()
        case "" | "identity":
            return lambda data: iter((data,))
        case other:
            raise GarbledError(f"it is compressed in a way not asked for: {other}")


def _inflating() -> _Expand:
    stream = zlib.decompressobj(wbits=47)  # either header, told by itself

    def expand(data: bytes) -> Iterator[bytes]:
        full = True
        while data or full:
            piece = stream.decompress(data, _READ_SIZE)
            data, full = stream.unconsumed_tail, len(piece) == _READ_SIZE
            yield piece

    return expand


def _expanded(expand: _Expand, data: bytes) -> Iterator[bytes]:
    try:
        yield from filter(None, expand(data))
    except zlib.error as error:
        raise GarbledError(f"its compression is broken: {error}") from error
