"""HTTP requests, responses and errors, independent of the client that transports them."""

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

import msgspec


class HttpRequest(msgspec.Struct, frozen=True):
    """A request as prepared by a provider, independent of the connection.
    `most`: maximum bytes of the response, 0 for the general limit."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes = b""
    most: int = 0


class HttpFailure(Exception):  # noqa: N818 - a response of the server, not yet classified as an error
    """A response with a status of 300 or more, for the provider to interpret."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.body = body


class ConnectError(Exception):
    """The connection was refused or timed out; the message says why."""


class CutError(Exception):
    """The connection broke midway; the message says how."""


class NotHttpError(CutError):
    """The server does not speak HTTP; `said` is the beginning of its answer."""

    def __init__(self, said: str) -> None:
        super().__init__(f"it speaks no HTTP, but says: {said}")
        self.said = said


class GarbledError(Exception):
    """The response cannot be decoded; the message says why."""


class UnwritableError(Exception):
    """The request cannot be written as HTTP. Without a message, which could quote the key."""


_LONGEST_PLACEHOLDER = 15
"""Characters; a key this short may be one of those for servers that need none, and stand at the beginning of a name."""


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Remove the secrets from a text of the server's, which may repeat the key it was sent. A short one that only
    begins a longer word stays: with the key lm-studio, the models of lm-studio-community keep their names."""
    for secret in secrets:
        if secret in text:
            behind = r"(?![A-Za-z0-9_-])" if len(secret) <= _LONGEST_PLACEHOLDER else ""
            text = re.sub(re.escape(secret) + behind, "…", text)
    return text


CARRIER_ERRORS = (ConnectError, CutError, GarbledError, UnwritableError)
"""Exceptions raised by `HttpCarrier` and `HttpResponse`."""

Read = Callable[[], Awaitable[bytes | None]]
"""Return the next piece of a body, None at its end."""


class Body(Protocol):
    """A response body that is being streamed."""

    @property
    def has_arrived(self) -> bool:
        """Whether all of it has been received, read or not."""
        ...

    async def read(self) -> bytes | None:
        """Return the next piece, None at its end."""
        ...


class HttpResponse(Protocol):
    """A response whose status and headers (names in lower case) have arrived."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> dict[str, str]: ...

    @property
    def has_arrived(self) -> bool:
        """Whether the whole body has been received, read or not."""
        ...

    async def read(self) -> bytes | None:
        """Return the next piece of the body, decompressed; None at its end. Raises CutError, GarbledError."""
        ...

    async def aclose(self) -> None:
        """Release the connection, or close it if the body is incomplete, so that the server stops."""
        ...


class HttpCarrier(Protocol):
    """An HTTP client."""

    async def send(self, request: HttpRequest, connect_seconds: float | None) -> HttpResponse:
        """Send the request and return the response once its head has arrived, without a timeout.
        Raises ConnectError, CutError, GarbledError, UnwritableError."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...
