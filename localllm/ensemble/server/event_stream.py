"""Server-sent events: what is to be sent goes out as fast as the client reads, and comments keep the line open."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, aclosing
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from localllm.base.errors import LocalLLMError
from localllm.base.jsontext import encode_json
from localllm.ensemble.server.limits import ClientGoneError, Ticket
from localllm.ensemble.server.refusals import fault

MEDIA_TYPE = "text/event-stream"

_COMMENT = b": still working\n\n"
_MOST_HELD = 256 * 1024  # bytes that wait for the client; what makes them waits then
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}  # nginx would hold the events back


def event_frame(name: str, data: Any) -> bytes:
    """An event with JSON data, which has no line breaks; without a name, of the usual kind."""
    return b"%bdata: %b\n\n" % (f"event: {name}\n".encode() if name else b"", encode_json(data))


class EventStream(Response):
    """An answer whose frames are made while it is sent.

    Args:
        frames: The frames; closed when the client leaves.
        place: The place among the requests that are worked on, with its ticket; given back at the end.
        ticket: What the work is ended with.
        ending: The frames of an error in the middle of it.
        keep_alive: Seconds of silence after which a comment is sent.
    """

    def __init__(
        self,
        frames: AsyncGenerator[bytes],
        place: AbstractContextManager[Any],
        ticket: Ticket,
        ending: Callable[[LocalLLMError], bytes],
        keep_alive: float,
    ) -> None:
        super().__init__(None, 200, _HEADERS, MEDIA_TYPE)
        del self.headers["content-length"]
        self._frames = frames
        self._place = place
        self._ticket = ticket
        self._ending = ending
        self._keep_alive = keep_alive
        self._outbox = _Outbox()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            working = asyncio.ensure_future(self._ticket.run(self._fill(), receive))
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._send_all(send)
                await send({"type": "http.response.body", "body": await self._last(working)})
            finally:
                working.cancel()
                await asyncio.wait([working])

    async def _fill(self) -> None:
        try:
            async with aclosing(self._frames) as frames:
                async for frame in frames:
                    await self._outbox.put(frame)
        finally:
            self._outbox.close()

    async def _send_all(self, send: Send) -> None:
        while (data := await self._outbox.take(self._keep_alive)) is not None:
            await send({"type": "http.response.body", "body": data or _COMMENT, "more_body": True})

    async def _last(self, working: "asyncio.Future[None]") -> bytes:
        """What ends the stream: nothing, or the frames of an error."""
        try:
            await working
        except LocalLLMError as error:
            return self._ending(error)
        except ClientGoneError:
            raise
        except Exception as error:  # noqa: BLE001 - the status was sent: only an event can tell of it
            return self._ending(fault(error))
        return b""


class _Outbox:
    """Bytes that wait to be sent; all that wait go out in one piece."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._is_closed = False
        self._changed = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()

    async def put(self, data: bytes) -> None:
        """Add bytes; waits while too many are there already."""
        await self._has_room.wait()
        self._data += data
        self._changed.set()
        if len(self._data) > _MOST_HELD:
            self._has_room.clear()

    def close(self) -> None:
        """Nothing more will be added."""
        self._is_closed = True
        self._changed.set()

    async def take(self, seconds: float) -> bytes | None:
        """All that waits; empty where nothing came for so many seconds, None at the end."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return b""
        if not self._data and self._is_closed:
            return None
        data, self._data = bytes(self._data), bytearray()
        self._has_room.set()
        if not self._is_closed:
            self._changed.clear()
        return data
