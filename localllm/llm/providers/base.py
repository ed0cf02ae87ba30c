"""What every provider offers. A provider is immutable settings around two pure halves: prepare and parse."""

from collections.abc import AsyncGenerator, Sequence
from typing import Literal, Protocol, runtime_checkable

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
    """Token counts as the server reports them. `generation_seconds`: how long it wrote, 0 where it does not say."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    generation_seconds: float = 0.0


class FinishChunk(msgspec.Struct, frozen=True):
    """The answer has ended, and why: stop, length, tool_calls, content_filter, …; empty where nothing is said."""

    reason: str


Chunk = TextChunk | ThinkingChunk | ToolCallChunk | UsageChunk | FinishChunk


Ability = Literal["tools", "thinking", "vision"]


class ModelInfo(msgspec.Struct, frozen=True):
    """A chat model a server offers, as far as the server tells.

    `context_window`: tokens it reads as it is (or will be) served, 0 where unknown; `max_context_window`: the most it
    could be loaded with, 0 where unknown. `loaded` and `abilities` are None where the server does not say.
    `parameters` (such as "8.2B") and `quantization` are the server's words. `exact`: it always says its calls as
    calls, so that nothing in its text is one, whatever it quotes.
    """

    id: str
    context_window: int = 0
    max_context_window: int = 0
    loaded: bool | None = None
    abilities: frozenset[Ability] | None = None
    parameters: str = ""
    quantization: str = ""
    exact: bool = False


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

    @property
    def constrains(self) -> bool:
        """Whether the server is known to hold an answer to a JSON schema; `describe` may have to tell first."""
        ...

    def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """The answer as it arrives. Closing the iterator closes the connection, so that the server stops."""
        ...

    async def list_models(self) -> list[ModelInfo]:
        """The chat models the server offers, the loaded ones first where it says which they are."""
        ...

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        """All the server tells of one model, its real window above all. `listed`: what `list_models` has just
        returned, which is not asked for again. What is decided here (Ollama's num_ctx)
        holds for every request of this provider from then on. A model nobody knows of is described by its name."""
        ...

    async def aclose(self) -> None:
        """Give back connections."""
        ...


@runtime_checkable
class Preparing(Protocol):
    """A provider that may have something to do before its first answer can begin."""

    @property
    def preparing(self) -> str:
        """What it is, for a person, in the current language; empty where there is nothing to wait for."""
        ...


class Embeddings(msgspec.Struct, frozen=True):
    """One vector per text, in the order of the texts, all of one length. `tokens` the server has read, 0 where it does
    not say."""

    vectors: tuple[tuple[float, ...], ...]
    tokens: int = 0


@runtime_checkable
class Embedding(Protocol):
    """A provider whose server turns texts into vectors."""

    async def embed(self, texts: Sequence[str], model: str) -> Embeddings:
        """The vectors of `texts` as `model` makes them; the vectors are not normalised unless the server does so.
        Raises LLMConnectionError where the server or the model cannot, or has answered with another number of them."""
        ...

    async def list_embedding_models(self) -> list[str]:
        """The names of the models that can, as far as the server or their names tell."""
        ...
