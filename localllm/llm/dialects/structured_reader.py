"""Reads steps of the structured dialect while they arrive: one JSON object with a thought and an action."""

import re
from collections.abc import Callable, Sequence

import msgspec

from localllm.llm.dialects.arguments import WRAPPERS, settle
from localllm.llm.dialects.json_repair import COLONS
from localllm.llm.dialects.names import Names
from localllm.llm.dialects.salvage.reader import SalvagingReader
from localllm.llm.dialects.salvage.source import Reading, Source
from localllm.llm.messages import ToolSpec
from localllm.llm.providers.base import Chunk, FinishChunk, TextChunk, ThinkingChunk, ToolCallChunk

FINAL_ANSWER = "final_answer"
"""The action that is no tool but the answer to the user."""

_THOUGHTS = ("thought", "thoughts", "thinking", "reasoning")
_NAMES = ("name", "tool", "tool_name", "action_name")
_ANSWERS = ("answer", FINAL_ANSWER, "text")

_PLAIN = re.compile(r'[^"\\]+')
_LITERAL = re.compile(r"[^\s,}\]]")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_FENCES = ("```json", "```")

Say = Callable[[str], None]


class StructuredReader:
    """A Reader (see base.py). The thought becomes thinking and the answer text, both as they arrive; a call is given
    at the end, with its arguments as the model wrote them where they are cut off.

    What is no JSON object comes from a server that does not keep to the schema, or not from the model: it is read as
    the native dialect reads it, and `strayed` tells.
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

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """What can be told with this chunk."""
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
        """The call, and what was held back."""
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
        """The call; or the answer, where it did not arrive as one."""
        if self._answered or self.strayed:
            return []
        if self._name in ("", FINAL_ANSWER):
            return self._missing_answer()
        name = self._names.resolve(self._name) or self._name
        arguments = settle(self._arguments, self._tools.get(name), closes=not self._source.was_cut)
        return [ToolCallChunk(0, name=name, arguments=arguments)]

    def _missing_answer(self) -> list[Chunk]:
        """The answer of an object that has neither a call nor one where it belongs: arguments before the name of the
        action, the thought alone, or JSON of the model's own."""
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

    # --- the object, read as if all of it were there

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
        """Over an object, each of whose values `member` reads. Ends early where it ends early."""
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
                yield from self._value()

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
        """Over a value; whether it is whole."""
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
        """Over a string that stands here, telling `say` its text as it arrives; whether it ends."""
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
        """Whether what stands behind a quote says that it ends its string, and is not one in the text."""
        place = self._source.place
        char = yield from self._source.blank()
        self._source.go(place)
        return char in ("", ",", "}", "]", '"', *COLONS)

    def _escape(self) -> Reading[str]:
        """What an escape stands for; the two halves of a surrogate pair are one character."""
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
        r"""Over \uXXXX; its number, that of U+FFFD where it has none."""
        escape = yield from self._source.peek(6)
        try:
            number = int(escape[2:], 16) if len(escape) == 6 else 0xFFFD
        except ValueError:
            number = 0xFFFD
        self._source.skip(len(escape))
        return number


def _nowhere(_text: str) -> None:
    """Nobody wants the text of this string."""


def _answer_in(arguments: str) -> str:
    """The answer in the arguments of a final answer that came before its name."""
    try:
        given = msgspec.json.decode(arguments, type=dict[str, str])
    except msgspec.DecodeError:
        return ""
    return next((given[key] for key in _ANSWERS if key in given), "")
