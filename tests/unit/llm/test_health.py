"""Whether a server is there and well."""

import pytest

from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.retry import look_at, wait_for
from tests.support.peers import closed_ports
from tests.support.wire_server import Reply, WireServer, fails, says

pytestmark = pytest.mark.anyio

LOADING = fails(503, "Loading model")


def provider(url: str) -> OpenAICompatible:
    return OpenAICompatible("openai", url, timeout=5, idle_timeout=5)


class Waits:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def pause(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def test_a_server_that_is_well() -> None:
    moments = iter([10.0, 10.0123])
    with WireServer([says("x")]) as server:
        health = await look_at(asked := provider(server.url), "m", clock=lambda: next(moments))
        await asked.aclose()
    assert (health.status, health.connected, health.latency, health.error) == ("healthy", True, 12.3, "")
    assert (health.provider, health.model) == ("openai", "m")
    assert health.address.startswith(server.url)
    assert server.requests == []  # no answer was asked for


@pytest.mark.parametrize(
    ("reply", "status"), [(LOADING, "loading"), (fails(401), "unhealthy"), (fails(500), "unhealthy")]
)
async def test_a_server_that_answers_but_is_not_well(reply: Reply, status: str) -> None:
    with WireServer([says("x")], list_replies=[reply]) as server:
        health = await look_at(asked := provider(server.url), "m")
        await asked.aclose()
    assert (health.status, health.connected) == (status, True)
    assert health.error


async def test_nobody_is_there() -> None:
    waits = Waits()
    with closed_ports(1) as [url]:
        health = await look_at(provider(url), "")
        assert (health.status, health.connected) == ("unhealthy", False)
        assert not await wait_for(provider(url), pause=waits.pause)
    assert waits.seconds == [1, 2]


async def test_a_server_that_restarts_is_waited_for() -> None:
    waits = Waits()
    with WireServer([says("x")], list_replies=[fails(502), LOADING]) as server:
        asked = provider(server.url)
        assert await wait_for(asked, pause=waits.pause)
        await asked.aclose()
    assert waits.seconds == [1, 2]


async def test_the_attempts_are_counted() -> None:
    waits = Waits()
    with WireServer([says("x")], list_replies=[LOADING] * 3) as server:
        asked = provider(server.url)
        assert not await wait_for(asked, attempts=2, pause=waits.pause)
        await asked.aclose()
    assert waits.seconds == [1]


async def test_a_fault_of_ours_is_no_bad_health() -> None:
    class Broken:
        name, address = "broken", "nowhere"

        async def list_models(self) -> list[object]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await look_at(Broken(), "")  # type: ignore[arg-type] - as little of a provider as is asked for
