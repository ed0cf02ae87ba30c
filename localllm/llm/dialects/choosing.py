"""Which dialect is spoken with a model: chosen from what it is said to be able to do, and given up where its answers
prove otherwise."""

from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing
from typing import Literal

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import tr
from localllm.llm.answer_size import bounded
from localllm.llm.dialects.base import Dialect, DialectName, Reader
from localllm.llm.dialects.evidence import is_readable, refuses, refuses_schema
from localllm.llm.dialects.exact import ExactDialect
from localllm.llm.dialects.native import NativeDialect
from localllm.llm.dialects.remembering import DialectMemory
from localllm.llm.families import replays_thinking, wants_short_ids
from localllm.llm.messages import CompletionRequest
from localllm.llm.normalising import normalised
from localllm.llm.providers.base import Chunk, FinishChunk, ModelInfo, Provider, ToolCallChunk

DialectSetting = Literal["auto", DialectName]

_TOLERATED: dict[DialectName, int] = {"native": 3, "structured": 2, "text": 3}
"""So many misspoken answers in a row, and the dialect is given up. A schema that is not kept to is no slip of the
model."""

_TOLERATED_BY_SERVER = 2
"""The same for answers that the server itself could not read: of those nothing comes at all."""

OnNotice = Callable[[str], None]
Why = Literal["refused", "misspoken"]


def choose(info: ModelInfo, provider: Provider, ruled_out: Collection[DialectName] = ()) -> DialectName:
    """The best dialect that is not ruled out. Native where the model can use tools, or nobody says; structured where
    the server can constrain; text always."""
    if (info.abilities is None or "tools" in info.abilities) and "native" not in ruled_out:
        return "native"
    return "structured" if "structured" not in ruled_out and provider.constrains else "text"


class Question(msgspec.Struct, frozen=True):
    """A request on its way: to whom it goes, and who is told when the dialect changes."""

    provider: Provider
    info: ModelInfo
    request: CompletionRequest
    on_notice: OnNotice

    @property
    def key(self) -> str:
        """The model behind its server."""
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
    """Speaks with models, each in its dialect. `setting` other than auto is kept to, whatever happens.

    A dialect that is given up is not taken up again in this session. `memory` tells later ones what it would cost
    them to learn again, and what the server has said in so many words.
    """

    def __init__(self, setting: DialectSetting = "auto", memory: DialectMemory | None = None) -> None:
        self._setting: DialectSetting = setting
        self._memory = memory
        self._known: dict[str, _Evidence] = {}

    def dialect(self, question: Question) -> Dialect:
        """The dialect the model is spoken to in now."""
        if question.info.exact:
            return ExactDialect()
        evidence = self._of(question)
        name = self._setting
        if name == "auto":
            name = choose(question.info, question.provider, evidence.ruled_out)
        match name:
            case "native":
                return NativeDialect(thinking_is_open=evidence.thinking_is_open)
            case "structured":  # most sessions need neither of these two, and each takes a while to load
                from localllm.llm.dialects.structured import StructuredDialect

                return StructuredDialect()
            case "text":
                from localllm.llm.dialects.text import TextDialect

                return TextDialect()

    async def stream(self, question: Question) -> AsyncGenerator[Chunk]:
        """The answer as the agent reads it. Where it fails before anything of it was told, because of its dialect, it
        is asked for again in another. So it is without the caller's own schema, where the server knows of none."""
        while True:
            question = self._without_refused(question)
            dialect = self.dialect(question)
            begun = False
            try:
                async with aclosing(self._read(question, dialect)) as chunks:
                    async for chunk in chunks:
                        begun = True
                        yield chunk
                    return
            except LLMConnectionError as error:
                changed = self._learn_of_schema(error, question) or self._learn_from(error, question, dialect.name)
                if begun or not changed:
                    raise

    async def _read(self, question: Question, dialect: Dialect) -> AsyncGenerator[Chunk]:
        request = _normalised(question.request, dialect.name)
        reader: Reader | None = None
        answer = question.provider.stream(dialect.encode(request))
        async with aclosing(bounded(answer, question.on_notice)) as chunks:
            async for chunk in chunks:
                reader = reader or dialect.reader(request)  # takes a while the first time: the server reads meanwhile
                for told in reader.feed(chunk):
                    yield told
        reader = reader or dialect.reader(request)
        last = reader.close()
        self._learn_of(reader, last, question, dialect.name)
        for told in last:
            yield told

    def _of(self, question: Question) -> _Evidence:
        key = question.key
        if key not in self._known:
            remembered = self._memory.recall(key) if self._memory and self._setting == "auto" else ()
            self._known[key] = _Evidence(remembered)
        return self._known[key]

    def _without_refused(self, question: Question) -> Question:
        """The question without a schema that its server would refuse."""
        if question.request.schema is None or not self._of(question).refuses_schemas:
            return question
        return msgspec.structs.replace(question, request=msgspec.structs.replace(question.request, schema=None))

    def _learn_of_schema(self, error: LLMConnectionError, question: Question) -> bool:
        """Whether `error` says that the caller's schema cannot be held to, or is one of too many in a row whose server
        cannot read what it has held to it."""
        if question.request.schema is None:
            return False
        evidence = self._of(question)
        evidence.unreadable_under_schema += error.key == "llm_bad_call"
        unreadable = error.key == "llm_bad_call" and evidence.unreadable_under_schema >= _TOLERATED_BY_SERVER
        evidence.refuses_schemas = refuses_schema(error) or unreadable
        return evidence.refuses_schemas

    def _learn_from(self, error: LLMConnectionError, question: Question, name: DialectName) -> bool:
        """Whether `error` has changed the dialect."""
        if refuses(error, name) and (question.request.tools or name == "structured"):
            return self._give_up(question, name, "refused", for_later=error.key == "llm_no_tools")
        if error.key != "llm_bad_call" or question.request.schema is not None:
            return False  # what was held to the caller's own schema tells nothing of the dialect
        evidence = self._of(question)
        evidence.unreadable_to_server += 1
        enough = evidence.unreadable_to_server >= _TOLERATED_BY_SERVER
        return enough and self._give_up(question, name, "misspoken")

    def _learn_of(self, reader: Reader, last: Collection[Chunk], question: Question, name: DialectName) -> None:
        """What an answer that came to its end tells. `last`: its last chunks, calls among them."""
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
        reason = tr(f"llm.dialect.{name}_{why}", model=question.request.model)
        question.on_notice(f"{reason} {tr(f'llm.dialect.now_{after}')}")
        return True


def is_misspoken(reader: Reader, last: Collection[Chunk]) -> bool:
    """Whether the answer does not keep to its dialect: arguments that cannot be read although they were not cut off,
    or no step although the server was told its schema."""
    if reader.strayed is not None:
        return reader.strayed
    if any(isinstance(chunk, FinishChunk) and chunk.reason == "length" for chunk in last):
        return False
    return any(isinstance(chunk, ToolCallChunk) and not is_readable(chunk.arguments) for chunk in last)


def _normalised(request: CompletionRequest, name: DialectName) -> CompletionRequest:
    """The request with a conversation any server takes. Thinking stays where it is part of what the model wrote, and
    for the families that need it."""
    is_native = name == "native"
    messages = normalised(
        request.messages,
        thinking=not is_native or replays_thinking(request.model),
        short_ids=is_native and wants_short_ids(request.model),
    )
    return msgspec.structs.replace(request, messages=messages)
