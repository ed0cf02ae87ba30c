#!/usr/bin/env python3
"""How long it takes to find the model servers, the program's own start left out: medians of one run.

.venv/bin/python benchmarks/discovery.py [ROUNDS]
"""

import asyncio
import json
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from socket import socket

from localllm.config.schema import LLMSettings, LMStudioSettings, OllamaSettings, OpenAISettings
from localllm.llm.discovery.scan import discover
from localllm.llm.discovery.servers import Server

Pages = dict[str, object]

LMSTUDIO: Pages = {
    "/api/v0/models": {"object": "list", "data": [{"id": "phi-4", "type": "llm", "state": "loaded"}]},
}
OLLAMA: Pages = {
    "/api/version": {"version": "0.32.0"},
    "/api/tags": {"models": [{"name": f"model-{number}:8b"} for number in range(20)]},
    "/api/ps": {"models": []},
}
LLAMA_CPP: Pages = {
    "/v1/models": {"object": "list", "data": [{"id": "tiny", "owned_by": "llamacpp"}]},
    "/props": {"default_generation_settings": {"n_ctx": 4096}},
}
VLLM: Pages = {"/v1/models": {"object": "list", "data": [{"id": "qwen", "owned_by": "vllm"}]}}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with ExitStack() as stack:
        closed = [stack.enter_context(listening(accepts=False)) for _ in range(4)]
        hanging = stack.enter_context(listening(accepts=True))
        servers = [stack.enter_context(serving(pages)) for pages in (LMSTUDIO, OLLAMA, LLAMA_CPP, VLLM)]
        cases = {
            "nothing": closed,
            "one server (Ollama)": [closed[0], servers[1], *closed[2:]],
            "four servers": servers,
            "three servers, one hangs": [*servers[:3], hanging],
        }
        times = measure(cases, rounds)
    print(f"{'median of ' + str(rounds):26} {'milliseconds':>12}")
    for name, seconds in times.items():
        print(f"{name:26} {seconds * 1000:12.1f}")


def measure(cases: dict[str, list[str]], rounds: int) -> dict[str, float]:
    """Seconds for each case; the cases take turns, so that a slow moment of the machine strikes all of them."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds + 1):
        for name, urls in cases.items():
            start = time.perf_counter()
            found = asyncio.run(look(urls))
            taken[name].append(time.perf_counter() - start)
            check(name, found)
    return {name: statistics.median(all_taken[1:]) for name, all_taken in taken.items()}


async def look(urls: list[str]) -> list[Server]:
    settings = LLMSettings(
        lmstudio=LMStudioSettings(base_url=urls[0]),
        ollama=OllamaSettings(base_url=urls[1]),
        openai=OpenAISettings(base_url=urls[2]),
    )
    return await discover(settings, {}, also=urls[3:])


def check(name: str, found: list[Server]) -> None:
    expected = {"nothing": 0, "one server (Ollama)": 1, "four servers": 4, "three servers, one hangs": 3}
    if sum(server.state == "ready" for server in found) != expected[name]:
        sys.exit(f"{name}: found {[(server.base_url, server.state, server.detail) for server in found]}")


@contextmanager
def listening(*, accepts: bool) -> Iterator[str]:
    """An address where nobody listens, or nobody answers."""
    with socket() as taken:
        taken.bind(("127.0.0.1", 0))
        if accepts:
            taken.listen(128)
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@contextmanager
def serving(pages: Pages) -> Iterator[str]:
    """The address of a server in a process of its own."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(pages, theirs), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        ours.send("stop")
        process.join()


def serve(pages: Pages, pipe: Connection) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(pages.get(self.path, {"error": "not found"})).encode()
            self.send_response(200 if self.path in pages else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        pipe.send(server.server_address[1])
        pipe.recv()
        server.shutdown()
        thread.join()


if __name__ == "__main__":
    main()
