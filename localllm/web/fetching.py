"""Fetch a page: few redirects, each checked; connect to the checked address; limit size and time."""

import asyncio
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.public_addresses import is_public
from localllm.text.sanitising import clean
from localllm.web.addresses import checked_url, host_of, place_of, port_of, refuse_private, shown_address

if TYPE_CHECKING:
    import ssl

    import httpx

LARGEST = 2_000_000
"""Bytes read of a page; a longer one is truncated."""

LARGEST_PDF = 10_000_000
"""The same for a PDF, which cannot be read partially."""

_REDIRECTS = 3
_LONGEST_REASON = 200
_REDIRECTING = frozenset({301, 302, 303, 307, 308})
USER_AGENT = "localllm (reads pages for one person)"
"""The program's user agent; its first word is matched in robots.txt."""

_ACCEPT = "text/html,application/xhtml+xml,text/plain,application/json,application/pdf;q=0.9,*/*;q=0.5"

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Resolves a host name for a port to IP addresses. Raises OSError."""


MayFollow = Callable[[str, str], bool]
"""Whether a redirect from the first address to the second may be followed. May raise SafetyViolationError."""

Check = Callable[[str], None]
"""Raises SafetyViolationError for an address that must not be requested."""


class Moved(msgspec.Struct, frozen=True):
    """A redirect not followed: from `url`, as requested, to `to`."""

    url: str
    to: str


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A fetched page. `url` is the final address; `media_type` and `charset` are the server's, in lower case; `cut`
    means it was truncated."""

    url: str
    media_type: str
    charset: str
    data: bytes
    cut: bool = False


async def resolve_host(host: str, port: int) -> list[str]:
    """Resolve a host with the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Fetcher:
    """Fetch pages of the public web, without cookies and proxy variables.

    `allow_private`: the `host:port` that may be private. `proxy`: the address of a proxy, which then resolves the
    names. `seconds`: timeout of a page with all its redirects. `user_agent`: the User-Agent header. `check` judges each
    address, those of redirects too. `resolve` and `transport` are for tests, `trust` for servers with private
    certificates.
    """

    def __init__(
        self,
        *,
        allow_private: Sequence[str] = (),
        proxy: str = "",
        seconds: float = 20.0,
        user_agent: str = "",
        check: Check | None = None,
        resolve: Resolve = resolve_host,
        transport: "httpx.AsyncBaseTransport | None" = None,
        trust: "ssl.SSLContext | None" = None,
    ) -> None:
        self._allowed = frozenset(place.lower() for place in allow_private)
        self._proxy = proxy
        self._seconds = seconds
        self._user_agent = user_agent or USER_AGENT
        self._check = check
        self._resolve = resolve
        self._transport = transport
        self._trust = trust

    async def fetch(self, url: str, may_follow: MayFollow, *, redirects: int = _REDIRECTS) -> Page | Moved:
        """Fetch the page at `url`. Raises SafetyViolationError and ToolExecutionError (web_…). `may_follow` is called
        before each redirect, even to the same host; at most `redirects` are followed."""
        import httpx

        target = self.checked(url)
        try:
            async with asyncio.timeout(self._seconds), self._client() as client:
                for _ in range(redirects + 1):
                    async with AsyncExitStack() as stack:
                        response = await self._get(client, target, stack)
                        if response.status_code not in _REDIRECTING or "location" not in response.headers:
                            return await _read(target, response)
                        leads = self.checked(str(target.join(response.headers["location"])))
                    if not may_follow(str(target), str(leads)):
                        return Moved(url=str(target), to=str(leads))
                    target = leads
        except TimeoutError as error:
            raise ToolExecutionError("web_slow", url=shown_address(url), seconds=self._seconds) from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            reason = clean(str(error) or type(error).__name__, keep_newlines=False)[:_LONGEST_REASON]
            raise ToolExecutionError("web_unreachable", url=shown_address(url), reason=reason) from error
        raise ToolExecutionError("web_redirects", url=shown_address(url), count=redirects)

    def checked(self, url: str) -> "httpx.URL":
        """Return an address that may be requested. Raises SafetyViolationError."""
        checked = checked_url(url, self._allowed)
        if self._check:
            self._check(str(checked))
        return checked

    def _client(self) -> "httpx.AsyncClient":
        import httpx

        if self._trust is None:  # created once: it takes 20 ms
            self._trust = httpx.create_ssl_context(trust_env=False)
        return httpx.AsyncClient(
            trust_env=False,
            follow_redirects=False,
            timeout=self._seconds,
            transport=self._transport,
            proxy=self._proxy or None,
            verify=self._trust,
            headers={"user-agent": self._user_agent, "accept": _ACCEPT, "accept-encoding": "gzip, deflate"},
        )

    async def _get(self, client: "httpx.AsyncClient", target: "httpx.URL", stack: AsyncExitStack) -> "httpx.Response":
        """Return the response's head from the first address that accepts the connection; all must be public."""
        import httpx

        client.cookies.clear()
        if self._proxy:
            return await stack.enter_async_context(client.stream("GET", target))
        failure: httpx.HTTPError | None = None
        for address in await self._addresses(target):
            pinned = target.copy_with(host=address)
            headers = {"host": target.netloc.decode("ascii")}
            extensions = {"sni_hostname": host_of(target)}
            try:
                return await stack.enter_async_context(
                    client.stream("GET", pinned, headers=headers, extensions=extensions)
                )
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
        raise failure or OSError("no address")

    async def _addresses(self, target: "httpx.URL") -> Sequence[str]:
        addresses = await self._resolve(host_of(target), port_of(target))
        if place_of(target) not in self._allowed and not all(map(is_public, addresses)):
            raise refuse_private(str(target))
        return addresses


async def _read(url: "httpx.URL", response: "httpx.Response") -> Page:
    if response.status_code >= 400:
        raise ToolExecutionError("web_status", url=shown_address(str(url)), status=response.status_code)
    media_type, _, parameters = response.headers.get("content-type", "").lower().partition(";")
    media_type = media_type.strip()
    limit = LARGEST_PDF if media_type == "application/pdf" else LARGEST
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", "deflate", ""):
        reason = f"content-encoding {shown_address(encoding)}"
        raise ToolExecutionError("web_unreachable", url=shown_address(str(url)), reason=reason)
    data = bytearray()
    async for piece in _unpacked(response.aiter_raw(), limit + 1, packed=encoding not in ("identity", "")):
        data += piece
        if len(data) > limit:
            break
    return Page(
        url=str(url),
        media_type=media_type,
        charset=_charset(parameters),
        data=bytes(data[:limit]),
        cut=len(data) > limit,
    )


async def _unpacked(pieces: AsyncIterator[bytes], limit: int, *, packed: bool) -> AsyncIterator[bytes]:
    """Decompress the pieces if needed, each into pieces of at most `limit` bytes, whatever the compression ratio."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32) if packed else None
    async for piece in pieces:
        try:
            yield unpacker.decompress(piece, limit) if unpacker else piece
        except zlib.error as error:
            raise OSError(str(error)) from error


def _charset(parameters: str) -> str:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            return value.strip(" \"'")
    return ""
