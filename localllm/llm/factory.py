"""From settings to a provider and a client. Only the provider that is made is loaded."""

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.paths import state_folder
from localllm.config.schema import KEY_VARIABLES, SECRET_VARIABLES, LLMSettings, NamedProvider, ServerSettings
from localllm.llm.addresses import address_fault
from localllm.llm.client import LLMClient
from localllm.llm.discovery.servers import Server, ollama_base_url
from localllm.llm.providers.base import Provider
from localllm.llm.retry import RateLimiter
from localllm.llm.tool_calling.dialect import DialectMemory
from localllm.llm.tool_calling.router import Speaking

_EMBEDDED_ENGINE = "localllm.lookup.engine"
"""A room above this one: it is known here by its name alone."""

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
    match settings.provider:
        case "lmstudio":
            return _lmstudio(settings.lmstudio, environ)
        case "openai":
            return _openai(settings.openai, environ)
        case "ollama":
            return _ollama(settings, environ)
        case "azure":
            return _azure(settings, environ)
        case "gemini":
            return _gemini(settings.gemini, environ)
        case "gguf":
            from localllm.llm.gguf.model_file import open_model_file
            from localllm.llm.gguf.provider import Gguf

            file, header = open_model_file(settings.gguf.file, root)
            return Gguf(file, header, window=settings.context_window, settings=settings.gguf, environ=environ)
        case "auto" | "embedded":
            engine: Provider = import_module(_EMBEDDED_ENGINE).Embedded()
            return engine
        case "scripted":
            from localllm.llm.providers.scripted import DEMO, Scripted, load_script

            file = root / settings.scripted.file if settings.scripted.file else DEMO
            return Scripted(load_script(file), address=file.name)


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


def _ollama(settings: LLMSettings, environ: Mapping[str, str]) -> Provider:
    from localllm.llm.providers.ollama import Ollama

    server = settings.ollama
    base_url = ollama_base_url(server.base_url, environ)
    _check_address("ollama", base_url)
    variable = SECRET_VARIABLES["llm.ollama.api_key"]
    return Ollama(
        base_url,
        timeout=server.timeout,
        idle_timeout=server.idle_timeout,
        api_key=_key(variable, environ),
        num_ctx=settings.context_window,
        think=server.think,
    )


def _azure(settings: LLMSettings, environ: Mapping[str, str]) -> Provider:
    from localllm.llm.providers.azure import KEY_VARIABLE, TOKEN_VARIABLE, Azure

    azure = settings.azure
    return Azure(
        azure.endpoint,
        deployment=azure.deployment_name or settings.model,
        api_version=azure.api_version,
        api_key=_key(KEY_VARIABLE, environ),
        ad_token=_key(TOKEN_VARIABLE, environ),
        timeout=azure.timeout,
        idle_timeout=azure.idle_timeout,
    )


def _gemini(server: ServerSettings, environ: Mapping[str, str]) -> Provider:
    from localllm.llm.providers.gemini import OTHER_KEY_VARIABLE, Gemini

    _check_address("gemini", server.base_url)
    own = SECRET_VARIABLES["llm.gemini.api_key"]
    variable = own if environ.get(own, "").strip() else OTHER_KEY_VARIABLE
    key = _key(variable, environ)
    return Gemini(
        server.base_url,
        timeout=server.timeout,
        idle_timeout=server.idle_timeout,
        api_key=key,
        key_variable=variable if key else own,
    )


def _lmstudio(server: ServerSettings, environ: Mapping[str, str]) -> Provider:
    from localllm.llm.providers.lmstudio import LMStudio

    _check_address("lmstudio", server.base_url)
    variable = SECRET_VARIABLES["llm.lmstudio.api_key"]
    return LMStudio(
        server.base_url,
        timeout=server.timeout,
        idle_timeout=server.idle_timeout,
        api_key=_key(variable, environ),
    )


def _openai(server: ServerSettings, environ: Mapping[str, str]) -> Provider:
    from localllm.llm.providers.openai_compatible import OpenAICompatible

    _check_address("openai", server.base_url)
    variable = SECRET_VARIABLES["llm.openai.api_key"]
    return OpenAICompatible(
        "openai",
        server.base_url,
        timeout=server.timeout,
        idle_timeout=server.idle_timeout,
        api_key=_key(variable, environ),
        key_variable=variable,
    )


def _check_address(provider: str, base_url: str) -> None:
    if fault := address_fault(base_url):
        raise ConfigurationError("llm_address_unusable", provider=provider, address=base_url, reason=fault)


def _key(variable: str, environ: Mapping[str, str]) -> str:
    """The key in `variable`. What no HTTP header can carry is refused here, by the variable's name alone: further
    down, a library would put the value into its error."""
    key = environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError("llm_key_unusable", variable=variable)
    return key
