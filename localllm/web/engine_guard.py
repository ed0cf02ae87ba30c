"""Asking an engine as it wants: in turn, not too often, again where that helps, and not at all while it is ill."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from localllm.base.errors import WebSearchError
from localllm.base.rate_limit import RateLimiter
from localllm.web.engines.base import SearchAnswer, SearchEngine

if TYPE_CHECKING:
    from tenacity import RetryCallState

RETRIES = 2
FAILURES = 3
"""So many failures in a row open the circuit breaker."""

REST = 60.0
"""Seconds until an engine that failed is tried again."""

LONGEST_WAIT = 10.0
"""Seconds of a Retry-After that a search waits. An engine that asks for more rests so long."""

LONGEST_REST = 3_600.0


class CircuitBreaker:
    """Whether something may be asked: closed, it may; open, after `failures` in a row, it may not for `rest` seconds;
    then, half open, once: that closes it, or opens it again."""

    def __init__(
        self, *, failures: int = FAILURES, rest: float = REST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = failures
        self._rest = rest
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0
        self._is_tried = False

    @property
    def failures(self) -> int:
        """How often it failed in a row."""
        return self._failures

    @property
    def is_open(self) -> bool:
        """Whether nobody may ask now."""
        return self._failures >= self._limit and self._clock() < self._open_until

    def begin(self) -> float:
        """Ask for admission: 0 grants it, and `succeed`, `fail` or `release` must follow; else the seconds to wait."""
        if self._failures < self._limit:
            return 0.0
        if self.is_open:
            return self._open_until - self._clock()
        if self._is_tried:
            return self._rest
        self._is_tried = True
        return 0.0

    def succeed(self) -> None:
        """It answered."""
        self._failures, self._is_tried = 0, False

    def fail(self, rest: float = 0.0) -> None:
        """It failed; a `rest` of its own opens the breaker at once, for so many seconds."""
        self._is_tried = False
        self._failures = max(self._failures + 1, self._limit if rest else 0)
        if self._failures >= self._limit:
            self._open_until = self._clock() + (rest or self._rest)

    def release(self) -> None:
        """It was not asked after all."""
        self._is_tried = False


class EngineGuard:
    """An engine, asked within its limits. `clock` tells seconds, `pause` waits them."""

    def __init__(
        self,
        engine: SearchEngine,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.engine = engine
        self._pause = pause
        self._turns = asyncio.Semaphore(engine.limits.concurrency)
        self._rate = RateLimiter(engine.limits.per_minute, clock=clock, pause=pause)
        self._breaker = CircuitBreaker(clock=clock)
        self._failure: WebSearchError | None = None

    async def search(self, query: str, limit: int) -> SearchAnswer:
        """What the engine finds, asked again twice where it is busy, failed or was too slow. Raises WebSearchError."""
        from tenacity import AsyncRetrying, retry_if_exception

        retrying = AsyncRetrying(
            retry=retry_if_exception(_is_passing),
            stop=self._is_at_an_end,
            wait=_wait,
            sleep=self._pause,
            reraise=True,
        )
        async with self._turns:
            return await retrying(self._attempt, query, limit)

    async def _attempt(self, query: str, limit: int) -> SearchAnswer:
        self._enter()
        try:
            await self._rate.wait(self.engine.name)
            answer = await self.engine.search(query, limit)
        except WebSearchError as error:
            self._record(error)
            raise
        except BaseException:
            self._breaker.release()
            raise
        self._breaker.succeed()
        return answer

    def _enter(self) -> None:
        if seconds := self._breaker.begin():
            reason = self._failure.what_phrase if self._failure else ""
            raise WebSearchError(
                "search_engine_resting", engine=self.engine.name, seconds=max(1, round(seconds)), reason=reason
            )

    def _record(self, error: WebSearchError) -> None:
        """Count what may pass; an engine that refuses one search for good is well."""
        if not error.retryable:
            self._breaker.succeed()
            return
        self._failure = error
        wait = error.retry_after or 0.0
        if wait > LONGEST_WAIT:
            self._breaker.fail(min(wait, LONGEST_REST))
        else:
            self._breaker.fail()
            self._rate.hold(self.engine.name, wait)

    def _is_at_an_end(self, state: "RetryCallState") -> bool:
        return state.attempt_number > RETRIES or self._breaker.is_open


def _is_passing(error: BaseException) -> bool:
    return isinstance(error, WebSearchError) and error.retryable


def _wait(state: "RetryCallState") -> float:
    """Seconds before the next attempt, longer each time; none where the engine said how long: all wait for that."""
    from tenacity import wait_exponential, wait_random

    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, WebSearchError) and error.retry_after is not None:
        return 0.0
    return (wait_exponential(multiplier=0.5, max=8) + wait_random(0, 0.5))(state)
