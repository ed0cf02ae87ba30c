"""An idle timeout for a stream, with one timer for all its reads."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class IdleWatch:
    """Cancels a wait that takes longer than `seconds`.

    Like asyncio.timeout around each wait, but cheaper for many short ones: setting and cancelling a timer for each
    chunk would cost more than reading it. `close` cancels the timer.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[object] | None = None
        self._has_ended_it = False

    async def wait(self, what: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the call. Raises TimeoutError."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        self._until = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_at(self._until, self._look)
        self._waiting = task
        before = task.cancelling() if task else 0
        try:
            return await what()
        except asyncio.CancelledError as error:
            if self._has_ended_it and task and task.uncancel() <= before:
                raise TimeoutError from error
            raise
        finally:
            self._waiting, self._has_ended_it = None, False

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        if self._waiting is None:
            return
        if loop.time() < self._until:
            self._timer = loop.call_at(self._until, self._look)
        else:
            self._has_ended_it = True
            self._waiting.cancel()
