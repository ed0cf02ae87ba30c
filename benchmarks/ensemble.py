#!/usr/bin/env python3
"""The ensemble server: the time a request takes over the ideal, its processor time, and the memory of the server.

For 1, 5 and 20 clients and 3 and 10 workers, beside a server of bare asyncio streams that does the same with no checks
at all. Workers and reviewer (loopback Ollama servers, 50 ms each, or a piece every 2 ms) are a process of their own,
and so is each server. Of several runs, taken in turns, the best counts: others keep the machine busy as well.

.venv/bin/python benchmarks/ensemble.py [ROUNDS]
"""

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.bytecode import with_own_bytecode  # noqa: E402 - the folder above has to be known first

CLIENTS, WORKERS = (1, 5, 20), (3, 10)
STAGE = 0.05
"""Seconds the workers take, and the reviewer after them."""

PIECES, BETWEEN = 200, 0.002
"""Of a streamed answer, and the seconds between two of them at least: a loop that is busy sleeps longer."""

REQUESTS = 200
"""In each measurement, shared among the clients; a tenth of them where answers are streamed."""

SLOW, SLOWER = 0.3, 0.6
"""Seconds of a worker and of the reviewer, for the paper's target: 3 x 30 s + 60 s within 90 s."""

PROMPT = "Why is the speed of light the same for every observer, and what follows from it? " * 3

BARE = r"""
import asyncio, json, sys

model, stream, port, reviewer, *workers = sys.argv[1:]
stream = stream == "stream"
idle = {}

async def ask(address, prompt, show):
    host, _, number = address.removeprefix("http://").partition(":")
    waiting = idle.setdefault(address, [])
    reader, writer = waiting.pop() if waiting else await asyncio.open_connection(host, int(number))
    body = json.dumps({"model": model, "stream": stream, "messages": [{"role": "user", "content": prompt}]}).encode()
    head = f"POST /api/chat HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    writer.write(head.encode() + b"\r\n\r\n" + body)
    told = (await reader.readuntil(b"\r\n\r\n")).lower()
    text = []
    if b"chunked" in told:
        while size := int(await reader.readuntil(b"\r\n"), 16):
            for line in (await reader.readexactly(size + 2))[:-2].splitlines():
                piece = json.loads(line)["message"]["content"]
                text.append(piece)
                show(piece)
        await reader.readexactly(2)
    else:
        size = int(told.split(b"content-length:")[1].split(b"\r\n")[0])
        text.append(json.loads(await reader.readexactly(size))["message"]["content"])
    waiting.append((reader, writer))
    return "".join(text)

async def serve(reader, writer):
    while head := await reader.readuntil(b"\r\n\r\n"):
        size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        prompt = json.loads(await reader.readexactly(size))["prompt"]

        def event(data):
            said = b"data: %b\n\n" % json.dumps(data).encode()
            writer.write(b"%x\r\n%b\r\n" % (len(said), said))

        def shown_by(number):
            return lambda piece: event({"worker": number, "text": piece})

        if stream:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        asked = (ask(address, prompt, shown_by(number)) for number, address in enumerate(workers))
        answers = await asyncio.gather(*asked)
        final = await ask(reviewer, "\n---\n".join([prompt, *answers]), lambda piece: event({"text": piece}))
        if stream:
            event({"final_answer": final})
            writer.write(b"0\r\n\r\n")
        else:
            body = json.dumps({"final_answer": final, "worker_responses": answers}).encode()
            told = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
            writer.write(told + body)
        await writer.drain()

async def guarded(reader, writer):
    try:
        await serve(reader, writer)
    except (asyncio.IncompleteReadError, OSError):
        writer.close()

async def main():
    server = await asyncio.start_server(guarded, "127.0.0.1", int(port))
    await server.serve_forever()

asyncio.run(main())
"""
"""The least a server can do that asks the workers at once, then the reviewer, and answers."""


class Measured(NamedTuple):
    """The median time of a request, the processor time of the server for each, in seconds; how many a second."""

    seconds: float
    processor: float
    rate: float


class Served(NamedTuple):
    """A server that runs: its port and its process."""

    port: int
    pid: int


class Agents(NamedTuple):
    """Addresses of the loopback servers."""

    reviewer: str
    workers: Sequence[str]


def main() -> None:
    with_own_bytecode(os.environ)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print_head("over the ideal, ms")
    for workers in WORKERS:
        with agents(workers, STAGE, STAGE) as asked:
            compare(asked, rounds, is_stream=False)
    print(f"\nstreamed, {PIECES} pieces of each answer")
    print_head("the whole time, ms")
    for workers in WORKERS:
        with agents(workers, BETWEEN, BETWEEN, pieces=PIECES) as asked:
            compare(asked, rounds, is_stream=True)
    print()
    for workers in WORKERS:
        with agents(workers, SLOW, SLOWER) as asked, localllm(asked, is_stream=False) as served:
            best = min(measure(served, 1, 3, is_stream=False).seconds for _ in range(rounds))
            print(f"{workers} workers of {SLOW} s and a reviewer of {SLOWER} s: {best:.3f} s")


def print_head(times: str) -> None:
    print(f"{'':22}{times:>26}{'CPU-ms a request':>26}{'requests/s':>18}")
    print(f"{'':22}" + f"{'localllm':>17}{'bare':>9}" * 2 + f"{'localllm':>9}{'bare':>9}")


def compare(asked: Agents, rounds: int, *, is_stream: bool) -> None:
    """Measure both servers in turns and print a line for each number of clients."""
    best: dict[tuple[int, str], Measured] = {}
    resident = 0.0
    requests = REQUESTS // 10 if is_stream else REQUESTS
    for _ in range(rounds):
        for name, started in (("localllm", localllm), ("bare", bare)):
            with started(asked, is_stream=is_stream) as served:
                measure(served, 1, 3, is_stream=is_stream)
                for clients in CLIENTS:
                    measured = measure(served, clients, max(2, requests // clients), is_stream=is_stream)
                    known = best.get((clients, name), measured)
                    best[clients, name] = Measured(
                        min(known.seconds, measured.seconds),
                        min(known.processor, measured.processor),
                        max(known.rate, measured.rate),
                    )
                if name == "localllm":
                    resident = max(resident, resident_of(served.pid))
    ideal = 0.0 if is_stream else 2 * STAGE
    for clients in CLIENTS:
        ours, least = best[clients, "localllm"], best[clients, "bare"]
        times = [(each.seconds - ideal) * 1000 for each in (ours, least)]
        named = f"{clients} × {len(asked.workers)} workers"
        print(
            f"{named:22}{times[0]:17.1f}{times[1]:9.1f}"
            f"{ours.processor * 1000:17.2f}{least.processor * 1000:9.2f}{ours.rate:9.1f}{least.rate:9.1f}"
        )
    print(f"{'resident':22}{resident / 1e6:13.1f} MB")


# --- servers


@contextmanager
def agents(workers: int, seconds: float, reviewing: float, *, pieces: int = 1) -> Generator[Agents]:
    """Loopback workers that take `seconds` for each of the `pieces` of an answer, and a reviewer that takes
    `reviewing`."""
    with playing(workers, seconds, pieces) as asked, playing(1, reviewing, pieces) as reviewer:
        yield Agents(reviewer[0], asked)


@contextmanager
def playing(servers: int, seconds: float, pieces: int) -> Generator[list[str]]:
    command = [sys.executable, "-m", "tests.ensemble_servers", "--servers", str(servers), "--pieces", str(pieces)]
    command += ["--delay", str(seconds), "--between", str(seconds if pieces > 1 else 0)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.kill()


@contextmanager
def localllm(asked: Agents, *, is_stream: bool) -> Generator[Served]:
    """`localllm serve` as a user runs it."""
    agent = {"model": "qwen3:8b", "timeout": 120}
    config = {
        "reviewer_agent": agent | {"name": "reviewer", "api_url": f"{asked.reviewer}/api/chat"},
        "worker_agents": [
            agent | {"name": f"worker {number}", "api_url": f"{url}/api/chat"}
            for number, url in enumerate(asked.workers)
        ],
        "system_settings": {"stream": is_stream},
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "config.json")
        file.write_text(json.dumps(config), "utf-8")
        home = {"HOME": folder, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder}
        command = [sys.executable, "-m", "localllm", "serve", "--config", str(file), "--port"]
        with running(command, [], folder, home) as served:
            yield served


@contextmanager
def bare(asked: Agents, *, is_stream: bool) -> Generator[Served]:
    command = [sys.executable, "-c", BARE, "qwen3:8b", "stream" if is_stream else "whole"]
    with running(command, [asked.reviewer, *asked.workers], ".", {}) as served:
        yield served


@contextmanager
def running(command: list[str], more: list[str], folder: str, environ: dict[str, str]) -> Generator[Served]:
    """A server that is told its port, from when it takes connections."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            [*command, str(port), *more], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=said
        ) as process,
    ):
        try:
            if not takes_connections(port, process):
                said.seek(0)
                sys.exit(f"the server did not start:\n{said.read().decode()}")
            yield Served(port, process.pid)
        finally:
            process.terminate()  # an interrupt is ignored by what a shell has started in the background
            process.wait(20)


def takes_connections(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Wait until it does; False where the process ends before."""
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.02)
        else:
            return True
    return False


# --- clients


def measure(served: Served, clients: int, requests: int, *, is_stream: bool) -> Measured:
    """So many clients at once, each of which asks so many times, one after another."""
    seconds: list[float] = []
    read = read_stream if is_stream else read_whole
    began, used = time.perf_counter(), processor_seconds(served.pid)

    async def all_of_them() -> None:
        asking = (client(served.port, requests, read, seconds, is_stream=is_stream) for _ in range(clients))
        await asyncio.gather(*asking)

    asyncio.run(all_of_them())
    number = clients * requests
    processor = (processor_seconds(served.pid) - used) / number
    return Measured(statistics.median(seconds), processor, number / (time.perf_counter() - began))


async def client(
    port: int,
    requests: int,
    read: Callable[[asyncio.StreamReader, bytes], Awaitable[None]],
    seconds: list[float],
    *,
    is_stream: bool,
) -> None:
    body = json.dumps({"prompt": PROMPT}).encode()
    path = "/generate/stream" if is_stream else "/generate"
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(requests):
        began = time.perf_counter()
        writer.write(head.encode() + b"\r\n\r\n" + body)
        told = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in told.partition(b"\r\n")[0]:
            sys.exit(f"the server answered {told.decode()}")
        await read(reader, told.lower())
        seconds.append(time.perf_counter() - began)
    writer.close()


async def read_whole(reader: asyncio.StreamReader, head: bytes) -> None:
    answer = json.loads(await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0])))
    if not answer["final_answer"]:
        sys.exit(f"no answer: {answer}")


async def read_stream(reader: asyncio.StreamReader, head: bytes) -> None:
    del head
    said = last = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        last, said = said, (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    if b"final_answer" not in last + said:
        sys.exit(f"no answer: {said.decode()}")


# --- what Linux tells of a process


def processor_seconds(pid: int) -> float:
    """The processor time of all threads of a process."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text("ascii").split()[0]) for task in tasks) / 1e9


def resident_of(pid: int) -> int:
    """Bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
