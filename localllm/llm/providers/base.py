"""What every provider offers. A provider is immutable settings around two pure halves: prepare and parse."""

from collections.abc import AsyncGenerator
from typing import Protocol

import msgspec

from localllm.llm.messages import CompletionRequest


class TextChunk(msgspec.Struct, frozen=True):
    """A piece of the answer's text."""

    text: str


class ThinkingChunk(msgspec.Struct, frozen=True):
    """A piece of the model's thinking."""

    text: str


class ToolCallChunk(msgspec.Struct, frozen=True):
    """A piece of a tool call: pieces with the same index belong together; id and name may come once only."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class UsageChunk(msgspec.Struct, frozen=True):
    """Token counts as the server reports them."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


class FinishChunk(msgspec.Struct, frozen=True):
    """The answer has ended, and why: stop, length, tool_calls, content_filter, …; empty where nothing is said."""

    reason: str


Chunk = TextChunk | ThinkingChunk | ToolCallChunk | UsageChunk | FinishChunk


class ModelInfo(msgspec.Struct, frozen=True):
    """A model a server offers. `context_window` is in tokens, 0 where the server does not say."""

    id: str
    context_window: int = 0


class Provider(Protocol):
    """A way to a model. All methods raise LLMConnectionError (E2xxx) with the mend."""

    @property
    def name(self) -> str:
        """The name it has in the settings: lmstudio, openai, scripted, …"""
        ...

    @property
    def address(self) -> str:
        """Where it is, for people: a URL or a file."""
        ...

    def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """The answer as it arrives. Closing the iterator closes the connection, so that the server stops."""
        ...

    async def list_models(self) -> list[ModelInfo]:
        """What the server offers, the loaded ones first where it says which they are."""
        ...

    async def aclose(self) -> None:
        """Give back connections."""
        ...
