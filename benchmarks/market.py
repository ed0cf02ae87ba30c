#!/usr/bin/env python3
"""A market scan over an instant played model: eight searches at once, queries, a whole scan, the cache, the memory.

.venv/bin/python benchmarks/market.py [SECONDS]

A server in a process of its own answers as Serper after SECONDS (0.4) and serves the pages. Two pages are read for each
purpose, by the program's own reader. The second scan is of the same theme, by a model that words its queries otherwise.
Memory is what the process has at most while scanning, over what it had with everything imported.
"""

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from localllm.config.research_settings import ResearchSettings
from localllm.config.schema import Settings, WebSettings
from localllm.research.market.market_queries import chosen_purposes
from localllm.research.market.market_records import MarketQuery, SearchOptions, region_of
from localllm.web.services import page_reader
from tests.support.market_scan import THEME, Scans
from tests.support.market_web import MarketModel, MarketWeb

SECONDS = 0.4
MOST_SEARCHES, MOST_QUERIES, MOST_SCAN, LEAST_HITS, MOST_MEMORY = 0.6, 2.0, 30.0, 0.9, 50.0


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        with MarketWeb(delay=float(sys.argv[2])) as web:
            print(web.url, flush=True)
            sys.stdin.read()
        return
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    command = [sys.executable, __file__, "--serve", str(seconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            asyncio.run(measure(server.stdout.readline().strip(), seconds))
        finally:
            server.kill()


async def measure(url: str, seconds: float) -> None:
    """Print the figures; exit 1 where one is over its limit."""
    web = MarketWeb()
    settings = Settings(
        web=WebSettings(allow_private=(url.partition("://")[2],)), research=ResearchSettings(browser=False)
    )
    with tempfile.TemporaryDirectory() as folder:
        scans = Scans(Path(folder), web, MarketModel(THEME), base_url=url)
        scans.reader = page_reader(settings)
        asked = [
            MarketQuery(
                query=f"warm {one}", purpose=one, region=region_of(one), options=SearchOptions(gl="jp", hl="ja", num=10)
            )
            for one in chosen_purposes(("jp", "global"))
        ]
        await scans.service.search(asked[0])  # imports, certificates
        before = _peak()
        begun = time.perf_counter()
        await scans.service.search_with_retry("warm single", asked[0].options)
        single = time.perf_counter() - begun
        begun = time.perf_counter()
        await scans.service.batch_search([_renamed(one) for one in asked])
        eight = time.perf_counter() - begun
        first = await scans.scan()
        scans.player.style = 1
        second = await scans.scan()
        grown = _peak() - before
    queries, whole = first.metrics.query_time / 1_000, first.metrics.execution_time / 1_000
    hits = second.metrics.cache_hit_rate
    print(f"one search of {seconds:g} s: {single:.3f} s; eight at once: {eight:.3f} s (at most {MOST_SEARCHES:g})")
    print(f"making the queries: {queries:.3f} s (at most {MOST_QUERIES:g}, all of it ours: the model is instant)")
    print(f"a whole scan, {first.metrics.pages_read} pages: {whole:.2f} s (at most {MOST_SCAN:g})")
    print(f"the same theme again: {hits:.0%} from the cache (at least {LEAST_HITS:.0%})")
    print(f"memory over the idle program: {grown:.1f} MB (at most {MOST_MEMORY:g})")
    limits = (eight <= MOST_SEARCHES * seconds / SECONDS, queries <= MOST_QUERIES, whole <= MOST_SCAN)
    if not (all(limits) and hits >= LEAST_HITS and grown <= MOST_MEMORY):
        sys.exit(1)


def _renamed(query: MarketQuery) -> MarketQuery:
    return MarketQuery(
        query=f"eight {query.purpose}", purpose=query.purpose, region=query.region, options=query.options
    )


def _peak() -> float:
    """The most memory the process had, in MB."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1e6 if sys.platform == "darwin" else 1_000)


if __name__ == "__main__":
    main()
