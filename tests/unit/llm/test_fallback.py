"""Who answers while the provider in use cannot be reached."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError, LLMConnectionError
from localllm.base.events import MessageCompleted, Notice, RunFinished
from localllm.config.loader import load
from localllm.config.schema import HARMLESS, LLMSettings, OllamaSettings, OpenAISettings
from localllm.llm.client import LLMClient
from localllm.llm.factory import make_client
from localllm.llm.fallback import PAUSE_SECONDS, FallbackClient, Standby
from localllm.llm.messages import UserMessage
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.agents import make_agent, make_tools, play
from tests.support.ollama_wire import TOLD
from tests.support.ollama_wire import says as ollama_says
from tests.support.peers import closed_ports
from tests.support.wire_server import Reply, WireServer, delta, fails, says, sse

pytestmark = pytest.mark.anyio

HELLO = (UserMessage("Hello"),)


async def no_pause(_seconds: float) -> None:
    """Nobody waits."""


def provider(url: str) -> OpenAICompatible:
    return OpenAICompatible("openai", url, timeout=5, idle_timeout=5)


class World:
    """A client before the server at `first`, with those at `others` standing by. `now` is its clock."""

    def __init__(self, first: str, *others: str | ConfigurationError) -> None:
        self.now = 0.0
        self.notices: list[str] = []
        self.client = FallbackClient(
            provider(first),
            standbys=[Standby(f"standby{number}", self._maker(other)) for number, other in enumerate(others)],
            clock=lambda: self.now,
            model="m",
            max_retries=1,
            pause=no_pause,
        )

    def _maker(self, other: str | ConfigurationError) -> Callable[[], LLMClient]:
        def make() -> LLMClient:
            if isinstance(other, ConfigurationError):
                raise other
            return LLMClient(provider(other), max_retries=1, pause=no_pause)

        return make

    async def ask(self) -> str:
        return (await self.client.complete(HELLO, on_notice=self.notices.append)).message.text


@asynccontextmanager
async def world(first: str, *others: str | ConfigurationError) -> AsyncIterator[World]:
    made = World(first, *others)
    try:
        yield made
    finally:
        await made.client.aclose()


@pytest.mark.parametrize("status", [500, 503])
async def test_a_server_that_keeps_failing_is_stood_in_for(status: int) -> None:
    with WireServer([fails(status)]) as first, WireServer([says("second")], models=("n",)) as second:
        async with world(first.url, second.url) as here:
            assert await here.ask() == "second"
            assert len(first.requests) == 2  # it was tried again before
            assert here.client.answering.model == "n"
    [notice] = here.notices
    assert f"HTTP {status}" in notice
    assert "openai (n) answers instead" in notice


async def test_so_is_one_that_is_not_there_and_the_same_model_is_preferred() -> None:
    with closed_ports(1) as [url], WireServer([says("second")], models=("n", "m")) as second:
        async with world(url, second.url) as here:
            assert await here.ask() == "second"
            assert second.bodies()[0]["model"] == "m"


async def test_the_first_is_asked_again_after_a_pause() -> None:
    with WireServer([fails(500), fails(500), says("first")]) as first, WireServer([says("second")]) as second:
        async with world(first.url, second.url) as here:
            assert await here.ask() == "second"
            here.now += PAUSE_SECONDS - 1
            assert await here.ask() == "second"
            assert len(first.requests) == 2
            here.now += 1
            assert await here.ask() == "first"
            assert here.client.answering is here.client
    assert len(here.notices) == 1


async def test_a_server_that_died_is_waited_for_and_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be restarting, the first time."""
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    with WireServer([says("first")]) as first, WireServer([says("second")]) as second, closed_ports(1) as [dead]:
        async with world(first.url, second.url) as here:
            monkeypatch.setattr(here.client, "_pause", pause)
            assert await here.ask() == "first"
            await here.client.provider.aclose()
            here.client.provider = provider(dead)
            assert await here.ask() == "second"
            assert len(waits) == 1
            for _ in range(3):
                here.now += PAUSE_SECONDS + 1
                assert await here.ask() == "second"
            assert len(waits) == 1
    assert len(here.notices) == 1


async def test_in_the_pause_the_first_is_asked_all_the_same_where_nobody_stands_in() -> None:
    replies = [says("second"), fails(401)]
    with WireServer([fails(500), fails(500), says("first")]) as first, WireServer(replies) as second:
        async with world(first.url, second.url) as here:
            assert await here.ask() == "second"
            assert await here.ask() == "first"


async def test_they_are_tried_in_their_order() -> None:
    broken = ConfigurationError("llm_key_unusable", variable="KEY")
    with closed_ports(2) as [url, other], WireServer([says("last")]) as last:
        async with world(url, broken, other, last.url) as here:
            assert await here.ask() == "last"
    assert [notice.split(" ")[0] for notice in here.notices] == ["standby0", "standby1", "No"]


async def test_in_the_pause_whoever_has_answered_is_asked_first() -> None:
    with closed_ports(2) as [url, other], WireServer([says("last")]) as last:
        async with world(url, other, last.url) as here:
            assert await here.ask() == "last"
            here.notices.clear()
            assert await here.ask() == "last"
    assert here.notices == []


async def test_where_nobody_can_it_is_the_first_failure_that_is_told() -> None:
    with closed_ports(1) as [url], WireServer([fails(401)]) as second:
        async with world(url, second.url) as here:
            with pytest.raises(LLMConnectionError) as caught:
                await here.ask()
    assert (caught.value.key, caught.value.params["url"]) == ("llm_refused", f"{url}/v1")


@pytest.mark.parametrize("reply", [fails(401), fails(400), fails(429, headers={"retry-after": "86400"})])
async def test_a_server_that_answers_is_not_stood_in_for(reply: Reply) -> None:
    with WireServer([reply]) as first, WireServer([says("second")]) as second:
        async with world(first.url, second.url) as here:
            with pytest.raises(LLMConnectionError):
                await here.ask()
    assert second.requests == []


async def test_what_was_shown_is_not_said_again_by_another() -> None:
    half = Reply(sse(delta(content="half")), unfinished=True)
    with WireServer([half]) as first, WireServer([says("second")]) as second:
        async with world(first.url, second.url) as here:
            with pytest.raises(LLMConnectionError):
                await here.ask()
    assert second.requests == []


async def test_the_very_server_that_failed_does_not_stand_in_for_itself() -> None:
    with WireServer([fails(500)]) as first:
        async with world(first.url, first.url) as here:
            with pytest.raises(LLMConnectionError):
                await here.ask()
            assert len(first.requests) == 2


async def test_the_window_is_that_of_whoever_answers() -> None:
    listed = Reply((b'{"data": [{"id": "m", "max_model_len": 2048}]}',), headers={"content-type": "application/json"})
    with WireServer([fails(500)]) as first, WireServer([says("x")], routes={"/v1/models": listed}) as second:
        async with world(first.url, second.url) as here:
            assert here.client.assumes_window
            await here.ask()
            assert (here.client.context_window, here.client.assumes_window) == (2048, False)


async def test_another_choice_of_the_persons_forgets_it_all() -> None:
    with WireServer([fails(500)]) as first, WireServer([says("second")]) as second:
        async with world(first.url, second.url) as here:
            await here.ask()
            with WireServer([says("chosen")]) as chosen:
                await here.client.use(provider(chosen.url), "m")
                assert await here.ask() == "chosen"


class TestFromTheSettings:
    async def test_an_agent_goes_on_with_another(self, tmp_path: Path) -> None:
        with closed_ports(1) as [url], WireServer([ollama_says("I am here")], routes=TOLD) as second:
            settings = LLMSettings(
                provider="openai",
                model="m",
                openai=OpenAISettings(base_url=url),
                ollama=OllamaSettings(base_url=second.url),
                fallback_providers=("ollama",),
            )
            client = make_client(settings, tmp_path, {})
            agent = make_agent(client.provider, tmp_path, tools=make_tools(tmp_path, tools=()), client=client)
            events = await play(agent, "hello")
            await client.aclose()
        notices = [event for event in events if isinstance(event, Notice)]
        assert [notice.level for notice in notices] == ["warning"]
        assert "ollama" in notices[0].text
        assert isinstance(events[-1], RunFinished)
        assert events[-1].answer == "I am here"
        [message] = [event for event in events if isinstance(event, MessageCompleted)]
        assert (message.provider, message.model) == ("ollama", "qwen3:8b")

    async def test_by_default_nobody_stands_in(self, tmp_path: Path) -> None:
        client = make_client(LLMSettings(provider="openai"), tmp_path, {})
        assert not isinstance(client, FallbackClient)

    def test_a_project_may_not_name_any(self, tmp_path: Path) -> None:
        assert "llm.fallback_providers" not in HARMLESS
        (tmp_path / "localllm.toml").write_text('[llm]\nfallback_providers = ["openai"]\n')
        loaded = load(tmp_path, environ={"LOCALLLM_CONFIG_DIR": str(tmp_path / "user")})
        assert loaded.settings.llm.fallback_providers == ()
        assert "llm.fallback_providers" in loaded.withheld


async def test_while_its_own_server_rests_nobody_gets_it_ready() -> None:
    with WireServer([fails(500)]) as first, WireServer([says("second")], models=("n",)) as second:
        async with world(first.url, second.url) as here:
            await here.ask()
            asked = len(first.asked)
            await here.client.get_ready()
            assert len(first.asked) == asked
            here.client.model = ""
            here.now += PAUSE_SECONDS
            await here.client.get_ready()
            assert len(first.asked) > asked
