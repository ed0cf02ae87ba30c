"""The structured dialect: every step is one JSON object that matches a schema enforced by the server."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from localllm.base.events import Json, ToolCall
from localllm.base.jsontext import encode_json
from localllm.llm.messages import AssistantMessage, CompletionRequest, ToolChoice, ToolMessage, ToolSpec
from localllm.llm.providers.base import Chunk, FinishChunk, TextChunk, ThinkingChunk, ToolCallChunk
from localllm.llm.providers.openai_compatible import replayable
from localllm.llm.tool_calling.arguments import WRAPPERS, Names, settle
from localllm.llm.tool_calling.dialect import DialectName, Reader
from localllm.llm.tool_calling.json_repair import COLONS
from localllm.llm.tool_calling.text_format import spell_out, thought_of
from localllm.llm.tool_calling.text_tool_calls.reader import SalvagingReader
from localllm.llm.tool_calling.text_tool_calls.source import Reading, Source

FINAL_ANSWER = "final_answer"
"""The pseudo-tool that carries the answer to the user."""

_THOUGHTS = ("thought", "thoughts", "thinking", "reasoning")
_NAMES = ("name", "tool", "tool_name", "action_name")
_ANSWERS = ("answer", FINAL_ANSWER, "text")

_PLAIN = re.compile(r'[^"\\]+')
_LITERAL = re.compile(r"[^\s,}\]]")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_FENCES = ("```json", "```")

Say = Callable[[str], None]


class StructuredReader:
    """A Reader (see dialect.py). The thought becomes thinking and the answer text, both streamed; a call is returned at
    the end, with its arguments unchanged if truncated.

    If the answer is no JSON object, the server does not enforce the schema, or the text is not the model's: it is read
    like the native dialect, and `strayed` is set.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.strayed: bool | None = False
        self.thinking_was_open = False
        self._tools = {tool.name: tool for tool in tools}
        self._names = Names(self._tools)
        self._native = SalvagingReader(tools)
        self._source = Source()
        self._reading = self._read()
        self._out: list[Chunk] = []
        self._finish: FinishChunk | None = None
        self._raw: list[str] = []
        self._thinks_itself = False
        self._thought: list[str] = []
        self._answered = False
        self._name = ""
        self._arguments = ""
        self._beside: dict[str, str] = {}
        """Members beside the name, as written: the arguments of a model that nests nothing."""

    @property
    def is_over(self) -> bool:
        """Whether the model writes on after the end of its own turn."""
        return self._native.is_over

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """Return the chunks that can be emitted now."""
        match chunk:
            case TextChunk(text):
                self._raw.append(text)
                self._source.push(text)
                self._run()
            case FinishChunk(reason):
                self._finish = chunk if reason or self._finish is None else self._finish
            case ToolCallChunk():
                self._out += self._native.feed(chunk)
            case _:
                self._thinks_itself = self._thinks_itself or isinstance(chunk, ThinkingChunk)
                self._out.append(chunk)
        return self._take_out()

    def close(self) -> list[Chunk]:
        """Return the call, and what was buffered."""
        self._source.ended = True
        self._source.was_cut = self._finish is not None and self._finish.reason == "length"
        self._run()
        self._out += self._conclusion()
        if self._finish is not None:
            self._native.feed(self._finish)
        self._out += [chunk for chunk in self._native.close() if not isinstance(chunk, FinishChunk)]
        return self._take_out() + ([self._finish] if self._finish else [])

    def _run(self) -> None:
        next(self._reading, None)

    def _take_out(self) -> list[Chunk]:
        out, self._out = self._out, []
        return out

    def _conclusion(self) -> list[Chunk]:
        """Return the call; or the answer, if it was not streamed as one."""
        if self._answered or self.strayed:
            return []
        if self._name in ("", FINAL_ANSWER):
            return self._missing_answer()
        name = self._names.understand(self._name) or self._name
        arguments = settle(
            self._arguments or self._flat_arguments(name), self._tools.get(name), closes=not self._source.was_cut
        )
        return [ToolCallChunk(0, name=name, arguments=arguments)]

    def _flat_arguments(self, name: str) -> str:
        """Return the members beside the name that are arguments of the tool, as an object; "" if there are none."""
        tool = self._tools.get(name)
        known: dict[str, Json] = tool.parameters.get("properties", {}) if tool else {}
        given = [f"{_quoted(key)}: {value}" for key, value in self._beside.items() if key in known]
        return f"{{{', '.join(given)}}}" if given and not self._source.was_cut else ""

    def _missing_answer(self) -> list[Chunk]:
        """Return the answer of an object that has neither a call nor an answer in the right place: arguments before the
        action's name, only a thought, or JSON of the model's own."""
        if answer := _answer_in(self._arguments):
            return [TextChunk(answer)]
        if self._source.was_cut:
            return []
        self.strayed = self._name != FINAL_ANSWER and any(map(str.strip, self._raw))
        if thought := "".join(self._thought).strip():
            return [TextChunk(thought)]
        return self._native.feed(TextChunk("".join(self._raw))) if self.strayed else []

    def _think(self, text: str) -> None:
        if self._thinks_itself and not self._thought:
            self._out.append(ThinkingChunk("\n\n"))
        self._thought.append(text)
        self._out.append(ThinkingChunk(text))

    def _answer(self, text: str) -> None:
        self._answered = True
        self._out.append(TextChunk(text))

    # --- parsing of the object, written as if it were complete

    def _read(self) -> Reading[None]:
        source = self._source
        yield from source.blank()
        start = source.place
        if (yield from source.accept(*_FENCES)):
            yield from source.blank()
        if (yield from source.peek()) == "{":
            yield from self._object(self._member)
            return
        if source.ended and not source.since(start):
            return
        source.go(start)
        self.strayed = True
        yield from self._stray()

    def _stray(self) -> Reading[None]:
        source = self._source
        while True:
            text = source.text
            source.skip(len(text))
            source.mark()
            if text:
                self._out += self._native.feed(TextChunk(text))
            if not (yield from source.more()):
                return

    def _object(self, member: Callable[[str], Reading[None]]) -> Reading[None]:
        """Read an object, each value with `member`. Stops where the text is truncated."""
        source = self._source
        source.skip(1)
        while (yield from source.blank(",")) == '"':
            source.mark()
            key: list[str] = []
            yield from self._string(key.append)
            yield from source.blank(":")
            yield from member("".join(key))
        source.skip(1)

    def _member(self, key: str) -> Reading[None]:
        char = yield from self._source.peek()
        match key:
            case _ if key in _THOUGHTS and char == '"':
                yield from self._string(self._think)
            case "action" if char == "{":
                yield from self._object(self._member)
            case "action" if char == '"':
                yield from self._read_name()
            case _ if key in _NAMES and char == '"':
                yield from self._read_name()
            case _ if key in _ANSWERS and char == '"' and self._name in ("", FINAL_ANSWER):
                yield from self._string(self._answer)
            case _ if key in WRAPPERS and self._name == FINAL_ANSWER and char == "{":
                yield from self._object(self._member)
            case _ if key in WRAPPERS and self._name == FINAL_ANSWER and char == '"':
                yield from self._string(self._answer)
            case _ if key in WRAPPERS:
                yield from self._read_arguments()
            case _:
                start = self._source.place
                yield from self._value()
                self._beside[key] = self._source.since(start)

    def _read_name(self) -> Reading[None]:
        name: list[str] = []
        if (yield from self._string(name.append)):
            self._name = "".join(name)

    def _read_arguments(self) -> Reading[None]:
        source = self._source
        start = source.place
        yield from self._value()
        self._arguments = source.since(start)

    def _value(self) -> Reading[bool]:
        """Skip a value; return whether it is complete."""
        source = self._source
        match (yield from source.peek()):
            case '"':
                return (yield from self._string(_nowhere))
            case "{" | "[":
                return (yield from source.value())
            case _:
                yield from source.word(_LITERAL)
                return True

    def _string(self, say: Say) -> Reading[bool]:
        """Read a string, passing its text to `say` as it arrives; return whether it is terminated."""
        source = self._source
        source.skip(1)
        while True:
            char = yield from source.peek()
            if plain := _PLAIN.match(source.text):
                source.skip(plain.end())
                say(plain.group())
            elif char == "\\":
                say((yield from self._escape()))
            elif not char:
                return False
            else:
                source.skip(1)
                if (yield from self._ends_string()):
                    return True
                say(char)

    def _ends_string(self) -> Reading[bool]:
        """Return whether what follows a quote shows that it closes its string."""
        place = self._source.place
        char = yield from self._source.blank()
        self._source.go(place)
        return char in ("", ",", "}", "]", '"', *COLONS)

    def _escape(self) -> Reading[str]:
        """Decode an escape; the two halves of a surrogate pair form one character."""
        source = self._source
        kind = (yield from source.peek(2))[1:]
        if kind != "u":
            source.skip(1 + len(kind))
            return _ESCAPES.get(kind, kind)
        first = yield from self._code()
        if not 0xD800 <= first < 0xDC00 or (yield from source.peek(2)) != "\\u":
            return "\ufffd" if 0xD800 <= first < 0xE000 else chr(first)
        place = source.place
        second = yield from self._code()
        if 0xDC00 <= second < 0xE000:
            return chr(0x10000 + (first - 0xD800) * 0x400 + second - 0xDC00)
        source.go(place)
        return "\ufffd"

    def _code(self) -> Reading[int]:
        r"""Read \uXXXX; return its code, that of U+FFFD if it is invalid."""
        escape = yield from self._source.peek(6)
        try:
            number = int(escape[2:], 16) if len(escape) == 6 else 0xFFFD
        except ValueError:
            number = 0xFFFD
        self._source.skip(len(escape))
        return number


def _nowhere(_text: str) -> None:
    """Discard the text of a string."""


def _answer_in(arguments: str) -> str:
    """Return the answer in the arguments of a final answer that preceded its name."""
    try:
        given = msgspec.json.decode(arguments, type=dict[str, str])
    except msgspec.DecodeError:
        return ""
    return next((given[key] for key in _ANSWERS if key in given), "")


class StructuredDialect:
    """The structured dialect: tools are described in the system message, not sent beside the schema.

    llama.cpp refuses a grammar beside tools. A request without tools is sent without our schema: only the calls in its
    history become text. One with its own schema keeps that; its messages equal any other's, which keeps the prompt
    cache valid.
    """

    @property
    def name(self) -> DialectName:
        return "structured"

    def encode(self, request: CompletionRequest) -> CompletionRequest:
        """Return the request with the schema of a step in place of tools."""
        schema = step_schema(request.tools, request.tool_choice) if _is_ours(request) else request.schema
        return msgspec.structs.replace(spell_out(request, _prompt, _step, _result), schema=schema)

    def reader(self, request: CompletionRequest) -> Reader:
        """Return a reader of steps."""
        return StructuredReader(request.tools) if _is_ours(request) else SalvagingReader(request.tools)


def _is_ours(request: CompletionRequest) -> bool:
    return bool(request.tools) and request.schema is None


@cache
def _prompt() -> str:
    return Path(__file__).with_name("structured.md").read_text(encoding="utf-8").strip()


def step_schema(tools: Sequence[ToolSpec], tool_choice: ToolChoice = "auto") -> dict[str, Json]:
    """Return the schema of a step: a thought, then the action, a tool with its arguments or the final answer. The
    choice is one `anyOf` below the root, which the grammars of llama.cpp, Ollama, LM Studio and vLLM all enforce, and
    `enum` replaces `const`: so a small model can only name existing tools and arguments."""
    answer = _object({"answer": {"type": "string"}})
    actions = [] if tool_choice == "none" else [_action(tool.name, _bare(tool.parameters)) for tool in tools]
    if tool_choice != "required":
        actions.append(_action(FINAL_ANSWER, answer))
    return _object({"thought": {"type": "string"}, "action": {"anyOf": actions}})


def _action(name: str, arguments: dict[str, Json]) -> dict[str, Json]:
    return _object({"name": {"type": "string", "enum": [name]}, "arguments": arguments})


def _object(properties: dict[str, Json], required: Sequence[str] | None = None) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def _bare(parameters: dict[str, Json]) -> dict[str, Json]:
    """Return the schema of arguments without descriptions: they are in the system message, and a grammar does not use
    them."""
    properties: dict[str, dict[str, Any]] = parameters.get("properties", {})
    bare: dict[str, Json] = {
        name: {word: value for word, value in schema.items() if word != "description"}
        for name, schema in properties.items()
    }
    return _object(bare, parameters.get("required", []))


def _step(said: AssistantMessage, call: ToolCall | None) -> str:
    """Write an answer as the model has to, spaced as models space JSON."""
    thought = thought_of(said.thinking)
    if call is None:
        name, arguments = FINAL_ANSWER, f'{{"answer": {_quoted(said.text)}}}'
    else:
        name, arguments = call.name, replayable(call.arguments)
        thought = "\n\n".join(part for part in (thought, said.text.strip()) if part)
    return f'{{"thought": {_quoted(thought)}, "action": {{"name": {_quoted(name)}, "arguments": {arguments}}}}}'


def _quoted(text: str) -> str:
    return encode_json(text).decode()


def _result(message: ToolMessage) -> str:
    """Wrap a result in tags that its text does not contain."""
    mark, number = "result", 1
    while f"</{mark}>" in message.text:
        number += 1
        mark = f"result{number}"
    return f'<{mark} of="{message.name}">\n{message.text}\n</{mark}>'
