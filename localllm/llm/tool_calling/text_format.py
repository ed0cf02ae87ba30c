"""Tool calls as text: how the prompt explains them, and how calls and results are written."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from localllm.base.events import ToolCall
from localllm.base.jsontext import encode_json
from localllm.llm.message_format import LOOKING, SHOWN
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, ToolSpec, UserMessage
from localllm.llm.tool_calling.json_repair import keywords_to_json, repair_json

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
"""White space, Markdown and a number, as in `> **` and `1. `."""

_BEHIND = re.compile(rf"[ \t]*\d{{0,2}}[ \t]*([{_DECORATION}]*)[ \t]*")
"""Between the word and its colon, as in `Thought 1:` and `**Action** :`."""

_LONGEST = 60
"""Characters a label takes at most, with all that is around it."""


class Hit(msgspec.Struct, frozen=True):
    """A label at the beginning of a line, and how many characters it takes."""

    label: Label
    length: int


class Undecided(msgspec.Struct, frozen=True):
    """The line may yet begin with a label."""


def label_of(line: str, *, more: bool) -> Hit | Undecided | None:
    """The label `line` begins with, if any. `more`: the line may go on, so that it may be too early to say."""
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
    """The decoration right before the word, which has to be closed behind it."""
    return before[len(before.rstrip(_DECORATION)) :]


def _closed(line: str, label: Label, end: int, opening: str, *, more: bool) -> Hit | Undecided:
    """The label with what closes its decoration behind the colon, as in `**Action:**`."""
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
    """`written` as JSON where there is no doubt what it means; else as it is.

    Understood are, besides JSON, which is left to `settle`: a line `key: value` for each argument, Python's keywords,
    the bare value of the only argument a tool must have, and nothing for a tool that needs nothing. Of what the token
    limit has cut, nothing is understood: the rest is missing.
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
    """The same for what stands in brackets behind the name: `(file_path="a.py")`, `("a.py")`, `[a.py]`."""
    closed = written[:1] + written[-1:] in ("()", "[]")
    if was_cut or tool is None or not closed:
        return written
    keywords = keywords_to_json(written, list(tool.parameters.get("properties", {}))) if written[0] == "(" else None
    return keywords or arguments_of(written[1:-1], tool, was_cut=False)


def keyed_arguments(text: str, tool: ToolSpec | None) -> str:
    """The JSON of lines that all name an argument; "" where one does not, or names one again."""
    properties: dict[str, Any] = tool.parameters.get("properties", {}) if tool else {}
    found: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        hit = _KEYED.fullmatch(line)
        if not hit or hit[1] not in properties or hit[1] in found:
            return ""
        found[hit[1]] = _unquoted(hit[2].strip().rstrip(","))
    return encode_json(found).decode() if found else ""


def _object_after_words(text: str, properties: dict[str, Any]) -> str:
    """The object of `The arguments are: {…}`, if it can be nothing else."""
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
