"""HTTP to a model server: streams without a first-token deadline, errors with their mend."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress

from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import Phrase
from localllm.llm.http.h11_client import PlainHttp, is_plain
from localllm.llm.http.httpx_client import LibraryHttp
from localllm.llm.http.messages import (
    ConnectError,
    CutError,
    GarbledError,
    HttpCarrier,
    HttpFailure,
    HttpRequest,
    HttpResponse,
    UnwritableError,
)
from localllm.llm.http.sse import check_length
from localllm.llm.overflow import short_reason

__all__ = ["HttpFailure", "HttpRequest", "HttpTransport", "refused"]

_MAX_ERROR_BYTES = 65_536
_FIRST_FAILURE = 300


def refused(provider: str, url: str, reason: str) -> LLMConnectionError:
    """Nobody takes connections at `url`. The error says how a server of that kind is started, if it is not a cloud."""
    match provider:
        case "lmstudio":
            start = Phrase("server.start_lmstudio")
        case "ollama":
            start = Phrase("server.start_ollama")
        case "azure" | "gemini":
            return LLMConnectionError("llm_unreachable", url=url, reason=reason, provider=provider)
        case _:
            start = Phrase("server.start_openai")
    return LLMConnectionError("llm_refused", url=url, reason=reason, provider=provider, start=start)


class HttpTransport:
    """Sends prepared requests. `timeout` is for connecting and for short requests, in seconds."""

    def __init__(self, provider: str, base_url: str, timeout: float) -> None:
        self._provider = provider
        self._base_url = base_url
        self._timeout = timeout
        self._carrier: HttpCarrier = PlainHttp() if is_plain(base_url, os.environ) else LibraryHttp(base_url)

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The body of an answer while it arrives; leaving the context closes the connection, so that the server
        stops. Raises HttpFailure, and LLMConnectionError here or while the body is read.

        Reading has no time limit: a local server may read a long prompt for minutes before it says a word.
        """
        with self._explained():
            response = await self._carrier.send(request, self._timeout)
        try:
            if response.status >= _FIRST_FAILURE:
                raise HttpFailure(response.status, response.headers, await self._read_some(response))
            async with aclosing(self._pieces(response)) as pieces:
                yield pieces
        finally:
            await response.aclose()

    async def fetch(self, request: HttpRequest) -> bytes:
        """The body of a short request, within the time limit. Raises HttpFailure and LLMConnectionError."""
        try:
            async with asyncio.timeout(self._timeout), self.stream(request) as pieces:
                return await self._whole(pieces)
        except TimeoutError as error:
            raise LLMConnectionError(
                "llm_idle", url=self._base_url, seconds=self._timeout, provider=self._provider, retryable=True
            ) from error

    async def aclose(self) -> None:
        """Close every connection."""
        await self._carrier.aclose()

    async def _pieces(self, response: HttpResponse) -> AsyncGenerator[bytes]:
        with self._explained():
            async with aclosing(response.pieces()) as pieces:
                async for piece in pieces:
                    yield piece

    async def _whole(self, pieces: AsyncIterator[bytes]) -> bytes:
        whole = bytearray()
        async for piece in pieces:
            whole += piece
            try:
                check_length(len(whole))
            except ValueError as error:
                raise self._garbled(str(error)) from error
        return bytes(whole)

    async def _read_some(self, response: HttpResponse) -> bytes:
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
        """Turns what goes wrong on the way into our errors."""
        try:
            yield
        except UnwritableError:
            raise self._cut("the request cannot be written as HTTP") from None
        except ConnectError as error:
            raise refused(self._provider, self._base_url, short_reason(str(error))) from error
        except GarbledError as error:
            raise self._garbled(str(error)) from error
        except CutError as error:
            raise self._cut(short_reason(str(error)), retryable=True) from error

    def _garbled(self, reason: str) -> LLMConnectionError:
        said = short_reason(reason)
        return LLMConnectionError("llm_malformed", url=self._base_url, reason=said, provider=self._provider)

    def _cut(self, reason: str, *, retryable: bool = False) -> LLMConnectionError:
        return LLMConnectionError("llm_cut", url=self._base_url, reason=reason, retryable=retryable)
