"""Asking an engine as it wants: in turn, not too often, again where that helps, and not at all while it is ill."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from localllm.base.errors import WebSearchError
from localllm.base.rate_limit import RateLimiter
from localllm.web.circuit_breaker import CircuitBreaker
from localllm.web.engines.base import FIRST_PAGE, ResultView, SearchAnswer, SearchEngine

if TYPE_CHECKING:
    from tenacity import RetryCallState

RETRIES = 2
LONGEST_WAIT = 10.0
"""Seconds of a Retry-After that a search waits. An engine that asks for more rests so long."""

LONGEST_REST = 3_600.0


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

    async def search(self, query: str, limit: int, view: ResultView = FIRST_PAGE) -> SearchAnswer:
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
            return await retrying(self._attempt, query, limit, view)

    async def _attempt(self, query: str, limit: int, view: ResultView) -> SearchAnswer:
        self._enter()
        try:
            await self._rate.wait(self.engine.name)
            answer = await self.engine.search(query, limit, view)
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
