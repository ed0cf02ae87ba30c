"""An answer that does not end: cut off and closed, and nobody runs the half of a call."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from itertools import repeat, takewhile

import pytest

from localllm.llm.client import LLMClient
from localllm.llm.messages import CompletionRequest, ToolSpec, UserMessage
from localllm.llm.providers.base import Chunk, FinishChunk, ModelInfo, TextChunk, ThinkingChunk, ToolCallChunk
from localllm.llm.tool_calling.router import AnswerLength

pytestmark = pytest.mark.anyio


class Endless:
    """A provider whose server never stops."""

    name = "openai"
    address = "http://here"
    constrains = False

    def __init__(self, *first: Chunk, then: Chunk) -> None:
        self.first = first
        self.then = then
        self.given = 0
        self.is_closed = False

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        try:
            for chunk in self._chunks():
                self.given += 1
                yield chunk
        finally:
            self.is_closed = True

    def _chunks(self) -> Iterator[Chunk]:
        yield from self.first
        yield from repeat(self.then)

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        return ModelInfo(model, context_window=8192)

    async def list_models(self) -> list[ModelInfo]:
        return [ModelInfo("m")]

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize(
    "piece",
    [TextChunk("x" * 9), ThinkingChunk("x" * 9), ToolCallChunk(0, "c", "f", "x" * 7), TextChunk(""), ToolCallChunk(0)],
)
def test_each_kind_is_bounded(piece: Chunk) -> None:
    length = AnswerLength(most=1_000)
    assert 2 < sum(1 for _ in takewhile(lambda chunk: not length.is_exceeded_by(chunk), repeat(piece))) < 64


def test_an_answer_within_the_bounds_is_left_alone() -> None:
    text = "x" * 400
    answer = (TextChunk(text), ThinkingChunk(text), ToolCallChunk(0, "c", "f", text), FinishChunk("stop"))
    length = AnswerLength(most=500)
    assert not any(map(length.is_exceeded_by, answer))


@pytest.mark.timeout(60)
async def test_endless_arguments_end_as_a_call_that_was_cut() -> None:
    server, noticed = (
        Endless(ToolCallChunk(0, "c", "look", '{"a": "'), then=ToolCallChunk(0, arguments="y" * 65_536)),
        list[str](),
    )
    client = LLMClient(server, model="m")
    tool = ToolSpec("look", "Look.", {"type": "object", "properties": {"a": {"type": "string"}}})
    completion = await client.complete([UserMessage("go")], [tool], on_notice=noticed.append)
    assert completion.finish_reason == "length"
    assert len(completion.message.tool_calls[0].arguments) < 8_200_000
    assert server.is_closed
    assert any("8,000,000" in notice for notice in noticed)


@pytest.mark.timeout(60)
async def test_what_is_written_after_the_end_of_the_turn_is_not_waited_for() -> None:
    server = Endless(TextChunk("It adds.<|im_end|>\n<|im_start|>user\n"), then=TextChunk("Thanks! "))
    completion = await LLMClient(server, model="m").complete([UserMessage("What does it do?")])
    assert (completion.message.text, completion.finish_reason) == ("It adds.", "stop")
    assert server.is_closed
    assert server.given < 10
