"""Messages as OpenAI's interface writes them, plain dicts, for callers from outside."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from localllm.base.events import Json, ToolCall
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage


def read_messages(dicts: Sequence[Mapping[str, Json]]) -> tuple[Message, ...]:
    """The messages. Raises ValueError for what is none, saying which."""
    names: dict[str, str] = {}
    messages: list[Message] = []
    for number, entry in enumerate(dicts):
        try:
            message = _read(entry, names)
        except (KeyError, TypeError) as error:
            raise ValueError(f"message {number}: {error}") from error
        if isinstance(message, AssistantMessage):
            names |= {call.id: call.name for call in message.tool_calls}
        messages.append(message)
    return tuple(messages)


def _read(entry: Mapping[str, Json], names: Mapping[str, str]) -> Message:
    """One message; `names` are the tools of the calls so far, by the calls' ids."""
    text = _text(entry.get("content"))
    match entry["role"]:
        case "system" | "developer":
            return SystemMessage(text)
        case "user":
            return UserMessage(text)
        case "assistant":
            return AssistantMessage(text, tuple(_call(call) for call in entry.get("tool_calls") or ()))
        case "tool":
            call_id = str(entry["tool_call_id"])
            return ToolMessage(call_id, str(entry.get("name") or names.get(call_id, "")), text)
        case role:
            raise TypeError(f"there is no role {role!r}")


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(str(call["id"]), str(function["name"]), str(function["arguments"]))


def _text(content: Json) -> str:
    """The content's text: a string, or the texts of its parts. Nothing else can be sent."""
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            return "".join(_part(part) for part in cast("list[Any]", content))
        case _:
            raise TypeError(f"content is a text or a list of parts, not {content!r}")


def _part(part: Any) -> str:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case _:
            raise TypeError(f"only text can be sent, not {part!r}")
