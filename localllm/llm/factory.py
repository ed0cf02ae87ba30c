"""Create providers and clients from the settings, importing only the provider in use."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

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
    from localllm.llm.providers.http_provider import HttpProvider


def make_client(
    settings: LLMSettings,
    root: Path,
    environ: Mapping[str, str],
    *,
    limiter: RateLimiter | None = None,
    standing_in: LLMSettings | None = None,
    keyless: bool = False,
) -> LLMClient:
    """Create the client described by the settings, without any request yet. `limiter` may be shared; `standing_in`:
    settings of the fallbacks, if they differ; `keyless`: only the fallbacks get keys. Raises ConfigurationError."""
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
    """Return a factory of a client with fallbacks, each with its own settings and not bound to the configured model."""
    from localllm.llm.fallback import FallbackClient, Standby

    def standby(name: NamedProvider) -> Standby:
        its_own = msgspec.structs.replace(settings, provider=name, model="", fallback_providers=())
        return Standby(name, lambda: make_client(its_own, root, environ))

    return partial(FallbackClient, standbys=[standby(name) for name in settings.fallback_providers])


def model_of(settings: LLMSettings) -> str:
    """Return the configured model, empty for the first one offered or for a GGUF file, which is a single model."""
    return "" if settings.provider == "gguf" else settings.model


def make_provider(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> Provider:
    """Create the provider `settings.provider` names. Keys come from `environ`; a script's path is relative to `root`.
    "auto" starts with the embedded engine, until `discovery` finds a server.

    Raises ConfigurationError for an unusable address or key, or an unreadable script.
    """
    name = "embedded" if settings.provider == "auto" else settings.provider
    provider: Provider = load(PROVIDERS[name])(settings, root, environ)
    return provider


def provider_for(server: Server, settings: LLMSettings, environ: Mapping[str, str]) -> Provider:
    """Create the provider for a discovered server with the settings of its kind.
    Passes a key only if the server requires one. Raises ConfigurationError like make_provider."""
    if server.provider not in ("lmstudio", "ollama", "openai"):
        raise ValueError(server.provider)
    section: ServerSettings = getattr(settings, server.provider)
    found = {"provider": server.provider, server.provider: msgspec.structs.replace(section, base_url=server.base_url)}
    own_variable = SECRET_VARIABLES[f"llm.{server.provider}.api_key"]
    keys = {own_variable: environ.get(server.key_variable, "")} if server.key_variable else {}
    made = make_provider(msgspec.structs.replace(settings, **found), Path(), keys)
    if keys:
        cast("HttpProvider", made).send_key()
    return made
