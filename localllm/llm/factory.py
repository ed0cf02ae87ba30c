"""From settings to a provider and a client. Only the provider that is made is loaded."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from localllm.base.paths import state_folder
from localllm.base.rate_limit import RateLimiter
from localllm.config.registry import PROVIDERS, load
from localllm.config.schema import KEY_VARIABLES, SECRET_VARIABLES, LLMSettings, NamedProvider, ServerSettings
from localllm.llm.client import LLMClient
from localllm.llm.discovery.servers import Server
from localllm.llm.providers.base import Provider
from localllm.llm.tool_calling.dialect import DialectMemory
from localllm.llm.tool_calling.router import Speaking

if TYPE_CHECKING:
    from localllm.llm.fallback import FallbackClient


def make_client(
    settings: LLMSettings,
    root: Path,
    environ: Mapping[str, str],
    *,
    limiter: RateLimiter | None = None,
    standing_in: LLMSettings | None = None,
    keyless: bool = False,
) -> LLMClient:
    """The client the settings describe. `limiter` is one that is shared with others; `standing_in`: the settings of
    those that stand in, where they are others; `keyless`: only those are sent a key. Raises ConfigurationError; no
    server is asked yet."""
    make = _falling_back(standing_in or settings, root, environ) if settings.fallback_providers else LLMClient
    return make(
        make_provider(settings, root, _without_keys(environ) if keyless else environ),
        model=model_of(settings),
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        max_retries=settings.max_retries,
        context_window=settings.context_window,
        limiter=limiter or RateLimiter(settings.requests_per_minute),
        speaking=Speaking(settings.dialect, DialectMemory(state_folder(environ) / "dialects.json")),
    )


def _without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    keys = {name for names in KEY_VARIABLES.values() for name in names}
    return {name: value for name, value in environ.items() if name not in keys}


def _falling_back(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> "partial[FallbackClient]":
    """A client with others standing in for it, each with settings of its own; the model that is set need not be
    there."""
    from localllm.llm.fallback import FallbackClient, Standby

    def standby(name: NamedProvider) -> Standby:
        its_own = msgspec.structs.replace(settings, provider=name, model="", fallback_providers=())
        return Standby(name, lambda: make_client(its_own, root, environ))

    return partial(FallbackClient, standbys=[standby(name) for name in settings.fallback_providers])


def model_of(settings: LLMSettings) -> str:
    """The model that is asked for; empty for the first there is. A file is one model, whatever llm.model names."""
    return "" if settings.provider == "gguf" else settings.model


def make_provider(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> Provider:
    """The provider `settings.provider` names; keys come from `environ`, a script's path is relative to `root`.
    "auto" begins with the embedded engine: who else is there, `discovery` finds out.

    Raises ConfigurationError: an address or a key that cannot be used, a script that cannot be read.
    """
    name = "embedded" if settings.provider == "auto" else settings.provider
    provider: Provider = load(PROVIDERS[name])(settings, root, environ)
    return provider


def provider_for(server: Server, settings: LLMSettings, environ: Mapping[str, str]) -> Provider:
    """The provider that speaks to a server `discovery` has found, as the settings of its kind say; with a key only
    where the server has asked for it. Raises ConfigurationError as make_provider does."""
    if server.provider not in ("lmstudio", "ollama", "openai"):
        raise ValueError(server.provider)
    section: ServerSettings = getattr(settings, server.provider)
    found = {"provider": server.provider, server.provider: msgspec.structs.replace(section, base_url=server.base_url)}
    own_variable = SECRET_VARIABLES[f"llm.{server.provider}.api_key"]
    keys = {own_variable: environ.get(server.key_variable, "")} if server.key_variable else {}
    return make_provider(msgspec.structs.replace(settings, **found), Path(), keys)
