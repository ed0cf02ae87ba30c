"""Messages as OpenAI's interface writes them, plain dicts, for callers from outside."""

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, cast

from localllm.base.events import Json, ToolCall
from localllm.base.patterns import late_pattern
from localllm.llm.messages import AssistantMessage, Image, Message, SystemMessage, ToolMessage, UserMessage
from localllm.llm.reasons import short_reason

_MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")

_DATA_URL = late_pattern(r"data:(image/(?:png|jpe?g|webp|gif))(?:;[^;,]*)*?;base64,(.+)", re.IGNORECASE | re.DOTALL)


def read_messages(dicts: Sequence[Mapping[str, Json]]) -> tuple[Message, ...]:
    """The messages. Raises ValueError for what is none, saying which."""
    names: dict[str, str] = {}
    messages: list[Message] = []
    for number, entry in enumerate(dicts):
        try:
            message = _read(entry, names)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"message {number}: {error}") from error
        if isinstance(message, AssistantMessage):
            names |= {call.id: call.name for call in message.tool_calls}
        messages.append(message)
    return tuple(messages)


def _read(entry: Mapping[str, Json], names: Mapping[str, str]) -> Message:
    """One message; `names` are the tools of the calls so far, by the calls' ids."""
    text, images = _content(entry.get("content"))
    match entry["role"]:
        case "user":
            return UserMessage(text, images)
        case "tool":
            call_id = str(entry["tool_call_id"])
            return ToolMessage(call_id, str(entry.get("name") or names.get(call_id, "")), text, images)
        case role if images:
            raise TypeError(f"the role {role!r} has no pictures")
        case "system" | "developer":
            return SystemMessage(text)
        case "assistant":
            return AssistantMessage(text, tuple(_call(call) for call in entry.get("tool_calls") or ()))
        case role:
            raise TypeError(f"there is no role {role!r}")


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(str(call["id"]), str(function["name"]), str(function["arguments"]))


def _content(content: Json) -> tuple[str, tuple[Image, ...]]:
    """The content's text and pictures: a string, or those of its parts. Nothing else can be sent."""
    match content:
        case None:
            return "", ()
        case str():
            return content, ()
        case list():
            parts = [_part(part) for part in cast("list[Any]", content)]
            texts = "".join(part for part in parts if isinstance(part, str))
            return texts, tuple(part for part in parts if isinstance(part, Image))
        case _:
            raise TypeError(f"content is a text or a list of parts, not {content!r}")


def _part(part: Any) -> str | Image:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return _image(url)
        case _:
            raise TypeError(f"only text and pictures can be sent, not {part!r}")


def _image(url: str) -> Image:
    """The picture in a data: URL. Nothing is fetched."""
    found = _DATA_URL.fullmatch(url)
    if not found:
        raise ValueError(f"a picture is a data: URL of {', '.join(_MEDIA_TYPES)} in base64, not {short_reason(url)!r}")
    media_type = found[1].lower().replace("/jpg", "/jpeg")
    return Image(media_type, b64decode("".join(found[2].split()), validate=True))
