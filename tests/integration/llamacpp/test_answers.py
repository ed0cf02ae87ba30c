"""What llama.cpp's real server answers through the openai provider: text, thinking, calls, JSON held to a schema."""

from typing import Literal

import msgspec
import pytest

from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, CompletionRequest, SystemMessage, ToolMessage, ToolSpec, UserMessage
from localllm.llm.providers.base import FinishChunk, MessageAssembler, TextChunk, UsageChunk
from localllm.llm.tool_calling.structured import StructuredDialect
from tests.support.llama import Served, answered, asks, chunks_of

pytestmark = pytest.mark.anyio

PARTS = ("head", "body", "tail")
PARAMETERS = {
    "type": "object",
    "properties": {
        "part": {"type": "string", "enum": list(PARTS), "description": "which part"},
        "count": {"type": "integer"},
        "all": {"type": "boolean"},
    },
    "required": ["part", "count", "all"],
}
TOOLS = tuple(ToolSpec(name, "Look at a part of the file.", PARAMETERS) for name in ("look", "count_lines"))
QUESTIONS = [f"Look at number {number}" for number in range(8)]


class Look(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments, or a step, as the schema wants them."""

    part: Literal["head", "body", "tail"]
    count: int
    all: bool


async def test_text_arrives_piece_by_piece_with_its_cost(small: Served) -> None:
    chunks = await chunks_of(small, asks("Tell me", max_tokens=30))
    texts = [chunk for chunk in chunks if isinstance(chunk, TextChunk)]
    assert len(texts) > 10
    assert FinishChunk("length") in chunks
    [usage] = [chunk for chunk in chunks if isinstance(chunk, UsageChunk)]
    assert usage.completion_tokens == 30
    assert usage.prompt_tokens > len("Tell me") / 2


async def test_a_stop_word_ends_the_answer_before_itself(small: Served) -> None:
    whole = (await answered(small, asks("Tell me"))).text
    stop = whole[10:13]
    shortened = await answered(small, asks("Tell me", stop=(stop,)))
    assert (shortened.text, shortened.finish_reason) == (whole[: whole.index(stop)], "stop")


async def test_thinking_is_told_apart_from_the_answer(thinker: Served) -> None:
    gathered = await answered(thinker, asks("Think"))
    assert gathered.thinking
    assert gathered.text
    assert "<think>" not in gathered.text + gathered.thinking


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_required_call_is_a_valid_one(caller: Served, question: str) -> None:
    request = asks(question, tools=TOOLS, tool_choice="required", max_tokens=300, temperature=0.8)
    gathered = await answered(caller, request)
    assert gathered.finish_reason == "tool_calls"
    calls = gathered.message().tool_calls
    assert calls
    assert {call.name for call in calls} <= {tool.name for tool in TOOLS}
    for call in calls:
        msgspec.json.decode(call.arguments, type=Look)


async def test_a_call_and_its_result_are_taken_back(caller: Served) -> None:
    messages = (
        SystemMessage("Be brief."),
        UserMessage("Look"),
        AssistantMessage("I look.", (ToolCall("c1", "look", '{"part": "head", "count": 3, "all": false}'),)),
        ToolMessage("c1", "look", "three lines"),
    )
    gathered = await answered(caller, asks("", messages=messages, tools=TOOLS, tool_choice="none"))
    assert gathered.finish_reason == "length"
    assert not gathered.message().tool_calls


async def test_arguments_that_are_no_json_do_not_harm_the_next_request(caller: Served) -> None:
    broken = AssistantMessage("", (ToolCall("c1", "look", '{"part": "he'),))
    messages = (UserMessage("Look"), broken, ToolMessage("c1", "look", "That was no JSON."))
    assert (await answered(caller, asks("", messages=messages, tools=TOOLS))).finish_reason


async def test_a_call_cut_by_the_token_limit_says_so(caller: Served) -> None:
    gathered = await answered(caller, asks("Look", tools=TOOLS, tool_choice="required", max_tokens=12))
    assert gathered.finish_reason == "length"
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode("".join(call.arguments for call in gathered.message().tool_calls))


@pytest.mark.parametrize("question", QUESTIONS)
async def test_an_answer_held_to_a_schema_always_parses(small: Served, question: str) -> None:
    request = asks(question, schema=PARAMETERS, max_tokens=300, temperature=0.8)
    gathered = await answered(small, request)
    assert gathered.finish_reason == "stop"
    msgspec.json.decode(gathered.text, type=Look)


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_step_of_the_structured_dialect_is_always_a_call(talker: Served, question: str) -> None:
    dialect = StructuredDialect()
    request = asks(question, tools=TOOLS, tool_choice="required", max_tokens=4_000, temperature=1.0)
    sent = dialect.encode(request)
    assert not sent.tools
    gathered = await read_through(dialect, talker, request, sent)
    assert gathered.finish_reason in ("stop", "tool_calls")
    [call] = gathered.message().tool_calls
    assert call.name in {tool.name for tool in TOOLS}
    assert isinstance(msgspec.json.decode(call.arguments), dict)


async def read_through(
    dialect: StructuredDialect, served: Served, request: CompletionRequest, sent: CompletionRequest
) -> MessageAssembler:
    reader = dialect.reader(request)
    gathered = MessageAssembler()
    for chunk in await chunks_of(served, sent):
        for piece in reader.feed(chunk):
            gathered.add(piece)
    for piece in reader.close():
        gathered.add(piece)
    return gathered


async def test_the_window_and_the_abilities_are_the_servers_own_words(caller: Served) -> None:
    async with caller.provider() as provider:
        [listed] = await provider.list_models()
        described = await provider.describe(listed.id)
    assert (listed.id, listed.loaded) == ("tiny", True)
    assert described.context_window == caller.window
    assert described.max_context_window == caller.window
    assert described.abilities == {"tools"}
    assert provider.constrains
