"""A conversation with tools spelled out, for servers that are told of none: tools in the system message, calls as the
text the model has to write, results as the user's messages."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from localllm.base.events import ToolCall
from localllm.llm.message_format import LOOKING, SHOWN
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, ToolSpec, UserMessage

_LONGEST_THOUGHT = 1_000
"""Characters of thinking that are shown to the model again. Longer ones are a thinking model's own, not the thought
it was asked for; that is then the last paragraph."""

SpellStep = Callable[[AssistantMessage, ToolCall | None], str]
"""The text of an answer with one of its calls, or with none."""


def spell_out(
    messages: Sequence[Message], instructions: str, step: SpellStep, result: Callable[[ToolMessage], str]
) -> tuple[Message, ...]:
    """The valid conversation `messages` (see normalising.py) without calls and results. `instructions` go to the end
    of the system message. An answer with several calls becomes several answers, each with its result. The pictures of
    results follow the last of them, where they are the user's already."""
    results = {message.call_id: message for message in messages if isinstance(message, ToolMessage)}
    spelled: list[Message] = []
    for message in _with_instructions(_without_looking(messages), instructions):
        for said in _spelled(message, results, step, result):
            if isinstance(said, UserMessage) and spelled and isinstance(before := spelled[-1], UserMessage):
                spelled[-1] = UserMessage(f"{before.text}\n\n{said.text}", (*before.images, *said.images))
            else:
                spelled.append(said)
    return tuple(spelled)


def _without_looking(messages: Sequence[Message]) -> list[Message]:
    """The messages but for what stands for the model between results and their pictures."""
    return [message for number, message in enumerate(messages) if not _is_looking(messages[max(0, number - 1) :][:3])]


def _is_looking(messages: Sequence[Message]) -> bool:
    """Whether the second of three messages is no answer: the model may say such a thing itself."""
    match messages:
        case [ToolMessage(), AssistantMessage(text, ()), UserMessage(shown, (_, *_))]:
            return text == LOOKING and shown.startswith(SHOWN)
        case _:
            return False


def _with_instructions(messages: Sequence[Message], instructions: str) -> Iterable[Message]:
    if not instructions:
        return messages
    match messages:
        case [SystemMessage(text), *rest]:
            return [SystemMessage(f"{text}\n\n{instructions}"), *rest]
        case _:
            return [SystemMessage(instructions), *messages]


def _spelled(
    message: Message, results: dict[str, ToolMessage], step: SpellStep, result: Callable[[ToolMessage], str]
) -> Iterator[Message]:
    match message:
        case ToolMessage():
            return
        case AssistantMessage(tool_calls=()):
            yield AssistantMessage(step(message, None))
        case AssistantMessage(tool_calls=calls):
            said = message
            for call in calls:
                yield AssistantMessage(step(said, call))
                said = AssistantMessage("")
                if call.id in results:
                    yield UserMessage(result(results[call.id]))
        case _:
            yield message


def thought_of(thinking: str) -> str:
    """The thought before a step, of all the thinking before it."""
    thinking = thinking.strip()
    return thinking if len(thinking) <= _LONGEST_THOUGHT else thinking.rpartition("\n\n")[2][-_LONGEST_THOUGHT:]


def describe_tools(tools: Iterable[ToolSpec]) -> str:
    """The tools in a few lines each: what it does, and its arguments."""
    return "\n".join(line for tool in tools for line in _tool_lines(tool))


def _tool_lines(tool: ToolSpec) -> Iterator[str]:
    properties: dict[str, dict[str, Any]] = tool.parameters.get("properties", {})
    required: list[str] = tool.parameters.get("required", [])
    yield f"- {tool.name}: {tool.description}"
    for name, schema in properties.items():
        optional = "" if name in required else ", optional"
        yield f"  {name} ({_type_of(schema)}{optional}): {schema.get('description', '')}".rstrip(": ")


def _type_of(schema: dict[str, Any]) -> str:
    if choices := schema.get("enum"):
        return " | ".join(str(choice) for choice in choices)
    if schema.get("type") == "array":
        return f"list of {_type_of(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
