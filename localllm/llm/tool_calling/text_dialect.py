"""The text dialect (ReAct): Thought, Action, Action Input and Final Answer."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, CompletionRequest, ToolMessage, ToolSpec
from localllm.llm.providers.base import Chunk, FinishChunk, TextChunk, ThinkingChunk, ToolCallChunk
from localllm.llm.tool_calling.dialect import DialectName, Reader
from localllm.llm.tool_calling.text_format import (
    Hit,
    Label,
    Undecided,
    arguments_of,
    inline_arguments,
    keyed_arguments,
    label_of,
    spell_out,
    thought_of,
)
from localllm.llm.tool_calling.text_tool_calls.markers import TURN_ENDS
from localllm.llm.tool_calling.text_tool_calls.payloads import Offer, read_calls
from localllm.llm.tool_calling.text_tool_calls.reader import SalvagingReader
from localllm.llm.tool_calling.text_tool_calls.source import Reading, Source

Mode = Literal["prose", "thought", "answer"]
"""What an unlabelled line belongs to. Prose precedes any label: the answer, or words before a call."""

_NAME = re.compile(r"[\w.\-]")
_WORD = re.compile(r"[\w.\-]+")
_INLINE = re.compile(r"[^ \t*`\"']")
_NO_ACTION = frozenset({"none", "n/a", "na", "no action", "no action needed", "none needed", "nothing", "なし", "不要"})
_FINISHING = frozenset({"final answer", "final_answer", "finish", "answer", "respond", "最終回答"})
_AROUND = " \t\r\n*_`\"'.<>[]()"


class TextReader:
    """A Reader (see dialect.py). A thought becomes thinking, the final answer and unlabelled prose become text; a call
    is returned at the end. Labels are never emitted: text that may become one is buffered.

    Only the first call counts: what follows it was written without its result. Calls in the markup of other families
    are extracted from the text as in the native dialect.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.thinking_was_open = False
        self.strayed: bool | None = None
        self._offer = Offer(tools)
        self._native = SalvagingReader(tools)
        self._source = Source()
        self._reading = self._read()
        self._mode: Mode = "prose"
        self._out: list[Chunk] = []
        self._text = _Speech()
        self._thinking = _Speech()
        self._fence_open = False
        self._next_input: Literal["stray", "dropped", "answer"] = "stray"
        self._finish: FinishChunk | None = None

    @property
    def is_over(self) -> bool:
        """Whether the model writes on after the end of its own turn."""
        return self._native.is_over

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """Return the chunks that can be emitted now."""
        match chunk:
            case TextChunk(text):
                self._source.push(text)
                next(self._reading, None)
                return self._take_out()
            case ThinkingChunk(text):
                self._thinking.begin_after(text)
            case FinishChunk(reason):
                self._finish = chunk if reason or self._finish is None else self._finish
            case _:
                pass
        return self._native.feed(chunk)

    def close(self) -> list[Chunk]:
        """Return the call, and what was buffered. If nothing else was written, the thought is the answer."""
        self._source.ended = True
        self._source.was_cut = self._finish is not None and self._finish.reason == "length"
        next(self._reading, None)
        last = [*self._take_out(), *self._native.close()]
        called = any(isinstance(chunk, ToolCallChunk) for chunk in last)
        if called or self._text.said or self._source.was_cut or not self._thinking.said:
            return last
        return [TextChunk(self._thinking.said), *last]

    def _take_out(self) -> list[Chunk]:
        out, self._out = self._out, []
        return out

    # --- output

    def _say(self, text: str) -> None:
        """Emit text according to the current mode."""
        if self._mode == "thought":
            if piece := self._thinking.shown(text):
                self._out += self._native.feed(ThinkingChunk(piece))
        elif piece := self._text.shown(text):
            self._out += self._native.feed(TextChunk(piece))

    def _begin(self, mode: Mode) -> None:
        self._mode = mode
        (self._thinking if mode == "thought" else self._text).begin()

    def _call(self, name: str, arguments: str) -> None:
        self._native.feed(ToolCallChunk(0, name=name, arguments=arguments))

    # --- parsing of the answer, written as if it were complete

    def _read(self) -> Reading[None]:
        source = self._source
        while (yield from source.peek()):
            source.mark()
            if (yield from self._fence()):
                continue
            in_code = self._fence_open and self._mode != "thought"
            label = None if in_code else (yield from self._label())
            match label:
                case "thought" | "answer" if self._mode != "answer":
                    self._begin(label)
                case "observation" if self._mode == "thought":
                    return
                case "action":
                    if self._text.said.lower().endswith(TURN_ENDS):
                        return
                    if (yield from self._action()):
                        return
                    continue
                case "input" if self._next_input != "stray":
                    yield from self._meant_input()
                    continue
                case _:
                    self._say(source.since(source.marked))
            yield from self._line(self._say)

    def _fence(self) -> Reading[bool]:
        """Read a line that opens or closes a code block: labels in it do not count, except in a thought, which may
        leave one open. A fence around the whole answer is no such block, and is emitted only if no label follows it."""
        source = self._source
        if self._mode == "thought" or not (yield from source.accept("```")):
            return False
        yield from source.line()
        around = not self._text.said and self._mode == "prose" and not self._fence_open
        line = source.since(source.marked)
        if around:
            self._text.hold(line)
        else:
            self._fence_open = not self._fence_open
            self._say(line)
        return True

    def _label(self) -> Reading[Label | None]:
        """Read a label at the start of a line."""
        source = self._source
        while True:
            line, end, _ = source.text.partition("\n")
            match label_of(line, more=not (end or source.ended)):
                case Hit(label, length):
                    source.skip(length)
                    return label
                case Undecided():
                    yield from source.more()
                case None:
                    return None

    def _line(self, say: Callable[[str], None]) -> Reading[None]:
        """Read the rest of the line, passing its text to `say` as it arrives."""
        source = self._source
        while (yield from source.peek()):
            line, end, _ = source.text.partition("\n")
            source.skip(len(line) + len(end))
            say(line + end)
            if end:
                return

    def _action(self) -> Reading[bool]:
        """Read what follows Action; return whether it is a call, or the answer. Anything else is emitted."""
        source = self._source
        char = yield from source.find(_INLINE)
        if char == "\n":
            char = yield from source.blank("*`\"'")
        start = source.place
        if (yield from source.accept("json")):  # of a fence
            char = yield from source.blank()
        if char == "{":
            return (yield from self._json_action())
        source.go(start)
        word = yield from source.word(_NAME)
        if word and (yield from self._is_inline()):
            return (yield from self._inline_action(word))
        yield from source.line()
        written = source.since(start).strip(_AROUND)
        name = self._named(written)
        if name:
            self._call(name, (yield from self._input(name)))
            return True
        self._pass_over(written)
        return False

    def _pass_over(self, written: str) -> None:
        """Handle an Action that names no tool: nothing to do, the answer, or prose."""
        if self._mode == "answer":
            self._say(self._source.since(self._source.marked))
        elif written.lower() in _FINISHING:
            self._next_input = "answer"
        elif not written or written.lower() in _NO_ACTION:
            self._next_input = "dropped"
            self._begin("prose")
        else:
            self._say(self._source.since(self._source.marked))

    def _named(self, written: str) -> str:
        """Return the intended tool. After a thought an unknown name counts as well, so that the model gets an error;
        elsewhere only offered tools do."""
        if name := self._offer.names.resolve(written):
            return name
        if written.lower() in _FINISHING | _NO_ACTION:
            return ""
        if name := self._offer.names.understand(written):
            return name
        if self._mode != "thought":
            return ""
        mentioned = {name for word in _WORD.findall(written) if (name := self._offer.names.resolve(word))}
        return mentioned.pop() if len(mentioned) == 1 else written.split("\n", maxsplit=1)[0]

    def _json_action(self) -> Reading[bool]:
        """Read {"name": …, "arguments": {…}} in place of a name."""
        source = self._source
        start = source.place
        closed = yield from source.value()
        raw, closes = source.since(start), not source.was_cut
        found = read_calls(raw, self._offer, strict=self._mode != "thought", closed=closed, closes=closes)
        if not found:
            self._say(source.since(source.marked))
            return False
        self._call(found[0].name, found[0].arguments)
        return True

    def _is_inline(self) -> Reading[bool]:
        """Return whether arguments follow the name on its line: in brackets right after it, or as an object."""
        source = self._source
        char = yield from source.peek()
        if char in ("(", "["):
            return (yield from source.peek(2)) not in ("()", "[]")
        place = source.place
        char = yield from source.find(_INLINE)
        if char != "{":
            source.go(place)
        return char == "{"

    def _inline_action(self, word: str) -> Reading[bool]:
        """Read a name directly followed by its arguments: name(…), name[…], name{…}."""
        source = self._source
        start = source.place
        closed = yield from source.value()
        raw = source.since(start)
        if word.lower() in _FINISHING:
            self._begin("answer")
            self._say(raw[1:-1] if closed else raw[1:])
            return True
        name = self._offer.names.understand(word) or (word if self._mode == "thought" else "")
        if not name:
            self._say(source.since(source.marked))
            return False
        tool, was_cut = self._offer.tool(name), source.was_cut
        self._call(name, raw if raw[0] == "{" else inline_arguments(raw, tool, was_cut=was_cut))
        return True

    def _input(self, name: str) -> Reading[str]:
        """Read the arguments after the line with the name."""
        source, tool = self._source, self._offer.tool(name)
        yield from source.blank()
        label = yield from self._label()
        if label not in ("input", None):
            return ""
        yield from self._skip_fence()
        start = source.place
        if (yield from source.peek()) in ("{", "["):
            if not (yield from source.value()):
                yield from self._to_label()
            return source.since(start)
        yield from self._to_label()
        written = source.since(start).partition("```")[0]
        if label is None:  # prose must not be taken for a path or a command
            return "" if source.was_cut else keyed_arguments(written, tool)
        return arguments_of(written, tool, was_cut=source.was_cut)

    def _skip_fence(self) -> Reading[None]:
        """Skip white space and code fences."""
        source = self._source
        yield from source.blank()
        if (yield from source.accept("```")):
            yield from source.line()
            yield from source.blank()
        elif (yield from source.peek(2)) == "`{":
            source.skip(1)

    def _to_label(self) -> Reading[None]:
        """Skip to the next line with a label, possibly the current one."""
        source = self._source
        place = source.place
        while (yield from source.peek()):
            if (yield from self._label()):
                source.go(place)
                return
            yield from source.line()
            place = source.place

    def _meant_input(self) -> Reading[None]:
        """Read the input of no action, which is dropped, or of the final answer."""
        source = self._source
        if self._next_input == "dropped":
            yield from source.line()
            return
        self._begin("answer")
        yield from self._skip_fence()
        start = source.place
        if (yield from source.peek()) == "{":
            yield from source.value()
            self._say(_only_text(source.since(start)))
        yield from self._line(self._say)


class _Speech:
    """The emitted text of one kind. White space around it, and held text, is emitted only if more follows."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._gap: list[str] = []
        self._begins = True
        self._before = False

    @property
    def said(self) -> str:
        """All text emitted so far."""
        return "".join(self._pieces)

    def begin(self) -> None:
        """Start a new paragraph."""
        self._gap = ["\n\n"] if self._pieces or self._before else []
        self._begins = True

    def begin_after(self, text: str) -> None:
        """Record that the server itself has sent `text` of this kind."""
        self._before = self._before or bool(text.strip())

    def hold(self, text: str) -> None:
        self._gap.append(text)

    def shown(self, text: str) -> str:
        """Return what to emit now that `text` has arrived."""
        if not text.strip():
            if not self._begins:
                self._gap.append(text)
            return ""
        whole = "".join(self._gap) + (text.lstrip() if self._begins else text)
        self._begins = False
        body = whole.rstrip()
        self._gap = [whole[len(body) :]]
        self._pieces.append(body)
        return body


def _only_text(raw: str) -> str:
    """Return the only string in an object, or the object unchanged."""
    try:
        given = msgspec.json.decode(raw, type=dict[str, str])
    except msgspec.DecodeError:
        return raw
    return next(iter(given.values())) if len(given) == 1 else raw


STOP = "\nObservation:"
"""Stop sequence before an observation invented by the model. With the line break, as an answer may contain the word."""


class TextDialect:
    """The text dialect. Tools are described in the system message, and generation stops where a result belongs.

    A request without tools is sent without the instructions: only the calls in its history are converted to text.
    """

    @property
    def name(self) -> DialectName:
        return "text"

    def encode(self, request: CompletionRequest) -> CompletionRequest:
        """Return the request as plain text."""
        stop = (*request.stop, STOP) if request.tools else request.stop
        return msgspec.structs.replace(spell_out(request, _prompt, _step, _result), stop=stop)

    def reader(self, request: CompletionRequest) -> Reader:
        """Return a reader of labelled text."""
        return TextReader(request.tools) if request.tools else SalvagingReader(request.tools)


@cache
def _prompt() -> str:
    return Path(__file__).with_name("text.md").read_text(encoding="utf-8").strip()


def _step(said: AssistantMessage, call: ToolCall | None) -> str:
    thought = thought_of(said.thinking)
    lines = [f"Thought: {thought}"] if thought else []
    if call is None:
        return "\n".join([*lines, f"Final Answer: {said.text}"])
    if text := said.text.strip():
        lines.insert(0, f"{text}\n")
    return "\n".join([*lines, f"Action: {call.name}", f"Action Input: {call.arguments or '{}'}"])


def _result(message: ToolMessage) -> str:
    return f"Observation: {message.text}"
