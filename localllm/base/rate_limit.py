"""Rate limits: so many requests a minute, a few of them at once."""

import asyncio
import time
from collections.abc import Awaitable, Callable

SECONDS_PER_MINUTE = 60.0

BURST_SHARE = 0.1
"""Of a minute's requests, how many may come at once: so much more than is allowed a minute may see at most."""


class _Bucket:
    """The requests one may still make. It may owe some: then the next have to wait their turn."""

    def __init__(self, now: float, capacity: float) -> None:
        self.level = capacity
        self.filled = now
        self.closed_until = now


class RateLimiter:
    """At most `per_minute` requests a minute of each name; 0 is no limit. A name is anything: the address of a server.

    Whoever asked first has its turn first. `burst` of them may come at once; None takes a tenth of a minute's. `clock`
    tells seconds, `pause` waits them.
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
        """Wait until `name` may be asked; the seconds that took. Where it takes any, `tell` is told them before."""
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
        """The seconds until `name` may be asked, 0 for at once. The turn is not taken."""
        bucket, now = self._bucket(name), self._clock()
        closed = max(0.0, bucket.closed_until - now)
        if not self._rate:
            return closed
        level = min(self._capacity, bucket.level + (now - bucket.filled) * self._rate)
        return max(closed, (1 - level) / self._rate)

    def hold(self, name: str, seconds: float) -> None:
        """Let nobody ask `name` for so long: it has said so itself."""
        bucket = self._bucket(name)
        bucket.closed_until = max(bucket.closed_until, self._clock() + seconds)

    def reset(self) -> None:
        """Forget who was asked, and who wants to be left alone."""
        self._buckets.clear()

    def _take(self, name: str) -> float:
        """The seconds until the next turn, which is taken."""
        bucket, now = self._bucket(name), self._clock()
        closed = max(0.0, bucket.closed_until - now)
        if not self._rate:
            return closed
        bucket.level = min(self._capacity, bucket.level + (now - bucket.filled) * self._rate) - 1
        bucket.filled = now
        return max(closed, -bucket.level / self._rate)

    def _give_back(self, name: str) -> None:
        """The turn was not used: whoever waited for it has been cancelled."""
        bucket = self._bucket(name)
        bucket.level = min(self._capacity, bucket.level + 1)

    def _bucket(self, name: str) -> _Bucket:
        return self._buckets.setdefault(name, _Bucket(self._clock(), self._capacity))
