"""The limiter of a scan's searches."""

import pytest

from localllm.research.market.search_limits import RateLimiter
from tests.support.web_engines import Clock

pytestmark = pytest.mark.anyio


async def test_a_window_has_so_many_requests_and_the_next_waits() -> None:
    clock = Clock()
    limiter = RateLimiter(3, 6_000, clock=clock, pause=clock.pause)
    for _ in range(3):
        assert await limiter.check_limit()
        assert await limiter.wait_if_needed() == 0
    assert not await limiter.check_limit()
    assert await limiter.wait_if_needed() == pytest.approx(2.0)


async def test_a_reset_forgets_the_requests() -> None:
    clock = Clock()
    limiter = RateLimiter(1, 60_000, clock=clock, pause=clock.pause)
    await limiter.wait_if_needed()
    assert not await limiter.check_limit()
    limiter.reset()
    assert await limiter.check_limit()


async def test_looking_takes_no_turn() -> None:
    limiter = RateLimiter(1, 60_000, clock=Clock())
    for _ in range(5):
        assert await limiter.check_limit()
