"""Work in a thread that ends when its time is up, or nobody waits for it any more."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class Patience:
    """How long a piece of work may go on: it asks `over` now and then, and gives what it has when it is."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._given_up = False

    @property
    def over(self) -> bool:
        """Whether the work shall end."""
        return self._given_up or time.monotonic() > self._end

    def give_up(self) -> None:
        """Nobody waits any more."""
        self._given_up = True


async def in_thread(work: Callable[[Patience], Result], seconds: float) -> Result:
    """What `work` gives, done in a thread. It is told to end after `seconds`, and at an interrupt."""
    patience = Patience(seconds)
    try:
        return await asyncio.to_thread(work, patience)
    finally:
        patience.give_up()
