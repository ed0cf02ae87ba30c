"""Loopback Ollama servers in one thread: each has an address, models, and counts what it is asked."""

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Self

from tests.ensemble_servers import wire
from tests.ensemble_servers.play import MODEL, Play

_FILLER_PIECE = 65_536
_JSON = "application/json; charset=utf-8"
_END = b"0\r\n\r\n"
_VERSION = b'{"version":"0.32.0"}'


class OllamaServer:
    """A server with an address of its own, for one model or many.

    `asked`: every request as "POST /api/chat"; `chats`: the bodies of the chats; `heads`: their headers, names in lower
    case; `in_flight` and `most_in_flight`: chats that were taken and not yet answered, now and at most; `answered`:
    those whose answer was sent to its end; `aborted`: those whose client left before; `connections` that were opened.

    Only the servers' thread counts, and it counts a chat before it sends the last bytes of the answer: a client that
    has read an answer finds it counted.
    """

    def __init__(self, models: Mapping[str, Play]) -> None:
        self.models = dict(models)
        self.url = ""
        self.asked: list[str] = []
        self.chats: list[dict[str, Any]] = []
        self.heads: list[dict[str, str]] = []
        self.in_flight = self.most_in_flight = self.answered = self.aborted = self.connections = 0
        self.is_open = False
        self._open: set[_Connection] = set()
        self._listening: asyncio.Server | None = None

    @property
    def play(self) -> Play:
        """How its (first) model behaves."""
        return next(iter(self.models.values()))

    @property
    def open_connections(self) -> int:
        """Connections that are open now."""
        return len(self._open)

    def played(self, model: str) -> Play | None:
        """How a model behaves, None where there is no such model."""
        return self.models.get(model) or self.models.get(f"{model}:latest")

    async def listen(self, port: int = 0) -> None:
        """Take connections."""
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(
            lambda: _Connection(self, self._open), "127.0.0.1", port, backlog=1024
        )
        self.url = f"http://127.0.0.1:{self._listening.sockets[0].getsockname()[1]}"
        self.is_open = True

    async def close(self) -> None:
        """Take none any more, and break those that are open."""
        self.is_open = False
        if self._listening is not None:
            self._listening.close()
        for connection in list(self._open):
            connection.reset()
        while self._open:
            await asyncio.sleep(0)


class OllamaServers:
    """Starts and stops servers; between `__enter__` and `__exit__` they live in a thread of their own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._servers: list[OllamaServer] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            self._run(server.close())
        self._run(_settled())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def add(self, models: Play | Mapping[str, Play] | None = None, *, port: int = 0) -> OllamaServer:
        """A server that listens: with one model called MODEL, or with these."""
        named = models if isinstance(models, Mapping) else {MODEL: models or Play()}
        server = OllamaServer(named)
        self._run(server.listen(port))
        self._servers.append(server)
        return server

    def stop(self, server: OllamaServer) -> None:
        """End a server as a crash would: its port refuses, its connections are reset."""
        self._run(server.close())

    def _run(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(timeout=20)


async def _settled() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class _Connection(asyncio.Protocol):
    """One connection: requests one after another. A client that leaves cancels what is being answered."""

    def __init__(self, server: OllamaServer, among: set["_Connection"]) -> None:
        self._server = server
        self._among = among
        self._buffer = b""
        self._answering: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections += 1
        self._among.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._among.discard(self)
        self._writable.set()
        if self._answering is not None:
            self._answering.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._answering is None:
            self._take_request()

    def reset(self) -> None:
        """Break the connection as a dying process does."""
        with suppress(OSError):
            self._transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
        self._transport.abort()

    def _take_request(self) -> None:
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        method, path, _ = first.split(" ", 2)
        self._server.asked.append(f"{method} {path}")
        self._answering = asyncio.get_running_loop().create_task(self._answer(path, headers, rest[:length]))
        self._answering.add_done_callback(self._go_on)

    def _go_on(self, task: asyncio.Task[None]) -> None:
        self._answering = None
        if not task.cancelled() and (error := task.exception()):
            raise error
        if self._buffer and not self._transport.is_closing():
            self._take_request()

    async def _answer(self, path: str, headers: dict[str, str], body: bytes) -> None:
        server = self._server
        match path:
            case "/api/chat":
                await self._count_chat(headers, json.loads(body))
            case "/api/tags":
                self._write(_response(wire.tags(server.models)))
            case "/api/ps":
                self._write(_response(wire.running(server.models)))
            case "/api/show" if play := server.played(json.loads(body)["model"]):
                self._write(_response(wire.shown(play)))
            case "/api/version":
                self._write(_response(_VERSION))
            case "/":
                self._write(_response(b"Ollama is running", content_type="text/plain; charset=utf-8"))
            case _:
                self._write(_response(wire.error("not found"), 404))

    async def _count_chat(self, headers: dict[str, str], body: dict[str, Any]) -> None:
        server = self._server
        server.chats.append(body)
        server.heads.append(headers)
        server.in_flight += 1
        server.most_in_flight = max(server.most_in_flight, server.in_flight)
        try:
            last = await self._chat(body)
        except asyncio.CancelledError:
            server.aborted += 1
            raise
        finally:
            server.in_flight -= 1
        server.answered += 1
        self._write(last)

    async def _chat(self, body: dict[str, Any]) -> bytes:
        """Send all of an answer but its last bytes, which are returned."""
        play = self._server.played(body["model"])
        if play is None:
            return _response(wire.error(f"model '{body['model']}' not found"), 404)
        if play.gate is not None:
            await play.gate.passed()
        if play.delay:
            await asyncio.sleep(play.delay)
        if play.has_failed():
            return _response(wire.error(play.error), play.status)
        if play.location:
            return _response(b"", 307, extra=f"location: {play.location}\r\n")
        if play.raw is not None:
            return await self._send_slowly(play.raw, play.drip)
        if play.filler:
            return await self._send_filler(body["model"], play.filler, is_stream=body.get("stream", True))
        if body.get("stream", True):
            return await self._stream(play, body)
        counts = _counts(body, text := play.text(body))
        whole = wire.whole(body["model"], text, play.thinking, *counts, play.done_reason)
        if play.cut_after >= 0 or play.ends_after >= 0:
            self._begin("application/json")
            self._write(_chunk(whole[: len(whole) // 2]))
            return await self._break_off(is_reset=play.cut_after >= 0)
        return await self._send_slowly(whole, play.drip)

    async def _stream(self, play: Play, body: dict[str, Any]) -> bytes:
        self._begin("application/x-ndjson")
        for number, line in enumerate(_lines(play, body)):
            if number == play.error_after:
                return _chunk(wire.error(play.error) + b"\n") + _END
            if number in (play.cut_after, play.ends_after):
                return await self._break_off(is_reset=number == play.cut_after)
            if number and play.between:
                await asyncio.sleep(play.between)
            if play.drip:
                await self._drip(line, play.drip)
            else:
                self._write(_chunk(line))
        return _END

    async def _drip(self, data: bytes, seconds: float) -> None:
        for at in range(len(data)):
            self._write(_chunk(data[at : at + 1]))
            await asyncio.sleep(seconds)

    async def _break_off(self, *, is_reset: bool) -> bytes:
        if is_reset:
            await asyncio.sleep(0.02)  # what was sent has arrived before the reset throws it away
            self.reset()
        else:
            self._transport.close()
        return b""

    async def _send_slowly(self, data: bytes, drip: float) -> bytes:
        if not drip:
            return _response(data)
        self._begin("application/json")
        await self._drip(data, drip)
        return _END

    async def _send_filler(self, model: str, size: int, *, is_stream: bool) -> bytes:
        self._begin("application/x-ndjson")
        before, after = wire.whole(model, "\0", "", 1, size).split(b"\\u0000")
        self._write(b"" if is_stream else _chunk(before))
        for _ in range(0, size, _FILLER_PIECE):
            text = "x" * _FILLER_PIECE
            self._write(_chunk(wire.text_line(model, text) if is_stream else text.encode()))
            await self._writable.wait()
        return _chunk(wire.end_line(model, 1, size) if is_stream else after) + _END

    def _begin(self, content_type: str) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
        self._write(head.encode())

    def _write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)


def _response(body: bytes, status: int = 200, *, content_type: str = _JSON, extra: str = "") -> bytes:
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: {content_type}\r\n{extra}"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def _lines(play: Play, body: dict[str, Any]) -> Iterator[bytes]:
    model, text = body["model"], play.text(body)
    if play.thinking:
        yield wire.text_line(model, "", play.thinking)
    if play.tool_call:
        yield wire.call_line(model, play.tool_call)
    size = max(1, -(-len(text) // max(1, play.pieces)))
    for start in range(0, len(text), size):
        yield wire.text_line(model, text[start : start + size])
    yield wire.end_line(model, *_counts(body, text), play.done_reason)


def _counts(body: dict[str, Any], text: str) -> tuple[int, int]:
    """Tokens of the prompt and of the answer: four characters each."""
    asked = sum(len(message["content"]) for message in body["messages"])
    return max(1, asked // 4), max(1, len(text) // 4)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data) if data else b""
