"""What goes over HTTP and what can go wrong with it, whoever carries it."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec


class HttpRequest(msgspec.Struct, frozen=True):
    """A request as prepared by a provider: nothing here depends on the connection. `most`: bytes its answer may have at
    most, 0 for the longest there is."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes = b""
    most: int = 0


class HttpFailure(Exception):  # noqa: N818 - it is an answer of the server, not yet judged to be an error of ours
    """An answer with a status of 300 or more, for the provider to make sense of."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.body = body


class ConnectError(Exception):
    """Nobody took the connection; its text says why."""


class CutError(Exception):
    """The connection ended in the middle; its text says how."""


class NotHttpError(CutError):
    """What answers does not speak HTTP; `said` are the first words it said."""

    def __init__(self, said: str) -> None:
        super().__init__(f"it speaks no HTTP, but says: {said}")
        self.said = said


class GarbledError(Exception):
    """What came cannot be read; its text says why."""


class UnwritableError(Exception):
    """The request cannot be written as HTTP. It has no text: that may quote the key."""


CARRIER_ERRORS = (ConnectError, CutError, GarbledError, UnwritableError)
"""What `HttpCarrier` and `HttpResponse` raise."""

Read = Callable[[], Awaitable[bytes | None]]
"""Returns the next piece of a body, None at its end."""


class Body(Protocol):
    """The body of an answer while it arrives."""

    @property
    def has_arrived(self) -> bool:
        """Whether nothing of it is still to come over the wire, read or not."""
        ...

    async def read(self) -> bytes | None:
        """Return the next piece, None at its end."""
        ...


class HttpResponse(Protocol):
    """An answer whose status and headers (names in lower case) are there."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> dict[str, str]: ...

    @property
    def has_arrived(self) -> bool:
        """Whether nothing of the body is still to come over the wire, read or not."""
        ...

    async def read(self) -> bytes | None:
        """Return the next piece of the body, decompressed; None at its end. Raises CutError, GarbledError."""
        ...

    async def aclose(self) -> None:
        """Give the connection back, or close it where the body is still to come, so that the server stops."""
        ...


class HttpCarrier(Protocol):
    """Something that sends requests."""

    async def send(self, request: HttpRequest, connect_seconds: float | None) -> HttpResponse:
        """The beginning of the answer, for which there is no limit of time. Raises ConnectError, CutError,
        GarbledError, UnwritableError."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...
