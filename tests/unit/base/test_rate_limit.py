"""How often something may be asked."""

import asyncio

import pytest

from localllm.base.rate_limit import RateLimiter

pytestmark = pytest.mark.anyio


class Time:
    """Passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def clock(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.now += seconds

    def limiter(self, per_minute: int) -> RateLimiter:
        return RateLimiter(per_minute, clock=self.clock, pause=self.pause)


async def test_without_a_limit_nobody_waits() -> None:
    limiter = Time().limiter(0)
    assert [await limiter.wait("a") for _ in range(1000)] == [0] * 1000


@pytest.mark.parametrize("per_minute", [1, 6, 60, 600])
async def test_no_minute_sees_more_than_a_burst_above_the_limit(per_minute: int) -> None:
    time = Time()
    limiter = time.limiter(per_minute)
    asked: list[float] = []
    for _ in range(3 * per_minute + 5):
        await limiter.wait("a")
        asked.append(time.now)
    burst = max(1, per_minute // 10)
    most = max(sum(moment <= other < moment + 60 for other in asked) for moment in asked)
    assert most <= per_minute + burst
    assert time.now - 1000 == pytest.approx((len(asked) - burst) * 60 / per_minute)


async def test_idle_time_gives_the_burst_back_and_no_more() -> None:
    time = Time()
    limiter = time.limiter(60)
    for _ in range(6):
        assert await limiter.wait("a") == 0
    assert await limiter.wait("a") == pytest.approx(1)
    time.now += 3600
    assert [await limiter.wait("a") for _ in range(7)] == [0] * 6 + [pytest.approx(1)]


async def test_each_has_a_limit_of_its_own() -> None:
    limiter = Time().limiter(1)
    assert await limiter.wait("a") == 0
    assert await limiter.wait("b") == 0
    assert await limiter.wait("a") == pytest.approx(60)


async def test_whoever_comes_while_another_waits_waits_behind_it() -> None:
    time = Time()

    async def nobody_waits(_seconds: float) -> None:
        """All ask at the same moment."""

    limiter = RateLimiter(60, clock=time.clock, pause=nobody_waits)
    waits = [await limiter.wait("a") for _ in range(9)]
    assert waits == [0] * 6 + [pytest.approx(1), pytest.approx(2), pytest.approx(3)]


async def test_a_server_that_asked_to_wait_is_left_alone() -> None:
    time, told = Time(), []
    limiter = time.limiter(0)
    limiter.hold("a", 20)
    limiter.hold("a", 5)
    assert await limiter.wait("b", told.append) == 0
    assert await limiter.wait("a", told.append) == 20
    assert await limiter.wait("a", told.append) == 0
    assert told == [20]


async def test_whoever_does_not_wait_to_the_end_gives_the_turn_back() -> None:
    time, waiting = Time(), asyncio.Event()
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)
        waiting.set()
        await asyncio.Event().wait()

    limiter = RateLimiter(6, clock=time.clock, pause=pause)
    await limiter.wait("a")
    for _ in range(3):
        waiting.clear()
        asked = asyncio.create_task(limiter.wait("a"))
        await waiting.wait()
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
    assert waits == [pytest.approx(10)] * 3


async def test_the_delay_is_told_without_taking_the_turn() -> None:
    time = Time()
    limiter = time.limiter(6)
    assert limiter.delay("a") == limiter.delay("a") == 0
    await limiter.wait("a")
    assert limiter.delay("a") == pytest.approx(10)
    assert limiter.delay("b") == 0
    time.now += 4
    assert limiter.delay("a") == pytest.approx(6)
    limiter.hold("a", 30)
    assert limiter.delay("a") == pytest.approx(30)
    assert Time().limiter(0).delay("a") == 0
