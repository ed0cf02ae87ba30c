"""Sub-agents in the program without its screen: who is offered them, and what of them is the conversation's."""

import json
from pathlib import Path

import pytest

from localllm.app.app import LocalLLMCode
from localllm.base.errors import ConfigurationError
from localllm.base.events import AgentEvent, Delegated, MessageCompleted, RunFinished
from localllm.config.loader import Loaded
from localllm.config.schema import AgentSettings, SafetySettings, Settings
from localllm.sessions.log import read_session
from tests.support.wire_server import WireServer, calls, says
from tests.unit.app.test_app import Nobody, app_over, state

__all__ = ["state"]  # its folder, for every test here

pytestmark = pytest.mark.anyio

ASKS = calls(("explore", {"question": "Where?"}))


async def _all(app: LocalLLMCode, query: str) -> list[AgentEvent]:
    return [event async for event in app.run(query)]


@pytest.mark.parametrize(("profile", "offered"), [("standard", True), ("compact", False)])
async def test_the_standard_profile_alone_offers_explore(tmp_path: Path, profile: str, offered: bool) -> None:
    agent = AgentSettings(profile="standard" if profile == "standard" else "compact")
    with WireServer([says("Hello.")]) as server:
        async with app_over(tmp_path, server.url, agent=agent) as app:
            await _all(app, "Hello")
            assert next(tool for tool in app.tools() if tool.name == "explore").offered == offered
    names = [tool["function"]["name"] for tool in server.bodies()[0]["tools"]]
    assert ("explore" in names) == offered
    assert len(server.requests[0]) < (6_000 if offered else 3_500)


async def test_what_it_uses_is_the_sessions_and_its_window_its_own(tmp_path: Path) -> None:
    replies = [ASKS, says("Here."), says("There it is.")]
    with WireServer(replies) as server:
        async with app_over(tmp_path, server.url) as app:
            events = await _all(app, "Where is it?")
            said = [event.event if isinstance(event, Delegated) else event for event in events]
            used = [event.usage for event in said if isinstance(event, MessageCompleted)]
            assert len(used) == 3
            assert app.usage.prompt_tokens == sum(usage.prompt_tokens for usage in used)
            last = events[-1]
            assert isinstance(last, RunFinished)
            assert last.usage.prompt_tokens == app.usage.prompt_tokens
            assert app.context_used == used[2].prompt_tokens + used[2].completion_tokens
            log = app.keeping.sessions.file_of(app.session_id)
    kept = read_session(log)
    assert kept.torn_lines == 0
    assert [type(event.event) for event in kept.events if isinstance(event, Delegated)].count(MessageCompleted) == 1


async def test_a_new_conversation_tells_the_boss_nothing_of_the_one_before(tmp_path: Path) -> None:
    plans = ("paint it blue", "the same", "red")
    advice = [says(json.dumps({"verdict": "v", "next_action": plan, "confidence": 0.9})) for plan in plans]
    with WireServer(advice) as server:
        async with app_over(tmp_path, server.url) as app:
            await app.consult("boss", "Which colour?", lambda _: None)
            await app.consult("boss", "And the door?", lambda _: None)
            app.clear()
            await app.consult("boss", "And the roof?", lambda _: None)
    said = [json.dumps(body["messages"]) for body in server.bodies()]
    assert ["paint it blue" in text for text in said] == [False, True, False]


async def test_after_a_rewind_the_boss_is_told_nothing_of_what_was_forgotten(tmp_path: Path) -> None:
    advice = says(json.dumps({"verdict": "v", "next_action": "paint it blue", "confidence": 0.9}))
    tries = calls(("read_file", {"file_path": "lost_file.py"}))
    with WireServer([tries, says("It is not there."), advice, advice]) as server:
        async with app_over(tmp_path, server.url) as app:
            await _all(app, "Read it")
            await app.consult("boss", "Which colour?", lambda _: None)
            assert "lost_file" in json.dumps(server.bodies()[-1])
            app.changes.rewind("1")
            await app.consult("boss", "And the door?", lambda _: None)
    last = json.dumps(server.bodies()[-1])
    assert "lost_file" not in last
    assert "paint it blue" not in last


async def test_a_rule_may_name_it(tmp_path: Path) -> None:
    with WireServer([says("Hello.")]) as server:
        async with app_over(tmp_path, server.url) as known:
            client = known.settings.llm
        denied = Settings(llm=client, safety=SafetySettings(deny=("explore",)))
        app = LocalLLMCode(tmp_path, Loaded(settings=denied), Nobody(), environ={})
        await app.initialize()
        assert not next(tool for tool in app.tools() if tool.name == "explore").allowed
        await app.cleanup()
        with pytest.raises(ConfigurationError):
            LocalLLMCode(
                tmp_path,
                Loaded(settings=Settings(llm=client, safety=SafetySettings(deny=("explorer",)))),
                Nobody(),
                environ={},
            )
