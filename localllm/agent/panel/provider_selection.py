"""Which server suits a kind of work best, of those that are well."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.llm.client import LLMClient
from localllm.llm.health import Health, look_at
from localllm.llm.providers.base import Ability, Provider

RECENT_SECONDS = 30.0
"""A server looked at so recently is not looked at again."""


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What a kind of work takes: abilities a model must have, and such as would be good; tokens of window; whether its
    answers must be held to a schema. `widest`: the largest window comes before the shortest wait."""

    must: frozenset[Ability] = frozenset()
    better: frozenset[Ability] = frozenset()
    window: int = 0
    schema: bool = False
    widest: bool = False


TASKS: dict[str, Need] = {
    "coding": Need(must=frozenset({"tools"}), window=16_384),
    "reasoning": Need(better=frozenset({"thinking"}), window=8_192),
    "vision": Need(must=frozenset({"vision"})),
    "long_context": Need(window=32_768, widest=True),
    "structured": Need(schema=True),
}
"""Kinds of work."""


class HealthChecker:
    """Looks at servers, each at most once in RECENT_SECONDS."""

    def __init__(
        self,
        look: Callable[[Provider, str], Awaitable[Health]] = look_at,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._clock = clock
        self._seen: dict[str, tuple[float, Health]] = {}

    async def check(self, clients: Mapping[str, LLMClient], *, anew: bool = False) -> dict[str, Health]:
        """How each is, under the name it is given; all are asked at once."""
        found = await asyncio.gather(*(self._check(name, client, anew) for name, client in clients.items()))
        return dict(zip(clients, found, strict=True))

    async def _check(self, name: str, client: LLMClient, anew: bool) -> Health:
        when, health = self._seen.get(name, (0.0, None))
        if health is None or anew or self._clock() - when > RECENT_SECONDS:
            health = await self._look(client.provider, client.model)
            self._seen[name] = (self._clock(), health)
        return health


async def choose_best(clients: Mapping[str, LLMClient], health: Mapping[str, Health], task: str = "") -> str:
    """The name of the one that suits `task` best. What nobody tells of a model counts as better than what it cannot.

    Raises LLMConnectionError panel_no_provider where none of those that are well can do it, ValueError for a task
    nobody knows.
    """
    if task and task not in TASKS:
        raise ValueError(f"no kind of work: {task} (there are {', '.join(TASKS)})")
    need = TASKS.get(task, Need())
    able = [name for name, client in clients.items() if await _is_able(client, health[name], need)]
    if not able:
        raise LLMConnectionError("panel_no_provider", task=task or "—", names=", ".join(clients) or "—")
    return min(able, key=lambda name: _rank(clients[name], health[name], need))


async def _is_able(client: LLMClient, health: Health, need: Need) -> bool:
    if health.status != "healthy" or client.provider.name == "embedded":
        return False
    try:
        await client.resolve_model()
    except LLMConnectionError:
        return False
    return client.info.abilities is None or need.must <= client.info.abilities


def _rank(client: LLMClient, health: Health, need: Need) -> tuple[int, ...]:
    """Smaller is better."""
    abilities, window = client.info.abilities, client.context_window
    return (
        int(bool(need.must) and abilities is None),
        int(need.schema and not client.provider.constrains),
        int(window < need.window),
        int(abilities is None or not need.better <= abilities),
        -window if need.widest else 0,
        round(health.latency * 1000),
    )
