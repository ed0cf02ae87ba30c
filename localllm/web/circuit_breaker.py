"""A circuit breaker: what failed again and again is left alone for a while."""

import time
from collections.abc import Callable

FAILURES = 3
"""So many failures in a row open it."""

REST = 60.0
"""Seconds until what failed is tried again."""


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
