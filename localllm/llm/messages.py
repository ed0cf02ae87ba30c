"""The conversation as the model sees it. Immutable; the providers turn it into their server's JSON."""

from typing import Literal

import msgspec

from localllm.base.events import Json, ToolCall, Usage


class SystemMessage(msgspec.Struct, frozen=True, tag="system", tag_field="role"):
    """Who the assistant is and how it works. Always the first message, never changed in a session."""

    text: str


class Image(msgspec.Struct, frozen=True):
    """A picture as it lies in its file: `media_type` is image/png, image/jpeg, image/webp or image/gif."""

    media_type: str
    data: bytes


class UserMessage(msgspec.Struct, frozen=True, tag="user", tag_field="role", omit_defaults=True):
    """What the person said, with the files it names."""

    text: str
    images: tuple[Image, ...] = ()


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant", tag_field="role"):
    """One whole answer of the model."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: str = ""


class ToolMessage(msgspec.Struct, frozen=True, tag="tool", tag_field="role", omit_defaults=True):
    """The result of the call `call_id`, as text for the model, with the pictures it found."""

    call_id: str
    name: str
    text: str
    images: tuple[Image, ...] = ()


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as a model is told of it. `parameters` is a flat JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Json]


ToolChoice = Literal["auto", "none", "required"]


class CompletionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides an answer. `max_tokens` 0 leaves the limit to the server.

    `schema`: the answer must be a JSON object of this schema; servers take it or `tools`, not both. `stop`: the answer
    ends before any of these.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    max_tokens: int = 0
    temperature: float | None = None
    schema: dict[str, Json] | None = None
    stop: tuple[str, ...] = ()


class Completion(msgspec.Struct, frozen=True):
    """A gathered answer: the message, why it ended, and what it cost."""

    message: AssistantMessage
    finish_reason: str
    usage: Usage
