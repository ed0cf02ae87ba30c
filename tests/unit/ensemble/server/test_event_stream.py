"""Streams: comments while nothing happens, pieces that come together sent together, and frames that hold back."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack
from typing import Any

import pytest

from localllm.ensemble.server.event_stream import EventStream, event_frame
from localllm.ensemble.server.limits import ClientGoneError, RequestGate
from localllm.ensemble.server.options import ServerOptions
from tests.support.ensemble_server import ScriptedEnsemble, scripted

pytestmark = pytest.mark.anyio

MOST_HELD = 256 * 1024


class Client:
    """Takes what an answer sends. It reads on only while `reads` lets it, and leaves when told."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.gone = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.reads.wait()
        if message["type"] == "http.response.body" and message["body"]:
            self.sent.append(message["body"])


def stream_of(frames: AsyncGenerator[bytes], gate: RequestGate, keep_alive: float = 60) -> EventStream:
    place = ExitStack()
    ticket = place.enter_context(gate.admitted())
    return EventStream(frames, place, ticket, lambda error: event_frame("error", error.code), keep_alive)


def test_a_comment_keeps_the_line_open() -> None:
    ensemble = ScriptedEnsemble(is_held=True)
    options = ServerOptions(keep_alive_seconds=0.02, stop_seconds=0.2)
    with scripted(ensemble, options) as server:
        asked = server.client.stream("POST", "/generate/stream", json={"prompt": "q"})
        with asked as response:
            lines: list[str] = []
            for line in response.iter_lines():
                lines.append(line)
                if sum(one.startswith(":") for one in lines) == 3:
                    ensemble.is_held = False
    assert lines.index("event: start") < min(number for number, line in enumerate(lines) if line.startswith(":"))
    assert "event: result" in lines


async def test_what_comes_together_is_sent_together() -> None:
    async def frames() -> AsyncGenerator[bytes]:
        for number in range(100):
            yield b"%d\n" % number
        await asyncio.sleep(0.01)
        yield b"last\n"

    client, gate = Client(), RequestGate(1)
    await stream_of(frames(), gate)({"type": "http"}, client.receive, client.send)
    assert b"".join(client.sent) == b"".join(b"%d\n" % number for number in range(100)) + b"last\n"
    assert len(client.sent) <= 3
    assert gate.running == 0


async def test_a_client_that_does_not_read_holds_the_frames_back() -> None:
    made = 0

    async def frames() -> AsyncGenerator[bytes]:
        nonlocal made
        for _ in range(1_000):
            made += 1
            yield b"x" * 1_000

    client, gate = Client(), RequestGate(1)
    client.reads.clear()
    sending = asyncio.create_task(stream_of(frames(), gate)({"type": "http"}, client.receive, client.send))
    await _settled(lambda: made)
    assert made * 1_000 < MOST_HELD + 10_000
    client.reads.set()
    await sending
    assert sum(map(len, client.sent)) == 1_000_000


async def test_the_frames_are_closed_when_the_client_leaves() -> None:
    closed = asyncio.Event()

    async def frames() -> AsyncGenerator[bytes]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            closed.set()

    client, gate = Client(), RequestGate(1)
    sending = asyncio.create_task(stream_of(frames(), gate)({"type": "http"}, client.receive, client.send))
    await _settled(lambda: len(client.sent))
    client.gone.set()
    with pytest.raises(ClientGoneError):
        await sending
    assert closed.is_set()
    assert gate.running == 0


def test_data_stays_on_one_line() -> None:
    frame = event_frame("text", {"text": "a\nb\r\n\u2028c"})
    assert frame.count(b"\n") == 3
    assert b"\r" not in frame
    assert frame.endswith(b"\n\n")


async def _settled(value: Callable[[], int]) -> None:
    """Wait until a value does not grow any more."""
    before = -1
    while before != value():
        before = value()
        for _ in range(20):
            await asyncio.sleep(0)
