"""Rate limit of engine requests in a scan: `max_requests` per window, as a token bucket."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from localllm.base import rate_limit
from localllm.web.engines.base import FIRST_PAGE, EngineLimits, ResultView, SearchAnswer, SearchEngine

_MILLISECONDS_PER_MINUTE = 60_000
_NAME = "searches"


class RateLimiter:
    """A token bucket of `max_requests`, refilled evenly by as many per `window_ms`.

    `clock` returns seconds, `pause` sleeps for them.
    """

    def __init__(
        self,
        max_requests: int,
        window_ms: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        per_minute = max_requests * _MILLISECONDS_PER_MINUTE / window_ms
        self._bucket = rate_limit.RateLimiter(per_minute, burst=max_requests, clock=clock, pause=pause)

    async def check_limit(self) -> bool:
        """Whether a request is allowed now, without taking a token."""
        return self._bucket.delay(_NAME) <= 0

    async def wait_if_needed(self) -> float:
        """Take a token, waiting for it; return the seconds waited."""
        return await self._bucket.wait(_NAME)

    def reset(self) -> None:
        """Refill the bucket."""
        self._bucket.reset()


class LimitedEngine:
    """A rate-limited engine. Cached answers take no token."""

    def __init__(self, engine: SearchEngine, limiter: RateLimiter) -> None:
        self._engine = engine
        self._limiter = limiter

    @property
    def name(self) -> str:
        """The engine's name."""
        return self._engine.name

    @property
    def limits(self) -> EngineLimits:
        """The engine's own limits, which also apply."""
        return self._engine.limits

    @property
    def scope(self) -> str:
        """The engine's scope."""
        return self._engine.scope

    async def search(self, query: str, limit: int, view: ResultView = FIRST_PAGE) -> SearchAnswer:
        """Search after taking a token. Raises WebSearchError."""
        await self._limiter.wait_if_needed()
        return await self._engine.search(query, limit, view)

    async def check(self) -> tuple[str, ...]:
        """Run the engine's own check. Raises WebSearchError."""
        return await self._engine.check()
