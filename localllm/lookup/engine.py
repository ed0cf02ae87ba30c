"""The embedded engine: a provider without a model, which answers by rule from an index of the project."""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from localllm.config.schema import LLMSettings
from localllm.llm.messages import CompletionRequest
from localllm.llm.providers.base import NO_MODEL, Chunk, FinishChunk, ModelInfo, TextChunk, ToolCallChunk, UsageChunk

if TYPE_CHECKING:
    from localllm.lookup.conversation import Call

MODEL = ModelInfo("embedded", context_window=131_072, abilities=frozenset({"tools"}), exact=True)

_COSTS_NOTHING = UsageChunk(0, 0)
"""No model reads or writes tokens."""


class Embedded:
    """Decides each step only from the messages so far and the files of the project."""

    name = "embedded"
    address = ""
    constrains = False

    def __init__(self, root: Path = Path(), environ: Mapping[str, str] = os.environ) -> None:
        self._root = root
        self._environ = environ

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """Return the next step: tool calls, or the answer."""
        step = await asyncio.to_thread(self._step, request)
        if isinstance(step, str):
            for line in step.splitlines(keepends=True):
                yield TextChunk(line)
            yield _COSTS_NOTHING
            from localllm.lookup.answer_texts import TEXTS  # as in _step

            yield FinishChunk(NO_MODEL if step in TEXTS["needs_model"] else "stop")
            return
        for number, call in enumerate(step):
            yield ToolCallChunk(number, name=call.name, arguments=msgspec.json.encode(call.arguments).decode())
        yield _COSTS_NOTHING
        yield FinishChunk("tool_calls")

    async def list_models(self) -> list[ModelInfo]:
        """Return the engine itself."""
        return [MODEL]

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        """Return the engine itself, under any name."""
        del model
        return MODEL

    async def aclose(self) -> None:
        """Do nothing: there are no resources."""

    def _step(self, request: CompletionRequest) -> "tuple[Call, ...] | str":
        # Imported here, for the words and patterns take a while to load and most starts of the program need none.
        from localllm.lookup.routing import next_step

        return next_step(request, self._root, self._environ)


def make(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> Embedded:
    """Create the engine for a project; it has no settings."""
    del settings
    return Embedded(root, environ)
