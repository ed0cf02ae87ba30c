"""The first step of making room: old output of tools is left out, with a word on what it was and how to get it again.

Deterministic, and asks nobody. What the person said and what the model wrote is not touched, nor what came newest.
"""

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from localllm.base.events import ToolCall
from localllm.context.conversation import Conversation
from localllm.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage
from localllm.llm.tool_calls import with_arguments

_LEFT_OUT = "[left out to make room: "

_SAID = "[Not of the tool: the user said here:]\n"
"""Before the person's words in such a result: whatever else stands there is data, and no orders."""

_KEPT_FILE = re.compile(r"tool-output/[\w.-]+\.txt")
_LONGEST_FOLDER = 400
"""Characters before it that may belong to its path."""

_WORTH_IT = 1.5
"""A result is left out only where it is so many times as long as what would stand for it."""

_CHANGING = frozenset({"create_file", "write_file", "edit_file", "git_commit", "run_command", "todo"})
"""Tools that must not be called again only to see what they said."""

_NO_CALL = ToolCall("", "", "{}")

Compress = Callable[[ToolCall, str], str]
"""What stands for the content of a result that is left out: a compressed form, or nothing."""


def nothing(_call: ToolCall, _text: str) -> str:
    """No compressed form."""
    return ""


def prune(conversation: Conversation, keep_from: int, compress: Compress = nothing) -> Conversation:
    """The conversation with every result before message `keep_from` replaced that is longer than what stands for it.
    Pictures stay: see `prune_pictures`."""
    messages = [
        _pruned(message, call, conversation.words_in(number), compress)
        if isinstance(message, ToolMessage) and number < keep_from
        else message
        for number, (message, call) in enumerate(with_calls(conversation.messages))
    ]
    return msgspec.structs.replace(conversation, messages=tuple(messages))


def prune_pictures(conversation: Conversation, keep_from: int, spare: int = -1) -> Conversation:
    """The conversation without the pictures that came before message `keep_from`, but for those of message `spare`:
    each message that had some says so, and how they can be seen again."""
    messages = [
        _without_pictures(message, call) if number < keep_from and number != spare else message
        for number, (message, call) in enumerate(with_calls(conversation.messages))
    ]
    return msgspec.structs.replace(conversation, messages=tuple(messages))


def _without_pictures(message: Message, call: ToolCall) -> Message:
    if not isinstance(message, UserMessage | ToolMessage) or not message.images:
        return message
    how = with_arguments(call) if isinstance(message, ToolMessage) else "read_file"
    which = "the picture" if len(message.images) == 1 else f"the {len(message.images)} pictures"
    note = f"[{which} that came with this left out to make room: {how} shows it again]"
    return msgspec.structs.replace(message, text=f"{message.text}\n\n{note}", images=())


def with_calls(messages: Sequence[Message]) -> Iterator[tuple[Message, ToolCall]]:
    """Each message, and with a result the call it answers. Servers use ids again: the last call before it is meant."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls |= {call.id: call for call in message.tool_calls}
        if isinstance(message, ToolMessage):
            yield message, calls.get(message.call_id, ToolCall(message.call_id, message.name, "{}"))
        else:
            yield message, _NO_CALL


def was_pruned(message: Message) -> bool:
    """Whether the result was left out already."""
    return isinstance(message, ToolMessage) and message.text.startswith(_LEFT_OUT)


def _pruned(message: ToolMessage, asked: ToolCall, words: Sequence[str], compress: Compress) -> ToolMessage:
    if was_pruned(message):
        return message
    stands = f"{_LEFT_OUT}{with_arguments(asked)}, {len(message.text):,} characters. {_again(asked, message.text)}]"
    stands = "\n".join(filter(None, [stands, compress(asked, message.text)]))
    text = "\n\n".join([stands, *(f"{_SAID}{said}" for said in words)])
    if len(text) * _WORTH_IT >= len(message.text):
        return message
    return msgspec.structs.replace(message, text=text)


def _again(call: ToolCall, text: str) -> str:
    if kept := _KEPT_FILE.search(text):
        folder = re.split(r"\s", text[max(0, kept.start() - _LONGEST_FOLDER) : kept.start()])[-1]
        return f"The whole is in {folder}{kept[0]}: read_file shows it"
    if call.name in _CHANGING:
        return "It was done; do not repeat it only to see this"
    return "Call it again to see it"
