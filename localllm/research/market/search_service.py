"""The searches of a scan, with the program's engines, their limits, retries and cache."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from localllm.base.errors import LocalLLMError, WebSearchError
from localllm.config.research_settings import MarketSettings
from localllm.config.schema import WebSettings
from localllm.research.market.market_records import (
    FoundResult,
    MarketPurpose,
    MarketQuery,
    ScanError,
    SearchOptions,
    SearchResponse,
)
from localllm.research.market.search_limits import LimitedEngine, RateLimiter
from localllm.web.engine_pool import EnginePool, open_pool
from localllm.web.engines.serper import Serper
from localllm.web.meta_search import FoundPage, MetaAnswer, MetaSearch
from localllm.web.search_cache import MemoryCache, SearchCache

SERPER = "serper"
SERPER_URL = "https://google.serper.dev"


class SearchService:
    """Search with the engines of `search`. Engines retry transient errors twice (429 after its wait, 5xx, timeout), no
    others; each has its own concurrency limit."""

    def __init__(
        self, search: MetaSearch, limiter: RateLimiter | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.meta = search
        self.limiter = limiter
        self._clock = clock
        self.api_calls = 0
        """Searches sent to an engine."""
        self.cache_hits = 0

    @property
    def cache(self) -> SearchCache | None:
        """The cache of answers; None if there is none."""
        return self.meta.pool.cache

    async def search(self, query: MarketQuery) -> SearchResponse:
        """Run a query. Raises WebSearchError if no engine answered."""
        begun, options = self._clock(), query.options
        answer = await self._asked(query.query, options)
        return SearchResponse(
            query=query,
            results=tuple(_result(page, query) for page in answer.pages[: options.num]),
            search_time=round((self._clock() - begun) * 1_000),
            was_kept=bool(answer.cache_hits) and not answer.searches,
            errors=tuple(scan_error(error, query.purpose) for error in answer.failures),
        )

    async def search_with_retry(self, query: str, options: SearchOptions) -> list[FoundPage]:
        """Return the pages found for a query, with retries. Raises WebSearchError."""
        return list((await self._asked(query, options)).pages[: options.num])

    async def batch_search(self, queries: Sequence[MarketQuery]) -> list[SearchResponse]:
        """Run all queries concurrently; a failed one reports its error without affecting the others."""
        return list(await asyncio.gather(*(self._searched(query) for query in queries)))

    async def clear_cache(self) -> None:
        """Delete all cached searches."""
        if self.cache is not None:
            await self.cache.clear()

    async def validate_api_key(self) -> bool:
        """Whether Serper's key, if Serper is used, is well-formed. Sends no request, since each costs money."""
        try:
            await self.check_key()
        except WebSearchError:
            return False
        return True

    async def check_key(self) -> None:
        """Validate Serper's key and address, if Serper is used. Raises WebSearchError."""
        for engine in self.meta.pool.engines:
            if engine.name == SERPER:
                await engine.check()

    async def aclose(self) -> None:
        """Close the engines."""
        await self.meta.aclose()

    async def _searched(self, query: MarketQuery) -> SearchResponse:
        begun = self._clock()
        try:
            return await self.search(query)
        except WebSearchError as error:
            milliseconds = round((self._clock() - begun) * 1_000)
            return SearchResponse(
                query=query, search_time=milliseconds, errors=(scan_error(error, query.purpose),), failed=True
            )

    async def _asked(self, query: str, options: SearchOptions) -> MetaAnswer:
        try:
            answer = await self.meta.search([query], language=options.hl, country=options.gl, limit=options.num)
        except WebSearchError:
            self.api_calls += 1
            raise
        self.api_calls += answer.searches
        self.cache_hits += answer.cache_hits
        return answer


class SearchServiceConfig(NamedTuple):
    """The configuration of Serper. Times are in milliseconds."""

    api_key: str
    timeout: int = 5_000
    cache_ttl: int = 3_600_000
    base_url: str = SERPER_URL
    max_requests: int = 100
    window_ms: int = 60_000


class SerperSearchService(SearchService):
    """Search with Serper alone, with an in-memory cache. Raises WebSearchError for a malformed key."""

    def __init__(
        self,
        config: SearchServiceConfig,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        limiter = RateLimiter(config.max_requests, config.window_ms, clock=clock, pause=pause)
        serper = Serper(config.base_url, config.api_key, seconds=config.timeout / 1_000)
        serper.check_key()
        ttl = config.cache_ttl / 1_000
        cache = SearchCache(MemoryCache(ttl), MemoryCache(ttl)) if ttl else None
        pool = EnginePool([LimitedEngine(serper, limiter)], cache=cache, clock=clock, pause=pause)
        super().__init__(MetaSearch(pool), limiter, clock=clock)


def open_search_service(
    web: WebSettings, market: MarketSettings, environ: Mapping[str, str], *, cache_ttl: float, use_cache: bool
) -> SearchService:
    """Create the service from the settings, each search within `market.search_timeout`."""
    limiter = RateLimiter(market.max_requests, market.window_ms)
    quick = msgspec.structs.replace(web, timeout=min(web.timeout, market.search_timeout))
    pool = open_pool(quick, environ, cache_ttl=cache_ttl, use_cache=use_cache)
    limited = EnginePool([LimitedEngine(engine, limiter) for engine in pool.engines], cache=pool.cache)
    return SearchService(MetaSearch(limited), limiter)


def scan_error(error: LocalLLMError, purpose: MarketPurpose | None = None) -> ScanError:
    """Convert an error to the scan's format. It contains no key."""
    return ScanError(code=error.code, what=str(error.what), why=str(error.why), fix=str(error.fix), purpose=purpose)


def _result(page: FoundPage, query: MarketQuery) -> FoundResult:
    return FoundResult(title=page.title, url=page.url, snippet=page.snippet, purpose=query.purpose, region=query.region)
