"""Find out which model would answer with the current settings and servers, without a request."""

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
from localllm.llm.discovery.servers import Server, all_elsewhere, choose, nearest_models
from localllm.llm.factory import make_provider, model_of, provider_for
from localllm.llm.http.transport import refused
from localllm.llm.providers.base import ModelInfo, Provider
from localllm.llm.providers.openai_errors import nearest_names
from localllm.llm.selection import model_nowhere

Look = Callable[[LLMSettings, Mapping[str, str]], Awaitable[Sequence[Server]]]
"""A server discovery function; `discovery.discover` is the real one."""

_PATIENCE = 5.0  # seconds for a configured server to list its models
_NAMED = 8

WITHOUT_SERVER = ("embedded", "scripted")
"""Providers without a server."""


class Answering(msgspec.Struct, frozen=True, kw_only=True):
    """The selected model. `provider` is "" if there is none: then the embedded engine answers, or `fault` has the
    error.

    `servers`: every address that was checked, absent ones included. `model`: the server's description; `window`: the
    tokens of a request, a default if the server does not report them (`model.context_window` is 0 then).
    """

    servers: tuple[Server, ...]
    provider: str = ""
    address: str = ""
    software: str = ""
    model: ModelInfo = ModelInfo("")
    window: int = 0
    fault: LocalLLMError | None = None


async def find_out(settings: LLMSettings, root: Path, environ: Mapping[str, str], look: Look = discover) -> Answering:
    """Check every address, select a model as a chat would, and ask for its window. Raises no error of ours: `fault` has
    it."""
    servers = tuple(await look(settings, environ))
    try:
        if settings.provider != "auto":
            return await _ask(servers, make_provider(settings, root, environ), model_of(settings), settings)
        if chosen := choose(servers, settings.model):
            server, model = chosen
            return await _ask(servers, provider_for(server, settings, environ), model, settings, server.software)
        if settings.model:
            raise model_nowhere(settings.model, nearest_models(servers, settings.model), root)
        if elsewhere := all_elsewhere(servers):
            raise elsewhere
    except LocalLLMError as error:
        return Answering(servers=servers, fault=error)
    return Answering(servers=servers)


async def _ask(
    servers: tuple[Server, ...], provider: Provider, wanted: str, settings: LLMSettings, software: str = ""
) -> Answering:
    """Ask the provider itself. Raises LLMConnectionError if it reports an error."""
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
    """Whether a model is offered; a name without a tag implies `latest` (Ollama)."""
    return any(model.id in (wanted, f"{wanted}:latest") for model in offered)


def _not_offered(provider: Provider, offered: Sequence[ModelInfo], wanted: str) -> LLMConnectionError:
    nearest = nearest_names(wanted, (model.id for model in offered), _NAMED)
    return LLMConnectionError(
        "llm_model_not_found", url=provider.address, model=wanted, reason="", available=", ".join(nearest)
    )


def is_at(server: Server, address: str) -> bool:
    """Whether `address`, in any spelling, is that of the server."""
    return bool(address) and server_root(server.base_url) == server_root(address)


def _software(servers: Sequence[Server], provider: Provider) -> str:
    found = (server.software for server in servers if is_at(server, provider.address))
    return next(found, "")


def _with_its_own(servers: tuple[Server, ...], provider: Provider, offered: Sequence[ModelInfo]) -> tuple[Server, ...]:
    """Return the servers, with the provider's own even if it was too slow to be discovered."""
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
