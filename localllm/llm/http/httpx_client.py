"""HTTP through httpx: TLS, proxies, addresses with a password in them."""

import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from localllm.llm.addresses import is_loopback
from localllm.llm.http.messages import ConnectError, CutError, GarbledError, HttpRequest, UnwritableError

if TYPE_CHECKING:
    import httpx


class LibraryHttp:
    """A pool of connections to the server at `base_url`."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._client: httpx.AsyncClient | None = None

    async def send(self, request: HttpRequest, connect_seconds: float) -> "LibraryResponse":
        """The answer's beginning; see HttpCarrier. A kept-alive connection may turn out to have been closed by the
        server in the meantime: that is no failure of the server, and a new connection is tried at once."""
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
                # Loading the certificate store costs 20 ms and no plain-HTTP server needs it. A proxy named in the
                # environment must not stand between us and this machine.
                self._client = httpx.AsyncClient(
                    verify=self._base_url.startswith("https:"),
                    trust_env=not is_loopback(self._base_url),
                    headers={"user-agent": "localllm", "accept-encoding": "identity"},
                )
            except (ValueError, ImportError) as error:  # a proxy in the environment that httpx cannot use
                raise ConnectError(str(error)) from error
        return self._client


class LibraryResponse:
    """See HttpResponse."""

    def __init__(self, response: "httpx.Response") -> None:
        self._response = response
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    async def pieces(self) -> AsyncGenerator[bytes]:
        """The body as it arrives."""
        with _explained():
            async for piece in self._response.aiter_bytes():
                yield piece

    async def aclose(self) -> None:
        """Give the connection back, or close it."""
        await self._response.aclose()


@contextmanager
def _explained() -> Generator[None]:
    """Turns what httpx raises into what any carrier raises."""
    httpx = _import_httpx()
    try:
        yield
    except httpx.LocalProtocolError:
        # Its text quotes the header at fault, which may be the key.
        raise UnwritableError from None
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise ConnectError(str(error) or type(error).__name__) from error
    except (httpx.DecodingError, httpx.TooManyRedirects) as error:
        raise GarbledError(str(error) or type(error).__name__) from error
    except httpx.RequestError as error:
        raise CutError(str(error) or type(error).__name__) from error


def _import_httpx():
    """httpx, without its command-line tool, which would load rich and click (60 ms) whenever they are installed."""
    sys.modules.setdefault("httpx._main", None)  # pyright: ignore[reportArgumentType] - None marks it as absent
    import httpx

    return httpx
