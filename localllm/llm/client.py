"""LLMClient: the agent's access to one model behind one provider, with retries and token accounting."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json
from localllm.base.i18n import _
from localllm.base.rate_limit import RateLimiter
from localllm.llm.message_format import read_messages
from localllm.llm.messages import Completion, CompletionRequest, Message, ToolChoice, ToolSpec
from localllm.llm.overflow import overflow_of
from localllm.llm.providers.base import (
    Chunk,
    MessageAssembler,
    ModelInfo,
    OneModel,
    Provider,
    TextChunk,
    may_be_taken,
    models_elsewhere,
)
from localllm.llm.retry import ASKED_ONCE_MORE, LONGEST_WAIT, Stopwatch, look_at, opened, try_again, wait_for
from localllm.llm.tokens import MOST_RATIO, Accounting, Exchange
from localllm.llm.tool_calling.router import Question, Speaking

ASSUMED_CONTEXT_WINDOW = 8192
"""Context window in tokens, assumed if neither the settings nor the server state one."""

LEAST_ANSWER = 256
"""Minimum `max_tokens` of an answer, however full the window: fewer tokens do not fit a tool call."""

ANSWER = 2_000
"""Tokens an answer should get, at most a quarter of the window: with fewer, a call that writes a file is truncated."""

_LIKELY_RATIO = 1.13
"""Ratio of actual to estimated prompt tokens that is rarely exceeded once the estimate is calibrated."""

UNANSWERED = frozenset({"llm_empty", "llm_only_thought", "llm_thinking_cut"})
"""Error keys of answers with neither text nor a tool call: faults of the model, not of the server."""

_SECONDS_TO_DESCRIBE = 5.0
_SECONDS_TO_LOOK = 1.0

_LONGEST_PAUSE = 8.0
"""Maximum delay in seconds before an interrupted answer is requested again."""

_WORTH_TELLING = 1.0
"""Minimum wait in seconds for the rate limit that is reported to the user."""

OnRetry = Callable[[LLMConnectionError, float], None]
"""Called for each failure that is retried, with the delay in seconds."""


OnNotice = Callable[[str], None]
"""Called with a message for the user that is not part of the answer."""


def _nothing(_error: LLMConnectionError, _seconds: float) -> None:
    """Ignore a retry (the default `on_retry`)."""


def _nobody(_notice: str) -> None:
    """Ignore a notice (the default `on_notice`)."""


class Asking(msgspec.Struct, frozen=True):
    """A request for an answer, with its callbacks."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    tool_choice: ToolChoice
    schema: dict[str, Json] | None
    on_retry: OnRetry
    on_notice: OnNotice
    watch: Stopwatch
    max_tokens: int = 0
    """Limit of the answer in tokens; 0 uses the client's limit."""
    thinking: bool = True
    accepts_empty: bool = False
    """Accept an answer with neither text nor a tool call instead of raising an error."""
    slot: int | None = None
    temperature: float | None = None
    """None uses the client's temperature."""


class LLMClient:
    """A client that requests answers of `model` (empty for the first one offered) from `provider`.

    `limiter` enforces the rate limits of servers and may be shared between clients. `speaking` holds each model's
    tool-calling dialect. `pause` sleeps for a number of seconds.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        model: str = "",
        max_tokens: int = 0,
        temperature: float | None = None,
        max_retries: int = 3,
        context_window: int = 0,
        limiter: RateLimiter | None = None,
        speaking: Speaking | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.provider = provider
        self.model = model
        self.is_model_chosen = bool(model)
        """Whether the user has named the model: then none takes its place."""
        self.info: ModelInfo = ModelInfo(model)
        self._described = ""
        self._has_answered = False
        self._failed_to_describe = False
        self._context_window = context_window
        self._max_tokens = max_tokens
        self._temperature = temperature
        self._max_retries = max_retries
        self._pause = pause
        self._limiter = limiter or RateLimiter(pause=pause)
        self._accounting = Accounting()
        self._speaking = speaking or Speaking()
        self._ahead: str | LLMConnectionError = ""
        self._overflowed: dict[str, int] = {}
        """Windows reported by servers that refused a prompt, by model."""

    @property
    def limiter(self) -> RateLimiter:
        """The rate limiter, keyed by the server's address."""
        return self._limiter

    @property
    def context_window(self) -> int:
        """The model's context window in tokens: the minimum of the setting, what the server reports, the window in its
        overflow errors, and the one evident from its counts of truncated prompts; else assumed."""
        return min(self._windows(), default=ASSUMED_CONTEXT_WINDOW)

    @property
    def assumes_window(self) -> bool:
        """Whether `context_window` is a guess: neither the settings nor the server state it."""
        return not self._windows()

    def _windows(self) -> list[int]:
        told = self.info.context_window if self._described == self.model else 0
        learned = self._overflowed.get(self.model, 0), self._accounting.evident_window(self.model)
        return [window for window in (self._context_window, told, *learned) if window]

    @property
    def answering(self) -> "LLMClient":
        """The client that gave the last answer: this one unless a fallback replaced it."""
        return self

    async def use(self, provider: Provider, model: str) -> None:
        """Switch to `model` behind `provider` and close the previous provider."""
        before, self.provider = self.provider, provider
        self.model = model
        self.info = ModelInfo(model)
        self._described = ""
        self._ahead = ""
        self._has_answered = False
        self._forget_windows()
        if before is not provider:
            await before.aclose()

    async def resolve_model(self) -> str:
        """Return the model's name, from the server if none is set.
        Requests it once and fills `info` with its description. Raises LLMConnectionError."""
        listed: Sequence[ModelInfo] = ()
        if not self.model:
            listed = await self.list_models()
            if not listed:
                raise LLMConnectionError("llm_no_models", url=self.provider.address)
            if not (local := may_be_taken(listed)):
                raise models_elsewhere(self.provider.address, listed)
            self.model = local[0].id
        if self._described != self.model:
            await self._describe(listed)
        return self.model

    async def replace_model(self) -> str:
        """Switch to the only model of a server that does not have this one any more, unless the user has chosen it.
        Return its name, "" if nothing was changed."""
        if self.is_model_chosen:
            return ""
        try:
            names = [info.id for info in may_be_taken(await self.list_models())]
            if len(names) != 1 or self.model in names:
                return ""
            await self.use(self.provider, names[0])
            return await self.resolve_model()
        except LLMConnectionError:
            return ""  # the error that the model is missing says more

    async def look_again(self) -> bool:
        """Describe the model anew if its server has only one and may have been restarted: with another model, which
        takes the place of one that the user has not chosen, or with another window. Return whether anything differs. A
        server that does not answer at once is left to the next request."""
        provider = self.provider
        has_one = isinstance(provider, OneModel) and provider.has_one_model
        if not (has_one and self._has_answered and self._described == self.model and self.answering is self):
            return False
        try:
            async with asyncio.timeout(_SECONDS_TO_LOOK):
                listed = await self.provider.list_models()
                is_other = len(may_be_taken(listed)) == len(listed) == 1 and not self.is_model_chosen
                name = listed[0].id if is_other else self.model
                info = await self.provider.describe(name, listed)
        except (LLMConnectionError, TimeoutError):
            return False
        if info == self.info or not listed:
            return False
        await self.use(self.provider, name)
        self.info, self._described = info, name
        self._has_answered = True  # with what it lists: in a window too small for a request there is no answer
        return True

    async def get_ready(self) -> None:
        """Resolve and describe the model ahead of the next request, which then need not.
        A failure is kept and raised by that request, where it can be retried."""
        try:
            self._ahead = await self.resolve_model()
        except LLMConnectionError as error:
            self._ahead = error

    async def _resolved(self) -> str:
        """Return the model's name as resolved by `get_ready`, or raise the error kept there."""
        ahead, self._ahead = self._ahead, ""
        if isinstance(ahead, LLMConnectionError):
            raise ahead
        return ahead or await self.resolve_model()

    async def list_models(self) -> list[ModelInfo]:
        """Return the models the server offers."""
        return await self.provider.list_models()

    async def open_answer(self, asking: Asking) -> AsyncGenerator[Chunk]:
        """Start an answer and return its chunks once the first has arrived; failures until then are retried."""

        async def begin() -> AsyncGenerator[Chunk]:
            await self._wait_for_turn(asking.on_notice)
            request = CompletionRequest(
                model=await self._resolved(),
                messages=tuple(asking.messages),
                tools=tuple(asking.tools),
                tool_choice=asking.tool_choice,
                schema=asking.schema,
                max_tokens=self._longest_answer(asking),
                temperature=self._temperature if asking.temperature is None else asking.temperature,
                thinking=asking.thinking,
                slot=asking.slot,
            )
            stream = self._speaking.stream(Question(self.provider, self.info, request, asking.on_notice))
            return await opened(stream, asking.watch, lambda gathered: self._fault_of(gathered, request, asking))

        return await self._open(begin, asking)

    def _longest_answer(self, asking: Asking) -> int:
        """Return the limit of the answer in tokens: as requested, but no more than a known window leaves.
        The uncounted part of the prompt is assumed to be up to twice its estimate, because vLLM refuses a request that
        exceeds the window by one token. Up to `ANSWER` tokens the calibrated estimate is used, to avoid truncation: if
        a server refuses, the request is repeated without a limit."""
        wanted = asking.max_tokens or self._max_tokens
        if not wanted or self.assumes_window:
            return wanted
        margins = (MOST_RATIO, _LIKELY_RATIO if self._accounting.has_counted(self.model) else MOST_RATIO)
        surely, likely = (
            self.context_window
            - self._accounting.expect_prompt(self.model, asking.messages, asking.tools, margin=margin)
            for margin in margins
        )
        return min(wanted, max(surely, min(likely, ANSWER), LEAST_ANSWER))

    async def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: ToolChoice = "auto",
        schema: dict[str, Json] | None = None,
        on_chunk: Callable[[Chunk], None] | None = None,
        on_retry: OnRetry = _nothing,
        on_notice: OnNotice = _nobody,
        assembler: MessageAssembler | None = None,
        max_tokens: int = 0,
        thinking: bool = True,
        accepts_empty: bool = False,
        slot: int | None = None,
        temperature: float | None = None,
    ) -> Completion:
        """Request an answer and return it whole, passing each chunk to `on_chunk`.
        With `schema` its text is to be a JSON object of that schema, enforced where the server can. `max_tokens`: 0
        uses the client's limit. `thinking`, `slot`: see CompletionRequest; `accepts_empty`, `temperature`: see Asking.

        A caller that passes its own `assembler` keeps what arrived if this is cancelled or fails.
        """
        gathered, watch = assembler or MessageAssembler(), Stopwatch()
        asking = Asking(
            messages=messages,
            tools=tools,
            tool_choice=tool_choice,
            schema=schema,
            on_retry=on_retry,
            on_notice=on_notice,
            watch=watch,
            max_tokens=max_tokens,
            thinking=thinking,
            accepts_empty=accepts_empty,
            slot=slot,
            temperature=temperature,
        )
        async with aclosing(await self.open_answer(asking)) as chunks:
            async for chunk in chunks:
                gathered.add(chunk)
                if on_chunk:
                    on_chunk(chunk)
        return self.answering.close_account(gathered, asking)

    def close_account(self, gathered: MessageAssembler, asking: Asking) -> Completion:
        """Return this client's assembled answer with its token usage.
        Raises LLMConnectionError if it has neither text nor a tool call and an empty answer is not accepted."""
        message = gathered.message()
        if not message.text.strip() and not message.tool_calls:
            request = CompletionRequest(model=self.model, messages=tuple(asking.messages), tools=tuple(asking.tools))
            if error := self._fault_of(gathered, request, asking):
                raise error
        self._note_answer()
        exchange = Exchange(self.model, asking.messages, asking.tools, message, gathered.usage)
        usage, warning = self._accounting.settle(
            exchange, asking.watch, self.context_window, assumed=self.assumes_window
        )
        if warning:
            asking.on_notice(warning)
        return Completion(message, gathered.finish_reason or "stop", usage)

    async def may_ask_again(self, error: LLMConnectionError, times: int, on_retry: OnRetry) -> bool:
        """Return whether to retry an answer that failed midway with `error`, after `times` failures.
        Calls `on_retry`, then waits with exponential backoff."""
        most = min(1, self._max_retries) if error.key in ASKED_ONCE_MORE else self._max_retries
        if not error.retryable or times > most:
            return False
        seconds = min(_LONGEST_PAUSE, 2.0 ** (times - 2))
        on_retry(error, seconds)
        await self._pause(seconds)
        return True

    def unanswered(self, finish_reason: str, *, has_thought: bool) -> LLMConnectionError:
        """Return the error, one of UNANSWERED, for an answer that ended with neither text nor a tool call."""
        url = self.provider.address
        if has_thought:
            return LLMConnectionError("llm_thinking_cut" if finish_reason == "length" else "llm_only_thought", url=url)
        return LLMConnectionError("llm_empty", url=url, reason="", retryable=True)

    async def chat_completion(
        self, messages: Sequence[Mapping[str, Json]], stream: bool = True
    ) -> str | AsyncGenerator[str]:
        """Return the answer's text to messages in OpenAI's form, streamed or whole.
        Raises ValueError for an invalid message, LLMConnectionError."""
        read = read_messages(messages)
        return self._texts(read) if stream else (await self.complete(read)).message.text

    async def health_check(self) -> dict[str, Json]:
        """Return the server's health: status (healthy, loading, unhealthy), connected, latency in ms, model, …"""
        return msgspec.to_builtins(await look_at(self.provider, self.model))

    async def auto_reconnect(self) -> bool:
        """Wait a few seconds for a restarting server and return whether it is healthy.
        Its model is then described anew."""
        is_well = await wait_for(self.provider, pause=self._pause)
        if is_well:
            self._described = ""
            self._forget_windows()
        return is_well

    def estimate_tokens(self, text: str) -> int:
        """Estimate the tokens in `text`, calibrated by the counts of this model's server."""
        return self._accounting.estimate(self.model, text)

    def estimate_prompt(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> int:
        """Estimate the prompt tokens of a whole request, calibrated like `estimate_tokens`."""
        return self._accounting.estimate_prompt(self.model, messages, tools)

    def expect_prompt(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> int:
        """Like `estimate_prompt`, but more precise for a request that continues the latest, counted one."""
        return self._accounting.expect_prompt(self.model, messages, tools)

    async def aclose(self) -> None:
        """Close the provider's connections."""
        await self.provider.aclose()

    async def _describe(self, listed: Sequence[ModelInfo]) -> None:
        """Request the model's description once. A server error is ignored here, since the next request will report it;
        an unreachable server is asked again."""
        model, self._failed_to_describe = self.model, False
        try:
            async with asyncio.timeout(_SECONDS_TO_DESCRIBE):
                self.info = await self.provider.describe(model, listed)
        except (LLMConnectionError, TimeoutError) as error:
            self.info, self._failed_to_describe = ModelInfo(model), True
            if isinstance(error, TimeoutError) or error.key == "llm_refused":
                return
        self._described = model

    def _forget_windows(self) -> None:
        """Discard the learned windows: another server, or one with other settings, will answer."""
        self._overflowed.clear()
        self._accounting.forget_windows()

    def _note_answer(self) -> None:
        """After the first answer, request an incomplete description again: the model is loaded by now."""
        is_incomplete = self.info.loaded is False or (self.info.loaded is True and not self.info.context_window)
        if not self._has_answered and (is_incomplete or self._failed_to_describe):
            self._described = ""
        self._has_answered = True

    async def _open(
        self, begin: Callable[[], Awaitable[AsyncGenerator[Chunk]]], asking: Asking
    ) -> AsyncGenerator[Chunk]:
        """Return a stream whose first chunk has arrived. Nothing was shown before it, so that retrying is safe."""

        async def attempt() -> AsyncGenerator[Chunk]:
            try:
                return await begin()
            except LLMConnectionError as error:
                self._take_note(error, asking)
                raise

        try:
            return await attempt()
        except LLMConnectionError as error:
            if not error.retryable or not self._max_retries:
                raise
            failure = error
        retries = self._max_retries
        return await try_again(attempt, after=failure, retries=retries, on_retry=asking.on_retry, pause=self._pause)

    def _take_note(self, error: LLMConnectionError, asking: Asking) -> None:
        """Record what a failure reveals: window and prompt length, a rate limit's delay, or a server that may be
        restarting."""
        if overflow := overflow_of(error):
            if overflow.n_ctx:
                self._overflowed[self.model] = overflow.n_ctx
            if overflow.n_prompt_tokens:
                self._accounting.learn(self.model, asking.messages, asking.tools, overflow.n_prompt_tokens)
        if error.key == "llm_refused" and self._has_answered:
            error.retryable = True
        if error.key == "llm_rate_limited" and 0 < (error.retry_after or 0) <= LONGEST_WAIT:
            self._limiter.hold(self.provider.address, error.retry_after or 0)

    async def _wait_for_turn(self, on_notice: OnNotice) -> None:
        def tell(seconds: float) -> None:
            if seconds >= _WORTH_TELLING:
                on_notice(
                    _(
                        "Waiting {seconds:.0f} s before the next request (llm.requests_per_minute, or the "
                        "server asked for it).",
                        seconds=seconds,
                    )
                )

        await self._limiter.wait(self.provider.address, tell)

    async def _texts(self, messages: Sequence[Message]) -> AsyncGenerator[str]:
        asking = Asking(messages, (), "auto", None, _nothing, _nobody, Stopwatch())
        async with aclosing(await self.open_answer(asking)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, TextChunk):
                    yield chunk.text

    def _nothing_said(self, gathered: MessageAssembler, request: CompletionRequest) -> LLMConnectionError:
        """Return the error for an answer with neither text nor a call, which may be due to a prompt that is too
        long."""
        url = self.provider.address
        error = self.unanswered(gathered.finish_reason, has_thought=bool(gathered.thinking.strip()))
        if gathered.finish_reason == "content_filter":
            return LLMConnectionError("llm_filtered", url=url, reason="")
        if error.key == "llm_thinking_cut":
            return error
        tokens = self._accounting.estimate_prompt(self.model, request.messages, request.tools)
        if not self.assumes_window and tokens > (window := self.context_window):
            return LLMConnectionError("llm_context_overflow", url=url, reason="", n_prompt_tokens=tokens, n_ctx=window)
        return error

    def _fault_of(
        self, gathered: MessageAssembler, request: CompletionRequest, asking: Asking
    ) -> LLMConnectionError | None:
        """Like `_nothing_said`, but None if an empty answer is accepted."""
        error = self._nothing_said(gathered, request)
        return None if asking.accepts_empty and error.key in UNANSWERED else error
