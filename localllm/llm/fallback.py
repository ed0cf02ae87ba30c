"""Fallback clients that answer, in the user's order, while the provider in use is unreachable."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import msgspec

from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.base.i18n import _
from localllm.llm.client import Asking, LLMClient, OnNotice, OnRetry
from localllm.llm.providers.base import Chunk, Provider

PAUSE_SECONDS = 60.0
"""Seconds after a fallback in which the primary provider is not retried: each attempt may cost a timeout."""

UNREACHABLE = frozenset(
    {
        *("llm_refused", "llm_unreachable", "llm_server_failed", "llm_loading", "llm_cut", "llm_garbled"),
        *("gguf_died", "gguf_unloadable", "llm_offline", "llm_offline_model"),
    }
)
"""Error keys that trigger a fallback: the connection is refused, or the server still fails after the retries."""


class Standby(msgspec.Struct, frozen=True):
    """A fallback client. `make` raises ConfigurationError if its settings are unusable."""

    name: str
    make: Callable[[], LLMClient]


class FallbackClient(LLMClient):
    """An LLMClient with fallbacks: if its own provider is unreachable and nothing of an answer was shown, the first
    working one of `standbys` answers. After a pause the own provider is tried again."""

    def __init__(
        self,
        provider: Provider,
        *,
        standbys: Sequence[Standby],
        clock: Callable[[], float] = time.monotonic,
        **options: Any,
    ) -> None:
        super().__init__(provider, **options)
        self._standbys = standbys
        self._clock = clock
        self._made: dict[str, LLMClient] = {}
        self._answering: LLMClient = self
        self._rests_until = 0.0

    @property
    def answering(self) -> LLMClient:
        """See LLMClient."""
        return self._answering

    @property
    def context_window(self) -> int:
        """The window of the client that answers."""
        return super().context_window if self._answering is self else self._answering.context_window

    @property
    def assumes_window(self) -> bool:
        """See `context_window`."""
        return super().assumes_window if self._answering is self else self._answering.assumes_window

    async def use(self, provider: Provider, model: str) -> None:
        """See LLMClient."""
        self._answering, self._rests_until = self, 0.0
        await super().use(provider, model)

    async def get_ready(self) -> None:
        """See LLMClient. Skipped while the own provider is paused."""
        if self._clock() >= self._rests_until:
            await super().get_ready()

    async def open_answer(self, asking: Asking) -> AsyncGenerator[Chunk]:
        """Start an answer, from the own provider or a fallback.
        Raises the own provider's error if no fallback can answer."""
        if self._clock() < self._rests_until and (answer := await self._stand_in(asking, "")):
            return answer
        try:
            answer = await super().open_answer(asking)
        except LLMConnectionError as error:
            if error.key not in UNREACHABLE:
                raise
            self._has_answered = False  # do not wait again for a restart
            if answer := await self._stand_in(asking, error.what):
                return answer
            raise
        self._answering = self
        return answer

    async def may_ask_again(self, error: LLMConnectionError, times: int, on_retry: OnRetry) -> bool:
        """See LLMClient. If the own provider keeps failing midway, a fallback is used."""
        if await super().may_ask_again(error, times, on_retry):
            return True
        is_own, rests = self._answering is self, self._clock() < self._rests_until
        if error.key not in UNREACHABLE or not is_own or rests or not self._standbys:
            return False
        self._rests_until = self._clock() + PAUSE_SECONDS
        return True

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._made.values():
            await client.aclose()
        await super().aclose()

    async def _stand_in(self, asking: Asking, why: str) -> AsyncGenerator[Chunk] | None:
        """Start the answer of the first working fallback, trying the last used one first;
        None if none works. `why` is reported together with the fallback's name."""
        for standby in sorted(self._standbys, key=lambda each: self._made.get(each.name) is not self._answering):
            try:
                client = await self._client(standby)
                if client is None:
                    continue
                answer = await client.open_answer(asking)
            except LocalLLMError as error:
                asking.on_notice(
                    _(
                        "{provider} (llm.fallback_providers) cannot answer instead: {what}",
                        provider=standby.name,
                        what=error.what,
                    )
                )
                continue
            self._now_answers(client, why, asking.on_notice)
            return answer
        return None

    async def _client(self, standby: Standby) -> LLMClient | None:
        """Return the fallback's client, set to the same model if offered. None if it is the failed server itself."""
        client = self._made[standby.name] = self._made.get(standby.name) or standby.make()
        provider = client.provider
        if (provider.name, provider.address) == (self.provider.name, self.provider.address):
            return None
        if not client.model and self.model in [info.id for info in await client.list_models()]:
            client.model = self.model
        return client

    def _now_answers(self, client: LLMClient, why: str, on_notice: OnNotice) -> None:
        if why:
            self._rests_until = self._clock() + PAUSE_SECONDS
        if client is not self._answering:
            name, model = client.provider.name, client.model
            on_notice(
                _(
                    "{what} {provider} ({model}) answers instead (llm.fallback_providers).",
                    what=why,
                    provider=name,
                    model=model,
                ).strip()
            )
        self._answering = client
