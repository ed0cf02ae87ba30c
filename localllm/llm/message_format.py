"""Normalise a conversation into a form any server accepts, and parse messages from OpenAI's JSON form."""

import hashlib
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from localllm.base.events import Json, ToolCall
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.messages import AssistantMessage, Image, Message, SystemMessage, ToolMessage, UserMessage
from localllm.llm.overflow import short_reason

_MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")

_DATA_URL = late_pattern(r"data:(image/(?:png|jpe?g|webp|gif))(?:;[^;,]*)*?;base64,(.+)", re.IGNORECASE | re.DOTALL)


def read_messages(dicts: Sequence[Mapping[str, Json]]) -> tuple[Message, ...]:
    """Parse messages. Raises ValueError with the index of an invalid one."""
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
    """Parse one message; `names` maps the ids of earlier calls to their tools."""
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
    """Return the text and images of a message's content, a string or a list of parts. Raises TypeError for others."""
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
    """Decode the image in a data: URL; nothing is fetched."""
    found = _DATA_URL.fullmatch(url)
    if not found:
        raise ValueError(f"a picture is a data: URL of {', '.join(_MEDIA_TYPES)} in base64, not {short_reason(url)!r}")
    media_type = found[1].lower().replace("/jpg", "/jpeg")
    return Image(media_type, b64decode("".join(found[2].split()), validate=True))


NOT_RUN = "This call was not run."
"""Result inserted for a call without one."""

NO_ANSWER = "[no answer]"
"""Assistant text inserted between tool results and a following user message."""

BEGINNING = "[the conversation began earlier]"
"""User text inserted if the conversation starts with the model."""

LOOKING = "[looking at the pictures]"
"""Assistant text inserted between tool results and the user message that carries their images."""

SHOWN = "[picture"
"""Prefix of the user message that carries the images of tool results."""

_SHORT_ID = late_pattern(r"[A-Za-z0-9]{9}")
_NOT_IN_A_NAME = late_pattern(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


def normalised(messages: Iterable[Message], *, thinking: bool = True, short_ids: bool = False) -> tuple[Message, ...]:
    """Return `messages` in the form any server accepts.
    At most one system message, at the start, then alternating user and assistant turns, where the results of all
    calls directly follow an answer. No answer is empty, and no id occurs twice.

    Valid messages are passed on unchanged, as the same objects. Otherwise: system messages at the start are merged,
    later ones become user text; neighbours of one role are merged; missing results and turns are inserted; empty
    answers and results without a call are dropped; names are restricted to accepted characters. Images in results,
    which no server accepts there, become a user turn after the results of that answer. `thinking`: keep the thinking of
    answers. `short_ids`: ids are nine letters and digits.

    It works front to back and never looks beyond an answer's results: the result for a conversation is a prefix of the
    result for its continuation.
    """
    conversation = _Conversation(thinking=thinking, short_ids=short_ids)
    for message in messages:
        conversation.add(message)
    return conversation.finished()


class Normaliser:
    """Incremental `normalised`: of a continued conversation, only the new messages are processed."""

    def __init__(self) -> None:
        self._read: tuple[Message, ...] = ()
        self._form = (True, False)
        self._conversation: _Conversation | None = None

    def normalised(self, messages: Sequence[Message], *, thinking: bool, short_ids: bool) -> tuple[Message, ...]:
        """See `normalised`."""
        messages = tuple(messages)
        before, conversation = self._read, self._conversation
        continues = self._form == (thinking, short_ids) and messages[: len(before)] == before
        if conversation is None or not continues:
            before, conversation = (), _Conversation(thinking=thinking, short_ids=short_ids)
        for message in messages[len(before) :]:
            conversation.add(message)
        self._read, self._form = messages, (thinking, short_ids)
        self._conversation = conversation if conversation.is_complete else None
        return conversation.finished()


class _Conversation:
    """A normalised conversation that grows."""

    def __init__(self, *, thinking: bool, short_ids: bool) -> None:
        self._thinking = thinking
        self._short_ids = short_ids
        self._messages: list[Message] = []
        self._open: list[tuple[ToolCall, ToolCall]] = []
        """Calls without a result: as received, and as sent."""
        self._ids: set[str] = set()
        self._attempts: dict[str, int] = {}
        """Number of variants already used of an id."""
        self._results: list[ToolMessage] = []
        """Results of the last answer, with their images."""

    def add(self, message: Message) -> None:
        match message:
            case ToolMessage():
                self._add_result(message)
            case AssistantMessage():
                self._close()
                self._add_answer(message)
            case UserMessage():
                self._close()
                self._add_user(message)
            case SystemMessage(text):
                self._close()
                self._add_system(message, text)

    @property
    def is_complete(self) -> bool:
        """Whether `finished` would add nothing, so that more messages may follow."""
        return not self._open and not any(result.images for result in self._results)

    def finished(self) -> tuple[Message, ...]:
        self._close()
        return tuple(self._messages)

    @property
    def _last(self) -> Message | None:
        return self._messages[-1] if self._messages else None

    def _add_system(self, message: SystemMessage, text: str) -> None:
        match self._last:
            case None:
                self._messages.append(message)
            case SystemMessage(before):
                self._messages[-1] = SystemMessage(_joined(before, text))
            case _:
                self._add_user(UserMessage(text))

    def _add_user(self, message: UserMessage) -> None:
        if isinstance(self._last, UserMessage):
            images = (*self._last.images, *message.images)
            self._messages[-1] = UserMessage(_joined(self._last.text, message.text), images)
            return
        if isinstance(self._last, ToolMessage):
            self._messages.append(AssistantMessage(NO_ANSWER))
        self._messages.append(message)

    def _add_answer(self, message: AssistantMessage) -> None:
        if not message.text.strip() and not message.tool_calls:
            return
        if self._last is None or isinstance(self._last, SystemMessage):
            self._messages.append(UserMessage(BEGINNING))
        answer = self._tidied(message)
        if isinstance(self._last, AssistantMessage):
            self._messages[-1] = _merged(self._last, answer)
        else:
            self._messages.append(answer)

    def _add_result(self, message: ToolMessage) -> None:
        for asked, sent in self._open:
            if asked.id == message.call_id:
                self._open.remove((asked, sent))
                same = (message.call_id, message.name, message.images) == (sent.id, sent.name, ())
                self._results.append(msgspec.structs.replace(message, name=sent.name))
                self._messages.append(message if same else ToolMessage(sent.id, sent.name, message.text))
                return

    def _close(self) -> None:
        """Fill in the results of open calls, and append the images of the others."""
        self._messages += [ToolMessage(sent.id, sent.name, NOT_RUN) for _, sent in self._open]
        self._open.clear()
        if shown := _shown(self._results):
            self._messages += [AssistantMessage(LOOKING), shown]
        self._results.clear()

    def _tidied(self, message: AssistantMessage) -> AssistantMessage:
        calls = tuple(self._tidied_call(call) for call in message.tool_calls)
        self._open = list(zip(message.tool_calls, calls, strict=True))
        thinking = message.thinking if self._thinking else ""
        if calls == message.tool_calls and thinking == message.thinking:
            return message
        return AssistantMessage(message.text, calls, thinking)

    def _tidied_call(self, call: ToolCall) -> ToolCall:
        name = _NOT_IN_A_NAME.sub("_", call.name)[:_LONGEST_NAME] or "unknown"
        call_id = self._new_id(call.id)
        return call if (call_id, name) == (call.id, call.name) else ToolCall(call_id, name, call.arguments)

    def _new_id(self, wanted: str) -> str:
        """Return `wanted` if it is free, else an id derived only from it and the ids before it."""
        attempt = self._attempts.get(wanted, 0) + 1
        call_id = self._formed(f"{wanted or 'call'}_{attempt}" if attempt > 1 else wanted)
        while call_id in self._ids:
            attempt += 1
            call_id = self._formed(f"{wanted or 'call'}_{attempt}")
        self._attempts[wanted] = attempt
        self._ids.add(call_id)
        return call_id

    def _formed(self, wanted: str) -> str:
        if not self._short_ids or _SHORT_ID.fullmatch(wanted):
            return wanted or "call_1"
        return hashlib.blake2s(wanted.encode("utf-8", "surrogatepass")).hexdigest()[:9]


def _merged(first: AssistantMessage, second: AssistantMessage) -> AssistantMessage:
    thinking = _joined(first.thinking, second.thinking)
    return AssistantMessage(_joined(first.text, second.text), (*first.tool_calls, *second.tool_calls), thinking)


def _shown(results: Sequence[ToolMessage]) -> UserMessage | None:
    """Return a user message with the images of one answer's results, a line for each such result. None if none."""
    lines: list[str] = []
    images: list[Image] = []
    for number, result in enumerate(results, 1):
        if result.images:
            shown = range(len(images) + 1, len(images) + len(result.images) + 1)
            which = f"picture {shown[0]}" if len(shown) == 1 else f"pictures {shown[0]} to {shown[-1]}"
            lines.append(f"[{which}: from result {number}, of {result.name}]")
            images += result.images
    return UserMessage("\n".join(lines), tuple(images)) if images else None


def _joined(first: str, second: str) -> str:
    return "\n\n".join(text for text in (first, second) if text)
