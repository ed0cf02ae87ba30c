"""The beginning of an answer: until something of it can be shown, it may be asked for again."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from localllm.base.errors import LLMConnectionError
from localllm.llm.assembling import MessageAssembler
from localllm.llm.providers.base import Chunk, TextChunk, ThinkingChunk, ToolCallChunk


class Stopwatch:
    """When the pieces of one answer came, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._asked = self._first = self._last = clock()
        self._pieces = 0

    def start(self) -> None:
        """The model is asked, perhaps again: what came so far is not part of the answer."""
        self._asked = self._first = self._last = self._clock()
        self._pieces = 0

    def note(self, chunk: Chunk) -> None:
        """A piece has come; only those of the answer itself count."""
        if isinstance(chunk, TextChunk | ThinkingChunk | ToolCallChunk):
            self._last = self._clock()
            self._first = self._first if self._pieces else self._last
            self._pieces += 1

    @property
    def first(self) -> float:
        """From the request that was answered to the first piece; 0 where none came."""
        return self._first - self._asked

    @property
    def generation(self) -> float:
        """From the first piece to the last; 0 for an answer in one piece, which says nothing of its speed."""
        return self._last - self._first

    @property
    def total(self) -> float:
        """From the first request until now."""
        return self._clock() - self._began


async def opened(
    stream: AsyncGenerator[Chunk], watch: Stopwatch, empty: Callable[[MessageAssembler], LLMConnectionError]
) -> AsyncGenerator[Chunk]:
    """`stream`, as soon as it has text or thinking to show, or is whole: what failed until then may be tried again.
    Spaces are nothing to show. Pieces of tool calls are of no use before they are whole, so that they are waited for as
    well.

    Raises what the stream raises; and what `empty` makes of an answer that ends without a word or a call.
    """
    held: list[Chunk] = []
    watch.start()
    try:
        while (chunk := await anext(stream, None)) is not None:
            watch.note(chunk)
            held.append(chunk)
            if isinstance(chunk, TextChunk | ThinkingChunk) and chunk.text.strip():
                return _rejoined(held, stream, watch)
    except BaseException:
        await stream.aclose()
        raise
    if not any(isinstance(chunk, ToolCallChunk) for chunk in held):
        raise empty(_gathered(held))
    return _rejoined(held, stream, watch)


def _gathered(chunks: list[Chunk]) -> MessageAssembler:
    gathered = MessageAssembler()
    for chunk in chunks:
        gathered.add(chunk)
    return gathered


async def _rejoined(held: list[Chunk], rest: AsyncGenerator[Chunk], watch: Stopwatch) -> AsyncGenerator[Chunk]:
    async with aclosing(rest):
        for chunk in held:
            yield chunk
        async for chunk in rest:
            watch.note(chunk)
            yield chunk
