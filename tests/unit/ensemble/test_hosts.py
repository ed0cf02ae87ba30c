"""Whose turn it is on a host that holds few models at once."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.ensemble.hosts import Host, served
from localllm.llm.providers.base import ModelInfo
from tests.ensemble_servers import Gate, OllamaServers, Play
from tests.ensemble_servers.asking import agent, asking
from tests.ensemble_servers.play import until

pytestmark = pytest.mark.anyio


async def turns(host: Host, models: Sequence[str]) -> list[asyncio.Task[None]]:
    """Requests that have asked for their turns in this order."""
    tasks = [asyncio.create_task(host.enter(model)) for model in models]
    await asyncio.sleep(0)
    return tasks


async def settled() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def served_now(tasks: Sequence[asyncio.Task[None]]) -> list[bool]:
    return [task.done() for task in tasks]


async def test_requests_for_one_model_go_together() -> None:
    tasks = await turns(Host("h", 1), ["a", "a", "a"])
    assert served_now(tasks) == [True, True, True]


async def test_another_model_waits_until_the_first_is_done() -> None:
    host = Host("h", 1)
    tasks = await turns(host, ["a", "b", "a", "b"])
    assert served_now(tasks) == [True, False, False, False], "nobody overtakes the one that waits"
    host.leave("a")
    await settled()
    assert served_now(tasks) == [True, True, False, True], "all that wait for b have their turn with it"
    host.leave("b")
    host.leave("b")
    await settled()
    assert all(served_now(tasks))


async def test_without_a_limit_nobody_waits() -> None:
    assert all(served_now(await turns(Host("h"), ["a", "b", "c", "a"])))


async def test_a_limit_that_is_raised_lets_in_who_waits() -> None:
    host = Host("h", 1)
    tasks = await turns(host, ["a", "b", "c"])
    host.limit = 2
    await settled()
    assert served_now(tasks) == [True, True, False]
    host.limit = 0
    await settled()
    assert all(served_now(tasks))


async def test_one_that_gives_up_makes_room_for_those_behind_it() -> None:
    host = Host("h", 1)
    tasks = await turns(host, ["a", "b", "a"])
    tasks[1].cancel()
    await settled()
    assert served_now(tasks) == [True, True, True]
    host.leave("a")
    host.leave("a")
    assert (host.active, host.waiting) == ({}, 0)


async def test_one_that_is_cancelled_with_its_turn_gives_it_back() -> None:
    host = Host("h", 1)
    tasks = await turns(host, ["a", "b", "c"])
    host.leave("a")
    tasks[1].cancel()
    await settled()
    assert tasks[1].cancelled()
    assert tasks[2].done()
    assert host.active == {"c": 1}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=20), st.integers(1, 3))
def test_the_limit_holds_and_everybody_has_a_turn(asked: list[tuple[str, bool]], limit: int) -> None:
    async def check() -> None:
        host = Host("h", limit)

        async def request(model: str, leaves: bool) -> None:
            await host.enter(model)
            try:
                assert len(host.active) <= limit
                await asyncio.sleep(0)
            finally:
                host.leave(model)

        tasks = [asyncio.create_task(request(*each)) for each in asked]
        await asyncio.sleep(0)
        for task, (_, leaves) in zip(tasks, asked, strict=True):
            if leaves:
                task.cancel()
        outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        assert all(outcome is None or isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
        assert (host.active, host.waiting) == ({}, 0)

    asyncio.run(check())


class TestInRuns:
    async def test_a_host_is_asked_for_no_more_models_than_it_may(self) -> None:
        gates = {model: Gate() for model in ("small", "middle", "large")}
        with OllamaServers() as servers:
            one = servers.add({model: Play(gate=gate) for model, gate in gates.items()})
            async with asking(Play(), per_host=1) as asked:
                asked.use(*(agent(model, one, model=model) for model in gates))
                runs = [asked.begin(), asked.begin()]
                for number, (model, gate) in zip((1, 2, 2), gates.items(), strict=True):
                    await gate.holds(number)
                    assert sum(other.waiting for other in gates.values()) == number, model
                    gate.open()
                for run in runs:
                    assert not any(answer.has_failed for answer in (await run).answers)

    async def test_waiting_for_a_turn_counts_and_is_said(self) -> None:
        gate = Gate()
        with OllamaServers() as servers:
            one = servers.add({"small": Play(gate=gate), "large": Play()})
            async with asking(Play(), per_host=1) as asked:
                workers = (agent("A", one, model="small", timeout=20.0), agent("B", one, model="large", timeout=0.2))
                asked.use(*workers)
                run = asked.begin()
                await gate.holds(1)
                await until(lambda: asked.host_of(one).waiting == 1)
                await until(lambda: asked.host_of(one).waiting == 0)
                gate.open()
                error = (await run).answers[1].error
                assert error is not None
                assert error.key == "ensemble_turn_timeout"
                assert len(one.chats) == 1

    async def test_what_hosts_tell_of_their_models(self) -> None:
        async with asking(Play()) as asked:
            one = asked.servers.add({"small": Play(window=4_096), "large": Play(is_loaded=False, maximum=32_768)})
            gone = asked.servers.add()
            asked.servers.stop(gone)
            missing = agent("Missing", one, model="huge")
            asked.use(
                agent("Small", one, model="small"), agent("Large", one, model="large"), missing, agent("Gone", gone)
            )
            reports = {report.address: report for report in await asked.ensemble.report()}
            shared = reports[one.url.removeprefix("http://")]
            assert shared.agents == ("Small", "Large", "Missing")
            assert [(each.name, each.window, each.is_loaded, each.is_there) for each in shared.models] == [
                ("small", 4_096, True, True),
                ("large", 16_384, False, True),
                ("huge", 0, None, False),
            ]
            assert shared.error is None
            error = reports[gone.url.removeprefix("http://")].error
            assert error is not None
            assert error.key == "ensemble_unreachable"
            assert len(reports) == 3


def test_a_model_is_found_by_its_name_with_the_tag_ollama_adds() -> None:
    listed = [ModelInfo("qwen3:latest", context_window=8_192, loaded=True)]
    assert served("qwen3", 16_384, listed).window == 8_192
    assert served("qwen3", 16_384, []).is_there is None
