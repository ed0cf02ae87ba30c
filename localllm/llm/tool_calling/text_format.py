"""Tool calls as text: describe tools in the prompt, write calls and results, and parse labels and arguments."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from localllm.base.events import ToolCall
from localllm.base.jsontext import encode_json
from localllm.llm.message_format import LOOKING, SHOWN
from localllm.llm.messages import (
    AssistantMessage,
    CompletionRequest,
    Message,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from localllm.llm.tool_calling.json_repair import keywords_to_json, repair_json

_LONGEST_THOUGHT = 1_000
"""Maximum characters of thinking sent back to the model.
Longer text is a thinking model's own, not the requested thought, which is then its last paragraph."""

SpellStep = Callable[[AssistantMessage, ToolCall | None], str]
"""Writes an answer with one of its calls, or without one."""


def spell_out(
    request: CompletionRequest, prompt: Callable[[], str], step: SpellStep, result: Callable[[ToolMessage], str]
) -> CompletionRequest:
    """Convert the normalised conversation of the request to text without calls and results, and describe its tools in
    the `prompt`, which is appended to the system message. An answer with several calls becomes several answers, each
    with its result. The images of results follow the last of them, in the user message that carries them (see
    message_format.py)."""
    messages = request.messages
    instructions = prompt().replace("{tools}", describe_tools(request.tools)) if request.tools else ""
    results = {message.call_id: message for message in messages if isinstance(message, ToolMessage)}
    spelled: list[Message] = []
    for message in _with_instructions(_without_looking(messages), instructions):
        for said in _spelled(message, results, step, result):
            if isinstance(said, UserMessage) and spelled and isinstance(before := spelled[-1], UserMessage):
                spelled[-1] = UserMessage(f"{before.text}\n\n{said.text}", (*before.images, *said.images))
            else:
                spelled.append(said)
    return msgspec.structs.replace(request, messages=tuple(spelled), tools=(), tool_choice="auto")


def _without_looking(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without the placeholders between results and their images."""
    return [message for number, message in enumerate(messages) if not _is_looking(messages[max(0, number - 1) :][:3])]


def _is_looking(messages: Sequence[Message]) -> bool:
    """Return whether the second of three messages is such a placeholder, not the model's own words."""
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
    """Return the thought before a step from its thinking."""
    thinking = thinking.strip()
    return thinking if len(thinking) <= _LONGEST_THOUGHT else thinking.rpartition("\n\n")[2][-_LONGEST_THOUGHT:]


def describe_tools(tools: Iterable[ToolSpec]) -> str:
    """Describe the tools in a few lines each: what it does, and its arguments."""
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


Label = Literal["thought", "action", "input", "observation", "answer"]

_WORDS: dict[str, Label] = {
    "thought": "thought",
    "action": "action",
    "action input": "input",
    "action_input": "input",
    "observation": "observation",
    "final answer": "answer",
    "final_answer": "answer",
    "思考": "thought",
    "行動": "action",
    "アクション": "action",
    "行動入力": "input",
    "行動の入力": "input",
    "アクション入力": "input",
    "アクションの入力": "input",
    "観察": "observation",
    "観察結果": "observation",
    "最終回答": "answer",
    "最終的な回答": "answer",
}
_DECORATION = "*_`"
_BEFORE = re.compile(r"[ \t>#*_`\-]*(?:\d{1,2}(?:[.)][ \t]*)?)?[*_`]*")
"""Matches white space, Markdown and a number, as in `> **` and `1. `."""

_BEHIND = re.compile(rf"[ \t]*\d{{0,2}}[ \t]*([{_DECORATION}]*)[ \t]*")
"""Matches what is between the word and its colon, as in `Thought 1:` and `**Action** :`."""

_LONGEST = 60
"""Maximum characters of a label with its decoration."""


class Hit(msgspec.Struct, frozen=True):
    """A label at the start of a line, and its length in characters."""

    label: Label
    length: int


class Undecided(msgspec.Struct, frozen=True):
    """The line may still become a label."""


def label_of(line: str, *, more: bool) -> Hit | Undecided | None:
    """Return the label at the start of `line`, if any. `more`: the line is incomplete, so that it may be undecided."""
    before = _BEFORE.match(line)
    start = before.end() if before else 0
    rest = line[start : start + _LONGEST].casefold()
    waits = more and len(line) < _LONGEST and not rest
    for word, label in _WORDS.items():
        if not rest.startswith(word):
            waits = waits or (more and bool(rest) and word.startswith(rest))
            continue
        behind = _BEHIND.match(rest, len(word))
        end = behind.end() if behind else len(word)
        if end == len(rest):
            waits = waits or (more and len(line) < _LONGEST)
        elif rest[end] in ":：":
            inside = behind.group(1) if behind else ""
            return _closed(line, label, start + end + 1, "" if inside else _opening(line[:start]), more=more)
    return Undecided() if waits else None


def _opening(before: str) -> str:
    """Return the decoration right before the word, which has to be closed after it."""
    return before[len(before.rstrip(_DECORATION)) :]


def _closed(line: str, label: Label, end: int, opening: str, *, more: bool) -> Hit | Undecided:
    """Return the label including the decoration closed after its colon, as in `**Action:**`."""
    closing = line[end : end + len(opening)]
    if more and len(closing) < len(opening) and opening.startswith(closing):
        return Undecided()
    return Hit(label, end + len(opening) if closing == opening else end)


_NOTHING = frozenset({"", "none", "null", "n/a", "na", "no input", "none needed", "empty", "なし"})
_KEYED = re.compile(r"\s*(?:[-*]\s+)?[`\"'*]*(\w+)[`\"'*]*\s*[:：=]\s*(.*)")
_AFTER_WORDS = re.compile(r"""[^{}\[\]"'`]*[:：]\s*(\{.*\})""", re.DOTALL)
_KEYWORD = re.compile(r"\w+\s*=(?!=)")
_QUOTES = ('"""', "'''", "```", '"', "'", "`")


def arguments_of(written: str, tool: ToolSpec | None, *, was_cut: bool) -> str:
    """Convert `written` to JSON if its meaning is unambiguous; else return it unchanged.

    Besides JSON, which is left to `settle`, it accepts: a line `key: value` for each argument, Python's keywords, the
    bare value of a tool's only required argument, and nothing for a tool without required ones. Text truncated by the
    token limit is not converted, as its rest is missing.
    """
    text = written.strip()
    if was_cut or tool is None or text[:1] in ("{", "["):
        return text
    properties: dict[str, Any] = tool.parameters.get("properties", {})
    required: list[str] = tool.parameters.get("required", [])
    if text.lower().strip("()") in _NOTHING:
        return "" if required else "{}"
    if _KEYWORD.match(text) and (keywords := keywords_to_json(f"({text})", list(properties))):
        return keywords
    if keyed := keyed_arguments(text, tool):
        return keyed
    if told := _object_after_words(text, properties):
        return told
    only = required or list(properties)
    if len(only) == 1 and properties[only[0]].get("type") == "string" and not _begins_with_key(text, properties):
        return encode_json({only[0]: _unquoted(text)}).decode()
    return text


def inline_arguments(written: str, tool: ToolSpec | None, *, was_cut: bool) -> str:
    """Like `arguments_of`, for text in brackets after the name: `(file_path="a.py")`, `("a.py")`, `[a.py]`."""
    closed = written[:1] + written[-1:] in ("()", "[]")
    if was_cut or tool is None or not closed:
        return written
    keywords = keywords_to_json(written, list(tool.parameters.get("properties", {}))) if written[0] == "(" else None
    return keywords or arguments_of(written[1:-1], tool, was_cut=False)


def keyed_arguments(text: str, tool: ToolSpec | None) -> str:
    """Convert lines that each name a different argument to JSON; "" if they do not."""
    properties: dict[str, Any] = tool.parameters.get("properties", {}) if tool else {}
    found: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        hit = _KEYED.fullmatch(line)
        if not hit or hit[1] not in properties or hit[1] in found:
            return ""
        found[hit[1]] = _unquoted(hit[2].strip().rstrip(","))
    return encode_json(found).decode() if found else ""


def _object_after_words(text: str, properties: dict[str, Any]) -> str:
    """Return the object in `The arguments are: {…}`, if unambiguous."""
    hit = _AFTER_WORDS.fullmatch(text)
    fixed = repair_json(hit[1]) if hit else None
    given: object = msgspec.json.decode(fixed) if fixed else None
    return fixed if fixed and isinstance(given, dict) and given and given.keys() <= properties.keys() else ""


def _begins_with_key(text: str, properties: dict[str, Any]) -> bool:
    hit = _KEYED.match(text)
    return hit is not None and hit[1] in properties


def _unquoted(text: str) -> str:
    for quote in _QUOTES:
        if len(text) >= 2 * len(quote) and text.startswith(quote) and text.endswith(quote):
            inner = text[len(quote) : -len(quote)]
            return text if quote in inner else inner
    return text
