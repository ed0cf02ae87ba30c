"""Request one answer from one agent, with retries, a timeout and a size limit.

The answer is read directly from the provider. The chat's client would add tool calls parsed from the text and token
accounting, which are not used here: everything a worker writes is text.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import msgspec

from localllm.base.errors import EnsembleError, LLMConnectionError, LocalLLMError
from localllm.base.events import Json, Usage
from localllm.ensemble.agents import Agent
from localllm.ensemble.answer_text import AnswerText, without_thinking
from localllm.ensemble.budget import without_oldest
from localllm.llm.messages import CompletionRequest, Message
from localllm.llm.providers.base import FinishChunk, TextChunk, ThinkingChunk, UsageChunk
from localllm.llm.retry import ASKED_ONCE_MORE

MOST_CHARACTERS = 1_000_000
"""Characters of one answer with its reasoning: the largest windows hold half as much, and more means that a model or a
server does not stop."""

_MOST_BYTES_WHOLE = 8 * MOST_CHARACTERS
_MOST_BYTES_STREAMED = 80 * MOST_CHARACTERS
"""Byte limit of a stream: each token, of three characters or more, has up to 200 bytes of overhead."""

_OF_A_PIECE = 16
"""Characters added to each piece, since empty pieces take memory too."""

_SECONDS_TO_LOAD = 3.0
"""Seconds between requests to a server that is loading its model."""

_SECONDS_TO_RETRY = 0.5
"""Seconds before the first retry; each wait is twice the previous one."""

OnText = Callable[[str], None]
OnRetry = Callable[[LocalLLMError], None]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A request to an agent. `temperature` None uses the agent's own; `schema`: a JSON schema for the answer, as far as
    the server supports it; `headers` are sent along."""

    agent: Agent
    messages: tuple[Message, ...]
    temperature: float | None = None
    schema: dict[str, Json] | None = None
    headers: tuple[tuple[str, str], ...] = ()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's answer: non-empty text without reasoning."""

    text: str
    finish_reason: str = "stop"
    usage: Usage = Usage()
    retries: int = 0


async def answer_to(
    ask: Ask,
    *,
    deadline: float,
    retries: int = 1,
    on_text: OnText | None = None,
    on_retry: OnRetry | None = None,
) -> Answer:
    """Request an answer.

    Args:
        ask: The agent and the request.
        deadline: Event loop time by which the answer must be there, waiting for the host and retries included.
        retries: Retries of a failed request.
        on_text: Receives each piece; without it the answer is not streamed.
        on_retry: Called before each retry, which voids the pieces so far. Without it there is no retry once a
            piece was passed on.

    Raises EnsembleError after the deadline, LLMConnectionError (see `explained`). Cancelling closes the connection.
    """
    request = _Request(ask, retries, on_text, on_retry)
    try:
        async with asyncio.timeout_at(deadline):
            return await request.answer(deadline)
    except TimeoutError:
        raise request.timed_out() from request.failure


class _Request:
    """One answer, with its retries."""

    def __init__(self, ask: Ask, retries: int, on_text: OnText | None, on_retry: OnRetry | None) -> None:
        self.failure: LLMConnectionError | None = None
        self._ask = ask
        self._endpoint = ask.agent.endpoint
        self._retries = retries
        self._on_text = on_text
        self._on_retry = on_retry
        self._tries = 0
        self._has_shown = False
        self._has_turn = False

    async def answer(self, deadline: float) -> Answer:
        """Wait for the host, then request the answer. Raises LLMConnectionError."""
        host, model = self._endpoint.host, self._endpoint.model
        await host.enter(model)
        self._has_turn = True
        try:
            while True:
                try:
                    return await self._attempt()
                except LLMConnectionError as error:
                    self.failure = error
                    host.note_failure(error)
                    await self._pause_after(error, deadline)
        finally:
            host.leave(model)

    def timed_out(self) -> LocalLLMError:
        """Return the error for a timeout, by the stage it happened in."""
        agent, host = self._ask.agent, self._endpoint.host
        if not self._has_turn:
            return EnsembleError("ensemble_turn_timeout", seconds=agent.timeout, host=host.address, limit=host.limit)
        if self.failure is not None and self.failure.key == "llm_loading":
            return self.failure
        return EnsembleError("ensemble_timeout", seconds=agent.timeout)

    async def _attempt(self) -> Answer:
        await self._endpoint.get_ready()
        config, ask = self._ask.agent.config, self._ask
        request = CompletionRequest(
            model=config.model,
            messages=without_oldest(ask.messages, self._endpoint, config.max_tokens),
            max_tokens=config.max_tokens,
            temperature=config.temperature if ask.temperature is None else ask.temperature,
            schema=ask.schema,
            whole=self._on_text is None,
            most_bytes=_MOST_BYTES_WHOLE if self._on_text is None else _MOST_BYTES_STREAMED,
            headers=ask.headers,
        )
        return await self._read(request)

    async def _read(self, request: CompletionRequest) -> Answer:
        """Send one request and read the answer to its end."""
        pieces: list[str] = []
        reader = None if self._on_text is None else AnswerText()
        finish, counted, thought, size = "", None, False, 0
        async with aclosing(self._endpoint.provider.stream(request)) as chunks:
            async for chunk in chunks:
                match chunk:
                    case TextChunk(text):
                        pieces.append(text)
                        size += len(text) + _OF_A_PIECE
                        self._show(reader.feed(text) if reader else "")
                    case ThinkingChunk(text):
                        thought = True
                        size += len(text) + _OF_A_PIECE
                    case FinishChunk(reason):
                        finish = reason or finish
                    case UsageChunk():
                        counted = chunk
                    case _:
                        pass
                if size > MOST_CHARACTERS:
                    raise LLMConnectionError("llm_endless", url=self._endpoint.provider.address, most=MOST_CHARACTERS)
        self._show(reader.close() if reader else "")
        text, has_thought = without_thinking("".join(pieces))
        if not (text := text.strip()):
            raise self._nothing(finish, has_thought=thought or has_thought)
        self._endpoint.note_answer()
        usage = self._usage(text, counted)
        return Answer(text=text, finish_reason=finish or "stop", usage=usage, retries=self._tries)

    def _show(self, text: str) -> None:
        if text and self._on_text is not None:
            self._has_shown = True
            self._on_text(text)

    def _nothing(self, finish: str, *, has_thought: bool) -> LLMConnectionError:
        """Return the error for an answer without text."""
        url = self._endpoint.provider.address
        if finish == "content_filter":
            return LLMConnectionError("llm_filtered", url=url, reason="")
        if has_thought:
            return LLMConnectionError("llm_thinking_cut" if finish == "length" else "llm_only_thought", url=url)
        return LLMConnectionError("llm_empty", url=url, reason="", retryable=True)

    def _usage(self, text: str, counted: UsageChunk | None) -> Usage:
        if counted is not None:
            return Usage(
                prompt_tokens=counted.prompt_tokens,
                completion_tokens=counted.completion_tokens,
                cached_tokens=counted.cached_tokens,
                generation_seconds=counted.generation_seconds,
            )
        calibration = self._endpoint.calibration
        prompt = calibration.estimate_prompt(self._ask.messages, ())
        return Usage(prompt_tokens=prompt, completion_tokens=calibration.estimate(text), estimated=True)

    async def _pause_after(self, error: LLMConnectionError, deadline: float) -> None:
        """Wait before a retry; raise the error if a retry is useless or would be too late."""
        if not error.retryable or (self._has_shown and self._on_retry is None):
            raise error
        if error.key == "llm_loading":
            seconds = _SECONDS_TO_LOAD
        else:
            is_of_model = error.key in ASKED_ONCE_MORE
            if self._tries >= (min(1, self._retries) if is_of_model else self._retries):
                raise error
            seconds = 0.0 if is_of_model else _SECONDS_TO_RETRY * 2**self._tries
            self._tries += 1
        seconds = error.retry_after or seconds
        if asyncio.get_running_loop().time() + seconds >= deadline:
            raise error
        if self._on_retry is not None:
            self._on_retry(error)
        self._has_shown = False
        await asyncio.sleep(seconds)
