"""The interface of providers: chunks, models, embeddings; and the assembler of a message from chunks."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from itertools import islice
from typing import Literal, Protocol, runtime_checkable
from uuid import uuid4

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json, ToolCall
from localllm.base.jsontext import encode_json
from localllm.base.memo import Memo
from localllm.config.trust import runs_elsewhere
from localllm.llm.messages import AssistantMessage, CompletionRequest, Message, UserMessage


class TextChunk(msgspec.Struct, frozen=True):
    """A piece of the answer's text."""

    text: str


class ThinkingChunk(msgspec.Struct, frozen=True):
    """A piece of the model's thinking."""

    text: str


class ToolCallChunk(msgspec.Struct, frozen=True):
    """A piece of a tool call: pieces of one index belong together; id and name may be sent only once."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class UsageChunk(msgspec.Struct, frozen=True):
    """Token counts as reported by the server. `generation_seconds`: duration of the generation, 0 if not reported."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    generation_seconds: float = 0.0


NO_MODEL = "no_model"
"""Finish reason of an answer that only says that it takes a model."""


class FinishChunk(msgspec.Struct, frozen=True):
    """The end of the answer and its reason: stop, length, tool_calls, content_filter, …; empty if none is reported."""

    reason: str


Chunk = TextChunk | ThinkingChunk | ToolCallChunk | UsageChunk | FinishChunk


Ability = Literal["tools", "thinking", "vision"]


class ModelInfo(msgspec.Struct, frozen=True):
    """A chat model offered by a server, as far as the server describes it.

    `context_window`: tokens it is (or will be) served with, 0 if unknown; `max_context_window`: the maximum it could be
    loaded with, 0 if unknown. `loaded` and `abilities` are None if not reported. `parameters` (such as "8.2B") and
    `quantization` are the server's words. `exact`: its tool calls are always structured, so that its text never
    contains one, whatever it quotes. `instead_of_it`: the models the server lists if this one is not among them; it may
    work all the same. `is_remote`: the server passes requests on to its makers' machines, as Ollama's cloud does.
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
    is_remote: bool = False


def may_be_taken(models: Iterable[ModelInfo]) -> list[ModelInfo]:
    """Return the models that may be used without being named by the user: those that do not run elsewhere."""
    return [info for info in models if not (info.is_remote or runs_elsewhere(info.id))]


def models_elsewhere(url: str, models: Iterable[ModelInfo]) -> LLMConnectionError:
    """Return the error for a server that has only models that run elsewhere."""
    available = ", ".join(info.id for info in islice(models, _NAMED))
    return LLMConnectionError("llm_models_elsewhere", url=url, available=available)


class Provider(Protocol):
    """Access to a model. All methods raise LLMConnectionError (E2xxx) with the fix."""

    @property
    def name(self) -> str:
        """Its name in the settings: lmstudio, openai, scripted, …"""
        ...

    @property
    def address(self) -> str:
        """Its address for display: a URL or a file."""
        ...

    @property
    def constrains(self) -> bool:
        """Whether the server is known to enforce a JSON schema; `describe` may have to be called first."""
        ...

    def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """Stream the answer. Closing the iterator closes the connection, so that the server stops."""
        ...

    async def list_models(self) -> list[ModelInfo]:
        """Return the chat models the server offers, loaded ones first where it reports that."""
        ...

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        """Return all the server reports of one model, above all its actual window.
        `listed`: the result of a recent `list_models`, which saves a request. Decisions made here (Ollama's
        num_ctx) hold for all later requests of this provider. An unknown model is described by its name alone."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


@runtime_checkable
class Preparing(Protocol):
    """A provider that may need preparation before its first answer."""

    @property
    def preparing(self) -> str:
        """What is being prepared, for the user in the current language; empty if there is nothing to wait for."""
        ...


@runtime_checkable
class OneModel(Protocol):
    """A provider whose server may answer with its only model under any name: after a restart, that may be another."""

    @property
    def has_one_model(self) -> bool:
        """Whether the server has listed one model only."""
        ...


@runtime_checkable
class Slots(Protocol):
    """A provider whose server can cache the prompts of several conversations, each in its own slot."""

    async def free_slot(self) -> int | None:
        """Return the least recently used idle slot, other than the last used one.
        None if there is none, or the server does not report its slots."""
        ...


class Embeddings(msgspec.Struct, frozen=True):
    """One vector per text, in the order of the texts, all of one length.
    `tokens`: tokens processed, 0 if not reported."""

    vectors: tuple[tuple[float, ...], ...]
    tokens: int = 0


@runtime_checkable
class Embedding(Protocol):
    """A provider whose server computes embeddings."""

    async def embed(self, texts: Sequence[str], model: str) -> Embeddings:
        """Return the embeddings of `texts` by `model`, normalised only if the server does so.
        Raises LLMConnectionError if the server or model cannot, or returned a different number of vectors."""
        ...

    async def list_embedding_models(self) -> list[str]:
        """Return the names of the embedding models, as far as the server or the names indicate."""
        ...


class _CallPieces:
    """A tool call that is being streamed."""

    def __init__(self, sent_id: str, call_id: str) -> None:
        self.sent_id = sent_id
        self.id = call_id
        self.name = ""
        self.arguments: list[str] = []
        self._whole = _WholeObject()
        self._looked_at = 0

    def is_followed_by(self, piece: ToolCallChunk) -> bool:
        """Return whether `piece`, of the same index, starts another call."""
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
    """Detects whether a streamed text is exactly one JSON object, in one pass over it."""

    def __init__(self) -> None:
        self._depth = 0
        self._state: Literal["before", "inside", "string", "escape", "behind", "other"] = "before"

    @property
    def is_whole(self) -> bool:
        """Whether it is so far exactly one complete object."""
        return self._state == "behind"

    def add(self, text: str) -> None:
        """Scan the next piece."""
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
    """Assembles a message from the chunks of one answer.

    Servers differ: some repeat id and name with every piece, some omit the id, some give every call the index 0. A
    piece with a name starts a new call if its id differs from that of the open call of its index, or if it has no id
    and the open call has a name and complete arguments.
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
        """Add the next chunk."""
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
        """Return the message so far; without its calls if the answer was interrupted."""
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
        """Return `call_id`, or a new one if it is empty or already used in this answer."""
        if not call_id or call_id in self._ids:
            call_id = f"call_{uuid4().hex[:12]}"
        self._ids.add(call_id)
        return call_id


_NAMED = 8  # models in an error
_MOST_REMEMBERED = 8_000_000
"""Cache limit in bytes of messages and their JSON: more than the largest common windows hold."""


def message_encoder(message_json: Callable[[Message], dict[str, Json]]) -> Callable[[Message], bytes]:
    """Return an encoder of messages to JSON that caches its results.
    Every request repeats the conversation. Images are too large to be cached."""

    encoded = Memo[Message, bytes](
        lambda message: encode_json(message_json(message)), lambda _, data: 2 * len(data), _MOST_REMEMBERED
    )

    def encode(message: Message) -> bytes:
        has_pictures = isinstance(message, UserMessage) and message.images
        return encode_json(message_json(message)) if has_pictures else encoded(message)

    return encode
