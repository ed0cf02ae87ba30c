"""Plan mode as the model is told of it: at the end of what it reads next, once off again it is told once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.agent.history import History
from localllm.agent.middleware import Inject, RunState
from localllm.agent.plan_mode import PlanMode, has_plan, is_told_to_plan, plan_note, plan_over_note
from localllm.agent.react_agent import ReActAgent
from localllm.base.events import AgentEvent, RunFinished, ToolFinished
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, ToolMessage, UserMessage
from localllm.llm.providers.base import Provider
from tests.support.agents import call, make_tools, scripted

pytestmark = pytest.mark.anyio


class Switch:
    planning = True

    def __call__(self) -> bool:
        return self.planning


def make(
    provider: Provider, root: Path, switch: Switch, listener: Callable[[AgentEvent], None] = lambda _: None
) -> ReActAgent:
    root.mkdir(exist_ok=True)
    client = LLMClient(provider, model="m")
    return ReActAgent(client, make_tools(root), middleware=[PlanMode(switch)], listeners=[listener])


def requests(agent: ReActAgent) -> list[str]:
    return [message.text for message in agent.history.messages if isinstance(message, UserMessage)]


async def test_each_request_ends_with_the_note_and_the_system_prompt_stays(tmp_path: Path) -> None:
    agent = make(scripted(call("list_files", path="."), "1. This", "2. That"), tmp_path / "p", Switch())
    system = agent.history.messages[0]
    await agent.execute_query("Plan it")
    await agent.execute_query("Plan it better")
    assert [text.count(plan_note()) for text in requests(agent)] == [1, 1]
    assert all(text.endswith(plan_note()) for text in requests(agent))
    assert agent.history.messages[0] == system
    assert agent.history.words == ("Plan it", "Plan it better")
    assert not any(plan_note() in m.text for m in agent.history.messages if isinstance(m, ToolMessage))


async def test_once_off_it_is_said_once(tmp_path: Path) -> None:
    switch = Switch()
    agent = make(scripted("1. This", "Done.", "Yes."), tmp_path / "p", switch)
    await agent.execute_query("Plan it")
    switch.planning = False
    await agent.execute_query("Do it")
    await agent.execute_query("Done?")
    assert [plan_over_note() in text for text in requests(agent)] == [False, True, False]


async def test_a_change_in_the_middle_of_a_run_is_told_with_the_next_step(tmp_path: Path) -> None:
    switch = Switch()

    def accept(event: AgentEvent) -> None:
        if isinstance(event, ToolFinished):
            switch.planning = False

    model = scripted(call("list_files", path="."), call("list_files", path="."), "Done.")
    agent = make(model, tmp_path / "p", switch, accept)
    await agent.execute_query("Plan it")
    results = [message.text for message in agent.history.messages if isinstance(message, ToolMessage)]
    assert [plan_over_note() in text for text in results] == [True, False]


async def test_each_request_is_told_anew_and_a_step_only_where_the_mode_has_changed() -> None:
    switch, history = Switch(), History("system")
    policy, state = PlanMode(switch), RunState("go", history, lambda _: None)
    history.add_user("go")
    said: list[str] = []
    for step, planning in ((0, True), (1, True), (2, False), (3, False), (0, True), (0, True), (0, False), (1, False)):
        state.step, switch.planning = step, planning
        decision = await policy.before_step(state)
        text = decision.text if isinstance(decision, Inject) else ""
        said.append("on" if text == plan_note() else "off" if text == plan_over_note() else "")
        if text:
            history.append_note(text)
    assert said == ["on", "", "off", "", "on", "on", "off", ""]
    assert not is_told_to_plan(history)


def test_what_was_said_last_holds() -> None:
    history = History("system")
    assert not is_told_to_plan(history)
    history.add_user(f"{plan_over_note()}\n\n{plan_note()}")
    assert is_told_to_plan(history)
    history.add_assistant(AssistantMessage(plan_over_note()))
    assert is_told_to_plan(history), "the model's own words turn nothing off"
    history.add_user("go on")
    assert is_told_to_plan(history)
    history.append_note(plan_over_note())
    assert not is_told_to_plan(history)


@pytest.mark.parametrize(
    ("answer", "is_plan"),
    [
        ("1. Fix a.py\n2. Run the tests", True),
        ("1. Fix a.py\n2. Run the tests\n\nShall I?", True),
        ("Change `a.py` so that it adds up, then run pytest.", True),
        ("Which file do you mean?", False),
        ("どのファイルですか？\n", False),
        ("", False),
        (" \n", False),
    ],
)
def test_what_is_a_plan(answer: str, is_plan: bool) -> None:
    assert has_plan(RunFinished("done", answer), "plan") == is_plan
    assert not has_plan(RunFinished("limit", answer), "plan")
    assert not has_plan(RunFinished("done", answer), "ask")
