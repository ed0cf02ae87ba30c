"""The beginning of an answer: held back until there is something to show."""

from collections.abc import AsyncGenerator

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.providers.base import (
    Chunk,
    FinishChunk,
    MessageAssembler,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)
from localllm.llm.retry import Stopwatch, opened

pytestmark = pytest.mark.anyio

CALL = ToolCallChunk(0, "c1", "look", "{}")
END = FinishChunk("stop")
CUT = LLMConnectionError("llm_cut", url="u", reason="r", retryable=True)


class Stream:
    """Gives its chunks, then fails if it shall. `given` counts, `closed` tells whether it came to its end."""

    def __init__(self, *chunks: Chunk, failure: LLMConnectionError | None = None) -> None:
        self.chunks = chunks
        self.failure = failure
        self.given = 0
        self.closed = False

    async def play(self) -> AsyncGenerator[Chunk]:
        try:
            for chunk in self.chunks:
                self.given += 1
                yield chunk
            if self.failure:
                raise self.failure
        finally:
            self.closed = True


def empty(gathered: MessageAssembler) -> LLMConnectionError:
    return LLMConnectionError("llm_empty", url="u", reason=gathered.finish_reason)


async def opening(stream: Stream) -> AsyncGenerator[Chunk]:
    return await opened(stream.play(), Stopwatch(), empty)


@pytest.mark.parametrize("first", [TextChunk("a"), ThinkingChunk("a")])
async def test_it_is_open_with_the_first_thing_to_show(first: Chunk) -> None:
    stream = Stream(UsageChunk(1, 1), CALL, first, TextChunk("b"), END)
    answer = await opening(stream)
    assert stream.given == 3
    assert [chunk async for chunk in answer] == list(stream.chunks)
    assert stream.closed


async def test_a_call_alone_is_whole_before_it_is_open() -> None:
    stream = Stream(CALL, END, UsageChunk(1, 1))
    answer = await opening(stream)
    assert stream.closed
    assert [chunk async for chunk in answer] == list(stream.chunks)


@pytest.mark.parametrize("before", [(), (CALL,), (UsageChunk(1, 1), END)])
async def test_a_failure_before_is_raised_while_it_opens(before: tuple[Chunk, ...]) -> None:
    with pytest.raises(LLMConnectionError) as caught:
        await opening(Stream(*before, failure=CUT))
    assert caught.value is CUT


async def test_a_failure_afterwards_is_raised_in_its_place() -> None:
    answer = await opening(Stream(TextChunk("a"), failure=CUT))
    assert await anext(answer) == TextChunk("a")
    with pytest.raises(LLMConnectionError):
        await anext(answer)


@pytest.mark.parametrize("chunks", [(), (END,), (UsageChunk(1, 1), FinishChunk("length"))])
async def test_an_answer_without_anything_is_none(chunks: tuple[Chunk, ...]) -> None:
    with pytest.raises(LLMConnectionError) as caught:
        await opening(Stream(*chunks))
    assert caught.value.key == "llm_empty"
    assert caught.value.params["reason"] == ("length" if len(chunks) == 2 else "stop" if chunks else "")


async def test_whoever_stops_listening_closes_the_stream() -> None:
    stream = Stream(TextChunk("a"), TextChunk("b"))
    answer = await opening(stream)
    await anext(answer)
    await answer.aclose()
    assert stream.closed


def test_the_watch_begins_again_with_each_request() -> None:
    moments = iter([0.0, 1.0, 5.0, 10.0, 12.0, 13.5, 20.0])
    watch = Stopwatch(lambda: next(moments))
    watch.start()
    watch.note(TextChunk("lost"))
    watch.start()
    watch.note(UsageChunk(1, 1))
    watch.note(TextChunk("a"))
    watch.note(CALL)
    assert (watch.first, watch.generation, watch.total) == (2.0, 1.5, 20.0)
