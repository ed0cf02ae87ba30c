#!/usr/bin/env python3
"""Eight searches over two engines, then twenty pages of seven hosts: the time beside the longest chain, and the memory.

.venv/bin/python benchmarks/research_pages.py [SECONDS]

A server in a process of its own answers as SearxNG (asked one search at a time) after SECONDS (0.3), as Serper after
half of that, and serves pages of some 60 kB after SECONDS: eight of one host, two of each of six others, all with a
robots.txt. The chain of an engine or a host is what its searches or pages take with nothing else, in the same run. The
pages are read as research reads them, with rules of sites, pauses and extraction; no browser. Memory is the most that
the process had at a time, the interpreter with everything included.
"""

import asyncio
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import msgspec

from localllm.config.schema import Settings, WebSettings
from localllm.web.engine_pool import EnginePool
from localllm.web.engines.base import SearchEngine
from localllm.web.engines.searxng import SearxNG
from localllm.web.engines.serper import Serper
from localllm.web.meta_search import MetaSearch
from localllm.web.services import page_reader

QUERIES = [f"question {number}" for number in range(8)]
KEY = "0123456789abcdef0123456789abcdef01234567"
PAGES_OF = (8, 2, 2, 2, 2, 2, 2)
"""How many pages each host has."""
SECONDS = 0.3
MOST, MOST_MEMORY = 1.3, 150


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        asyncio.run(serve(float(sys.argv[2])))
        return
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    with subprocess.Popen([sys.executable, __file__, "--serve", str(seconds)], stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout
            ports = msgspec.json.decode(server.stdout.readline(), type=list[int])
            asyncio.run(compare(ports))
        finally:
            server.kill()


async def compare(ports: Sequence[int]) -> None:
    """Print both ratios and the memory; exit 1 where one is over its limit."""
    slow, quick, *hosts = ports
    makers = (lambda: SearxNG(f"http://127.0.0.1:{slow}"), lambda: Serper(f"http://127.0.0.1:{quick}", KEY))
    await searched([makers[0]()])  # what is imported and read once
    engine_chains = [await searched([make()]) for make in makers]
    urls = [[f"http://127.0.0.1:{port}/{n}" for n in range(count)] for port, count in zip(hosts, PAGES_OF, strict=True)]
    await read([urls[1][0]], hosts)
    host_chains = [await read(pages, hosts) for pages in urls]
    search_wall = await searched([make() for make in makers])
    page_wall = await read([url for pages in urls for url in pages], hosts)
    ratios = [
        shown("8 searches, 2 engines", search_wall, max(engine_chains)),
        shown("20 pages, 7 hosts", page_wall, max(host_chains)),
        shown("both, one after the other", search_wall + page_wall, max(engine_chains) + max(host_chains)),
    ]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1024)
    print(f"memory at most {memory:.0f} MB (at most {MOST_MEMORY})")
    if max(ratios) > MOST or memory > MOST_MEMORY:
        sys.exit(1)


def shown(name: str, wall: float, chain: float) -> float:
    print(f"{name:26} longest chain {chain:5.2f} s, all {wall:5.2f} s: ratio {wall / chain:.2f} (at most {MOST})")
    return wall / chain


async def searched(engines: list[SearchEngine]) -> float:
    """What the searches take."""
    began = time.perf_counter()
    answer = await MetaSearch(EnginePool(engines)).search(QUERIES)
    taken = time.perf_counter() - began
    assert answer.searches == len(QUERIES) * len(engines), answer.failures
    return taken


async def read(urls: Sequence[str], hosts: Sequence[int]) -> float:
    """What the pages take, read at once by a new reader."""
    reader = page_reader(Settings(web=WebSettings(allow_private=tuple(f"127.0.0.1:{port}" for port in hosts))))
    assert reader
    began = time.perf_counter()
    pages = await asyncio.gather(*map(reader.read, urls))
    taken = time.perf_counter() - began
    await reader.aclose()
    assert all(len(page.text) > 10_000 for page in pages)
    return taken


async def serve(seconds: float) -> None:
    """Serve two engines and the hosts, and print their ports."""
    results = [{"url": f"https://{number}.example/", "link": f"https://{number}.example/"} for number in range(10)]
    found = msgspec.json.encode({"query": "q", "results": results, "organic": results})

    def starting(body: bytes, kind: str, wait: float) -> asyncio.Future[asyncio.Server]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            is_rules = head.startswith(b"GET /robots.txt")
            data = b"User-agent: *\nDisallow: /private/\n" if is_rules else body
            await asyncio.sleep(0.0 if is_rules else wait)
            line = (
                f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\nconnection: close\r\n\r\n"
            )
            writer.write(line.encode() + data)
            await writer.drain()
            writer.close()

        return asyncio.ensure_future(asyncio.start_server(answer, "127.0.0.1", 0))

    servers = [await starting(found, "application/json", wait) for wait in (seconds, seconds / 2)]
    servers += [await starting(article(number), "text/html; charset=utf-8", seconds) for number in range(len(PAGES_OF))]
    print(msgspec.json.encode([server.sockets[0].getsockname()[1] for server in servers]).decode(), flush=True)
    await asyncio.Event().wait()


def article(number: int) -> bytes:
    """A page of some 60 kB: an article of 15 kB amid menus, teasers and scripts."""
    dice = random.Random(number)
    words = ["tide", "turbine", "harbour", "council", "report", "measured", "energy", "against", "winter", "seventy"]

    def sentence() -> str:
        return " ".join(dice.choices(words, k=14)).capitalize() + "."

    text = "".join(f"<p>{' '.join(sentence() for _ in range(4))}</p>" for _ in range(45))
    links = "".join(f"<li><a href='/{n}'>{escape(sentence())}</a></li>" for n in range(160))
    around = f"<nav><ul>{links}</ul></nav><div class='sidebar'><ul>{links}</ul></div>"
    script = "<script>" + "var x = 1;" * 800 + "</script>"
    page = (
        f"<html><head><title>Page {number}</title>{script}</head><body>{around}<article>{text}</article></body></html>"
    )
    return page.encode()


if __name__ == "__main__":
    main()
