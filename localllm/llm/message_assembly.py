"""From chunks to one whole message: the pieces of text, of thinking, and of tool calls put together."""

from typing import Literal
from uuid import uuid4

from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage
from localllm.llm.providers.base import (
    Chunk,
    FinishChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)


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
