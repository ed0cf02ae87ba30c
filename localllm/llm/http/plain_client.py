"""HTTP/1.1 client over plain connections, for model servers without TLS or proxy.

Importing it, and each request, costs a tenth of a full HTTP client; most runs of the program need no more. Everything
else goes through httpx, see `transport`.
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
"""Maximum idle connections kept per host and port."""

_MOST_HEADS = 256
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")

_TOKEN = late_pattern(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TARGET = late_pattern(r"[\x21-\x7e]+")
_VALUE = late_pattern(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
"""Characters allowed in a request head (RFC 9110, 5.6.2 and 5.5, ASCII only)."""


def is_plain(url: str, environ: Mapping[str, str]) -> bool:
    """Return whether `url` can use a plain connection: no TLS, no password, no proxy."""
    parts = urlsplit(url)
    return parts.scheme == "http" and "@" not in parts.netloc and url.isascii() and not is_proxied(url, environ)


def is_proxied(url: str, environ: Mapping[str, str]) -> bool:
    """Return whether a proxy may be used for `url`.
    Never for this machine, and never offline, as it could forward to hosts that must not be reached."""
    if offline.is_direct() or is_loopback(url):
        return False
    return any(environ.get(name) or environ.get(name.upper()) for name in _PROXIES)


class _Head(msgspec.Struct, frozen=True):
    """The destination and the part of a request head that does not depend on the body."""

    place: Place
    lines: bytes


class PlainHttp:
    """An HTTP client with one connection per active request; reusable connections are kept alive."""

    def __init__(self) -> None:
        self._idle: dict[Place, list[Connection]] = {}
        self._heads: dict[object, _Head] = {}
        self._is_closed = False

    async def send(self, request: HttpRequest, connect_seconds: float | None) -> "PlainResponse":
        """Send the request; see HttpCarrier.

        A kept-alive connection may have been closed by the server meanwhile: that is no error, and a new connection is
        tried at once.
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
        """Close the idle connections. Those in use are closed when their responses end."""
        self._is_closed = True
        waiting = [connection for connections in self._idle.values() for connection in connections]
        self._idle.clear()
        for connection in waiting:
            await connection.abort()

    async def release(self, connection: Connection) -> None:
        """Keep the connection of a finished response alive, if it is reusable."""
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
        """Remove a closed connection from the idle ones."""
        idle = self._idle.get(connection.place, [])
        if connection in idle:
            idle.remove(connection)

    def _head(self, request: HttpRequest) -> _Head:
        """Return the request head, cached, as a provider's requests differ in their bodies. Raises UnwritableError."""
        key = (request.method, request.url, tuple(request.headers.items()))
        if (head := self._heads.get(key)) is None:
            if len(self._heads) >= _MOST_HEADS:
                self._heads.clear()
            head = self._heads[key] = _make_head(request)
        return head


class PlainResponse:
    """See HttpResponse."""

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
        """Keep the connection alive if the response is complete; else close it, so that the server stops."""
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
    """Serialise the request."""
    if request.body or request.method != "GET":
        return b"%b\r\ncontent-length: %d\r\n\r\n%b" % (head.lines, len(request.body), request.body)
    return head.lines + b"\r\n\r\n"
