"""Request one answer from the model, aborting one that repeats a passage over and over."""

import re
from collections import deque
from typing import Literal

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import BROKEN_OFF, Emit, Notice, TextDelta, ThinkingDelta, Usage
from localllm.base.i18n import _
from localllm.llm.client import LLMClient
from localllm.llm.messages import Completion, Message, ToolChoice, ToolSpec
from localllm.llm.providers.base import Chunk, MessageAssembler, TextChunk, ThinkingChunk
from localllm.llm.retry import Stopwatch

FINISH_REASON = "chanting"
"""Finish reason of an answer aborted for repetition."""

_LENGTH = 50
"""Characters of a passage."""

_TIMES = 10
_FARTHEST = 250
"""Maximum average distance of repetitions in characters."""

_SPAN = _FARTHEST * (_TIMES - 1)

_HEAD = 12
_STRUCTURE = r"\s*(?:[-*+•]\s|\d{1,3}[.)、．]|\||>|#|`{3}|~{3}|[-=_*]{3})|\s{4}|\t"
"""Matches the start of lines that may be alike: of lists, tables, quotations, headings, rules, indented code."""

_SENTENCE_END = r"[.!?。！？\n]"
_FENCE = r"\s*(?:`{3}|~{3})"

Stream = Literal["text", "thinking"]


class Chanting(Exception):  # noqa: N818 - it aborts an answer and is no failure of the program
    """The answer repeats a passage, found at `first` and next at `second` in its text or thinking."""

    def __init__(self, stream: Stream, first: int, second: int) -> None:
        super().__init__(stream, first, second)
        self.stream: Stream = stream
        self.first = first
        self.second = second

    def completion(self, gathered: MessageAssembler) -> Completion:
        """Return the answer so far, with the passage once and without calls, which may be incomplete."""
        said = gathered.message(with_calls=False)
        text, thinking = said.text, said.thinking
        if self.stream == "text":
            text = self._once(text)
        else:
            thinking = self._once(thinking)
        text = f"{text} {BROKEN_OFF}".strip()
        marked = msgspec.structs.replace(said, text=text, thinking=thinking)
        return Completion(marked, FINISH_REASON, Usage())

    def _once(self, text: str) -> str:
        """Return the text up to the end of the passage's first occurrence, wherever repetition was noticed."""
        start, distance = self.first, self.second - self.first
        while start > 0 and text[start - 1] == text[start - 1 + distance]:
            start -= 1
        once = text[: start + distance].rstrip()
        ending = re.compile(_SENTENCE_END).search(text, len(once) - 1, len(once) + distance)
        return text[: ending.end()] if ending else once


class ChantWatch:
    """Watches the text and thinking of one answer for repetition, at constant cost per character."""

    def __init__(self) -> None:
        self._text = Repetitions()
        self._thinking = Repetitions()

    def see(self, chunk: Chunk) -> None:
        """Add the next chunk. Raises Chanting."""
        match chunk:
            case TextChunk(text):
                self._watch(self._text, text, "text")
            case ThinkingChunk(text):
                self._watch(self._thinking, text, "thinking")
            case _:
                pass

    def _watch(self, repetitions: "Repetitions", text: str, stream: Stream) -> None:
        if found := repetitions.feed(text):
            raise Chanting(stream, *found)


class Repetitions:
    """Finds passages of `_LENGTH` characters that occur `_TIMES` times without overlap.
    They are at most `_FARTHEST` characters apart on average, without a list, a table or code between them."""

    def __init__(self) -> None:
        self._head = ""
        self._fenced = False
        self._position = 0
        self._forget()

    def feed(self, text: str) -> tuple[int, int] | None:
        """Add the next piece of text. Return the positions of a repeated passage and its next occurrence, if any."""
        *lines, rest = text.split("\n")
        for line in lines:
            if found := self._go_on(line):
                return found
            if found := self._end_line():
                return found
        return self._go_on(rest) if rest else None

    def _go_on(self, part: str) -> tuple[int, int] | None:
        """Add a piece of the current line."""
        if len(self._head) < _HEAD:
            self._head += part[: _HEAD - len(self._head)]
        if not self._fenced and not re.match(_STRUCTURE, self._head):
            return self._take(part)
        self._position += len(part)
        self._forget()
        return None

    def _end_line(self) -> tuple[int, int] | None:
        is_prose = not self._fenced and not re.match(_STRUCTURE, self._head)
        if re.match(_FENCE, self._head):
            self._fenced = not self._fenced
        self._head = ""
        if is_prose:
            return self._take("\n")
        self._position += 1
        return None

    def _take(self, text: str) -> tuple[int, int] | None:
        """Add characters of prose."""
        window = self._tail + text
        start = self._position - len(self._tail)
        self._position += len(text)
        self._tail = window[-_LENGTH + 1 :]
        for index in range(len(window) - _LENGTH + 1):
            if found := self._note(window[index : index + _LENGTH], start + index):
                return found
        return None

    def _note(self, passage: str, position: int) -> tuple[int, int] | None:
        places = self._places.get(passage)
        if places is None:
            places = self._places[passage] = deque(maxlen=_TIMES)
        if not places or position - places[-1] >= _LENGTH:
            places.append(position)
        self._newest.append((position, passage))
        if position - self._newest[0][0] > _SPAN:
            self._drop_oldest()
        if len(places) == _TIMES and position - places[0] <= _SPAN:
            return places[0], places[1]
        return None

    def _drop_oldest(self) -> None:
        position, passage = self._newest.popleft()
        places = self._places.get(passage)
        if places and places[-1] <= position:
            del self._places[passage]

    def _forget(self) -> None:
        self._tail = ""
        self._places: dict[str, deque[int]] = {}
        self._newest: deque[tuple[int, str]] = deque()


def said_of_retry(error: LLMConnectionError, seconds: float) -> str:
    """Return the notice that a request is sent again after a pause, which may be none."""
    if seconds < _AT_ONCE:
        return _("{what} Trying again at once.", what=error.what)
    return _("{what} Trying again in {seconds:.1f} s.", what=error.what, seconds=seconds)


_AT_ONCE = 0.05  # seconds


async def ask(
    client: LLMClient,
    messages: tuple[Message, ...],
    tools: tuple[ToolSpec, ...],
    emit: Emit,
    *,
    tool_choice: ToolChoice,
    gathered: MessageAssembler,
    thinking: bool = True,
) -> Completion:
    """Request an answer, emitting its chunks and notices and assembling it in `gathered`.
    It may be empty. `thinking`: see CompletionRequest.

    An answer that repeats a passage is aborted (which closes the connection, so that the server stops) and kept without
    the repetition. Raises LLMConnectionError.
    """
    watch, clock = ChantWatch(), Stopwatch()

    def show(chunk: Chunk) -> None:
        clock.note(chunk)
        match chunk:
            case TextChunk(text):
                emit(TextDelta(text=text))
            case ThinkingChunk(text):
                emit(ThinkingDelta(text=text))
            case _:
                pass
        watch.see(chunk)

    def tell(error: LLMConnectionError, seconds: float) -> None:
        clock.start()
        note(said_of_retry(error, seconds))

    def note(text: str) -> None:
        emit(Notice(text=text, level="warning"))

    try:
        return await client.complete(
            messages,
            tools,
            tool_choice=tool_choice,
            on_chunk=show,
            on_retry=tell,
            on_notice=note,
            assembler=gathered,
            thinking=thinking,
            accepts_empty=True,
        )
    except Chanting as chant:
        said = gathered.message(with_calls=False)
        usage = Usage(  # estimated, as the connection is closed
            prompt_tokens=client.estimate_prompt(messages, tools),
            completion_tokens=client.estimate_tokens(said.text + said.thinking),
            estimated=True,
            first_token_seconds=clock.first,
            total_seconds=clock.total,
            generation_seconds=clock.generation,
        )
        return msgspec.structs.replace(chant.completion(gathered), usage=usage)
