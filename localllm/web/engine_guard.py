"""Call a search engine within its limits: concurrency, rate, retries, and a circuit breaker."""

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
"""Longest Retry-After, in seconds, that a search waits for. A longer one opens the breaker."""

LONGEST_REST = 3_600.0


class EngineGuard:
    """An engine called within its limits. `clock` returns seconds, `pause` sleeps for them."""

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
        """Search, with two retries if the engine is busy, fails or times out. Raises WebSearchError."""
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
        """Count transient failures; permanently rejecting one search counts as a success."""
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
    """Return the back-off in seconds; 0 if the engine sent a Retry-After, for which all searches wait."""
    from tenacity import wait_exponential, wait_random

    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, WebSearchError) and error.retry_after is not None:
        return 0.0
    return (wait_exponential(multiplier=0.5, max=8) + wait_random(0, 0.5))(state)
