"""HTTP/1.1 over bare connections: for model servers without TLS and without a proxy before them.

Loading it costs a tenth of what a whole HTTP client costs, and so does a request; most starts of the program need no
more. Everything else goes through httpx, see `transport`.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from localllm.base import offline
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.addresses import is_loopback
from localllm.llm.http.compression import Decompressed
from localllm.llm.http.connection import Connection, Place, connect
from localllm.llm.http.messages import CutError, HttpRequest, UnwritableError

_MOST_IDLE = 64
"""Connections to one place that are kept for a next request."""

_MOST_HEADS = 256
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")

_TOKEN = late_pattern(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TARGET = late_pattern(r"[\x21-\x7e]+")
_VALUE = late_pattern(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
"""What may stand in the head of a request (RFC 9110, 5.6.2 and 5.5, without the bytes that are not ASCII)."""


def is_plain(url: str, environ: Mapping[str, str]) -> bool:
    """Whether `url` can be asked over a bare connection: no TLS, no password in it, no proxy before it."""
    parts = urlsplit(url)
    return parts.scheme == "http" and "@" not in parts.netloc and url.isascii() and not is_proxied(url, environ)


def is_proxied(url: str, environ: Mapping[str, str]) -> bool:
    """Whether a proxy may stand between us and `url`. None is asked for what is on this machine, and none while the
    program is offline: it would pass on what we must not reach."""
    if offline.is_direct() or is_loopback(url):
        return False
    return any(environ.get(name) or environ.get(name.upper()) for name in _PROXIES)


class _Head(msgspec.Struct, frozen=True):
    """The head of a request as far as it does not depend on the body, and where it goes."""

    place: Place
    lines: bytes


class PlainHttp:
    """Sends requests, one connection for each that is going on; one that has ended well serves the next."""

    def __init__(self) -> None:
        self._idle: dict[Place, list[Connection]] = {}
        self._heads: dict[object, _Head] = {}
        self._is_closed = False

    async def send(self, request: HttpRequest, connect_seconds: float | None) -> "PlainResponse":
        """The beginning of the answer; see HttpCarrier.

        A kept-alive connection may turn out to have been closed by the server meanwhile: that is no failure of the
        server, and a new connection is tried at once.
        """
        head = self._head(request)
        written = _written(head, request)
        idle = self._idle.setdefault(head.place, [])
        while idle:
            connection = idle.pop()
            try:
                return await self._exchange(connection, written)
            except CutError:
                continue
        return await self._exchange(await connect(head.place, connect_seconds, self._forget), written)

    async def aclose(self) -> None:
        """Close the connections that wait for a next request. Those in use are closed when their answers end."""
        self._is_closed = True
        waiting = [connection for connections in self._idle.values() for connection in connections]
        self._idle.clear()
        for connection in waiting:
            await connection.abort()

    async def release(self, connection: Connection) -> None:
        """Take back a connection whose answer is over: for the next request, if one may follow on it."""
        idle = self._idle.setdefault(connection.place, [])
        if connection.is_reusable() and not self._is_closed and len(idle) < _MOST_IDLE:
            idle.append(connection)
        else:
            await connection.abort()

    async def _exchange(self, connection: Connection, written: bytes) -> "PlainResponse":
        try:
            await connection.exchange(written)
        except BaseException:
            await connection.abort()
            raise
        return PlainResponse(self, connection)

    def _forget(self, connection: Connection) -> None:
        """One that has ended serves no more."""
        idle = self._idle.get(connection.place, [])
        if connection in idle:
            idle.remove(connection)

    def _head(self, request: HttpRequest) -> _Head:
        """The head of a request, remembered: a provider's requests differ in their bodies. Raises UnwritableError."""
        key = (request.method, request.url, tuple(request.headers.items()))
        if (head := self._heads.get(key)) is None:
            if len(self._heads) >= _MOST_HEADS:
                self._heads.clear()
            head = self._heads[key] = _make_head(request)
        return head


class PlainResponse:
    """An answer whose status and headers (names in lower case) are there."""

    def __init__(self, http: PlainHttp, connection: Connection) -> None:
        self.status = connection.status
        self.headers = connection.headers
        self._http = http
        self._connection = connection
        self._body = Decompressed(connection.body_piece, self.headers.get("content-encoding", ""))

    @property
    def has_arrived(self) -> bool:
        """See HttpResponse."""
        return self._connection.has_arrived

    async def read(self) -> bytes | None:
        """See HttpResponse."""
        return await self._body.read()

    async def aclose(self) -> None:
        """Keep the connection for the next request where the answer has arrived to its end; else close it, so that
        the server stops."""
        if self.has_arrived:
            await self._http.release(self._connection)
        else:
            await self._connection.abort()


def _make_head(request: HttpRequest) -> _Head:
    parts = urlsplit(request.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"host": parts.netloc} | request.headers | {"accept-encoding": "identity"}
    fits = _TOKEN.fullmatch(request.method) and _TARGET.fullmatch(target)
    if not fits or not all(_TOKEN.fullmatch(name) and _VALUE.fullmatch(value) for name, value in headers.items()):
        raise UnwritableError
    lines = [f"{request.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    place = parts.hostname or "", 80 if parts.port is None else parts.port
    return _Head(place, "\r\n".join(lines).encode("ascii"))


def _written(head: _Head, request: HttpRequest) -> bytes:
    """The request as it is sent."""
    if request.body or request.method != "GET":
        return b"%b\r\ncontent-length: %d\r\n\r\n%b" % (head.lines, len(request.body), request.body)
    return head.lines + b"\r\n\r\n"
