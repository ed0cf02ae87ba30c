"""Send one request to a search engine: with timeout and size limit, without redirects or proxy variables."""

import asyncio
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from functools import cache
from time import time
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import ssl

    import httpx

_LARGEST = 5_000_000
_TOO_MANY, _SERVER_FAILURE = 429, 500


class Reply(msgspec.Struct, frozen=True):
    """An engine's response; `retry_after` is its Retry-After in seconds, if any."""

    status: int
    data: bytes
    retry_after: float | None = None

    @property
    def is_passing(self) -> bool:
        """Whether the failure is transient: too many requests, or a server error."""
        return self.status == _TOO_MANY or self.status >= _SERVER_FAILURE


class EngineUnreachableError(Exception):
    """There is no response, for this reason; `timed_out` after a timeout."""

    def __init__(self, reason: str, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.timed_out = timed_out


async def get(url: str, parameters: Mapping[str, str], *, seconds: float) -> Reply:
    """Send a GET request. Raises EngineUnreachableError."""
    return await _ask("GET", url, seconds=seconds, parameters=parameters)


async def post_json(url: str, body: object, headers: Mapping[str, str], *, seconds: float, proxy: str = "") -> Reply:
    """Send a POST request with `body` as JSON. Raises EngineUnreachableError."""
    headers = {**headers, "content-type": "application/json"}
    return await _ask("POST", url, seconds=seconds, headers=headers, content=msgspec.json.encode(body), proxy=proxy)


async def _ask(
    method: str,
    url: str,
    *,
    seconds: float,
    parameters: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    proxy: str = "",
) -> Reply:
    import httpx

    headers = {**(headers or {}), "accept-encoding": "identity"}
    try:
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(
                trust_env=False,
                follow_redirects=False,
                timeout=seconds,
                proxy=proxy or None,
                verify=_certificates(),
            ) as client,
        ):
            request = client.build_request(method, url, params=parameters, headers=headers, content=content)
            response = await client.send(request, stream=True)
            data = await _beginning(response)
    except (TimeoutError, httpx.TimeoutException) as error:
        raise EngineUnreachableError(f"{seconds:g} s", timed_out=True) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise EngineUnreachableError(str(error) or type(error).__name__) from error
    return Reply(response.status_code, data, _retry_after(response.headers.get("retry-after", "")))


@cache
def _certificates() -> "ssl.SSLContext":
    """Load the certificates once: a client reads them for each request, which takes longer than many responses."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


async def _beginning(response: "httpx.Response") -> bytes:
    """Read the body up to the size limit."""
    data = bytearray()
    try:
        async for piece in response.aiter_raw():
            data += piece
            if len(data) > _LARGEST:
                break
    finally:
        await response.aclose()
    return bytes(data[:_LARGEST])


def _retry_after(header: str) -> float | None:
    """Parse a Retry-After in seconds or as a date; None if it is neither."""
    if header.strip().isascii() and header.strip().isdigit():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time())
    except (ValueError, OverflowError):
        return None
