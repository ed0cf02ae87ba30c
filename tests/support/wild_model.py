"""A model, and a server, that do anything: by the numbers of the interleaving they are part of."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from localllm.agent.system_prompt import remark
from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json
from localllm.llm.message_format import LOOKING
from localllm.llm.messages import CompletionRequest, Message
from localllm.llm.providers.base import (
    Chunk,
    FinishChunk,
    ModelInfo,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)
from localllm.llm.tool_calling.structured import FINAL_ANSWER

if TYPE_CHECKING:
    from tests.support.interleavings import Interleaving

CHANT = "I will look at the file once more, to be sure of it all. " * 12

TEXTS = (
    "There is an x and a y.",
    "Let me read the file now.",
    CHANT,
    "   \n\n ",
    "\n",
    "</think>",
    LOOKING,
    "[no answer]",
    'Done.\n\n<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>',
    "Observation: nothing\nThought: hm\nFinal Answer: 3",
    "日本語で答えます。ファイルを確認します。",
)

CALLS: tuple[tuple[str, str], ...] = (
    ("look", "{}"),
    ("look", '{"size": 300}'),
    ("look", '{"size": 299}'),
    ("look", '{"size": 298}'),
    ("look", '{"size": 20}'),
    ("read_file", '{"file_path": "a.py"}'),
    ("read_file", '{"file_path": "missing.py"}'),
    ("read_file", '{"file_path": "../outside"}'),
    ("create_file", '{"file_path": "new.py", "content": "n = 1\\n"}'),
    ("write_file", '{"file_path": "a.py", "content": "x = 2\\n"}'),
    ("break_down", "{}"),
    ("hang", ""),
    ("picture", "{}"),
    ("stranger", "{}"),
    ("look", '{"size": '),
    ("look", "[1, 2]"),
    ("look", '{"size": "many"}'),
    ("rm -rf /", "{}"),
    ("unknown_tool", '{"a": 1}'),
    ("x" * 90, "{}"),
)

ENDINGS = (*["stop"] * 20, "length", "content_filter", "", "tool_calls")

KINDS = (*["call"] * 14, *["same"] * 6, "several", "several", "both", "both", "text", "text", "empty", "thinking")

THOUGHTS = (*[""] * 15, *["Hm. I should look."] * 10, CHANT)

FAILURES = ("error", "overflow", "overflow with numbers", "crash")


class WildModel:
    """Plays whatever comes to its mind, in the dialect it is spoken to."""

    name = "wild"
    address = "http://127.0.0.1/wild"
    constrains = True

    def __init__(self, happening: "Interleaving") -> None:
        self._happening = happening
        self._random = happening.random
        self._before: Any = None
        self._encoded: tuple[Message, ...] = ()
        self._favourite = CALLS[0]
        self._window = self._random.choice((0, 3_000, 4_096, 8_192, 32_768))
        self._evil = self._random.choice((0.0, 0.02, 0.2))
        self._habit = self._random.choice((("call", "several", "both"), ("same", "same", "call"), KINDS))
        self.requests = 0

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """An answer, a failure, or both."""
        happening = self._happening
        self.requests += 1
        if "transcript" in request.messages[-1].text[:20]:
            turn, kind = [TextChunk(self._summary())], "summary"
        else:
            self._check(request)
            turn, kind = list(self._turn(request)), "answer"
        said = [chunk for chunk in turn if not isinstance(chunk, FinishChunk)]
        happening.note(f"{kind}: {said!r:.300}")
        breaks = self._random.choice(range(len(turn) + 1)) if self._fails() else -1
        for number, chunk in enumerate([*turn, None]):
            await happening.pause(kind)
            if number == breaks:
                self._fail()
            if chunk is not None:
                yield chunk

    def _check(self, request: CompletionRequest) -> None:
        before, messages = self._before, request.messages
        if messages[-1].text == remark("go_on"):  # what has come of an answer, and is in no conversation yet
            messages = messages[:-2]
        self._before = self._happening.check_request(messages, before)
        if before and before[0] == self._before[0]:
            assert messages[: len(self._encoded)] == self._encoded, "what the server has read has changed"
        self._encoded = messages

    def _fails(self) -> bool:
        return not self._happening.calm and self._random.random() < self._evil

    def _fail(self) -> None:
        what = self._random.choice(FAILURES)
        self._happening.note(f"the server: {what}")
        match what:
            case "error":
                raise LLMConnectionError(
                    "llm_server_failed", url=self.address, status=500, reason="", retryable=self._random.random() < 0.5
                )
            case "crash":
                raise self._happening.crash("the server")
            case _:
                numbers = (9_000, 4_096) if "numbers" in what else (0, 0)
                raise LLMConnectionError(
                    "llm_context_overflow", url=self.address, reason="", n_prompt_tokens=numbers[0], n_ctx=numbers[1]
                )

    def _summary(self) -> str:
        good = "## Goal\nLook around.\n## Done\nRead a.py, which has an x.\n## Next\nSay what is in it."
        if self._happening.calm:
            return good
        return self._random.choice((good, good, "", CHANT * 5, "</state> no"))

    def _turn(self, request: CompletionRequest) -> Iterator[Chunk]:
        pick = self._random.choice
        if self._happening.calm:
            yield from self._spoken(request, "All is done.", [])
            yield FinishChunk("stop")
            return
        kind = pick(self._habit) if self._random.random() < 0.7 else pick(KINDS)
        thinking = pick(THOUGHTS) if kind != "thinking" else "Only this."
        if thinking:
            yield ThinkingChunk(thinking)
        calls: list[tuple[str, str]] = []
        if kind in ("call", "both"):
            calls = [pick(CALLS)]
        elif kind == "several":
            calls = [pick(CALLS) for _ in range(pick((2, 3)))]
        elif kind == "same":
            calls = [self._favourite]
        if calls and pick((True, False, False)):
            self._favourite = calls[0]
        yield from self._spoken(request, pick(TEXTS) if kind in ("text", "both") else "", calls)
        if pick((True, False)):
            yield UsageChunk(pick((500, 2_500, 3_900)), 50)
        yield FinishChunk(pick(ENDINGS))

    def _spoken(self, request: CompletionRequest, text: str, calls: list[tuple[str, str]]) -> Iterator[Chunk]:
        """As the dialect has it."""
        if request.tools:
            yield from self._pieces(text)
            for index, (name, arguments) in enumerate(calls):
                call_id = self._random.choice(("", "call_1", f"call_{index}", f"c{self.requests}.{index}", "abc 1"))
                yield ToolCallChunk(index, call_id, name, arguments)
        elif request.schema is not None:
            yield from self._pieces(_step(text, calls))
        else:
            yield from self._pieces(_labelled(text, calls))

    def _pieces(self, text: str) -> Iterator[Chunk]:
        size = self._random.choice((20, 60, 200))
        return (TextChunk(text[start : start + size]) for start in range(0, len(text), size))

    async def list_models(self) -> list[ModelInfo]:
        """One."""
        return [await self.describe("m")]

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        """Its window, if it tells."""
        return ModelInfo(model, context_window=self._window)

    async def aclose(self) -> None:
        """Nothing to give back."""


def _step(text: str, calls: list[tuple[str, str]]) -> str:
    name, arguments = calls[0] if calls else (FINAL_ANSWER, _quoted({"answer": text}))
    thought = text if calls else ""
    return f'{{"thought": {_quoted(thought)}, "action": {{"name": {_quoted(name)}, "arguments": {arguments or "{}"}}}}}'


def _labelled(text: str, calls: list[tuple[str, str]]) -> str:
    if not calls:
        return f"Thought: so\nFinal Answer: {text}"
    name, arguments = calls[0]
    return f"Thought: {text}\nAction: {name}\nAction Input: {arguments}"


def _quoted(value: Json) -> str:
    return msgspec.json.encode(value).decode()
