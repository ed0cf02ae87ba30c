"""Turns at a host: one request at a time, and a pause before the next."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

PAUSE = 0.2
"""Seconds a host is left in peace between two requests, unless it asks for more."""


@dataclass
class Turn:
    """Whose turn it is; `pause` is how long, in seconds, the host is left in peace afterwards."""

    pause: float


@dataclass
class _Host:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    free_at: float = 0.0


class HostTurns:
    """Gives out the turns, at each host in the order they were asked for."""

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
        """Hold the turn at a host as long as the block runs."""
        place = self._hosts.setdefault(host, _Host())
        async with place.lock:
            if (wait := place.free_at - self._clock()) > 0:
                await self._sleep(wait)
            turn = Turn(self._pause)
            try:
                yield turn
            finally:
                place.free_at = self._clock() + turn.pause
