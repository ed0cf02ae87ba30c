"""Whether what goes out to a server still is the conversation: nothing of it left out, joined or moved."""

import re
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

from localllm.llm.message_format import LOOKING, SHOWN, normalised
from localllm.llm.messages import (
    AssistantMessage,
    CompletionRequest,
    Message,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from localllm.llm.providers import ollama, openai_compatible
from localllm.llm.providers.gemini_format import NO_SIGNATURES, contents
from localllm.llm.tool_calling.structured import StructuredDialect
from localllm.llm.tool_calling.text_dialect import TextDialect


def check_accepted(messages: Sequence[Message], tools: tuple[ToolSpec, ...]) -> None:
    """Every dialect's and every provider's form of `messages` has each of them, whole and in its place."""
    for short_ids in (False, True):
        made = normalised(messages, short_ids=short_ids)
        _check_same(messages, made)
        _check_as_json(made)
        _check_gemini(made)
        _check_spelled(made, tools)


def _check_same(messages: Sequence[Message], made: tuple[Message, ...]) -> None:
    """Only ids, the spelling of names and where pictures are shown may differ."""
    kept = without_pictures(made)
    assert [type(message) for message in kept] == [type(message) for message in messages], "left out, joined or moved"
    ids: dict[str, str] = {}
    for before, after in zip(messages, kept, strict=True):
        assert before.text == after.text
        match before, after:
            case AssistantMessage(tool_calls=asked), AssistantMessage(tool_calls=sent):
                assert [call.arguments for call in asked] == [call.arguments for call in sent]
                assert [_tidy(call.name) for call in asked] == [call.name for call in sent]
                assert before.thinking == after.thinking
                ids = {call.id: now.id for call, now in zip(asked, sent, strict=True)}
            case ToolMessage(call_id), ToolMessage(call_id=sent_id):
                assert ids.pop(call_id) == sent_id
            case UserMessage(images=shown), UserMessage(images=sent):
                assert shown == sent
            case _:
                pass


def without_pictures(messages: Sequence[Message]) -> list[Message]:
    """The messages but for the turns in which pictures of results are shown."""
    shown = {
        place
        for number in range(1, len(messages) - 1)
        if isinstance(messages[number - 1], ToolMessage) and messages[number] == AssistantMessage(LOOKING)
        if isinstance(after := messages[number + 1], UserMessage) and after.images and after.text.startswith(SHOWN)
        for place in (number, number + 1)
    }
    return [message for number, message in enumerate(messages) if number not in shown]


def _tidy(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unknown"


def _check_as_json(made: Sequence[Message]) -> None:
    """OpenAI's form, which LM Studio, Azure and the model beside us take as well, and Ollama's: one to one."""
    for message in made:
        for form in (openai_compatible.message_json(message), ollama.message_json(message)):
            calls: Any = form.get("tool_calls", [])
            assert len(calls) == (len(message.tool_calls) if isinstance(message, AssistantMessage) else 0)
            pictures = isinstance(message, UserMessage) and message.images
            assert pictures or form["content"] == message.text


def _check_gemini(made: Sequence[Message]) -> None:
    """One turn for each message, the results of one answer together; each part in it."""
    turns: list[Any] = contents(made, NO_SIGNATURES)
    spoken = [message for message in made if not isinstance(message, SystemMessage)]
    counts: list[int] = []
    for is_result, group in groupby(spoken, key=lambda message: isinstance(message, ToolMessage)):
        parts = [_parts(message) for message in group]
        counts += [sum(parts)] if is_result else parts
    assert [len(turn["parts"]) for turn in turns] == counts, "gemini: left out or joined"
    assert all(before["role"] != after["role"] for before, after in pairwise(turns))


def _parts(message: Message) -> int:
    match message:
        case AssistantMessage(text, calls):
            return bool(text) + len(calls)
        case UserMessage(text, images):
            return bool(text) + len(images)
        case _:
            return 1


def _check_spelled(made: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> None:
    """Where calls are spelled out: the user and the model in turn, every text in its place."""
    plain = tuple(without_pictures(made))
    for dialect in (StructuredDialect(), TextDialect()):
        spelled = dialect.encode(CompletionRequest(model="m", messages=plain, tools=tools)).messages
        assert all(type(before) is not type(after) for before, after in pairwise(spelled)), "two of one role"
        said = [message for message in spelled if isinstance(message, UserMessage)]
        read = [message for message in plain if isinstance(message, UserMessage | ToolMessage)]
        assert len(said) == len(read), f"{dialect.name}: left out or joined"
        for before, after in zip(_in_order_of_calls(plain), said, strict=True):
            assert before.text in after.text
            assert isinstance(before, ToolMessage) or before.text == after.text


def _in_order_of_calls(messages: Sequence[Message]) -> list[Message]:
    """What the model reads, in order; a spelled out call has its result directly behind it."""
    return [message for message in messages if isinstance(message, UserMessage | ToolMessage)]
