"""Requests at one host come one by one, with the pause it asks for; at two hosts side by side."""

import asyncio

import pytest

from localllm.web.host_turns import HostTurns
from tests.support.web_engines import Clock

pytestmark = pytest.mark.anyio


async def test_one_at_a_time_and_a_pause_after_each() -> None:
    clock = Clock()
    turns = HostTurns(2.0, clock=clock, sleep=clock.pause)
    began: list[float] = []
    at_once: list[int] = []
    inside = 0

    async def visit(pause: float) -> None:
        nonlocal inside
        async with turns.turn("a.example") as turn:
            inside += 1
            began.append(clock())
            await asyncio.sleep(0)
            at_once.append(inside)
            turn.pause = max(turn.pause, pause)
            inside -= 1

    first = clock()
    await asyncio.gather(visit(0), visit(7.0), visit(0))
    assert [when - first for when in began] == [0.0, 2.0, 9.0]
    assert max(at_once) == 1


async def test_a_failure_ends_the_turn_and_keeps_the_pause() -> None:
    clock = Clock()
    turns = HostTurns(2.0, clock=clock, sleep=clock.pause)
    before = clock()
    with pytest.raises(OSError, match="gone"):
        async with turns.turn("a.example"):
            raise OSError("gone")
    async with turns.turn("a.example"):
        assert clock() == before + 2.0


async def test_another_host_does_not_wait() -> None:
    turns = HostTurns(1e6)
    async with turns.turn("a.example"), turns.turn("b.example"):
        pass
