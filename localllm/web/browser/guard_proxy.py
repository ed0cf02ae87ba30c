"""The browser's only network access: a local proxy that checks every host and pins its address.

A page's scripts can request anything, and redirects bypass what a browser shows its driver. So the browser resolves no
names and connects only to this proxy, with a password generated for each browser.
"""

import asyncio
import base64
import secrets
import socket
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import msgspec

from localllm.base.public_addresses import is_public
from localllm.sandbox.network.hosts import Target
from localllm.sandbox.network.proxy import Connect, Proxy, ProxyRequest, Resolve, Streams, dial, look_up
from localllm.web.addresses import checked_url, place_of, refuse_private

if TYPE_CHECKING:
    from playwright.async_api import ProxySettings

_USER = "browser"
_HTTPS = 443


class PublicWeb:
    """The hosts of the public web, and those in `allowed` (`host:port`), as in the fetcher."""

    def __init__(self, allowed: Collection[str]) -> None:
        self._allowed = frozenset(place.lower() for place in allowed)

    def check(self, wanted: Target) -> None:
        """Raise SafetyViolationError web_address_refused unless name and port are public."""
        checked_url(_address(wanted), self._allowed)

    def vet(self, wanted: Target, addresses: Sequence[str]) -> None:
        """Raise SafetyViolationError unless all addresses are public."""
        url = checked_url(_address(wanted), self._allowed)
        if place_of(url) not in self._allowed and not all(map(is_public, addresses)):
            raise refuse_private(str(url))


def _address(wanted: Target) -> str:
    return f"{'https' if wanted.port == _HTTPS else 'http'}://{wanted}/"


class NextProxy(msgspec.Struct, frozen=True):
    """The upstream proxy of `web.proxy`; `credential` is its authorization."""

    host: str
    port: int
    credential: bytes = b""

    @classmethod
    def of(cls, address: str) -> "NextProxy":
        """Parse an address such as http://user:password@host:3128. Raises ValueError unless it is an http proxy."""
        parts = urlsplit(address)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(address)
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        return cls(parts.hostname, parts.port or 80, basic(user, password) if user else b"")


def basic(user: str, password: str) -> bytes:
    """Encode user and password for the Basic scheme (RFC 7617)."""
    return b"Basic " + base64.b64encode(f"{user}:{password}".encode())


class GuardProxy(Proxy):
    """Serves one browser. Received bytes are limited: see `allow_more`."""

    def __init__(
        self,
        allowed: Collection[str],
        following: NextProxy | None = None,
        *,
        resolve: Resolve = look_up,
        connect: Connect = dial,
    ) -> None:
        self.user, self.password = _USER, secrets.token_urlsafe(24)
        super().__init__(
            PublicWeb(allowed),
            resolve=resolve,
            connect=connect,
            credential=basic(self.user, self.password),
            client="the browser",
            category="WEB",
        )
        self._following = following
        self._left = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def settings(self) -> "ProxySettings":
        """The proxy settings for the browser."""
        return {"server": self.address, "username": self.user, "password": self.password}

    async def start(self) -> None:
        """Start serving."""
        await self.serve(self._listener)

    def allow_more(self, size: int) -> None:
        """Allow `size` more bytes from now on; connections that exceed them are closed."""
        self._left = size

    async def _reach(self, request: ProxyRequest) -> Streams:
        if self._left <= 0:
            raise OSError("the page wants too much")
        if self._following is None:
            return await super()._reach(request)
        self._hosts.check(request.target)
        theirs, ours = await self._connect(self._following.host, self._following.port)
        if not request.head:
            ours.write(b"\r\n".join([*_opening(request, self._following), b"", b""]))
            with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                answer = await theirs.readuntil(b"\r\n\r\n")
                if answer.split(b" ", 2)[1:2] == [b"200"]:
                    return theirs, ours
            ours.close()
            raise OSError("the proxy of web.proxy refuses")
        return theirs, ours

    async def _carry(self, request: ProxyRequest, inside: Streams, outside: Streams) -> None:
        if self._following and request.head:
            request = msgspec.structs.replace(request, head=_for_proxy(request, self._following))
        await super()._carry(request, inside, outside)

    def _note(self, name: str, *, connections: int = 0, sent: int = 0, received: int = 0, refused: str = "") -> None:
        super()._note(name, connections=connections, sent=sent, received=received, refused=refused)
        self._left -= received
        if received and self._left <= 0:
            self.cut()


def _opening(request: ProxyRequest, following: NextProxy) -> list[bytes]:
    host = str(request.target).encode()
    return [b"CONNECT " + host + b" HTTP/1.1", b"Host: " + host, *_permission(following)]


def _for_proxy(request: ProxyRequest, following: NextProxy) -> bytes:
    """Return the head of a request for the upstream proxy: with the absolute address."""
    first, rest = request.head.split(b"\r\n", 1)
    method, path, version = first.split(b" ")
    lines = [method + b" http://" + str(request.target).removesuffix(":80").encode() + path + b" " + version]
    return b"\r\n".join([*lines, *_permission(following), rest])


def _permission(following: NextProxy) -> list[bytes]:
    return [b"Proxy-Authorization: " + following.credential] if following.credential else []
