"""Call the model in a role: build the prompt, fit it into the window, parse, store and count the answer.

A request is the role's fixed text as system message, identical each time for the server's prompt cache, and the values
of this request as user message, ending with the report's language and today's date. An answer is stored before it is
used; an answered request is never sent again.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple, overload

from localllm.base.errors import LLMConnectionError, ResearchModelError
from localllm.base.events import Json
from localllm.base.jsontext import encode_json
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, Completion, Message, SystemMessage, UserMessage
from localllm.llm.overflow import overflow_of
from localllm.llm.retry import SCHEMA_ERRORS
from localllm.research.note_cache import ROLES_KEPT, NoteCache
from localllm.research.options import ResearchOptions
from localllm.research.role_answers import AnswerUnusable, Schema, UnreadableError, read_answer
from localllm.research.run_store import RunStore, StoredAnswer
from localllm.research.tracing import ModelCall, NoTracer, RunTracer

WINDOW = 8_192
"""Most tokens of a request with its answer, even for a model with a larger window."""

_MARGIN = 1.15
"""Safety factor on the estimated tokens."""

_CUT = "\n[… cut …]"
_SHOWN_AGAIN = 1_200
"""Characters of an unusable answer shown to the model again."""


class RoleKind(NamedTuple):
    """The options of a role. `judges`: temperature 0. `writes`: may also spend the budget reserved for writing."""

    max_tokens: int
    judges: bool = True
    writes: bool = False


ROLES: dict[str, RoleKind] = {
    "brief": RoleKind(500),
    "queries": RoleKind(500, judges=False),
    "aimed_queries": RoleKind(500, judges=False),
    "reader": RoleKind(900),
    "outline": RoleKind(900, writes=True),
    "writer": RoleKind(1_500, judges=False, writes=True),
    "editor": RoleKind(400, writes=True),
    "splitter": RoleKind(900),
    "verdict": RoleKind(400),
    "coverage": RoleKind(500),
    "compare": RoleKind(200),
    "market_queries": RoleKind(700, judges=False),
    "market_reader": RoleKind(900),
    "applicability": RoleKind(800),
    "market_summary": RoleKind(1_000, writes=True),
}


class BudgetSpent(Exception):  # noqa: N818 - the run goes on with what it has
    """The budget is spent, except the part reserved for writing."""


class Reply(NamedTuple):
    """The statistics of an answer: its role, tokens, seconds, and generation speed."""

    role: str
    tokens: int
    seconds: float
    tokens_per_second: float


def _nobody(_reply: Reply) -> None:
    """Ignore a reply."""


def _always(_writes: bool) -> bool:
    return True


class Roles:
    """Call the model behind `client`. `may_ask` returns whether the budget allows a role, writing or not; `on_reply` is
    called with each new answer. `notes` caches the reader's notes for other runs."""

    def __init__(
        self,
        client: LLMClient,
        store: RunStore,
        options: ResearchOptions,
        *,
        today: str,
        language: str,
        may_ask: Callable[[bool], bool] = _always,
        on_reply: Callable[[Reply], None] = _nobody,
        tracer: RunTracer | None = None,
        notes: NoteCache | None = None,
    ) -> None:
        self._client = client
        self._store = store
        self._options = options
        self._tail = f"Language: {language}. Today: {today}."
        self._may_ask = may_ask
        self._on_reply = on_reply
        self._tracer = tracer or NoTracer()
        self._takes_schemas = True
        self._language = language
        self._notes = notes

    @property
    def options(self) -> ResearchOptions:
        """The options of the run."""
        return self._options

    @overload
    async def ask(
        self,
        role: str,
        values: Mapping[str, str],
        schema: None = None,
        *,
        temperature: float | None = None,
        max_tokens: int = 0,
    ) -> str: ...
    @overload
    async def ask(
        self,
        role: str,
        values: Mapping[str, str],
        schema: Schema,
        *,
        temperature: float | None = None,
        max_tokens: int = 0,
    ) -> dict[str, Json]: ...
    @overload
    async def ask(
        self,
        role: str,
        values: Mapping[str, str],
        schema: Schema | None,
        *,
        temperature: float | None = None,
        max_tokens: int = 0,
    ) -> dict[str, Json] | str: ...
    async def ask(
        self,
        role: str,
        values: Mapping[str, str],
        schema: Schema | None = None,
        *,
        temperature: float | None = None,
        max_tokens: int = 0,
    ) -> dict[str, Json] | str:
        """Return the role's answer to `values`: text, or an object with `schema`. Empty values are left out.

        `temperature` and `max_tokens` default to the role's own. An unusable answer is retried once. Raises
        AnswerUnusable, BudgetSpent, ResearchError, LLMConnectionError.
        """
        kind = ROLES[role]
        if temperature is None:
            temperature = 0.0 if kind.judges else self._options.temperature
        request = _Request(
            role, values, schema, temperature, min(max_tokens or kind.max_tokens, self._options.max_tokens)
        )
        answer = await self._answer(request)
        try:
            usable = _read(answer, schema)
        except UnreadableError as error:
            complaint = f"Not usable: {error}. Answer again, only as asked."
            again = request._replace(said=answer.text[:_SHOWN_AGAIN] or "(nothing)", complaint=complaint)
        else:
            await self._share(request, answer)
            return usable
        answer = await self._answer(again)
        try:
            return _read(answer, schema)
        except UnreadableError as error:
            raise AnswerUnusable(f"{role}: {error}", answer.text) from error

    def room(self, role: str, max_tokens: int = 0) -> int:
        """Return the tokens available for all values of a request, as `estimate` counts them."""
        answer = min(max_tokens or ROLES[role].max_tokens, self._options.max_tokens)
        whole = min(self._client.context_window, WINDOW) - min(answer, self._client.context_window // 4)
        return int(whole / _MARGIN) - self.estimate(prompt_of(role)) - self.estimate(self._tail) - 60

    def estimate(self, text: str) -> int:
        """Estimate the tokens of `text`."""
        return self._client.estimate_tokens(text)

    async def _answer(self, request: "_Request") -> StoredAnswer:
        key = request.key(self._tail)
        if kept := self._store.answer(key):
            return kept
        if self._notes and request.role in ROLES_KEPT and (kept := await self._notes.get(self._shared_key(request))):
            self._store.keep_answer(key, request.role, kept)
            return kept
        if not self._may_ask(ROLES[request.role].writes):
            raise BudgetSpent
        begun = time.monotonic()
        completion = await self._complete(request)
        usage = completion.usage
        tokens = usage.prompt_tokens + usage.completion_tokens
        answer = StoredAnswer(completion.message.text.strip(), completion.finish_reason == "length", tokens)
        self._store.keep_answer(key, request.role, answer)
        self._on_reply(Reply(request.role, tokens, time.monotonic() - begun, usage.tokens_per_second))
        return answer

    async def _share(self, request: "_Request", answer: StoredAnswer) -> None:
        """Cache a usable answer for other runs, once."""
        if self._notes and request.role in ROLES_KEPT and answer.tokens:
            await self._notes.put(self._shared_key(request), answer)

    def _shared_key(self, request: "_Request") -> str:
        """Return the cache key shared by all runs with this model, on any day."""
        return request.key(f"{self._client.model}\n{self._language}")

    async def _complete(self, request: "_Request") -> Completion:
        """Complete the request, with retries."""
        await self._client.get_ready()
        times, messages = 0, self._messages(request)
        while True:
            times += 1
            try:
                async with asyncio.timeout(self._options.timeout):
                    return await self._complete_once(request, messages)
            except TimeoutError as error:
                if times > self._options.retry:
                    seconds = self._options.timeout
                    raise ResearchModelError("research_no_answer", seconds=seconds, count=times) from error
            except LLMConnectionError as error:
                if overflow_of(error) and times == 1:  # now the client has a better estimate
                    messages = self._messages(request)
                elif not await self._client.may_ask_again(error, times, lambda _error, _seconds: None):
                    raise

    async def _complete_once(self, request: "_Request", messages: list[Message]) -> Completion:
        async def ask(schema: Schema | None) -> Completion:
            with self._tracer.model_call(self._call(request, messages, has_schema=schema is not None)) as note:
                completion = await self._client.complete(
                    messages,
                    schema=schema,
                    temperature=request.temperature,
                    max_tokens=request.max_tokens,
                    thinking=False,
                    accepts_empty=True,
                )
                note(completion)
                return completion

        schema = request.schema if self._takes_schemas else None
        try:
            return await ask(schema)
        except LLMConnectionError as error:
            if schema is None or error.key not in SCHEMA_ERRORS:
                raise
            completion = await ask(None)
            self._takes_schemas = error.key == "llm_bad_call"
            return completion

    def _call(self, request: "_Request", messages: list[Message], *, has_schema: bool) -> ModelCall:
        provider = self._client.provider
        return ModelCall(
            role=request.role,
            provider=provider.name,
            address=provider.address,
            model=self._client.model,
            messages=messages,
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            has_schema=has_schema,
        )

    def _messages(self, request: "_Request") -> list[Message]:
        """Build the messages, truncating the longest values until they fit."""
        room = self.room(request.role, request.max_tokens)
        room -= self.estimate(request.said) + self.estimate(request.complaint)
        values = dict(request.values)
        while (tokens := self.estimate(_rendered(values))) > room:
            name = max(values, key=lambda one: len(values[one]))
            length = len(values[name])
            if length <= len(_CUT) * 4:
                break
            values[name] = values[name].removesuffix(_CUT)[: int(length * max(0.5, room / tokens) - len(_CUT))] + _CUT
        return request.messages(_rendered(values), self._tail)


class _Request(NamedTuple):
    """A request to a role; a retry includes the previous answer and its fault."""

    role: str
    values: Mapping[str, str]
    schema: Schema | None
    temperature: float
    max_tokens: int
    said: str = ""
    complaint: str = ""

    def messages(self, values: str, tail: str) -> list[Message]:
        """Build the messages."""
        messages: list[Message] = [SystemMessage(prompt_of(self.role)), UserMessage(f"{values}\n\n{tail}")]
        if self.complaint:
            messages += [AssistantMessage(self.said), UserMessage(f"{self.complaint}\n\n{tail}")]
        return messages

    def key(self, tail: str) -> str:
        """Return the key of the answer: a hash of the untruncated request, independent of the model."""
        messages = self.messages(_rendered(self.values), tail)
        return hashlib.sha256(encode_json([self.role, messages, self.schema, self.temperature])).hexdigest()


@cache
def prompt_of(role: str) -> str:
    """Return the fixed text of a role."""
    return (Path(__file__).parent / "prompts" / f"{role}.md").read_text(encoding="utf-8").strip()


def _read(answer: StoredAnswer, schema: Schema | None) -> dict[str, Json] | str:
    if schema is not None:
        return read_answer(answer.text, schema, was_cut=answer.cut)
    if not answer.text:
        raise UnreadableError("it is empty")
    return answer.text


def _rendered(values: Mapping[str, str]) -> str:
    """Format each value in a frame of its name that nothing in the value can close."""
    return "\n\n".join(_framed(name, value.strip()) for name, value in values.items() if value.strip())


def _framed(name: str, value: str) -> str:
    mark, number = name, 1
    while f"</{mark}>" in value:
        number += 1
        mark = f"{name}{number}"
    return f"<{mark}>\n{value}\n</{mark}>"
