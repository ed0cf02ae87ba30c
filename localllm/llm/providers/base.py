"""What a provider is: chunks, models, embeddings; and a message assembled from chunks."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Literal, Protocol, runtime_checkable
from uuid import uuid4

import msgspec

from localllm.base.events import Json, ToolCall
from localllm.base.jsontext import encode_json
from localllm.base.memo import Memo
from localllm.llm.messages import AssistantMessage, CompletionRequest, Message, UserMessage


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
    calls, so that nothing in its text is one, whatever it quotes. `instead_of_it`: what the server lists, where it does
    not list this model; it may answer all the same.
    """

    id: str
    context_window: int = 0
    max_context_window: int = 0
    loaded: bool | None = None
    abilities: frozenset[Ability] | None = None
    parameters: str = ""
    quantization: str = ""
    exact: bool = False
    instead_of_it: tuple[str, ...] = ()


class Provider(Protocol):
    """A way to a model. All methods raise LLMConnectionError (E2xxx) with the fix."""

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


@runtime_checkable
class Slots(Protocol):
    """A provider whose server may keep the prompts of several conversations in memory, each in a slot of its own."""

    async def free_slot(self) -> int | None:
        """The slot that was used longest ago, of those that are not at work, without the one that was used last. None
        where there is none, or the server does not tell."""
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


class _CallPieces:
    """A tool call while it arrives."""

    def __init__(self, sent_id: str, call_id: str) -> None:
        self.sent_id = sent_id
        self.id = call_id
        self.name = ""
        self.arguments: list[str] = []
        self._whole = _WholeObject()
        self._looked_at = 0

    def is_followed_by(self, piece: ToolCallChunk) -> bool:
        """Whether `piece`, of the same index, begins another call."""
        if not piece.name:
            return False
        if piece.id:
            return piece.id != self.sent_id
        return bool(self.name) and self._is_complete()

    def _is_complete(self) -> bool:
        for piece in self.arguments[self._looked_at :]:
            self._whole.add(piece)
        self._looked_at = len(self.arguments)
        return self._whole.is_whole


class _WholeObject:
    """Whether a text that arrives in pieces is one JSON object and no more, told in one pass over it."""

    def __init__(self) -> None:
        self._depth = 0
        self._state: Literal["before", "inside", "string", "escape", "behind", "other"] = "before"

    @property
    def is_whole(self) -> bool:
        """Whether it is so far."""
        return self._state == "behind"

    def add(self, text: str) -> None:
        """The next piece."""
        for character in text:
            match self._state, character:
                case (("before" | "behind"), (" " | "\t" | "\n" | "\r")):
                    pass
                case "before", "{":
                    self._state, self._depth = "inside", 1
                case (("before" | "behind" | "other"), _):
                    self._state = "other"
                case ("inside", '"') | ("escape", _):
                    self._state = "string"
                case "string", '"':
                    self._state = "inside"
                case "string", "\\":
                    self._state = "escape"
                case "inside", ("{" | "["):
                    self._depth += 1
                case "inside", ("}" | "]"):
                    self._depth -= 1
                    self._state = "inside" if self._depth else "behind"
                case _:
                    pass


class MessageAssembler:
    """Collects the chunks of one answer.

    Servers differ: some repeat id and name with every piece, some leave the id out, some give every call the
    index 0. A piece that brings a name begins a new call where its id is not that of the open call of its index,
    or where it has no id and the open call has a name and whole arguments already.
    """

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[_CallPieces] = []
        self._open: dict[int, _CallPieces] = {}
        self._ids: set[str] = set()
        self.finish_reason = ""
        self.usage: UsageChunk | None = None

    def add(self, chunk: Chunk) -> None:
        """Take in the next chunk."""
        match chunk:
            case TextChunk(text):
                self._text.append(text)
            case ThinkingChunk(text):
                self._thinking.append(text)
            case ToolCallChunk():
                self._add_call(chunk)
            case UsageChunk():
                self.usage = chunk
            case FinishChunk(reason):
                self.finish_reason = reason or self.finish_reason

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._text)

    @property
    def thinking(self) -> str:
        """The thinking so far."""
        return "".join(self._thinking)

    def message(self, *, with_calls: bool = True) -> AssistantMessage:
        """The message so far; without its calls where the answer was broken off."""
        calls = tuple(ToolCall(c.id, c.name, "".join(c.arguments)) for c in self._calls) if with_calls else ()
        return AssistantMessage(self.text, calls, self.thinking)

    def _add_call(self, chunk: ToolCallChunk) -> None:
        call = self._open.get(chunk.index)
        if call is None or call.is_followed_by(chunk):
            call = self._open[chunk.index] = _CallPieces(chunk.id, self._unused(chunk.id))
            self._calls.append(call)
        if chunk.name and not call.name:
            call.name = chunk.name
        call.arguments.append(chunk.arguments)

    def _unused(self, call_id: str) -> str:
        """`call_id`, or a new one where there is none or another call of this answer has it."""
        if not call_id or call_id in self._ids:
            call_id = f"call_{uuid4().hex[:12]}"
        self._ids.add(call_id)
        return call_id


_MOST_REMEMBERED = 8_000_000
"""Bytes of messages and of their JSON: more than the largest windows in use hold."""


def message_encoder(message_json: Callable[[Message], dict[str, Json]]) -> Callable[[Message], bytes]:
    """Make a function that gives a message as JSON and remembers it, for it is sent again with every request that
    continues the conversation. Pictures are too large to be remembered."""

    encoded = Memo[Message, bytes](
        lambda message: encode_json(message_json(message)), lambda _, data: 2 * len(data), _MOST_REMEMBERED
    )

    def encode(message: Message) -> bytes:
        has_pictures = isinstance(message, UserMessage) and message.images
        return encode_json(message_json(message)) if has_pictures else encoded(message)

    return encode
