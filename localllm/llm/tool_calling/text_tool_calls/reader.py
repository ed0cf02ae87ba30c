"""Read an answer: separate calls and thinking, wherever they arrive, from the text."""

from collections.abc import Sequence

import msgspec

from localllm.base.events import ToolCall
from localllm.llm.messages import ToolSpec
from localllm.llm.providers.base import (
    Chunk,
    FinishChunk,
    MessageAssembler,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)
from localllm.llm.tool_calling.arguments import settle
from localllm.llm.tool_calling.text_tool_calls.payloads import Found, Offer
from localllm.llm.tool_calling.text_tool_calls.scanner import Scanner, Spotted


class SalvagingReader:
    """A Reader (see dialect.py) for answers with the server's calls, calls in the text, or both.

    Calls are returned at the end, repaired where unambiguous: the server's, then those in the text that differ from
    them. Calls in the thinking count only if there are no others; without markup, the answer must also have no text.
    The finish chunk comes last.

    Emitted text cannot be retracted: if only the end of a thought is found, what preceded it stays text, and
    `thinking_was_open` reports it for the next answer.
    """

    def __init__(self, tools: Sequence[ToolSpec], *, thinking_is_open: bool = False) -> None:
        self._offer = Offer(tools)
        self._text = Scanner(self._offer)
        self._thinking: Scanner | None = None
        self._thoughts: list[Spotted] = []
        self._native = MessageAssembler()
        self._finish: FinishChunk | None = None
        self._has_text = False
        self._open_thought: list[str] | None = None
        if thinking_is_open:
            self._open_thought = []
            self._text.begin_in("thinking")

    @property
    def strayed(self) -> bool | None:
        """None: this dialect has no enforced form."""
        return None

    @property
    def thinking_was_open(self) -> bool:
        """Whether the answer began within a thought that it did not open."""
        return self._text.ended_thought_it_never_began

    @property
    def is_over(self) -> bool:
        """Whether the model writes on after the end of its own turn, or after a call plays its result."""
        return self._text.goes_on

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """Return the chunks that can be emitted now."""
        match chunk:
            case TextChunk(text):
                return [*self._end_thinking(was_cut=False), *self._shown(self._text.feed(text))]
            case ThinkingChunk(text):
                if self._thinking is None:
                    self._thinking = Scanner(self._offer, "thinking")
                self._begin_text_as_text()
                return [*self._thinking.feed(text)]
            case ToolCallChunk():
                if not self.is_over:
                    self._native.add(chunk)
                return []
            case FinishChunk(reason):
                self._finish = chunk if reason or self._finish is None else self._finish
                return []
            case UsageChunk():
                return [chunk]

    def close(self) -> list[Chunk]:
        """Return the calls, and what was buffered."""
        was_cut = self._finish is not None and self._finish.reason == "length"
        chunks: list[Chunk] = [*self._end_thinking(was_cut=was_cut), *self._shown(self._text.close(was_cut=was_cut))]
        if self._open_thought and not self._has_text and not self._text.calls and not was_cut:
            chunks.append(TextChunk("".join(self._open_thought)))  # no thinking this time: that was the answer
        chunks += self._calls(closes=not was_cut)
        return [*chunks, self._finish] if self._finish else chunks

    def _end_thinking(self, *, was_cut: bool) -> list[Chunk]:
        if self._thinking is None:
            return []
        chunks = self._thinking.close(was_cut=was_cut)
        self._thoughts += self._thinking.calls
        self._thinking = None
        return [*chunks]

    def _begin_text_as_text(self) -> None:
        """Treat the text as text: the server itself separates the thinking."""
        if self._open_thought is not None and not self._open_thought:
            self._open_thought = None
            self._text.begin_in("text")

    def _shown(self, chunks: Sequence[TextChunk | ThinkingChunk]) -> list[Chunk]:
        for chunk in chunks:
            if isinstance(chunk, TextChunk):
                self._has_text = self._has_text or bool(chunk.text.strip())
            elif self._open_thought is not None:
                self._open_thought.append(chunk.text)
        return [*chunks]

    def _calls(self, *, closes: bool) -> list[Chunk]:
        native = [self._settled(call, closes=closes) for call in self._native.message().tool_calls]
        found = [self._settled_found(call, closes=closes) for call in self._chosen(has_native=bool(native))]
        there = {(call.name, _canonical(call.arguments)) for call in native}
        calls = [*native, *(call for call in found if (call.name, _canonical(call.arguments)) not in there)]
        return [ToolCallChunk(index, call.id, call.name, call.arguments) for index, call in enumerate(calls)]

    def _chosen(self, *, has_native: bool) -> list[Found]:
        """Return the calls of the text, or, if there are no others, of the thinking."""
        spotted = [*self._thoughts, *self._text.calls]
        said = [each.call for each in spotted if each.mode == "text"]
        if said or has_native:
            return said
        return [] if self._has_text else [each.call for each in spotted]

    def _settled(self, call: ToolCall, *, closes: bool) -> ToolCall:
        name = self._offer.names.understand(call.name) or call.name
        return ToolCall(call.id, name, settle(call.arguments, self._offer.tool(name), closes=closes))

    def _settled_found(self, found: Found, *, closes: bool) -> ToolCall:
        return self._settled(ToolCall("", found.name, found.arguments), closes=closes or found.closed)


def _canonical(arguments: str) -> bytes:
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments), order="sorted")
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return arguments.encode(errors="surrogatepass")
