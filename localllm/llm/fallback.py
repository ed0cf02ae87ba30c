"""Others that answer while the provider in use cannot be reached: those the user has named, in that order."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import msgspec

from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.base.i18n import _
from localllm.llm.client import Asking, LLMClient, OnNotice, OnRetry
from localllm.llm.providers.base import Chunk, Provider

PAUSE_SECONDS = 60.0
"""For so long after another had to stand in, the first is not asked again: each try may cost a whole time-out."""

UNREACHABLE = frozenset(
    {
        *("llm_refused", "llm_unreachable", "llm_server_failed", "llm_loading", "llm_cut", "llm_garbled"),
        *("gguf_died", "gguf_unloadable", "llm_offline", "llm_offline_model"),
    }
)
"""What makes another answer: nobody takes the connection, or the server still fails when it has been tried again."""


class Standby(msgspec.Struct, frozen=True):
    """Somebody who may stand in. `make` raises ConfigurationError where its settings cannot be followed."""

    name: str
    make: Callable[[], LLMClient]


class FallbackClient(LLMClient):
    """An LLMClient whose `standbys` answer, the first that can, where its own provider cannot be reached and nothing
    of an answer was shown. After a pause it asks its own again."""

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
        """That of the model which answers."""
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
        """See LLMClient. While its own provider rests, that is not asked."""
        if self._clock() >= self._rests_until:
            await super().get_ready()

    async def open_answer(self, asking: Asking) -> AsyncGenerator[Chunk]:
        """An answer that has something to show, its own or another's. Raises what its own provider has failed with
        where nobody can stand in."""
        if self._clock() < self._rests_until and (answer := await self._stand_in(asking, "")):
            return answer
        try:
            answer = await super().open_answer(asking)
        except LLMConnectionError as error:
            if error.key not in UNREACHABLE:
                raise
            self._has_answered = False  # whether it restarts need not be waited for again
            if answer := await self._stand_in(asking, error.what):
                return answer
            raise
        self._answering = self
        return answer

    async def may_ask_again(self, error: LLMConnectionError, times: int, on_retry: OnRetry) -> bool:
        """See LLMClient. Where its own provider keeps breaking off, another is asked."""
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
        """The answer of the first that can, whoever has answered last before all others; None where nobody can. `why`
        is told with who it is."""
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
        """Its client, asked for the same model where it has that; None where it is the very server that has failed."""
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
        if why or client is not self._answering:
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
