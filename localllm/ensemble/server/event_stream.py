"""Server-sent events with back-pressure from the client; comments keep an idle connection open."""

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
_MOST_HELD = 256 * 1024  # bytes buffered for the client; producers wait beyond it
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}  # nginx would buffer the events


def event_frame(name: str, data: Any) -> bytes:
    """Format an event with JSON data, which has no line breaks; an empty name omits the event field."""
    return b"%bdata: %b\n\n" % (f"event: {name}\n".encode() if name else b"", encode_json(data))


class EventStream(Response):
    """A response whose frames are produced while it is sent.

    Args:
        frames: The frames; closed when the client disconnects.
        place: The admission to the gate, with its ticket; released at the end.
        ticket: Cancels the work.
        ending: The frames of an error in the middle of the stream.
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
        """Return the end of the stream: nothing, or the frames of an error."""
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
    """A buffer of bytes to send; all that is buffered is sent in one piece."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._is_closed = False
        self._changed = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()

    async def put(self, data: bytes) -> None:
        """Append bytes; waits while the buffer is full."""
        await self._has_room.wait()
        self._data += data
        self._changed.set()
        if len(self._data) > _MOST_HELD:
            self._has_room.clear()

    def close(self) -> None:
        """Mark the end of the stream."""
        self._is_closed = True
        self._changed.set()

    async def take(self, seconds: float) -> bytes | None:
        """Take the buffered bytes; empty after a timeout of `seconds`, None at the end."""
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
