"""The embedded engine as a provider: stateless, cheap to import, with the tools it is offered."""

import subprocess
import sys

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json, ToolCall
from localllm.llm.messages import (
    AssistantMessage,
    CompletionRequest,
    Message,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from localllm.llm.providers.base import Chunk, FinishChunk, TextChunk, ToolCallChunk
from localllm.lookup.engine import MODEL, Embedded

pytestmark = pytest.mark.anyio

TOOLS = tuple(
    ToolSpec(name, "", {"type": "object", "properties": {}})
    for name in ("search_files", "read_file", "list_files", "analyze_code", "git_log", "run_command")
)


SITUATION = "\n\n[Project shop, 2024-05-01. Top level: README.md shop/]"


def asked(question: str) -> UserMessage:
    return UserMessage(question + SITUATION)


async def step(*messages: Message, tools: tuple[ToolSpec, ...] = TOOLS, **more: Json) -> list[Chunk]:
    request = CompletionRequest(model="embedded", messages=(SystemMessage("You help."), *messages), tools=tools, **more)
    return [chunk async for chunk in Embedded().stream(request)]


async def test_a_question_is_first_answered_by_calls() -> None:
    chunks = await step(asked("where is the retry logic?"))

    assert chunks[-1] == FinishChunk("tool_calls")
    assert {chunk.name for chunk in chunks[:-1] if isinstance(chunk, ToolCallChunk)} >= {"search_files", "list_files"}


async def test_the_same_messages_always_give_the_same_step() -> None:
    question = asked("where is the retry logic?")

    assert await step(question) == await step(question)


async def test_results_among_the_messages_bring_the_next_step() -> None:
    call = ToolCall("a", "git_log", '{"max_count": 1}')
    chunks = await step(
        asked("show the last commit"),
        AssistantMessage("", (call,)),
        ToolMessage("a", "git_log", "0123456789 2024-05-01 Ann: Sell apples"),
    )

    assert "Sell apples" in "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))
    assert chunks[-1] == FinishChunk("stop")


async def test_a_step_with_one_result_missing_asks_for_that_one() -> None:
    first = await step(asked("what is in README.md?"))
    calls = [chunk for chunk in first if isinstance(chunk, ToolCallChunk)]
    done = ToolCall("a", calls[0].name, calls[0].arguments)

    second = await step(
        asked("what is in README.md?"), AssistantMessage("", (done,)), ToolMessage("a", done.name, "# Shop\n")
    )

    assert [chunk.name for chunk in second if isinstance(chunk, ToolCallChunk)] == [call.name for call in calls[1:]]


@pytest.mark.parametrize("more", [{"tools": ()}, {"tool_choice": "none"}])
async def test_without_tools_it_calls_none(more: dict[str, Json]) -> None:
    chunks = await step(asked("run `make lint`"), **more)

    assert not [chunk for chunk in chunks if isinstance(chunk, ToolCallChunk)]
    assert "run_command" in "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


async def test_a_plan_that_goes_round_in_circles_ends() -> None:
    turns: list[Message] = [asked("where is the retry logic?")]
    for number in range(20):
        call = ToolCall(f"c{number}", "search_files", f'{{"pattern": "{number}"}}')
        turns += [AssistantMessage("", (call,)), ToolMessage(call.id, call.name, "")]

    chunks = await step(*turns)

    assert chunks[-1] == FinishChunk("stop")


async def test_it_lists_and_describes_itself() -> None:
    engine = Embedded()

    assert await engine.list_models() == [MODEL]
    assert await engine.describe("anything") == MODEL
    await engine.aclose()


def test_importing_it_loads_no_words() -> None:
    code = "import sys; import localllm.lookup.engine; print('localllm.lookup.planning' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


async def test_a_search_that_took_too_long_is_tried_in_a_simpler_way() -> None:
    question = asked("where is the retry logic?")
    first = [chunk for chunk in await step(question) if isinstance(chunk, ToolCallChunk)]
    calls = tuple(ToolCall(f"c{chunk.index}", chunk.name, chunk.arguments) for chunk in first)
    late = str(ToolExecutionError("search_timeout", pattern="x", seconds=20.0))
    results = [ToolMessage(call.id, call.name, late if call.name == "search_files" else "") for call in calls]

    second = await step(question, AssistantMessage("", calls), *results)

    patterns = [chunk.arguments for chunk in second if isinstance(chunk, ToolCallChunk)]
    assert any("(?:class|def|func" in pattern for pattern in patterns)
