"""Serialise the requests to each host, with a pause between them."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

PAUSE = 0.2
"""Seconds between two requests to a host, unless it asks for more."""


@dataclass
class Turn:
    """The lock on a host; `pause` is the seconds to wait after the request."""

    pause: float


@dataclass
class _Host:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    free_at: float = 0.0


class HostTurns:
    """Locks on hosts, granted in the order of requests."""

    def __init__(
        self,
        pause: float = PAUSE,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._pause = pause
        self._clock = clock
        self._sleep = sleep
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncGenerator[Turn]:
        """Hold the lock on a host during the block."""
        place = self._hosts.setdefault(host, _Host())
        async with place.lock:
            if (wait := place.free_at - self._clock()) > 0:
                await self._sleep(wait)
            turn = Turn(self._pause)
            try:
                yield turn
            finally:
                place.free_at = self._clock() + turn.pause
