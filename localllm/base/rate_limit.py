"""Rate limiting: requests per minute, with bursts."""

import asyncio
import time
from collections.abc import Awaitable, Callable

SECONDS_PER_MINUTE = 60.0

BURST_SHARE = 0.1
"""Fraction of a minute's requests that may be sent at once. A minute may exceed the rate by at most that."""


class _Bucket:
    """A token bucket. A negative level means that further requests have to wait."""

    def __init__(self, now: float, capacity: float) -> None:
        self.level = capacity
        self.filled = now
        self.closed_until = now


class RateLimiter:
    """Limits requests to `per_minute` per name, such as a server's address; 0 is no limit.

    Requests are served in order. `burst` may be sent at once; None is a tenth of a minute's. `clock` returns seconds,
    `pause` sleeps.
    """

    def __init__(
        self,
        per_minute: float = 0,
        *,
        burst: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._rate = per_minute / SECONDS_PER_MINUTE
        self._capacity = max(1.0, per_minute * BURST_SHARE if burst is None else burst)
        self._clock = clock
        self._pause = pause
        self._buckets: dict[str, _Bucket] = {}

    async def wait(self, name: str, tell: Callable[[float], None] | None = None) -> float:
        """Wait until `name` may be requested, after calling `tell` with the seconds, if any; return them."""
        seconds = self._take(name)
        if seconds > 0:
            if tell is not None:
                tell(seconds)
            try:
                await self._pause(seconds)
            except BaseException:
                self._give_back(name)
                raise
        return seconds

    def delay(self, name: str) -> float:
        """Return the seconds until `name` may be requested, 0 for now, without consuming the turn."""
        bucket, now = self._bucket(name), self._clock()
        closed = max(0.0, bucket.closed_until - now)
        if not self._rate:
            return closed
        level = min(self._capacity, bucket.level + (now - bucket.filled) * self._rate)
        return max(closed, (1 - level) / self._rate)

    def hold(self, name: str, seconds: float) -> None:
        """Block requests to `name` for `seconds`, as demanded by its server."""
        bucket = self._bucket(name)
        bucket.closed_until = max(bucket.closed_until, self._clock() + seconds)

    def reset(self) -> None:
        """Reset all limits and blocks."""
        self._buckets.clear()

    def _take(self, name: str) -> float:
        """Consume the next turn; return the seconds until it."""
        bucket, now = self._bucket(name), self._clock()
        closed = max(0.0, bucket.closed_until - now)
        if not self._rate:
            return closed
        bucket.level = min(self._capacity, bucket.level + (now - bucket.filled) * self._rate) - 1
        bucket.filled = now
        return max(closed, -bucket.level / self._rate)

    def _give_back(self, name: str) -> None:
        """Return an unused turn, whose waiter was cancelled."""
        bucket = self._bucket(name)
        bucket.level = min(self._capacity, bucket.level + 1)

    def _bucket(self, name: str) -> _Bucket:
        return self._buckets.setdefault(name, _Bucket(self._clock(), self._capacity))
