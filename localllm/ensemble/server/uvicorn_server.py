"""uvicorn with timeouts for slow clients and a graceful shutdown."""

import asyncio
import math
import socket
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from localllm.base import logs
from localllm.ensemble.server.limits import RequestGate
from localllm.ensemble.server.options import ServerOptions

_LOOK_EVERY = 0.05  # seconds
_LAST_WORDS = 2.0  # seconds to send the errors of cancelled requests
_LONGEST_HEAD = 65_536  # bytes; also of data after a body
_MOST_CONNECTIONS = 512
"""Each takes a file descriptor, of which a process often has 1,024; the agents' connections take some, too."""


class _Config(uvicorn.Config):
    """uvicorn's configuration with our additions."""

    def __init__(self, app: FastAPI, options: ServerOptions) -> None:
        self.options = options
        super().__init__(
            app,
            http=_BoundedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=math.ceil(options.idle_seconds),
            timeout_graceful_shutdown=int(_LAST_WORDS),
        )


class EnsembleServer(uvicorn.Server):
    """Serve `app`, created by `create_app`, on bound sockets: `await serve(sockets=[…])`.

    SIGINT or SIGTERM stops it: new requests are answered with 503; active ones may finish within the options'
    `stop_seconds` and are then cancelled with an error; a second SIGINT cancels them at once.
    """

    def __init__(self, app: FastAPI, options: ServerOptions | None = None) -> None:
        self._options = options or ServerOptions()
        self._gate: RequestGate = app.state.gate
        super().__init__(_Config(app, self._options))
        logs.forward("uvicorn", "SERVER")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down as the class describes."""
        stopping = asyncio.ensure_future(self._gate.stop(self._options.stop_seconds))
        while not stopping.done() and not self.force_exit:
            await asyncio.wait([stopping], timeout=_LOOK_EVERY)
        self._gate.cancel_all()
        stopping.cancel()
        await self._gate.emptied(_LAST_WORDS)
        await super().shutdown(sockets)


class _BoundedProtocol(HttpToolsProtocol):
    """A connection with limits: on waiting, on data without a body, and on clients that do not read.

    Each state has a timeout: waiting for a head; for the response, whose producer limits the body and the writing; for
    the next request. uvicorn's own timer is reset by any byte, even of a body that nobody reads.
    """

    def __init__(self, config: _Config, *args: Any, **kwargs: Any) -> None:
        super().__init__(config, *args, **kwargs)
        self._options = config.options
        self._head_timer: asyncio.TimerHandle | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._packet_bytes = 0
        self._bytes_without_body = 0
        self._is_in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn's own
        super().connection_made(transport)
        if len(self.connections) > _MOST_CONNECTIONS:
            transport.abort()
            return
        # asyncio does so only for sockets whose protocol is named; else each answer's body waits for an ACK, 40 ms.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_timer = _stopped(self._head_timer)
        self._idle_timer = _stopped(self._idle_timer)
        self._write_timer = _stopped(self._write_timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._packet_bytes = len(data)
        super().data_received(data)
        self._bytes_without_body += len(data)
        if self._bytes_without_body > _LONGEST_HEAD:
            self.transport.abort()

    def on_message_begin(self) -> None:
        if self._is_answering():
            raise ValueError("a second request came before the first was answered")
        self._idle_timer = _stopped(self._idle_timer)
        if not self._is_in_head:
            self._begin_head()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header field; ignore trailers after the body (RFC 9110, 6.5.1)."""
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._head_timer = _stopped(self._head_timer)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._bytes_without_body = -self._packet_bytes
        super().on_body(body)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._idle_timer = _stopped(self._idle_timer)
        self._idle_timer = self.loop.call_later(self._options.idle_seconds, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """Reject invalid HTTP. Pipelined requests abort the connection, because a disconnect could not be detected
        while they wait."""
        if self._is_answering():
            self.transport.abort()
        else:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self._options.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._write_timer = _stopped(self._write_timer)

    def _begin_head(self) -> None:
        self._is_in_head = True
        self._bytes_without_body = min(self._bytes_without_body, 0)  # negative: the packet also has the end of a body
        self._head_timer = self.loop.call_later(self._options.head_seconds, self.transport.abort)

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete


def _stopped(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
