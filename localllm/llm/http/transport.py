"""HTTP transport to a model server: streaming without a timeout before the first token, errors with their fix."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, cast

from localllm.base import offline
from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import Phrase
from localllm.base.offline import not_own_network_error_in, offline_error_in
from localllm.llm.addresses import is_loopback
from localllm.llm.http.compression import Decompressed
from localllm.llm.http.messages import (
    CARRIER_ERRORS,
    Body,
    ConnectError,
    CutError,
    GarbledError,
    HttpCarrier,
    HttpFailure,
    HttpRequest,
    HttpResponse,
    UnwritableError,
    without_secrets,
)
from localllm.llm.http.plain_client import PlainHttp, is_plain
from localllm.llm.http.sse import check_length
from localllm.llm.overflow import short_reason

if TYPE_CHECKING:
    import httpx


class LibraryHttp:
    """A pool of connections to the server at `base_url`."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._client: httpx.AsyncClient | None = None

    async def send(self, request: HttpRequest, connect_seconds: float | None) -> "LibraryResponse":
        """Send the request; see HttpCarrier. A kept-alive connection may have been closed by the server meanwhile: that
        is no error, and a new connection is tried at once."""
        httpx = _import_httpx()
        connected = False

        async def watch(event: str, _details: object) -> None:
            nonlocal connected
            connected = connected or event.startswith("connection.connect_")

        with _explained():
            pool = self._pool()
            prepared = pool.build_request(
                request.method,
                request.url,
                headers=request.headers,
                content=request.body,
                timeout=httpx.Timeout(connect_seconds, read=None, pool=None),
                extensions={"trace": watch},
            )
            try:
                return LibraryResponse(await pool.send(prepared, stream=True))
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if connected:
                    raise
                return LibraryResponse(await pool.send(prepared, stream=True))

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _pool(self) -> "httpx.AsyncClient":
        if self._client is None:
            httpx = _import_httpx()
            try:
                # Loading the certificate store costs 20 ms and is only needed for TLS. A proxy from the environment
                # must not be used for this machine.
                verify, trust_env = self._base_url.startswith("https:"), not is_loopback(self._base_url)
                direct = httpx.AsyncHTTPTransport(verify=verify, trust_env=trust_env) if offline.is_direct() else None
                self._client = httpx.AsyncClient(
                    verify=verify,
                    trust_env=trust_env,
                    transport=direct,  # disables the proxy lookup
                    headers={"user-agent": "localllm", "accept-encoding": "identity"},
                )
            except (ValueError, ImportError) as error:  # an unusable proxy in the environment
                raise ConnectError(str(error)) from error
        return self._client


class LibraryResponse:
    """See HttpResponse."""

    def __init__(self, response: "httpx.Response") -> None:
        self._response = response
        self._pieces: AsyncIterator[bytes] = response.aiter_raw()
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        self._body = Decompressed(self._next_piece, self.headers.get("content-encoding", ""))

    @property
    def has_arrived(self) -> bool:
        """See HttpResponse; data buffered in httpx is not visible."""
        return self._response.is_closed

    async def read(self) -> bytes | None:
        """See HttpResponse."""
        return await self._body.read()

    async def _next_piece(self) -> bytes | None:
        with _explained():
            return await anext(self._pieces, None)

    async def aclose(self) -> None:
        """Release or close the connection."""
        await cast("AsyncGenerator[bytes]", self._pieces).aclose()  # httpx types it as an iterator
        await self._response.aclose()


@contextmanager
def _explained() -> Generator[None]:
    """Translate httpx's exceptions into those of HttpCarrier."""
    httpx = _import_httpx()
    try:
        yield
    except httpx.LocalProtocolError:
        # Its message quotes the invalid header, which may be the key.
        raise UnwritableError from None
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise ConnectError(str(error) or type(error).__name__) from error
    except (httpx.DecodingError, httpx.TooManyRedirects) as error:
        raise GarbledError(str(error) or type(error).__name__) from error
    except httpx.RequestError as error:
        raise CutError(str(error) or type(error).__name__) from error


def _import_httpx():
    """Import httpx without its command-line tool, which would load rich and click (60 ms) if installed."""
    sys.modules.setdefault("httpx._main", None)  # pyright: ignore[reportArgumentType] - None marks it as absent
    import httpx

    return httpx


__all__ = ["HttpFailure", "HttpRequest", "HttpTransport", "refused"]

_TO_CONNECT = 0.9
"""Fraction of a short request's timeout allowed for connecting, to report a refused connection as such."""

_MAX_ERROR_BYTES = 65_536
_FIRST_FAILURE = 300


def refused(provider: str, url: str, reason: str) -> LLMConnectionError:
    """Return the error for a refused connection to `url`, with how to start a server of that kind unless it is a
    cloud."""
    match provider:
        case "lmstudio":
            start = Phrase("LM Studio: Developer → Start Server")
        case "ollama":
            start = Phrase("Ollama: ollama serve")
        case "azure" | "gemini":
            return LLMConnectionError("llm_unreachable", url=url, reason=reason, provider=provider)
        case _:
            start = Phrase("such as llama.cpp: llama-server -m MODEL; vLLM: vllm serve MODEL")
    return LLMConnectionError("llm_refused", url=url, reason=reason, provider=provider, start=start)


class HttpTransport:
    """Sends prepared requests. `timeout` in seconds limits connecting and short requests. `secrets` are in no error."""

    def __init__(self, provider: str, base_url: str, timeout: float, secrets: Sequence[str] = ()) -> None:
        self._secrets = secrets
        self._provider = provider
        self._base_url = base_url
        self._timeout = timeout
        self._carrier: HttpCarrier = PlainHttp() if is_plain(base_url, os.environ) else LibraryHttp(base_url)

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[Body]:
        """Stream a response body; leaving the context closes the connection, so that the server stops.
        Raises HttpFailure, and LLMConnectionError here or while the body is read.

        Reading has no timeout: a local server may process a long prompt for minutes before its first token.
        """
        return _Exchange(self, request, self._timeout)

    async def fetch(self, request: HttpRequest) -> bytes:
        """Return the body of a short request, within the timeout. Raises HttpFailure and LLMConnectionError."""
        try:
            async with asyncio.timeout(self._timeout), _Exchange(self, request, _TO_CONNECT * self._timeout) as body:
                return await self._whole(body)
        except TimeoutError as error:
            raise LLMConnectionError(
                "llm_idle", url=self._base_url, seconds=self._timeout, provider=self._provider, retryable=True
            ) from error

    async def aclose(self) -> None:
        """Close all connections."""
        await self._carrier.aclose()

    async def open(self, request: HttpRequest, connect_seconds: float) -> HttpResponse:
        """Send the request and return the response, which its reader closes. Raises HttpFailure, LLMConnectionError."""
        try:
            response = await self._carrier.send(request, connect_seconds)
        except CARRIER_ERRORS as error:
            raise self.explained(error) from _cause(error)
        if response.status >= _FIRST_FAILURE:
            try:
                raise HttpFailure(response.status, response.headers, await self._read_some(response))
            finally:
                await response.aclose()
        return response

    async def _whole(self, body: Body) -> bytes:
        whole = bytearray()
        while (piece := await body.read()) is not None:
            whole += piece
            try:
                check_length(len(whole))
            except ValueError as error:
                raise self._garbled(str(error)) from error
        return bytes(whole)

    async def _read_some(self, response: HttpResponse) -> bytes:
        """Read the body of a failure as far as it arrives in time; the status alone is sufficient."""
        body = b""
        with suppress(TimeoutError, *CARRIER_ERRORS):
            async with asyncio.timeout(self._timeout):
                while len(body) <= _MAX_ERROR_BYTES and (piece := await response.read()) is not None:
                    body += piece
        return body[:_MAX_ERROR_BYTES]

    def explained(self, error: Exception) -> LLMConnectionError:
        """Translate a transport exception into an LLMConnectionError."""
        if refused_offline := offline_error_in(error):
            return LLMConnectionError("llm_offline", url=self._base_url, reason=refused_offline.reason)
        if elsewhere := not_own_network_error_in(error):
            return LLMConnectionError("llm_not_own_network", url=self._base_url, place=elsewhere.place)
        reason = without_secrets(str(error), self._secrets)
        match error:
            case UnwritableError():
                return self._cut("the request cannot be written as HTTP")
            case ConnectError():
                return refused(self._provider, self._base_url, short_reason(reason))
            case GarbledError():
                return self._garbled(reason)
            case _:
                return self._cut(short_reason(reason), retryable=True)

    def _garbled(self, reason: str) -> LLMConnectionError:
        said = short_reason(reason)
        return LLMConnectionError("llm_malformed", url=self._base_url, reason=said, provider=self._provider)

    def _cut(self, reason: str, *, retryable: bool = False) -> LLMConnectionError:
        return LLMConnectionError("llm_cut", url=self._base_url, reason=reason, retryable=retryable)


class _Exchange:
    """A request and its response, whose body is read within the context."""

    _response: HttpResponse

    def __init__(self, transport: HttpTransport, request: HttpRequest, connect_seconds: float) -> None:
        self._transport = transport
        self._request = request
        self._connect_seconds = connect_seconds

    async def __aenter__(self) -> Body:
        self._response = await self._transport.open(self._request, self._connect_seconds)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._response.aclose()

    @property
    def has_arrived(self) -> bool:
        """See Body."""
        return self._response.has_arrived

    async def read(self) -> bytes | None:
        """See Body."""
        try:
            return await self._response.read()
        except CARRIER_ERRORS as error:
            raise self._transport.explained(error) from _cause(error)


def _cause(error: Exception) -> Exception | None:
    """Return the error as cause, except where its own cause may quote the key."""
    return None if isinstance(error, UnwritableError) else error
