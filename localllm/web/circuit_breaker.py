"""A circuit breaker: pause requests to a service after repeated failures."""

import time
from collections.abc import Callable

FAILURES = 3
"""Consecutive failures that open it."""

REST = 60.0
"""Seconds until the next attempt."""


class CircuitBreaker:
    """Closed, it admits requests; open, after `failures` in a row, it rejects them for `rest` seconds; then, half open,
    it admits one, which closes or reopens it."""

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
        """The number of consecutive failures."""
        return self._failures

    @property
    def is_open(self) -> bool:
        """Whether requests are rejected now."""
        return self._failures >= self._limit and self._clock() < self._open_until

    def begin(self) -> float:
        """Request admission: 0 grants it, and `succeed`, `fail` or `release` must follow; otherwise the seconds to
        wait."""
        if self._failures < self._limit:
            return 0.0
        if self.is_open:
            return self._open_until - self._clock()
        if self._is_tried:
            return self._rest
        self._is_tried = True
        return 0.0

    def succeed(self) -> None:
        """Record a success."""
        self._failures, self._is_tried = 0, False

    def fail(self, rest: float = 0.0) -> None:
        """Record a failure; an explicit `rest` opens the breaker at once, for so many seconds."""
        self._is_tried = False
        self._failures = max(self._failures + 1, self._limit if rest else 0)
        if self._failures >= self._limit:
            self._open_until = self._clock() + (rest or self._rest)

    def release(self) -> None:
        """Return the admission unused."""
        self._is_tried = False
