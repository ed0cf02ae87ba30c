"""Sub-agents: their own conversation, and what of them reaches the agent they work for."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.subagents import FINDING_TOKENS, READING_TOOLS, STEPS, Explorer, SubAgent, capped
from localllm.base.errors import LLMConnectionError
from localllm.base.events import (
    AgentEvent,
    Compacted,
    ConfirmationRequested,
    Delegated,
    MessageCompleted,
    RunFinished,
    ToolFinished,
    ToolStarted,
    decode,
    encode,
)
from localllm.config.schema import AgentSettings, SafetySettings
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, CompletionRequest, ToolMessage
from localllm.llm.tokens import estimate_tokens
from localllm.safety.tool_definition import Risk, Tool, ToolOutput
from localllm.tools.builtin import TOOLS
from localllm.tools.registry import tool
from localllm.tools.tool_system import ToolSystem
from tests.support.agents import Answering, make_agent, make_tools, play
from tests.support.brains import Brain, Turn, asked_as, results_in, task_of, to_call

pytestmark = pytest.mark.anyio


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "core.py").write_text("def answer():\n    return 42\n", "utf-8")
    return tmp_path / "p"


class Asking:
    """An agent that may call `explore`, over real tools."""

    def __init__(self, brain: Brain, root: Path, *, safety: SafetySettings | None = None, more: tuple[Tool, ...] = ()):
        self.client = LLMClient(brain, model="m", max_retries=0)
        self.tools: ToolSystem = make_tools(
            root, safety=safety, tools=(*TOOLS, *more, Explorer(self.client, lambda: self.tools).tool())
        )
        self.agent = make_agent(brain, root, tools=self.tools, client=self.client)


def _explores(request: CompletionRequest) -> Turn:
    """The agent asks; the explorer reads a file, then answers."""
    if not asked_as(request, "explorer"):
        return "Done." if results_in(request) else to_call("explore", question="Where is the answer?")
    return "answer() returns 42, core.py:1" if results_in(request) else to_call("read_file", file_path="core.py")


def _reads_core(request: CompletionRequest) -> Turn:
    return "found" if results_in(request) else to_call("read_file", file_path="core.py")


async def test_only_the_finding_reaches_the_one_who_asked(root: Path) -> None:
    asking = Asking(Brain(_explores), root)
    events = await play(asking.agent, "q")
    result = next(message for message in asking.agent.history.messages if isinstance(message, ToolMessage))
    assert (result.name, result.text) == ("explore", "answer() returns 42, core.py:1")
    assert all("return 42" not in message.text for message in asking.agent.history.messages)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].status == "done"


async def test_it_has_its_own_prompt_and_reading_tools_alone(root: Path) -> None:
    brain = Brain(_explores)
    await play(Asking(brain, root).agent, "q")
    own = [request for request in brain.requests if asked_as(request, "explorer")]
    assert len(own) == 2
    assert task_of(own[0]).startswith("Where is the answer?")
    assert {spec.name for spec in own[0].tools} == {tool.name for tool in READING_TOOLS}
    assert "explore" not in {spec.name for spec in own[0].tools}


async def test_steps_are_shown_as_its_own(root: Path) -> None:
    events = await play(Asking(Brain(_explores), root).agent, "q")
    delegated = [event for event in events if isinstance(event, Delegated)]
    assert {event.agent for event in delegated} == {"explore"}
    assert [type(event.event).__name__ for event in delegated] == [
        "RunStarted",
        "MessageCompleted",
        "ToolStarted",
        "ToolFinished",
        "MessageCompleted",
        "RunFinished",
    ]
    own = [event.name for event in events if isinstance(event, ToolStarted)]
    assert own == ["explore"]
    assert [decode(encode(event)) for event in delegated] == delegated


async def test_what_it_uses_counts_as_used_by_the_one_who_asked(root: Path) -> None:
    events = await play(Asking(Brain(_explores), root).agent, "q")
    said = [event for event in events if isinstance(event, MessageCompleted)]
    said += [
        event.event for event in events if isinstance(event, Delegated) and isinstance(event.event, MessageCompleted)
    ]
    assert len(said) == 4
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    assert finished.usage.prompt_tokens == sum(event.usage.prompt_tokens for event in said) > 0


async def test_a_limit_tells_what_was_seen(root: Path) -> None:
    steps = 0

    def reads_on(request: CompletionRequest) -> Turn:
        nonlocal steps
        steps += 1
        return {"text": f"step {steps}", **to_call("read_file", file_path="core.py", start_line=steps)}  # type: ignore[dict-item] - a dict

    (root / "core.py").write_text("x = 1\n" * 50, "utf-8")
    client = LLMClient(Brain(reads_on), model="m")
    output = await Explorer(client, lambda: make_tools(root)).explore("q?", lambda _: None)
    assert not output.success
    assert steps == STEPS
    assert f"after {STEPS} steps" in output.for_model
    assert "core.py" in output.for_model
    assert output.payload["status"] == "limit"


async def test_of_much_that_was_seen_the_newest_is_told(root: Path) -> None:
    lines = iter(range(1, 100))

    def reads_two(_request: CompletionRequest) -> Turn:
        asked = [{"file_path": "core.py", "start_line": next(lines), "max_lines": 1} for _ in range(2)]
        return {"calls": [{"name": "read_file", "arguments": arguments} for arguments in asked]}

    (root / "core.py").write_text("x = 1\n" * 50, "utf-8")
    client = LLMClient(Brain(reads_two), model="m")
    output = await Explorer(client, lambda: make_tools(root)).explore("q?", lambda _: None)
    seen = [line for line in output.for_model.splitlines() if line.startswith("- read_file")]
    assert len(seen) == 12
    places = [re.search(r"\d+(?=[ -])", line) for line in seen]
    assert [place and int(place[0]) for place in places] == list(range(13, 25)), seen


async def test_the_limits_of_whoever_asks_are_its_own(root: Path) -> None:
    def reads(request: CompletionRequest) -> Turn:
        return to_call("read_file", file_path="core.py", start_line=len(request.messages))

    (root / "core.py").write_text("x = 1\n" * 50, "utf-8")
    client = LLMClient(Brain(reads), model="m")
    output = await Explorer(client, lambda: make_tools(root), AgentSettings(max_tool_calls=3)).explore(
        "q?", lambda _: None
    )
    assert (output.payload["status"], output.payload["steps"]) == ("limit", 3)


async def test_before_its_last_step_it_is_told(root: Path) -> None:
    def reads_until_told(request: CompletionRequest) -> Turn:
        if "last step" in request.messages[-1].text:
            return "only this much"
        return to_call("read_file", file_path="core.py", start_line=len(request.messages))

    (root / "core.py").write_text("x = 1\n" * 50, "utf-8")
    client = LLMClient(Brain(reads_until_told), model="m")
    output = await Explorer(client, lambda: make_tools(root)).explore("q?", lambda _: None)
    assert output.success
    assert (output.for_model, output.payload["steps"]) == ("only this much", STEPS)


@pytest.mark.parametrize(
    "failure", [LLMConnectionError("llm_empty", url="u", reason=""), RuntimeError("a fault of ours")]
)
async def test_a_failure_is_a_result(root: Path, failure: Exception) -> None:
    def fails(request: CompletionRequest) -> Turn:
        if asked_as(request, "explorer"):
            raise failure
        return "Alone, then." if results_in(request) else to_call("explore", question="q?")

    asking = Asking(Brain(fails), root)
    events = await play(asking.agent, "q")
    outcome = next(event for event in events if isinstance(event, ToolFinished))
    assert not outcome.success
    assert isinstance(events[-1], RunFinished)
    assert (events[-1].status, events[-1].answer) == ("done", "Alone, then.")


async def test_an_interrupt_ends_it_at_once(root: Path) -> None:
    reached = asyncio.Event()

    async def waits(request: CompletionRequest) -> Turn:
        if not asked_as(request, "explorer"):
            return to_call("explore", question="q?")
        reached.set()
        await asyncio.Event().wait()
        return ""

    brain = Brain(waits)
    asking = Asking(brain, root)
    seen: list[AgentEvent] = []

    async def consume() -> None:
        async for event in asking.agent.run("q"):
            seen.append(event)

    run = asyncio.create_task(consume())
    await reached.wait()
    asking.agent.interrupt()
    await run
    assert brain.open == 0
    assert isinstance(seen[-1], RunFinished)
    assert seen[-1].status == "interrupted"
    assert isinstance(asking.agent.history.messages[-1], AssistantMessage)
    ended = [event.event for event in seen if isinstance(event, Delegated)][-1]
    assert isinstance(ended, RunFinished)
    assert ended.status == "interrupted"


async def test_text_of_strangers_it_read_taints_the_one_who_asked(root: Path) -> None:
    @tool(risk=Risk.SAFE)
    async def stranger(context: object) -> ToolOutput:
        """Text from the web."""
        return ToolOutput(payload={}, for_model="do this", summary="s", untrusted=True)

    tools = make_tools(root)
    part = tools.part("w", [stranger], output_limit=1_000)

    def reads(request: CompletionRequest) -> Turn:
        return "found" if results_in(request) else to_call("stranger")

    helper = SubAgent(LLMClient(Brain(reads), model="m"), part, lambda _: None, AgentSettings())
    assert (await helper.run("t")).is_done
    assert part.tainted
    assert not tools.tainted

    tools.taint()
    assert tools.part("x", [], output_limit=1_000).tainted


async def test_what_is_asked_about_is_asked_in_its_name(root: Path) -> None:
    person = Answering(approve=True)
    tools = make_tools(root, confirmer=person, safety=SafetySettings(ask=("read_file(core.py)",)))
    shown: list[AgentEvent] = []
    output = await Explorer(LLMClient(Brain(_reads_core), model="m"), lambda: tools).explore("q", shown.append)
    assert output.for_model == "found"
    assert [request.agent for request in person.asked] == ["explore"]
    assert [event.agent for event in shown if isinstance(event, ConfirmationRequested)] == ["explore"]


async def test_deny_rules_hold_for_it(root: Path) -> None:
    brain = Brain(_reads_core)
    tools = make_tools(root, safety=SafetySettings(deny=("read_file(core.py)", "git_log")))
    await Explorer(LLMClient(brain, model="m"), lambda: tools).explore("q", lambda _: None)
    assert "42" not in results_in(brain.requests[-1])[0]
    assert "git_log" not in {spec.name for spec in brain.requests[0].tools}


async def test_what_the_model_asked_it_counts_as_said_by_nobody(root: Path) -> None:
    tools = make_tools(root)
    tools.begin_turn("look at https://said.example/")
    part = tools.part("x", [], output_limit=1_000)
    part.begin_turn("send it to https://other.example/")
    assert part.changes.position == tools.changes.position
    assert "said.example" in part._judge.said
    assert "other.example" not in part._judge.said


def test_a_finding_is_cut_to_its_tokens() -> None:
    long = "\n".join(f"line {number} of a long finding, src/file_{number}.py:12" for number in range(500))
    cut = capped(long, FINDING_TOKENS, estimate_tokens)
    assert estimate_tokens(cut) <= FINDING_TOKENS
    assert estimate_tokens(cut) > FINDING_TOKENS * 0.9
    assert cut.startswith("line 0 of")
    assert capped("short", FINDING_TOKENS, estimate_tokens) == "short"
    wide = "設定は読み込まれる。" * 400
    assert estimate_tokens(capped(wide, FINDING_TOKENS, estimate_tokens)) <= FINDING_TOKENS


def test_the_tool_costs_few_bytes(root: Path) -> None:
    import msgspec

    spec = Explorer(LLMClient(Brain(_explores), model="m"), lambda: make_tools(root)).tool().spec
    assert len(msgspec.json.encode(spec)) < 200


async def test_it_has_no_more_steps_than_whoever_asks(root: Path) -> None:
    def reads(request: CompletionRequest) -> Turn:
        return to_call("read_file", file_path="core.py", start_line=len(request.messages))

    (root / "core.py").write_text("x = 1\n" * 50, "utf-8")
    client = LLMClient(Brain(reads), model="m")
    output = await Explorer(client, lambda: make_tools(root), AgentSettings(max_iterations=3)).explore(
        "q?", lambda _: None
    )
    assert (output.payload["status"], output.payload["steps"]) == ("limit", 3)
    assert "after 3 steps (limit)" in output.for_model


async def test_what_it_has_said_stands_behind_what_it_saw_and_failures_are_not_seen(root: Path) -> None:
    turns = iter(
        [
            {"text": "The answer is in core.py.", **to_call("read_file", file_path="core.py")},  # type: ignore[dict-item] - a dict
            to_call("read_file", file_path="gone.py"),
            to_call("read_file", file_path="core.py", start_line=2),
        ]
    )
    client = LLMClient(Brain(lambda _request: next(turns)), model="m")
    output = await Explorer(client, lambda: make_tools(root), AgentSettings(max_iterations=3)).explore(
        "q?", lambda _: None
    )
    seen = output.for_model.splitlines()
    assert len([line for line in seen if line.startswith("- read_file: ")]) == 2
    assert "gone.py" not in output.for_model
    assert seen[-1] == "The answer is in core.py."


@pytest.mark.parametrize("tainted", [True, False])
async def test_its_finding_is_as_trusted_as_what_it_read(root: Path, tainted: bool) -> None:
    tools = make_tools(root)
    if tainted:
        tools.taint()
    output = await Explorer(LLMClient(Brain(_reads_core), model="m"), lambda: tools).explore("q", lambda _: None)
    assert output.untrusted == tainted
    assert (output.payload, output.success) == ({"finding": "found", "status": "done", "steps": 2}, True)


@pytest.mark.parametrize(("how", "is_shown"), [("summarised", True), ("pruned", False)])
async def test_only_that_it_was_summed_up_is_shown_and_without_its_messages(
    root: Path, how: Any, is_shown: bool
) -> None:
    shown: list[AgentEvent] = []
    helper = SubAgent(LLMClient(Brain(_reads_core), model="m"), make_tools(root), shown.append, AgentSettings())
    helper._pass_on(Compacted(how=how, before=9, after=1, messages=({"role": "user"},)))
    told = [event.event for event in shown if isinstance(event, Delegated)]
    assert told == ([Compacted(how=how, before=9, after=1, messages=())] if is_shown else [])


@pytest.mark.parametrize(("room", "whole"), [(0, True), (-1, False)])
def test_a_finding_of_just_so_many_tokens_is_whole(room: int, whole: bool) -> None:
    text = "a line of the finding\n" * 40
    cut = capped(text, estimate_tokens(text) + room, estimate_tokens)
    assert (cut == text) == whole
    assert ("left out" in cut) != whole
