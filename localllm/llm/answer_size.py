"""How much a model server may say in one answer: a hostile or broken one would go on until the memory is full."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from localllm.base.i18n import tr
from localllm.llm.providers.base import Chunk, FinishChunk, TextChunk, ThinkingChunk, ToolCallChunk

MOST_CHARACTERS = 8_000_000
"""Of the text, of the thinking, and of the calls of one answer; far more than any model says."""

_OF_A_PIECE = 16  # characters that each piece counts as besides its own: one without any takes memory, too


async def bounded(
    chunks: AsyncGenerator[Chunk], on_notice: Callable[[str], None], most: int = MOST_CHARACTERS
) -> AsyncGenerator[Chunk]:
    """`chunks` up to `most` characters of each kind. Then the answer counts as cut at its limit, and is closed."""
    said = {TextChunk: 0, ThinkingChunk: 0, ToolCallChunk: 0}
    async with aclosing(chunks):
        async for chunk in chunks:
            match chunk:
                case TextChunk(text) | ThinkingChunk(text):
                    said[type(chunk)] += len(text) + _OF_A_PIECE
                case ToolCallChunk():
                    said[ToolCallChunk] += len(chunk.id) + len(chunk.name) + len(chunk.arguments) + _OF_A_PIECE
                case _:
                    pass
            if max(said.values()) > most:
                on_notice(tr("llm.answer_too_long", most=most))
                yield FinishChunk("length")
                return
            yield chunk
