#!/usr/bin/env python3
"""Streaming: how many chunks a second come through our provider and client, and how late each is, beside a bare reader
of the same bytes and beside httpx; and the memory of a session of a thousand steps, and what passes between two of
them. Ratios are of one run.

.venv/bin/python benchmarks/streaming.py [CHUNKS]
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from localllm.llm.client import LLMClient
from localllm.llm.messages import CompletionRequest, UserMessage
from localllm.llm.providers.base import TextChunk
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.bytecode import with_own_bytecode
from tests.support.wire_server import Reply, WireServer, calls, says

ROUNDS = 5
PACED_CHUNKS, PACED_RATE = 1_000, 500
STEPS, FIRST_LOOK = 1_000, 100
AROUND = 50
"""Steps of whose gaps the median is taken."""

Latencies = list[float]
Reader = Callable[[str], Awaitable[Latencies]]
"""Reads one stream of the server at an address; for each chunk, the seconds since it was sent."""

SERVER = """
import asyncio, json, sys, time

async def answer(reader, writer):
    head = await reader.readuntil(b"\\r\\n\\r\\n")
    if head.startswith(b"GET"):
        writer.write(b"HTTP/1.1 404 Not Found\\r\\ncontent-length: 0\\r\\nconnection: close\\r\\n\\r\\n")
        await writer.drain()
        writer.close()
        return
    length = [line.split(b":")[1] for line in head.lower().splitlines() if line.startswith(b"content-length:")]
    await reader.readexactly(int(length[0]) if length else 0)
    count, pause = head.split()[1].decode().strip("/").split("/")[:2]
    writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n")
    start = time.monotonic()
    for number in range(int(count)):
        if float(pause):
            await asyncio.sleep(max(0.0, start + number * float(pause) - time.monotonic()))
        send(writer, {"index": 0, "delta": {"content": f"{time.monotonic()!r} "}})
        if number % 64 == 0 or float(pause):
            await writer.drain()
    send(writer, {"index": 0, "delta": {}, "finish_reason": "stop"}, b"data: [DONE]\\n\\n")
    writer.write(b"0\\r\\n\\r\\n")
    await writer.drain()
    writer.close()

def send(writer, choice, more=b""):
    event = {"object": "chat.completion.chunk", "model": "m", "choices": [choice]}
    data = b"data: " + json.dumps(event).encode() + b"\\n\\n" + more
    writer.write(b"%x\\r\\n%s\\r\\n" % (len(data), data))

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""
"""A server in a process of its own. It sends as many chunks as the path says, as fast as it can or with pauses; each
holds the time it was sent at."""


def main() -> None:
    with_own_bytecode(os.environ)
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        try:
            speed = {name: seconds_of(reader, f"{address}/{chunks}/0") for name, reader in READERS.items()}
            paced = f"{address}/{PACED_CHUNKS}/{1 / PACED_RATE}"
            late = {name: asyncio.run(reader(paced)) for name, reader in READERS.items()}
        finally:
            server.kill()
    print_streaming(chunks, speed, late)
    print_session(long_session())


def seconds_of(reader: Reader, address: str) -> float:
    """Seconds of a whole stream: the best of several, for others keep the machine busy as well."""

    async def once() -> float:
        began = time.perf_counter()
        await reader(address)
        return time.perf_counter() - began

    return min(asyncio.run(once()) for _ in range(ROUNDS))


async def bare(address: str) -> Latencies:
    """The least there is to do: bytes, cut at the empty lines."""
    host, port, path = parts(address)
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(f"POST {path}/v1/chat/completions HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    late: Latencies = []
    held = b""
    while data := await reader.read(65_536):
        *events, held = (held + data).split(b"\n\n")
        late += [lateness(event) for event in events if b'"content"' in event]
    writer.close()
    return late


async def with_httpx(address: str) -> Latencies:
    """What a program does that reads a stream of OpenAI's with httpx."""
    import httpx

    late: Latencies = []
    async with (
        httpx.AsyncClient(timeout=None) as client,
        client.stream("POST", f"{address}/v1/chat/completions", json={}) as answer,
    ):
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                content = json.loads(line[6:])["choices"][0]["delta"].get("content")
                late += [time.monotonic() - float(content)] if content else []
    return late


async def our_provider(address: str) -> Latencies:
    """The provider alone."""
    request = CompletionRequest(model="m", messages=(UserMessage("x"),))
    async with connected(address) as provider, aclosing(provider.stream(request)) as chunks:
        return [time.monotonic() - float(chunk.text) async for chunk in chunks if isinstance(chunk, TextChunk)]


async def our_client(address: str) -> Latencies:
    """The provider and the client, which gathers the answer."""
    late: Latencies = []

    def note(chunk: object) -> None:
        if isinstance(chunk, TextChunk):
            late.extend(time.monotonic() - float(sent) for sent in chunk.text.split())

    async with connected(address) as provider:
        await LLMClient(provider, model="m").complete([UserMessage("x")], on_chunk=note)
    return late


READERS: dict[str, Reader] = {
    "bare reader": bare,
    "httpx": with_httpx,
    "our provider": our_provider,
    "provider and client": our_client,
}


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[OpenAICompatible]:
    provider = OpenAICompatible("openai", f"{address}/v1", timeout=30.0, idle_timeout=30.0)
    async with aclosing(provider):
        yield provider


def parts(address: str) -> tuple[str, int, str]:
    host, _, rest = address.removeprefix("http://").partition(":")
    port, _, path = rest.partition("/")
    return host, int(port), f"/{path}"


def lateness(event: bytes) -> float:
    start = event.index(b'"content": "') + len(b'"content": "')
    return time.monotonic() - float(event[start : event.index(b" ", start)])


def print_streaming(chunks: int, speed: dict[str, float], late: dict[str, Latencies]) -> None:
    print(f"{chunks:,} chunks at once; {PACED_CHUNKS:,} chunks at {PACED_RATE} a second")
    print(f"{'':22}{'chunks/s':>10}{'µs each':>9}{'× bare':>8}{'late, median':>14}{'99 %':>9}{'× bare':>8}")
    for name, seconds in speed.items():
        median, most = statistics.median(late[name]), statistics.quantiles(late[name], n=100)[98]
        ratio, late_ratio = seconds / speed["bare reader"], median / statistics.median(late["bare reader"])
        print(
            f"{name:22}{chunks / seconds:10,.0f}{seconds / chunks * 1e6:9.1f}{ratio:8.1f}"
            f"{median * 1e3:11.2f} ms{most * 1e3:6.1f} ms{late_ratio:8.1f}"
        )


# --- a long session


class Look(NamedTuple):
    """Resident bytes of the program and bytes of its request; when that had arrived, and when it was being answered."""

    resident: int
    request: int
    arrived: float
    answered: float


class Watched(WireServer):
    """Looks at the program whenever it asks."""

    pid = 0

    def __init__(self, replies: list[Reply]) -> None:
        super().__init__(replies)
        self.looks: list[Look] = []

    def next_reply(self, body: bytes) -> Reply:
        arrived = time.perf_counter()
        reply = super().next_reply(body)
        self.requests.clear()
        resident = int(Path(f"/proc/{self.pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
        self.looks.append(Look(resident, len(body), arrived, time.perf_counter()))
        return reply


def long_session() -> list[Look]:
    """A look at each step of a session, each answered at once with a call of a tool."""
    steps = [
        calls(("read_file", {"file_path": "lines.txt", "start_line": n + 1, "max_lines": 1})) for n in range(STEPS)
    ]
    with tempfile.TemporaryDirectory() as name, Watched([*steps, says("Done.")]) as server:
        (folder := Path(name, "project")).mkdir()
        (folder / "lines.txt").write_text("".join(f"line {number}\n" for number in range(STEPS)), "utf-8")
        home = str(folder.parent)
        environment = {**os.environ, "HOME": home, "XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}
        environment |= {"LOCALLLM_AGENT_MAX_ITERATIONS": str(STEPS + 1), "LOCALLLM_LLM_CONTEXT_WINDOW": "1000000"}
        command = [sys.executable, "-m", "localllm", "-p", "Read it all.", "--base-url", server.url, "-m", "m"]
        with subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            server.pid = process.pid
            told = process.communicate()[1].decode()
        if process.returncode:
            sys.exit(f"the session left with {process.returncode}:\n{told[-2000:]}")
        return server.looks


def print_session(looks: list[Look]) -> None:
    early, late = looks[FIRST_LOOK], looks[-1]
    grown, sent = late.resident - early.resident, late.request - early.request
    print(f"\na session of {STEPS:,} steps{'resident':>21}{'request':>12}{'between two':>14}   budget 10 ms")
    for step, look in ((FIRST_LOOK, early), (STEPS, late)):
        between = [after.arrived - before.answered for before, after in pairwise(looks[step - AROUND : step + 1])]
        print(
            f"{f'step {step:,}':22}{look.resident / 1e6:22.1f} MB{look.request / 1e3:9.0f} kB"
            f"{statistics.median(between) * 1e3:11.1f} ms"
        )
    print(f"{'growth':22}{grown / 1e6:22.1f} MB{sent / 1e3:9.0f} kB, {grown / sent:.1f} × what is sent")


if __name__ == "__main__":
    main()
