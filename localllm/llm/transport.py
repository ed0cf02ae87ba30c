"""HTTP to a model server: one connection pool, streams without a first-token deadline, errors with their mend."""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.llm.addresses import is_loopback
from localllm.llm.reasons import short_reason

if TYPE_CHECKING:
    import httpx

_MAX_ERROR_BYTES = 65_536
_FIRST_FAILURE = 300


class HttpRequest(msgspec.Struct, frozen=True):
    """A request as prepared by a provider: nothing here depends on the connection."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes = b""


class HttpFailure(Exception):  # noqa: N818 - it is an answer of the server, not yet judged to be an error of ours
    """An answer with a status of 300 or more, for the provider to make sense of."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.body = body


class HttpTransport:
    """Sends prepared requests. `timeout` is for connecting and for short requests, in seconds."""

    def __init__(self, provider: str, base_url: str, timeout: float) -> None:
        self._provider = provider
        self._base_url = base_url
        self._timeout = timeout
        self._client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The body of an answer while it arrives; leaving the context closes the connection, so that the server
        stops. Raises HttpFailure, and LLMConnectionError here or while the body is read.

        Reading has no time limit: a local server may read a long prompt for minutes before it says a word.
        """
        with self._explained():
            response = await self._open(request)
            try:
                if response.status_code >= _FIRST_FAILURE:
                    raise HttpFailure(response.status_code, dict(response.headers), await self._read_some(response))
                async with aclosing(self._pieces(response)) as pieces:
                    yield pieces
            finally:
                await response.aclose()

    async def _open(self, request: HttpRequest) -> "httpx.Response":
        """The answer's beginning. A kept-alive connection may turn out to have been closed by the server in the
        meantime: that is no failure of the server, and a new connection is tried at once."""
        httpx = _import_httpx()
        connected = False

        async def watch(event: str, _details: object) -> None:
            nonlocal connected
            connected = connected or event.startswith("connection.connect_")

        timeout = httpx.Timeout(self._timeout, read=None, pool=None)
        pool = self._pool()
        prepared = pool.build_request(
            request.method,
            request.url,
            headers=request.headers,
            content=request.body,
            timeout=timeout,
            extensions={"trace": watch},
        )
        try:
            return await pool.send(prepared, stream=True)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            if connected:
                raise
            return await pool.send(prepared, stream=True)

    async def fetch(self, request: HttpRequest) -> bytes:
        """The body of a short request, within the time limit. Raises HttpFailure and LLMConnectionError."""
        with self._explained():
            response = await self._pool().request(
                request.method, request.url, headers=request.headers, content=request.body
            )
        if response.status_code >= _FIRST_FAILURE:
            raise HttpFailure(response.status_code, dict(response.headers), response.content[:_MAX_ERROR_BYTES])
        return response.content

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _pool(self) -> "httpx.AsyncClient":
        if self._client is None:
            httpx = _import_httpx()
            # Loading the certificate store costs 20 ms and no plain-HTTP server needs it. A proxy named in the
            # environment must not stand between us and this machine.
            self._client = httpx.AsyncClient(
                timeout=self._timeout,
                verify=self._base_url.startswith("https:"),
                trust_env=not is_loopback(self._base_url),
                headers={"user-agent": "localllm"},
            )
        return self._client

    async def _pieces(self, response: "httpx.Response") -> AsyncGenerator[bytes]:
        with self._explained():
            async for piece in response.aiter_bytes():
                yield piece

    async def _read_some(self, response: "httpx.Response") -> bytes:
        """The body of a failure, as far as it comes in time and whole: the status alone says enough to go on."""
        body = b""
        with suppress(TimeoutError, LLMConnectionError):
            async with asyncio.timeout(self._timeout), aclosing(self._pieces(response)) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > _MAX_ERROR_BYTES:
                        break
        return body[:_MAX_ERROR_BYTES]

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Turns what httpx raises into our errors."""
        httpx = _import_httpx()
        try:
            yield
        except httpx.LocalProtocolError:
            # Its text quotes the header at fault, which may be the key: neither the error nor the log may show it.
            raise self._cut("the request cannot be written as HTTP") from None
        except (httpx.RequestError, httpx.InvalidURL) as error:
            raise self._explain(error) from error

    def _explain(self, error: "httpx.RequestError | httpx.InvalidURL") -> LLMConnectionError:
        httpx = _import_httpx()
        reason = short_reason(str(error) or type(error).__name__)
        match error:
            case httpx.ConnectError() | httpx.ConnectTimeout() | httpx.UnsupportedProtocol() | httpx.InvalidURL():
                return LLMConnectionError("llm_refused", url=self._base_url, reason=reason, provider=self._provider)
            case httpx.ReadTimeout() | httpx.WriteTimeout() | httpx.PoolTimeout():
                return LLMConnectionError(
                    "llm_idle", url=self._base_url, seconds=self._timeout, provider=self._provider, retryable=True
                )
            case httpx.DecodingError() | httpx.TooManyRedirects():
                return LLMConnectionError("llm_malformed", url=self._base_url, reason=reason)
            case _:
                return self._cut(reason, retryable=True)

    def _cut(self, reason: str, *, retryable: bool = False) -> LLMConnectionError:
        return LLMConnectionError("llm_cut", url=self._base_url, reason=reason, retryable=retryable)


def _import_httpx():
    """httpx, without its command-line tool, which would load rich and click (60 ms) whenever they are installed."""
    sys.modules.setdefault("httpx._main", None)  # pyright: ignore[reportArgumentType] - None marks it as absent
    import httpx

    return httpx
