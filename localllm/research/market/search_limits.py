"""How often engines may be asked in a scan: `max_requests` in a window, as a token bucket."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from localllm.base import rate_limit
from localllm.web.engines.base import FIRST_PAGE, EngineLimits, ResultView, SearchAnswer, SearchEngine

_MILLISECONDS_PER_MINUTE = 60_000
_NAME = "searches"


class RateLimiter:
    """At most `max_requests` at once, and so many more in each `window_ms`, evenly.

    `clock` tells seconds, `pause` waits them.
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
        """Whether a request may be made now. The turn is not taken."""
        return self._bucket.delay(_NAME) <= 0

    async def wait_if_needed(self) -> float:
        """Take a turn, and wait for it; the seconds that took."""
        return await self._bucket.wait(_NAME)

    def reset(self) -> None:
        """Forget all requests made so far."""
        self._bucket.reset()


class LimitedEngine:
    """An engine that is asked only when the limiter gives it a turn. What the cache answers takes none."""

    def __init__(self, engine: SearchEngine, limiter: RateLimiter) -> None:
        self._engine = engine
        self._limiter = limiter

    @property
    def name(self) -> str:
        """That of the engine."""
        return self._engine.name

    @property
    def limits(self) -> EngineLimits:
        """Those of the engine itself, which hold too."""
        return self._engine.limits

    @property
    def scope(self) -> str:
        """That of the engine."""
        return self._engine.scope

    async def search(self, query: str, limit: int, view: ResultView = FIRST_PAGE) -> SearchAnswer:
        """What the engine finds, in its turn. Raises WebSearchError."""
        await self._limiter.wait_if_needed()
        return await self._engine.search(query, limit, view)

    async def check(self) -> tuple[str, ...]:
        """As the engine checks itself. Raises WebSearchError."""
        return await self._engine.check()
