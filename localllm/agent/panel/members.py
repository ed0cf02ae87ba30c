"""The panel's members: their roles, prompts and clients, and which provider each gets."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.config.schema import LLMSettings, NamedProvider, RoleSettings, ServerSettings, Settings
from localllm.llm.client import LLMClient
from localllm.llm.discovery.servers import same_place
from localllm.llm.factory import make_client

_REASONING_WINDOW = 8_192
"""Tokens: a model with a smaller window cannot think for long."""


async def best_thinker(clients: Sequence[LLMClient]) -> LLMClient | None:
    """The one whose model is best at reasoning, of equal ones the first; None where no server answers."""
    answers = await asyncio.gather(*map(_answers, clients))
    able = [client for client, is_able in zip(clients, answers, strict=True) if is_able]
    return min(able, key=_weakness, default=None)


async def _answers(client: LLMClient) -> bool:
    """Whether its server is there, and has its model."""
    if client.provider.name == "embedded":
        return False
    try:
        await client.list_models()
        await client.resolve_model()
    except LLMConnectionError:
        return False
    return True


def _weakness(client: LLMClient) -> tuple[bool, bool]:
    """Smaller is better."""
    return client.context_window < _REASONING_WINDOW, "thinking" not in (client.info.abilities or ())


Role = Literal["conservative", "progressive", "judge", "boss"]

ROLES: tuple[Role, ...] = ("conservative", "progressive", "judge", "boss")


class Character(NamedTuple):
    """How a member thinks, and what it looks at."""

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


@cache
def instructions(role: Role, *, by_hand: bool = False) -> str:
    """What a member is told of its part."""
    character = AGENT_ROLES[role]
    text = _prompt(role if role in ("judge", "boss") else "adviser")
    for word, value in {**character._asdict(), "form": _prompt("verdict")}.items():
        text = text.replace(f"{{{word}}}", value)
    return text + (_BY_HAND if by_hand else "")


def _prompt(name: str) -> str:
    return (Path(__file__).parents[1] / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


class Members:
    """The clients of the roles, each made when it is first asked for. `main` is the one that does the work, `boss` the
    one that was chosen for a boss whose settings name none."""

    def __init__(self, main: LLMClient, settings: Settings, root: Path, environ: Mapping[str, str]) -> None:
        self.main = main
        self.boss: LLMClient | None = None
        self._llm = settings.llm
        self._panel = settings.agents.panel
        self._root = root
        self._environ = environ
        self._made: dict[RoleSettings, LLMClient] = {}

    def client(self, role: Role) -> LLMClient:
        """Whoever `role` asks. Raises ConfigurationError where its settings cannot be followed, LLMConnectionError
        panel_no_model where that is no model."""
        settings: RoleSettings = getattr(self._panel, role)
        client = self._client(settings)
        if role == "boss" and client is self.main:
            client = self.boss or self.main
        if client.provider.name == "embedded":
            raise LLMConnectionError("panel_no_model")
        return client

    def clients(self) -> dict[str, LLMClient]:
        """The client of every role that has one."""
        found: dict[str, LLMClient] = {}
        for role in ROLES:
            try:
                found[role] = self.client(role)
            except LocalLLMError:
                continue
        return found

    def candidates(self) -> list[LLMClient]:
        """The different models among those of the roles and the main one, which comes first."""
        found: dict[tuple[str, str], LLMClient] = {}
        for client in (self.main, *self.clients().values()):
            found.setdefault((server_of(client), client.model), client)
        return list(found.values())

    async def aclose(self) -> None:
        """Close the connections that are not the main client's."""
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
        """Another model of the server that is at work, whichever that is now."""
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
    """The settings of a role's own client: those of the provider it names, at its address; the window, which is set for
    the model that does the work, is not taken over."""
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
    """How to speak to an address that is set without a provider."""
    match llm.provider:
        case "lmstudio" | "ollama" | "openai" | "gemini" as provider:
            return provider
        case _:
            return "openai"


def _may_have_key(role: RoleSettings, llm: LLMSettings) -> bool:
    """Whether the provider's key may go to a role's address: the person has named the provider, or it is where the key
    goes anyway."""
    if role.provider:
        return True
    own: ServerSettings = getattr(llm, _provider_with_address(llm))
    return same_place(role.base_url) == same_place(own.base_url)


def server_of(client: LLMClient) -> str:
    """A text that is equal for clients of one server."""
    provider = client.provider
    return same_place(provider.address) if "://" in provider.address else f"{provider.name} {provider.address}"
