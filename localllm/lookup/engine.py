"""The embedded engine: a provider without a model. It plans tool calls by rule and answers with the project's lines."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

from localllm.config.schema import LLMSettings
from localllm.llm.messages import CompletionRequest
from localllm.llm.providers.base import Chunk, FinishChunk, ModelInfo, TextChunk, ToolCallChunk, UsageChunk

MODEL = ModelInfo("embedded", context_window=131_072, abilities=frozenset({"tools"}), exact=True)

_COSTS_NOTHING = UsageChunk(0, 0)
"""No model reads or writes a token."""


class Embedded:
    """Stateless: each step is decided from the messages so far and the tools offered, and nothing else."""

    name = "embedded"
    address = ""
    constrains = False

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """The next step: tool calls, or the answer."""
        # Imported here, for the words and patterns take a while to load and most starts of the program need none.
        from localllm.lookup.planning import next_step

        step = next_step(request)
        if isinstance(step, str):
            for line in step.splitlines(keepends=True):
                yield TextChunk(line)
            yield _COSTS_NOTHING
            yield FinishChunk("stop")
            return
        for index, call in enumerate(step):
            yield ToolCallChunk(index, name=call.name, arguments=call.arguments)
        yield _COSTS_NOTHING
        yield FinishChunk("tool_calls")

    async def list_models(self) -> list[ModelInfo]:
        """The engine itself."""
        return [MODEL]

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        """The engine itself, whatever it is called."""
        del model
        return MODEL

    async def aclose(self) -> None:
        """Nothing to give back."""


def make(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> Embedded:
    """Make it; there is nothing to set."""
    del settings, root, environ
    return Embedded()
