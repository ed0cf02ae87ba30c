"""A limit on silence that holds for each of many waits."""

import asyncio

import pytest

from localllm.llm.http.idle_watch import IdleWatch

pytestmark = pytest.mark.anyio


async def test_a_wait_that_takes_too_long_is_ended() -> None:
    watch, ended = IdleWatch(0.01), asyncio.Event()

    async def never() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(TimeoutError):
        await watch.wait(never)
    assert ended.is_set()
    assert asyncio.current_task().cancelling() == 0  # pyright: ignore[reportOptionalMemberAccess]


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the event loop's time is ahead of the real one."""
    ahead, loop = [0.0], asyncio.get_running_loop()
    real = loop.time
    monkeypatch.setattr(loop, "time", lambda: real() + ahead[0])
    return ahead


async def test_many_short_waits_may_take_longer_together_and_the_next_long_one_may_not(clock: list[float]) -> None:
    watch = IdleWatch(1_000)

    async def piece(seconds: float) -> str:
        clock[0] += seconds
        for _ in range(3):
            await asyncio.sleep(0)  # a timer that is due fires
        return "piece"

    for _ in range(8):
        assert await watch.wait(lambda: piece(600)) == "piece"
    with pytest.raises(TimeoutError):
        await watch.wait(lambda: piece(1_100))
    assert await watch.wait(lambda: piece(600)) == "piece"
    watch.close()


async def test_no_time_is_counted_between_two_waits(clock: list[float]) -> None:
    watch = IdleWatch(1_000)
    await watch.wait(lambda: asyncio.sleep(0))
    clock[0] += 5_000
    await asyncio.sleep(0)
    assert await watch.wait(lambda: asyncio.sleep(0, "piece")) == "piece"
    watch.close()


async def test_whoever_cancels_the_reader_is_not_told_of_a_time_out() -> None:
    watch = IdleWatch(30)
    reading = asyncio.ensure_future(watch.wait(asyncio.Event().wait))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    watch.close()


async def test_what_fails_while_it_is_waited_for_fails() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("broken")

    watch = IdleWatch(30)
    with pytest.raises(ValueError, match="broken"):
        await watch.wait(fails)
    watch.close()


async def test_nothing_is_left_of_a_watch_that_was_closed() -> None:
    loop = asyncio.get_running_loop()
    watch = IdleWatch(0.01)
    await watch.wait(lambda: asyncio.sleep(0))
    watch.close()
    scheduled = [timer for timer in loop._scheduled if not timer.cancelled()]  # pyright: ignore
    assert scheduled == []
