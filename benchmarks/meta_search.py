#!/usr/bin/env python3
"""Eight searches over two engines at once: how much longer it takes than the longer of the two takes alone.

.venv/bin/python benchmarks/meta_search.py [SECONDS]

Servers on the loopback answer as SearxNG (asked one search at a time) after SECONDS (0.4), as Serper (eight at a time)
after a quarter of that. The chain of an engine is what the same searches take with it alone, in the same run. Two
engines with chains of equal length are measured as well: one after the other, they would need twice as long.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import msgspec

from localllm.web.engine_pool import EnginePool
from localllm.web.engines.base import SearchEngine
from localllm.web.engines.searxng import SearxNG
from localllm.web.engines.serper import Serper
from localllm.web.meta_search import MetaSearch

QUERIES = [f"question {number}" for number in range(8)]
KEY = "0123456789abcdef0123456789abcdef01234567"
SECONDS = 0.4
MOST = 1.3


class Second(SearxNG):
    """Another SearxNG, under a name of its own."""

    name = "second"


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    asyncio.run(_compare(seconds))


async def _compare(seconds: float) -> None:
    ratios: list[float] = []
    async with _server(0.0) as first:
        await _seconds([SearxNG(first)])  # what is imported and read once
    async with _server(seconds) as slow, _server(seconds) as equal, _server(seconds / 4) as quick:
        for name, engines in (
            ("searxng and serper", lambda: [SearxNG(slow), Serper(quick, KEY)]),
            ("two searxng", lambda: [SearxNG(slow), Second(equal)]),
        ):
            chains = [await _seconds([engines()[place]]) for place in range(2)]
            wall = await _seconds(engines())
            ratios.append(wall / max(chains))
            alone = " and ".join(f"{chain:.2f}" for chain in chains)
            print(f"{name:20} alone {alone} s, together {wall:.2f} s: ratio {ratios[-1]:.2f} (at most {MOST})")
    if max(ratios) > MOST:
        sys.exit(1)


async def _seconds(engines: list[SearchEngine]) -> float:
    """What the searches take; engines are new each time, with their buckets full."""
    began = time.perf_counter()
    answer = await MetaSearch(EnginePool(engines)).search(QUERIES)
    taken = time.perf_counter() - began
    assert answer.searches == len(QUERIES) * len(engines)
    assert not answer.failures, answer.failures
    return taken


@asynccontextmanager
async def _server(seconds: float) -> AsyncIterator[str]:
    """What answers as either engine, after so many seconds."""
    pages = [{"url": f"https://{number}.example/", "link": f"https://{number}.example/"} for number in range(10)]
    body = msgspec.json.encode({"query": "q", "results": pages, "organic": pages})
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(seconds)
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


if __name__ == "__main__":
    main()
