"""LLMClient: one model behind one provider, as the agent sees it. Retries, gathers, counts."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Usage
from localllm.llm.assembling import MessageAssembler
from localllm.llm.messages import (
    AssistantMessage,
    Completion,
    CompletionRequest,
    Message,
    ToolChoice,
    ToolSpec,
)
from localllm.llm.providers.base import Chunk, ModelInfo, Provider
from localllm.llm.retrying import try_again
from localllm.llm.tokens import estimate_tokens

ASSUMED_CONTEXT_WINDOW = 8192
"""Tokens assumed where neither the settings nor the server tell the window."""

_SECONDS_TO_DESCRIBE = 5.0

OnRetry = Callable[[LLMConnectionError, float], None]
"""Told of each failure that is tried again, and in how many seconds."""


def _nothing(_error: LLMConnectionError, _seconds: float) -> None:
    """Nobody wants to know of retries."""


class LLMClient:
    """Asks `provider` for answers of `model`. An empty model name means the first the server offers."""

    def __init__(
        self,
        provider: Provider,
        *,
        model: str = "",
        max_tokens: int = 0,
        temperature: float | None = None,
        max_retries: int = 3,
        context_window: int = 0,
    ) -> None:
        self.provider = provider
        self.model = model
        self.info = ModelInfo(model)
        self._described = ""
        self._has_answered = False
        self._context_window = context_window
        self._max_tokens = max_tokens
        self._temperature = temperature
        self._max_retries = max_retries

    @property
    def context_window(self) -> int:
        """Tokens the model can read: what the server told where that is less than what is set, else as set, else
        assumed."""
        return min(self._windows(), default=ASSUMED_CONTEXT_WINDOW)

    @property
    def assumes_window(self) -> bool:
        """Whether `context_window` is a guess: neither the settings nor the server tell."""
        return not self._windows()

    def _windows(self) -> list[int]:
        told = self.info.context_window if self._described == self.model else 0
        return [window for window in (self._context_window, told) if window]

    async def use(self, provider: Provider, model: str) -> None:
        """Ask `model` behind `provider` from now on; the one before is closed."""
        before, self.provider = self.provider, provider
        self.model = model
        self.info = ModelInfo(model)
        self._described = ""
        self._has_answered = False
        if before is not provider:
            await before.aclose()

    async def resolve_model(self) -> str:
        """The model's name, asked of the server once where none is set; what the server tells of it is in `info`
        afterwards. Raises LLMConnectionError."""
        if not self.model:
            models = await self.list_models()
            if not models:
                raise LLMConnectionError("llm_no_models", url=self.provider.address)
            self.model = models[0].id
        if self._described != self.model:
            await self._describe()
        return self.model

    async def list_models(self) -> list[ModelInfo]:
        """What the server offers."""
        return await self.provider.list_models()

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: ToolChoice = "auto",
        on_retry: OnRetry = _nothing,
    ) -> AsyncGenerator[Chunk]:
        """The answer as it arrives. A failure before the first chunk is tried again where that may help."""

        async def begin() -> AsyncGenerator[Chunk]:
            request = CompletionRequest(
                model=await self.resolve_model(),
                messages=tuple(messages),
                tools=tuple(tools),
                tool_choice=tool_choice,
                max_tokens=self._max_tokens,
                temperature=self._temperature,
            )
            stream = self.provider.stream(request)
            return _rejoin(await anext(stream, None), stream)

        async with aclosing(await self._open(begin, on_retry)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: ToolChoice = "auto",
        on_chunk: Callable[[Chunk], None] | None = None,
        on_retry: OnRetry = _nothing,
        assembler: MessageAssembler | None = None,
    ) -> Completion:
        """The whole answer, its pieces shown to `on_chunk` on the way.

        A caller that passes its own `assembler` still has what arrived when this is cancelled or fails.
        """
        gathered = assembler or MessageAssembler()
        began = time.monotonic()
        first = 0.0
        async with aclosing(self.stream(messages, tools, tool_choice=tool_choice, on_retry=on_retry)) as chunks:
            async for chunk in chunks:
                first = first or time.monotonic() - began
                gathered.add(chunk)
                if on_chunk:
                    on_chunk(chunk)
        message = gathered.message()
        if not message.text and not message.tool_calls:
            raise self._nothing_said(gathered)
        self._note_answer()
        usage = self._usage(gathered, messages, message)
        usage = msgspec.structs.replace(usage, first_token_seconds=first, total_seconds=time.monotonic() - began)
        return Completion(message, gathered.finish_reason or "stop", usage)

    def estimate_tokens(self, text: str) -> int:
        """An estimate of the tokens in `text`."""
        return estimate_tokens(text)

    async def aclose(self) -> None:
        """Close the provider's connections."""
        await self.provider.aclose()

    async def _describe(self) -> None:
        """Ask once what the model is. A server that does not say is no failure here: if something is wrong with it,
        the request that follows tells. One that cannot be reached yet is asked again."""
        model = self.model
        try:
            async with asyncio.timeout(_SECONDS_TO_DESCRIBE):
                self.info = await self.provider.describe(model)
        except (LLMConnectionError, TimeoutError) as error:
            self.info = ModelInfo(model)
            if isinstance(error, TimeoutError) or error.key == "llm_refused":
                return
        self._described = model

    def _note_answer(self) -> None:
        """After the first answer the model is loaded: a server that could not tell its window before may tell now."""
        if not self._has_answered and not self.info.context_window:
            self._described = ""
        self._has_answered = True

    async def _open(
        self, begin: Callable[[], Awaitable[AsyncGenerator[Chunk]]], on_retry: OnRetry
    ) -> AsyncGenerator[Chunk]:
        """A stream whose first chunk is there. Until then nothing was shown, and trying again is safe."""
        try:
            return await begin()
        except LLMConnectionError as error:
            if not error.retryable or not self._max_retries:
                raise
            failure = error
        return await try_again(begin, after=failure, retries=self._max_retries, on_retry=on_retry)

    def _nothing_said(self, gathered: MessageAssembler) -> LLMConnectionError:
        """Why an answer has neither text nor a call."""
        url = self.provider.address
        match gathered.finish_reason:
            case "length" if gathered.thinking:
                return LLMConnectionError("llm_thinking_cut", url=url)
            case "content_filter":
                return LLMConnectionError("llm_filtered", url=url, reason="")
            case _:
                return LLMConnectionError("llm_empty", url=url, reason="")

    def _usage(self, gathered: MessageAssembler, messages: Sequence[Message], answer: AssistantMessage) -> Usage:
        if counted := gathered.usage:
            return Usage(
                prompt_tokens=counted.prompt_tokens,
                completion_tokens=counted.completion_tokens,
                cached_tokens=counted.cached_tokens,
            )
        said = answer.text + answer.thinking + "".join(call.arguments for call in answer.tool_calls)
        return Usage(
            prompt_tokens=sum(self.estimate_tokens(message.text) for message in messages),
            completion_tokens=self.estimate_tokens(said),
            estimated=True,
        )


async def _rejoin(first: Chunk | None, rest: AsyncGenerator[Chunk]) -> AsyncGenerator[Chunk]:
    async with aclosing(rest):
        if first is not None:
            yield first
            async for chunk in rest:
                yield chunk
