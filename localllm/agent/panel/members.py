"""The panel's members: roles, prompts and clients, and the choice of a provider for each."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.config.schema import LLMSettings, NamedProvider, RoleSettings, ServerSettings, Settings
from localllm.llm.client import LLMClient
from localllm.llm.discovery.servers import same_place
from localllm.llm.factory import make_client
from localllm.llm.providers.base import Ability, Provider
from localllm.llm.retry import Health, look_at

RECENT_SECONDS = 30.0
"""Seconds for which a health check is reused."""

SECONDS_TO_CHOOSE = 5.0
"""Timeout for the information a choice depends on."""

_FEWEST_TO_CHOOSE_FROM = 2


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """Requirements of a task: required and preferred abilities; tokens of window; whether answers must match a schema.
    `widest`: prefer the largest window to the lowest latency."""

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
"""Requirements by kind of task."""


class HealthChecker:
    """Checks the health of servers, each at most once in RECENT_SECONDS."""

    def __init__(
        self,
        look: Callable[[Provider, str], Awaitable[Health]] = look_at,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._clock = clock
        self._seen: dict[str, tuple[float, Health]] = {}

    async def check(self, clients: Mapping[str, LLMClient], *, anew: bool = False) -> dict[str, Health]:
        """Return the health of each client by name, checked concurrently."""
        found = await asyncio.gather(*(self._check(name, client, anew) for name, client in clients.items()))
        return dict(zip(clients, found, strict=True))

    async def _check(self, name: str, client: LLMClient, anew: bool) -> Health:
        when, health = self._seen.get(name, (0.0, None))
        if health is None or anew or self._clock() - when > RECENT_SECONDS:
            health = await self._look(client.provider, client.model)
            self._seen[name] = (self._clock(), health)
        return health


async def choose_best(clients: Mapping[str, LLMClient], health: Mapping[str, Health], task: str = "") -> str:
    """Return the name of the client most suitable for `task`. Unknown abilities rank above missing ones.

    Raises LLMConnectionError panel_no_provider if no healthy one can do it, ValueError for an unknown task.
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
    """Return the sort key of a client, lower is better."""
    abilities, window = client.info.abilities, client.context_window
    return (
        int(bool(need.must) and abilities is None),
        int(need.schema and not client.provider.constrains),
        int(window < need.window),
        int(abilities is None or not need.better <= abilities),
        -window if need.widest else 0,
        round(health.latency * 1000),
    )


Role = Literal["conservative", "progressive", "judge", "boss"]

ROLES: tuple[Role, ...] = ("conservative", "progressive", "judge", "boss")


class Character(NamedTuple):
    """The personality and focus of a member."""

    name: str
    personality: str
    focus: str


AGENT_ROLES: dict[Role, Character] = {
    "conservative": Character(
        "conservative adviser",
        "you weigh the risks, and safety comes first.",
        "point out what is wrong, judge the risks, propose the careful way.",
    ),
    "progressive": Character(
        "progressive adviser",
        "you look for the chance, and what works best comes first.",
        "propose what would be better, simpler or quite different.",
    ),
    "judge": Character(
        "judge",
        "you are balanced and objective.",
        "weigh everything, decide, and make one plan of it.",
    ),
    "boss": Character(
        "boss",
        "you are experienced and see the whole.",
        "solve what is hard, choose the strategy, have the last word.",
    ),
}

_BY_HAND = "\nA person asks, and reads the answer: write in the language of the goal."


_DOSSIER = {
    "shown": "a dossier (the goal, the problem, what was tried with the exact results, pieces of files)",
    "it": "the dossier",
}
_TAIL = {"shown": "all that stands above: the conversation, the goal and the problem", "it": "that"}
"""How the prompts refer to what a member sees: a dossier, or the main conversation."""
_STUCK = {
    "stuck": " that is stuck",
    "first": "Why it failed, as the exact errors tell.",
    "unhelpful": ", which has not helped",
    "case": "what is the case, and why it failed",
}
_ASKED = {
    "stuck": "",
    "first": "Your answer to the goal, a person's question, and why; of a failure, what the exact errors tell.",
    "unhelpful": "",
    "case": "the answer to the goal, and why",
}
"""How the prompts refer to the reason: a run that is stuck, or a person's question, where nothing need have failed."""


@cache
def instructions(role: Role, *, by_hand: bool = False, at_tail: bool = False) -> str:
    """Return a member's instructions. `by_hand`: a person asks. `at_tail`: after the main conversation, seen by it."""
    character = AGENT_ROLES[role]
    text = _prompt(role if role in ("judge", "boss") else "adviser")
    words = {**character._asdict(), "form": _prompt("verdict"), **(_TAIL if at_tail else _DOSSIER)}
    words |= _ASKED if by_hand else _STUCK
    for word, value in words.items():
        text = text.replace(f"{{{word}}}", value)
    return text + (_BY_HAND if by_hand else "")


def tail(question: str, role: Role, *, by_hand: bool = False) -> str:
    """Return the text appended to the main conversation for a member asked there."""
    part = instructions(role, by_hand=by_hand, at_tail=True)
    return _prompt("panel_tail").replace("{part}", part).replace("{question}", question)


def _prompt(name: str) -> str:
    return (Path(__file__).parents[1] / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


class Members:
    """The clients of the roles, created on demand.
    `main` is the agent's client, `boss` the one chosen if the settings name none."""

    def __init__(self, main: LLMClient, settings: Settings, root: Path, environ: Mapping[str, str]) -> None:
        self.main = main
        self.boss: LLMClient | None = None
        self._llm = settings.llm
        self._panel = settings.agents.panel
        self._root = root
        self._environ = environ
        self._made: dict[RoleSettings, LLMClient] = {}

    def client(self, role: Role) -> LLMClient:
        """Return the client of `role`. Raises ConfigurationError if its settings are unusable, LLMConnectionError
        panel_no_model if it has no model."""
        settings: RoleSettings = getattr(self._panel, role)
        client = self._client(settings)
        if role == "boss" and client is self.main:
            client = self.boss or self.main
        if client.provider.name == "embedded":
            raise LLMConnectionError("panel_no_model")
        return client

    def clients(self) -> dict[str, LLMClient]:
        """Return the client of every role that has one."""
        found: dict[str, LLMClient] = {}
        for role in ROLES:
            try:
                found[role] = self.client(role)
            except LocalLLMError:
                continue
        return found

    def candidates(self) -> dict[str, LLMClient]:
        """Return clients of the roles' distinct models and the main one, which is first, by server and model."""
        found: dict[tuple[str, str], LLMClient] = {}
        for client in (self.main, *self.clients().values()):
            found.setdefault((server_of(client), client.model), client)
        return {f"{name_of(client)} {client.model}": client for client in found.values()}

    async def appoint_boss(self, health_checker: HealthChecker) -> None:
        """Choose the boss if the settings name none: the best model at reasoning, in case of a tie the main one.
        Servers that do not answer in time are skipped."""
        self.boss = None
        candidates = self.candidates()
        if self._panel.boss != RoleSettings() or len(candidates) < _FEWEST_TO_CHOOSE_FROM:
            return
        with suppress(TimeoutError, LLMConnectionError):
            async with asyncio.timeout(SECONDS_TO_CHOOSE):
                health = await health_checker.check(candidates)
                equally_fast = {name: msgspec.structs.replace(one, latency=0.0) for name, one in health.items()}
                self.boss = candidates[await choose_best(candidates, equally_fast, "reasoning")]

    async def aclose(self) -> None:
        """Close the connections except the main client's."""
        made, self._made = self._made, {}
        for client in made.values():
            if client.provider is not self.main.provider:
                await client.aclose()

    def _client(self, role: RoleSettings) -> LLMClient:
        if role == RoleSettings():
            return self.main
        if not role.provider and not role.base_url:
            return self._other_model(role)
        if role not in self._made:
            self._made[role] = make_client(
                settings_of(role, self._llm),
                self._root,
                self._environ,
                limiter=self.main.limiter,
                standing_in=self._llm,
                keyless=not _may_have_key(role, self._llm),
            )
        return self._made[role]

    def _other_model(self, role: RoleSettings) -> LLMClient:
        """Return a client of another model on the main client's current server."""
        known = self._made.get(role)
        if known is None or known.provider is not self.main.provider:
            known = self._made[role] = LLMClient(
                self.main.provider,
                model=role.model,
                temperature=self._llm.temperature,
                max_retries=self._llm.max_retries,
                limiter=self.main.limiter,
            )
        return known


def settings_of(role: RoleSettings, llm: LLMSettings) -> LLMSettings:
    """Return the settings of a role's own client: those of its provider, at its address, without the window, which is
    set for the main model."""
    provider = role.provider or _provider_with_address(llm)
    changes: dict[str, Any] = {"provider": provider, "model": role.model, "context_window": 0}
    match provider:
        case "azure":
            azure = llm.azure
            changes["azure"] = msgspec.structs.replace(
                azure,
                endpoint=role.base_url or azure.endpoint,
                deployment_name=role.model or azure.deployment_name,
            )
        case "gguf" if role.model:
            changes["gguf"] = msgspec.structs.replace(llm.gguf, file=role.model)
        case "scripted" if role.model:
            changes["scripted"] = msgspec.structs.replace(llm.scripted, file=role.model)
        case "lmstudio" | "ollama" | "openai" | "gemini" if role.base_url:
            changes[provider] = msgspec.structs.replace(getattr(llm, provider), base_url=role.base_url)
        case _:
            pass
    return msgspec.structs.replace(llm, **changes)


def _provider_with_address(llm: LLMSettings) -> NamedProvider:
    """Return the provider for an address that is set without one."""
    match llm.provider:
        case "lmstudio" | "ollama" | "openai" | "gemini" as provider:
            return provider
        case _:
            return "openai"


def _may_have_key(role: RoleSettings, llm: LLMSettings) -> bool:
    """Return whether the provider's key may be sent to a role's address: the user has named the provider, or it is the
    key's own server."""
    if role.provider:
        return True
    own: ServerSettings = getattr(llm, _provider_with_address(llm))
    return same_place(role.base_url) == same_place(own.base_url)


def is_same_model(client: LLMClient, main: LLMClient) -> bool:
    """Return whether both use the same model on the same server."""
    return client is main or (server_of(client) == server_of(main) and client.model == main.model)


def server_of(client: LLMClient) -> str:
    """Return a key that is equal for clients of the same server."""
    provider = client.provider
    return same_place(provider.address) if "://" in provider.address else f"{provider.name} {provider.address}"


def name_of(client: LLMClient) -> str:
    """Return a server's display name: provider and address."""
    return f"{client.provider.name} {client.provider.address}".strip()
