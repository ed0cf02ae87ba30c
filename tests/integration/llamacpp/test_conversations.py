"""Conversations with llama.cpp's real server: what it keeps of them, several at once, their limits, and their end."""

import asyncio
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from localllm.agent.react_agent import ReActAgent
from localllm.base.errors import LLMConnectionError
from localllm.base.events import AgentEvent, Compacted, MessageCompleted, RunFinished, Usage
from localllm.config.schema import AgentSettings
from localllm.llm.client import LLMClient
from localllm.safety.tool_definition import Risk, ToolOutput
from localllm.tools.context import ToolContext
from localllm.tools.registry import tool
from tests.support.agents import make_tools, play
from tests.support.llama import Served, answered, asks

pytestmark = pytest.mark.anyio

STEPS_OF_A_TURN = 10


@tool(risk=Risk.SAFE)
async def look(context: ToolContext, line: int, closely: bool = False) -> ToolOutput:
    """Look at a line of the file.

    line: its number
    """
    del context
    seen = f"Line {line}, {'closely' if closely else 'in passing'}: nothing new."
    return ToolOutput(payload={"seen": seen}, for_model=seen, summary=seen)


async def test_a_step_reads_only_what_is_new(caller: Served, tmp_path: Path) -> None:
    """The server itself says how much of each prompt it still had: over 20 steps, and from one turn to the next."""
    (root := tmp_path / "project").mkdir()
    async with caller.provider() as provider:
        agent = ReActAgent(
            LLMClient(provider, max_tokens=200, max_retries=0),
            make_tools(root, tools=[look]),
            settings=AgentSettings(max_iterations=STEPS_OF_A_TURN, loop_detection_threshold=100),
        )
        events = [*await play(agent, "Look at the file."), *await play(agent, "Look at it again.")]
    usages = [event.usage for event in events if isinstance(event, MessageCompleted)]
    assert len(usages) == 2 * STEPS_OF_A_TURN
    assert all(not usage.estimated for usage in usages)
    assert min(kept_of(before, after) for before, after in pairwise(usages)) >= 0.99


def kept_of(before: Usage, after: Usage) -> float:
    """The part of the prompt before that the server had not to read again."""
    return after.cached_tokens / before.prompt_tokens


async def test_a_prompt_that_does_not_fit_is_refused_before_anything_is_said(small: Served) -> None:
    async with small.provider() as provider:
        with pytest.raises(LLMConnectionError) as caught:
            await anext(provider.stream(asks("x" * 3_000)))
    assert caught.value.key == "llm_context_overflow"
    assert caught.value.params["n_ctx"] == small.window
    assert "1024" in caught.value.why


async def test_a_window_that_fills_up_ends_the_answer_as_cut(small: Served) -> None:
    few = (await answered(small, asks("x" * 100, max_tokens=1))).usage
    assert few
    room = 30
    fitting = "x" * (100 + small.window - room - few.prompt_tokens)
    gathered = await answered(small, asks(fitting, max_tokens=500))
    assert gathered.finish_reason == "length"
    assert gathered.usage
    assert gathered.usage.prompt_tokens == small.window - room
    assert 0 < gathered.usage.completion_tokens <= room


async def test_leaving_an_answer_frees_the_server(talker: Served) -> None:
    endless = asks("Talk", max_tokens=0)
    async with talker.provider() as provider, aclosing(provider.stream(endless)) as chunks:
        await anext(chunks)
        assert len(await talker.busy_slots()) == 1
    written = 0
    while busy := await talker.busy_slots():
        written = busy[0]["next_token"][0]["n_decoded"]
    assert written < talker.window / 2


async def test_two_conversations_are_answered_at_the_same_time(talker: Served) -> None:
    async with talker.provider() as provider, aclosing(provider.stream(asks("One", max_tokens=0))) as endless:
        await anext(endless)
        assert (await answered(talker, asks("Two", max_tokens=20))).finish_reason == "length"
        await anext(endless)


async def test_with_one_slot_the_second_is_answered_once_the_first_has_gone(small: Served) -> None:
    async with small.provider() as provider, aclosing(provider.stream(asks("One", max_tokens=0))) as endless:
        await anext(endless)
        second = asyncio.create_task(answered(small, asks("Two", max_tokens=20)))
        await anext(endless)
    assert (await second).finish_reason == "length"


@pytest.mark.parametrize("key", ["", "not-the-key"])
async def test_without_the_right_key_nothing_is_answered(talker: Served, key: str) -> None:
    async with talker.provider(key=key) as provider:
        with pytest.raises(LLMConnectionError) as caught:
            await anext(provider.stream(asks("Hello")))
    assert caught.value.key == "llm_unauthorized"
    assert talker.process.api_key not in str(caught.value)


@tool(risk=Risk.SAFE, paths=())
async def look_long(context: ToolContext, line: int, closely: bool = False) -> ToolOutput:
    """Look at a line of the file.

    line: its number
    """
    del context
    seen = f"Line {line} {closely}: " + " ".join(f"{line * number % 977:03d}" for number in range(120))
    return ToolOutput(payload={"seen": seen}, for_model=seen, summary=seen)


@pytest.mark.timeout(180)  # half a minute where the machine has much else to do
async def test_a_long_task_stays_within_the_window_the_server_really_has(caller: Served, tmp_path: Path) -> None:
    """It counts three times as many tokens as anybody would guess. What its model hands over is babble."""
    (root := tmp_path / "project").mkdir()
    heard: list[AgentEvent] = []
    long_look = msgspec.structs.replace(
        look_long, name="look", spec=msgspec.structs.replace(look_long.spec, name="look")
    )
    async with caller.provider() as provider:
        client = LLMClient(provider, max_tokens=200, max_retries=0)
        agent = ReActAgent(
            client,
            make_tools(root, tools=[long_look]),
            settings=AgentSettings(max_iterations=40, loop_detection_threshold=100),
            listeners=[heard.append],
        )
        goal = "Look at the file; »naïve 日本語« stays as it is."
        events = await play(agent, goal)
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    assert (finished.status, finished.error) == ("limit", "")
    assert finished.steps == 40
    assert sum(isinstance(event, Compacted) for event in heard) >= 2
    assert goal in agent.history.messages[1].text
