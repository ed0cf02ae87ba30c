"""Limits on requests: body size and time, concurrent requests, and total time."""

import asyncio
import math
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from starlette.types import Receive, Scope

from localllm.ensemble.server.options import ServerOptions
from localllm.ensemble.server.refusals import RefusalError

T = TypeVar("T")

_CLOSE = {"connection": "close"}
_STARTING_SECONDS = 5.0
"""Assumed duration of a request until some have ended."""

_NEW_SHARE = 0.2
"""Weight of the newest request in the moving average."""

_LONGEST_WAIT = 60  # largest Retry-After, in seconds


class ClientGoneError(Exception):
    """The client has disconnected."""


class Ticket:
    """An active request, with a time limit of `limit` seconds unless it is 0."""

    def __init__(self, on_seconds: Callable[[float], None], limit: float = 0.0) -> None:
        self._on_seconds = on_seconds
        self._limit = limit
        self._work: asyncio.Task[Any] | None = None
        self.ended_by: Literal["", "client", "stop", "time"] = ""

    def end(self, by: Literal["client", "stop", "time"]) -> None:
        """Cancel the work."""
        self.ended_by = self.ended_by or by
        if self._work is not None:
            self._work.cancel()

    async def run(self, work: Coroutine[Any, Any, T], receive: Receive) -> T:
        """Await `work`, and cancel it when the client disconnects, the server stops or the time is over. The request's
        body must have been read. Raises ClientGoneError, or RefusalError if the client is still connected."""
        begun = time.monotonic()
        task = self._work = asyncio.ensure_future(work)
        watch = asyncio.ensure_future(self._watch(receive))
        timer = asyncio.get_running_loop().call_later(self._limit, self.end, "time") if self._limit else None
        if self.ended_by:
            task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            if not self.ended_by or _is_cancelled():
                raise
        finally:
            watch.cancel()
            if timer is not None:
                timer.cancel()
            self._on_seconds(time.monotonic() - begun)
        raise self.reason() from None

    def reason(self) -> Exception:
        """Return why the work was cancelled."""
        match self.ended_by:
            case "stop":
                return stopping()
            case "time":
                return RefusalError("api_too_long", status=504, limit=self._limit)
            case _:
                return ClientGoneError()

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.end("client")


def _is_cancelled() -> bool:
    """Whether this very task is being cancelled, not only what it awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class RequestGate:
    """Limit concurrent requests, each to `limit` seconds (0: no limit); reject all while the server stops."""

    def __init__(self, most: int, limit: float = 0.0) -> None:
        self._most = most
        self._limit = limit
        self._tickets: set[Ticket] = set()
        self._seconds = _STARTING_SECONDS
        self._emptied = asyncio.Event()
        self.is_stopping = False

    @property
    def running(self) -> int:
        """The number of active requests."""
        return len(self._tickets)

    @contextmanager
    def admitted(self) -> Generator[Ticket]:
        """Admit a request. Raises RefusalError if the server is full or stopping."""
        if self.is_stopping:
            raise stopping()
        if len(self._tickets) >= self._most:
            wait = min(max(1, math.ceil(self._seconds)), _LONGEST_WAIT)
            raise RefusalError(
                "api_busy", status=429, headers={"retry-after": str(wait)}, limit=self._most, seconds=wait
            )
        ticket = Ticket(self._learn, self._limit)
        self._tickets.add(ticket)
        try:
            yield ticket
        finally:
            self._tickets.discard(ticket)
            if not self._tickets:
                self._emptied.set()

    async def stop(self, seconds: float) -> None:
        """Reject new requests; wait up to `seconds` for active ones, then cancel them."""
        self.is_stopping = True
        if not await self.emptied(seconds):
            self.cancel_all()

    def cancel_all(self) -> None:
        """Cancel all active requests with an error."""
        for ticket in tuple(self._tickets):
            ticket.end("stop")

    def _learn(self, seconds: float) -> None:
        """Update the moving average of request durations."""
        self._seconds += _NEW_SHARE * (seconds - self._seconds)

    async def emptied(self, seconds: float) -> bool:
        """Whether all requests end within `seconds`."""
        self._emptied.clear()
        if not self._tickets:
            return True
        try:
            await asyncio.wait_for(self._emptied.wait(), seconds)
        except TimeoutError:
            return False
        return True


def stopping() -> RefusalError:
    """Return the error for a request to a stopping server."""
    return RefusalError("api_stopping", status=503, headers=_CLOSE)


def header(scope: Scope, name: bytes) -> str:
    """Return the first header of this name; empty if there is none."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


async def read_body(scope: Scope, receive: Receive, options: ServerOptions) -> bytes:
    """Read the body of a request up to the size limit. Raises RefusalError, ClientGoneError."""
    told = header(scope, b"content-length")
    if told.isdecimal() and int(told) > options.max_body:
        raise _too_large(options)
    try:
        async with asyncio.timeout(options.body_seconds):
            return await _read(receive, options)
    except TimeoutError:
        raise RefusalError("api_too_slow", status=408, headers=_CLOSE, seconds=options.body_seconds) from None


async def _read(receive: Receive, options: ServerOptions) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        body += message.get("body", b"")
        if len(body) > options.max_body:
            raise _too_large(options)
        if not message.get("more_body", False):
            return bytes(body)


def _too_large(options: ServerOptions) -> RefusalError:
    return RefusalError("api_too_large", status=413, limit=options.max_body)
