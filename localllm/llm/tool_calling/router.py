"""Choose each model's tool-calling dialect by its abilities and its answers."""

import re
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing
from typing import Literal

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import N_, _, sentences
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.message_format import Normaliser
from localllm.llm.messages import CompletionRequest
from localllm.llm.model_profiles import replays_thinking, wants_short_ids
from localllm.llm.providers.base import Chunk, FinishChunk, ModelInfo, Provider, TextChunk, ThinkingChunk, ToolCallChunk
from localllm.llm.tool_calling.dialect import Dialect, DialectMemory, DialectName, Reader

MOST_CHARACTERS = 8_000_000
"""Maximum characters of an answer's text, thinking or calls; far more than any model writes."""

_OF_A_PIECE = 16  # overhead per chunk, counted in characters: even an empty one takes memory


class AnswerLength:
    """Tracks the length of an answer: at most `most` characters of each kind."""

    def __init__(self, most: int = MOST_CHARACTERS) -> None:
        self._most = most
        self._said = {TextChunk: 0, ThinkingChunk: 0, ToolCallChunk: 0}

    def is_exceeded_by(self, chunk: Chunk) -> bool:
        """Add `chunk` and return whether the limit is exceeded."""
        match chunk:
            case TextChunk(text) | ThinkingChunk(text):
                self._said[type(chunk)] += len(text) + _OF_A_PIECE
            case ToolCallChunk():
                self._said[ToolCallChunk] += len(chunk.id) + len(chunk.name) + len(chunk.arguments) + _OF_A_PIECE
            case _:
                pass
        return max(self._said.values()) > self._most


_OF_REQUESTS = frozenset({"llm_bad_request", "llm_server_failed", "llm_parameter_refused"})

_NO_PARSER = r"parser for this template|parser generation failed"
"""Terms of llama.cpp where it cannot tell from a chat template how the model writes calls, or an answer of a schema."""

_ABOUT_TOOLS = late_pattern(
    rf"\btools?\b|tool.?c(?:all|hoice)|function.?call|jinja|chat.?template|{_NO_PARSER}", re.IGNORECASE
)
"""Terms in the refusals of tools: vLLM without a tool parser ("auto" tool choice requires …), llama.cpp without
--jinja, a chat template without tools."""

_ABOUT_SCHEMAS = late_pattern(
    rf"grammar|schema|response.?format|structured|guided|\bformat\b|{_NO_PARSER}", re.IGNORECASE
)


def refuses(error: LLMConnectionError, dialect: DialectName) -> bool:
    """Return whether `error` says that the server or model does not support `dialect`."""
    if dialect == "native" and error.key == "llm_no_tools":
        return True
    if dialect == "text" or error.key not in _OF_REQUESTS:
        return False
    subject = _ABOUT_TOOLS if dialect == "native" else _ABOUT_SCHEMAS
    return subject.search(_words(error)) is not None


def refuses_schema(error: LLMConnectionError) -> bool:
    """Return whether `error` says that the server or model does not support a schema for the answer."""
    return error.key in _OF_REQUESTS and _ABOUT_SCHEMAS.search(_words(error)) is not None


def is_readable(arguments: str) -> bool:
    """Return whether a call's arguments are a JSON object, or empty."""
    try:
        return not arguments.strip() or isinstance(msgspec.json.decode(arguments), dict)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False


def _words(error: LLMConnectionError) -> str:
    return f"{error.params.get('parameter', '')} {error.params.get('reason', '')}"


Why = Literal["refused", "misspoken"]

_RULED_OUT: dict[tuple[DialectName, Why], str] = {
    ("native", "refused"): N_("The server accepts no tool calls for {model}."),
    ("native", "misspoken"): N_("Several tool calls of {model} in a row could not be read."),
    ("structured", "refused"): N_("The server cannot make {model} follow a schema."),
    ("structured", "misspoken"): N_("{model} does not follow the schema it was given."),
}
_INSTEAD: dict[DialectName, str] = {
    "structured": N_("From now on it writes each step as JSON (llm.dialect)."),
    "text": N_("From now on it writes its steps as plain text (llm.dialect)."),
}


class ExactDialect:
    """A dialect in which calls are always the server's own calls, and text is always text."""

    name: Literal["native"] = "native"

    def encode(self, request: CompletionRequest) -> CompletionRequest:
        """Return the request unchanged."""
        return request

    def reader(self, request: CompletionRequest) -> "ExactReader":
        """Return a reader that changes nothing."""
        del request
        return ExactReader()


class ExactReader:
    """A reader that passes everything on."""

    thinking_was_open = False
    strayed: bool | None = None
    is_over = False

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """Return the chunk."""
        return [chunk]

    def close(self) -> list[Chunk]:
        """Return nothing, as nothing is buffered."""
        return []


class NativeDialect:
    """The native dialect: requests are sent unchanged.

    `thinking_is_open`: the model's template opens the thinking, and the server does not separate it from the text: what
    precedes </think> is thinking. A reader that meets such an answer reports it (`thinking_was_open`).
    """

    def __init__(self, *, thinking_is_open: bool = False) -> None:
        self._thinking_is_open = thinking_is_open

    @property
    def name(self) -> DialectName:
        return "native"

    def encode(self, request: CompletionRequest) -> CompletionRequest:
        """Return the request unchanged."""
        return request

    def reader(self, request: CompletionRequest) -> Reader:
        """Return a reader that salvages calls which arrive as text."""
        # Loading the markup tables takes 20 ms, in which the server can already process the request.
        from localllm.llm.tool_calling.text_tool_calls.reader import SalvagingReader

        return SalvagingReader(request.tools, thinking_is_open=self._thinking_is_open)


DialectSetting = Literal["auto", DialectName]

_TOLERATED: dict[DialectName, int] = {"native": 3, "structured": 2, "text": 3}
"""Consecutive malformed answers after which a dialect is given up.
Violating an enforced schema is no accident of the model."""

_TOLERATED_BY_SERVER = 2
"""The same for answers the server itself could not parse, of which nothing is received."""

OnNotice = Callable[[str], None]


def choose(info: ModelInfo, provider: Provider, ruled_out: Collection[DialectName] = ()) -> DialectName:
    """Choose the best dialect that is not ruled out: native if the model supports tools or this is unknown; structured
    if the server enforces schemas; else text."""
    if (info.abilities is None or "tools" in info.abilities) and "native" not in ruled_out:
        return "native"
    return "structured" if "structured" not in ruled_out and provider.constrains else "text"


class Question(msgspec.Struct, frozen=True):
    """A request with its provider and model, and a callback for changes of the dialect."""

    provider: Provider
    info: ModelInfo
    request: CompletionRequest
    on_notice: OnNotice

    @property
    def key(self) -> str:
        """The key of the model behind its server."""
        return f"{self.provider.name} {self.provider.address} {self.request.model}"


class _Evidence:
    """What has been learned of one model behind one server."""

    def __init__(self, ruled_out: Collection[DialectName]) -> None:
        self.ruled_out = set(ruled_out)
        self.thinking_is_open = False
        self.refuses_schemas = False
        self.unreadable_under_schema = 0
        self.forget_slips()

    def forget_slips(self) -> None:
        self.misspoken = self.unreadable_to_server = 0


class Speaking:
    """Streams answers, each model in its own dialect. A `setting` other than auto is always kept.

    A dialect that is given up is not used again in this session. `memory` saves later sessions from learning again what
    is costly to learn or what the server states explicitly.
    """

    def __init__(self, setting: DialectSetting = "auto", memory: DialectMemory | None = None) -> None:
        self._setting: DialectSetting = setting
        self._memory = memory
        self._known: dict[str, _Evidence] = {}
        self._normaliser = Normaliser()

    def dialect(self, question: Question) -> Dialect:
        """Return the dialect currently used for the model."""
        if question.info.exact:
            return ExactDialect()
        evidence = self._of(question)
        name = self._setting
        if name == "auto":
            name = choose(question.info, question.provider, evidence.ruled_out)
        match name:
            case "native":
                return NativeDialect(thinking_is_open=evidence.thinking_is_open)
            case "structured":  # both are rarely needed and slow to import
                from localllm.llm.tool_calling.structured import StructuredDialect

                return StructuredDialect()
            case "text":
                from localllm.llm.tool_calling.text_dialect import TextDialect

                return TextDialect()

    async def stream(self, question: Question) -> AsyncGenerator[Chunk]:
        """Stream the answer for the agent. If it fails because of its dialect before any chunk was emitted, it is
        requested again in another; likewise without the caller's schema if the server does not support one. An answer
        that is too long ends as if truncated at its limit."""
        while True:
            question = self._without_refused(question)
            dialect = self.dialect(question)
            request = self._normalised(question.request, dialect.name)
            reader, length, begun = None, AnswerLength(), False
            try:
                async with aclosing(question.provider.stream(dialect.encode(request))) as answer:
                    async for chunk in answer:
                        reader = reader or dialect.reader(request)  # slow: the server works meanwhile
                        if is_cut := length.is_exceeded_by(chunk):
                            question.on_notice(
                                _(
                                    "The server did not stop: the answer was cut off after {most:,} characters.",
                                    most=MOST_CHARACTERS,
                                )
                            )
                        for told in reader.feed(FinishChunk("length") if is_cut else chunk):
                            begun = True
                            yield told
                        if is_cut:
                            break
                        if reader.is_over:
                            reader.feed(FinishChunk("stop"))
                            break
            except LLMConnectionError as error:
                changed = self._learn_of_schema(error, question) or self._learn_from(error, question, dialect.name)
                if begun or not changed:
                    raise
            else:
                reader = reader or dialect.reader(request)
                last = reader.close()
                self._learn_of(reader, last, question, dialect.name)
                for told in last:
                    yield told
                return

    def _of(self, question: Question) -> _Evidence:
        key = question.key
        if key not in self._known:
            remembered = self._memory.recall(key) if self._memory and self._setting == "auto" else ()
            self._known[key] = _Evidence(remembered)
        return self._known[key]

    def _normalised(self, request: CompletionRequest, name: DialectName) -> CompletionRequest:
        """Return the request with a normalised conversation.
        Thinking is kept where it is part of the model's text, and for the families that need it."""
        is_native = name == "native"
        messages = self._normaliser.normalised(
            request.messages,
            thinking=not is_native or replays_thinking(request.model),
            short_ids=is_native and wants_short_ids(request.model),
        )
        return msgspec.structs.replace(request, messages=messages)

    def _without_refused(self, question: Question) -> Question:
        """Return the question without a schema that its server would refuse."""
        if question.request.schema is None or not self._of(question).refuses_schemas:
            return question
        return msgspec.structs.replace(question, request=msgspec.structs.replace(question.request, schema=None))

    def _learn_of_schema(self, error: LLMConnectionError, question: Question) -> bool:
        """Return whether `error` shows that the caller's schema cannot be enforced.
        That is also so after too many answers in a row under it that the server could not parse."""
        if question.request.schema is None:
            return False
        evidence = self._of(question)
        evidence.unreadable_under_schema += error.key == "llm_bad_call"
        unreadable = error.key == "llm_bad_call" and evidence.unreadable_under_schema >= _TOLERATED_BY_SERVER
        evidence.refuses_schemas = refuses_schema(error) or unreadable
        return evidence.refuses_schemas

    def _learn_from(self, error: LLMConnectionError, question: Question, name: DialectName) -> bool:
        """Return whether `error` has changed the dialect."""
        if refuses(error, name) and (question.request.tools or name == "structured"):
            return self._give_up(question, name, "refused", for_later=error.key == "llm_no_tools")
        if error.key != "llm_bad_call" or question.request.schema is not None:
            return False  # errors under the caller's own schema say nothing about the dialect
        evidence = self._of(question)
        evidence.unreadable_to_server += 1
        enough = evidence.unreadable_to_server >= _TOLERATED_BY_SERVER
        return enough and self._give_up(question, name, "misspoken")

    def _learn_of(self, reader: Reader, last: Collection[Chunk], question: Question, name: DialectName) -> None:
        """Record what a completed answer reveals. `last`: its last chunks, including its calls."""
        evidence = self._of(question)
        evidence.unreadable_to_server = 0
        if question.request.schema is not None:
            evidence.unreadable_under_schema = 0
        if reader.thinking_was_open:
            evidence.thinking_is_open = True
        if is_misspoken(reader, last):
            evidence.misspoken += 1
            if evidence.misspoken >= _TOLERATED[name]:
                self._give_up(question, name, "misspoken")
        elif reader.strayed is not None or any(isinstance(chunk, ToolCallChunk) for chunk in last):
            evidence.misspoken = 0

    def _give_up(self, question: Question, name: DialectName, why: Why, *, for_later: bool = True) -> bool:
        """Rule `name` out, unless the user has set it or there is no other."""
        if self._setting != "auto" or name == "text":
            return False
        evidence = self._of(question)
        evidence.ruled_out.add(name)
        evidence.forget_slips()
        if self._memory and for_later:
            self._memory.remember(question.key, evidence.ruled_out)
        after = choose(question.info, question.provider, evidence.ruled_out)
        reason = _(_RULED_OUT[name, why], model=question.request.model)
        question.on_notice(sentences(reason, _(_INSTEAD[after])))
        return True


def is_misspoken(reader: Reader, last: Collection[Chunk]) -> bool:
    """Return whether the answer violates its dialect: unreadable arguments that were not truncated, or a violated
    schema."""
    if reader.strayed is not None:
        return reader.strayed
    if any(isinstance(chunk, FinishChunk) and chunk.reason == "length" for chunk in last):
        return False
    return any(isinstance(chunk, ToolCallChunk) and not is_readable(chunk.arguments) for chunk in last)
