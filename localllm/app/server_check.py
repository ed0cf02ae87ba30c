"""Who answers, as the settings stand and with the servers that run now: for those who want to know before they ask."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.base.i18n import _
from localllm.config.schema import LLMSettings
from localllm.llm.addresses import server_root
from localllm.llm.client import LLMClient
from localllm.llm.discovery.scan import discover
from localllm.llm.discovery.servers import Server, choose, nearest_models
from localllm.llm.factory import make_provider, model_of, provider_for
from localllm.llm.http.transport import refused
from localllm.llm.providers.base import ModelInfo, Provider
from localllm.llm.providers.openai_errors import nearest_names
from localllm.llm.selection import model_nowhere

Look = Callable[[LLMSettings, Mapping[str, str]], Awaitable[Sequence[Server]]]
"""A way to find servers; `discovery.discover` is the real one."""

_PATIENCE = 5.0  # seconds a server that is set may take to list its models
_NAMED = 8

WITHOUT_SERVER = ("embedded", "scripted")
"""Providers that answer by themselves."""


class Answering(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers. `provider` is "" where nobody does: then it is the embedded engine, or `fault` says what is wrong.

    `servers`: every address that was looked at, those that are absent included. `model`: what its server tells of it;
    `window`: the tokens a request may have, assumed where the server does not tell (`model.context_window` is 0 then).
    """

    servers: tuple[Server, ...]
    provider: str = ""
    address: str = ""
    software: str = ""
    model: ModelInfo = ModelInfo("")
    window: int = 0
    fault: LocalLLMError | None = None


async def find_out(settings: LLMSettings, root: Path, environ: Mapping[str, str], look: Look = discover) -> Answering:
    """Look at every address, choose as a chat would, and ask for the chosen model's window. Raises nothing of ours:
    what keeps a model from answering is `fault`."""
    servers = tuple(await look(settings, environ))
    try:
        if settings.provider != "auto":
            return await _ask(servers, make_provider(settings, root, environ), model_of(settings), settings)
        if chosen := choose(servers, settings.model):
            server, model = chosen
            return await _ask(servers, provider_for(server, settings, environ), model, settings, server.software)
        if settings.model:
            raise model_nowhere(settings.model, nearest_models(servers, settings.model), root)
    except LocalLLMError as error:
        return Answering(servers=servers, fault=error)
    return Answering(servers=servers)


async def _ask(
    servers: tuple[Server, ...], provider: Provider, wanted: str, settings: LLMSettings, software: str = ""
) -> Answering:
    """What the provider itself says. Raises LLMConnectionError where it says that it cannot."""
    client = LLMClient(provider, model=wanted, context_window=settings.context_window)
    async with aclosing(client):
        offered = await _offered(provider)
        if wanted and offered and not _has(offered, wanted):
            raise _not_offered(provider, offered, wanted)
        await client.resolve_model()
        return Answering(
            servers=_with_its_own(servers, provider, offered),
            provider=provider.name,
            address=provider.address,
            software=software or _software(servers, provider),
            model=client.info,
            window=client.context_window,
        )


async def _offered(provider: Provider) -> list[ModelInfo]:
    try:
        async with asyncio.timeout(_PATIENCE):
            return await provider.list_models()
    except TimeoutError as error:
        reason = _("It did not answer within {seconds} s", seconds=int(_PATIENCE))
        raise refused(provider.name, provider.address, reason) from error


def _has(offered: Sequence[ModelInfo], wanted: str) -> bool:
    """Whether a model is offered; a name without a tag is that with the tag `latest` (Ollama)."""
    return any(model.id in (wanted, f"{wanted}:latest") for model in offered)


def _not_offered(provider: Provider, offered: Sequence[ModelInfo], wanted: str) -> LLMConnectionError:
    nearest = nearest_names(wanted, (model.id for model in offered), _NAMED)
    return LLMConnectionError(
        "llm_model_not_found", url=provider.address, model=wanted, reason="", available=", ".join(nearest)
    )


def is_at(server: Server, address: str) -> bool:
    """Whether `address`, however it is written, is that of the server."""
    return bool(address) and server_root(server.base_url) == server_root(address)


def _software(servers: Sequence[Server], provider: Provider) -> str:
    found = (server.software for server in servers if is_at(server, provider.address))
    return next(found, "")


def _with_its_own(servers: tuple[Server, ...], provider: Provider, offered: Sequence[ModelInfo]) -> tuple[Server, ...]:
    """The servers, that of the provider among them also where it was too slow to be found."""
    if provider.name in WITHOUT_SERVER or any(
        server.state == "ready" and is_at(server, provider.address) for server in servers
    ):
        return servers
    others = (server for server in servers if not is_at(server, provider.address))
    own = Server(
        base_url=provider.address,
        provider=provider.name,  # pyright: ignore[reportArgumentType] - the names of providers are those of the settings
        state="ready",
        models=tuple(offered),
    )
    return (own, *others)
