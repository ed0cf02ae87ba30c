"""What the panel is told where the user asks it, and what the agent's model reads of its advice."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from localllm.agent.consultation import consult, dossier_by_hand
from localllm.agent.history import History
from localllm.agent.panel.multi_agent import MultiAgentSystem
from localllm.agent.panel.records import Attempt, Consultation, Dossier
from localllm.agent.react_agent import ReActAgent
from localllm.base.errors import LLMConnectionError
from localllm.base.events import AgentEvent, Consulted, Emit, ToolCall
from localllm.llm.messages import AssistantMessage, UserMessage
from tests.support.agents import call, make_agent, scripted

pytestmark = pytest.mark.anyio


class Panel:
    """Gives one plan to whoever asks, and keeps what it was asked."""

    def __init__(self, plan: str = "Read it.", *, has_model: bool = True) -> None:
        self.llm_clients = {"boss": None} if has_model else {}
        self.consultation_history = [
            Consulted(kind="panel", question="q", opinions=(), plan=f"plan {n}") for n in range(4)
        ]
        self.asked: list[tuple[str, Dossier, list[str], bool]] = []
        self._plan = plan

    async def ask_three(self, dossier: Dossier, _emit: Emit, *, by_hand: bool = False) -> Consultation:
        self.asked.append(("panel", dossier, [], by_hand))
        return Consultation(plan=self._plan)

    async def ask_boss(
        self, dossier: Dossier, earlier: Sequence[Consultation], _emit: Emit, *, by_hand: bool = False
    ) -> Consultation:
        self.asked.append(("boss", dossier, [one.plan for one in earlier], by_hand))
        return Consultation(plan=self._plan)


@pytest.fixture
def agent(tmp_path: Path) -> ReActAgent:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n")
    return make_agent(scripted(call("read_file", file_path="a.py"), "It is 1.", "So.", "And so."), root)


async def ask(panel: Panel, kind: Any, agent: ReActAgent) -> None:
    events: list[AgentEvent] = []
    await consult(cast("MultiAgentSystem", panel), kind, "what now?", agent, events.append)


def told(agent: ReActAgent) -> list[str]:
    return [message.text for message in agent.history.messages if isinstance(message, UserMessage)]


@pytest.mark.parametrize(
    ("kind", "earlier", "heading"),
    [
        ("panel", [], "The person asked a panel of other models: “what now?” Its plan"),
        ("boss", ["plan 2", "plan 3"], "The person asked a more experienced model: “what now?” Its advice"),
    ],
)
async def test_the_model_reads_the_plan_with_its_next_request(
    agent: ReActAgent, kind: str, earlier: list[str], heading: str
) -> None:
    await agent.execute_query("What is x?")
    panel = Panel()
    await ask(panel, kind, agent)
    ((asked, dossier, shown, by_hand),) = panel.asked
    assert (asked, shown, by_hand, dossier.goal) == (kind, earlier, True, "what now?")
    assert dossier.main is not None
    assert dossier.main.messages == agent.history.messages
    await agent.execute_query("Go on.")
    await agent.execute_query("And on.")
    assert told(agent)[1].startswith(heading)
    assert "for your information:\nRead it.\n\nGo on." in told(agent)[1]
    assert "Read it." not in told(agent)[2]


async def test_without_a_plan_it_reads_nothing(agent: ReActAgent) -> None:
    await agent.execute_query("What is x?")
    await ask(Panel(""), "panel", agent)
    await agent.execute_query("Go on.")
    assert told(agent)[1] == "Go on."


async def test_before_the_first_answer_members_are_not_asked_behind_the_conversation(agent: ReActAgent) -> None:
    panel = Panel()
    await ask(panel, "panel", agent)
    dossier = panel.asked[0][1]
    assert dossier.main is None
    assert dossier.problem == "The person asks, before anything was done."


async def test_where_nobody_has_a_model_it_is_said(agent: ReActAgent) -> None:
    with pytest.raises(LLMConnectionError) as raised:
        await ask(Panel(has_model=False), "panel", agent)
    assert raised.value.key == "panel_no_model"


def test_what_was_said_last_and_has_failed_is_told() -> None:
    history = History("s")
    history.add_user("fix a.py", words="fix a.py")
    history.add_assistant(AssistantMessage("First."))
    history.add_user("offered\n\nand b.py " + "word " * 900, words="and b.py " + "word " * 900)
    history.add_assistant(AssistantMessage("Second. " + "so on " * 900 + "at last"))
    history.add_user("go on", words="go on")
    history.add_assistant(AssistantMessage("", (ToolCall("c", "read_file", '{"file_path": "a.py"}'),)))
    history.add_result("c", "x = 1\n")
    edit = ToolCall("e", "edit_file", '{"file_path": "a.py"}')
    failed = [Attempt(edit, "not found", failed=True), Attempt(edit, "Edited.", failed=False)]
    other = Attempt(ToolCall("r", "run_command", '{"command": "make"}'), "no rule", failed=True)
    dossier = dossier_by_hand("why?", history, [*failed, other], {"a.py": "x = 2\n"}.get)
    assert "The person said last: go on\n" in dossier.problem
    assert "The agent said last: Second." in dossier.problem
    assert dossier.problem.endswith("at last")
    assert len(dossier.problem) < 600
    assert [attempt.result for attempt in dossier.attempts] == ["no rule"], "what has not succeeded since"
    assert dossier_by_hand("a.py?", history, (), {"a.py": "x = 2\n"}.get).snippets == ("a.py, lines 1-1:\nx = 2",)


def test_without_words_of_the_users_a_dash_stands() -> None:
    history = History("s")
    history.add_user("offered")
    history.add_assistant(AssistantMessage("Well."))
    assert "The person said last: —\n" in dossier_by_hand("why?", history).problem
