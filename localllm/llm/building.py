"""From settings to a provider and a client."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from localllm.base.config.schema import SECRET_VARIABLES, LLMSettings, ServerSettings
from localllm.base.errors import ConfigurationError
from localllm.llm.addresses import address_fault
from localllm.llm.clients import LLMClient
from localllm.llm.discovery.candidates import ollama_base_url
from localllm.llm.discovery.servers import Server
from localllm.llm.embedded.engine import Embedded
from localllm.llm.providers.base import Provider
from localllm.llm.providers.lmstudio import LMStudio
from localllm.llm.providers.ollama import Ollama
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.providers.scripted import DEMO, Scripted, load_script


def make_client(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> LLMClient:
    """The client the settings describe. Raises ConfigurationError; no server is asked yet."""
    return LLMClient(
        make_provider(settings, root, environ),
        model=settings.model,
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        max_retries=settings.max_retries,
        context_window=settings.context_window,
    )


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
        case "auto" | "embedded":
            return Embedded()
        case "scripted":
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


def _ollama(settings: LLMSettings, environ: Mapping[str, str]) -> Ollama:
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


def _lmstudio(server: ServerSettings, environ: Mapping[str, str]) -> LMStudio:
    _check_address("lmstudio", server.base_url)
    variable = SECRET_VARIABLES["llm.lmstudio.api_key"]
    return LMStudio(
        server.base_url,
        timeout=server.timeout,
        idle_timeout=server.idle_timeout,
        api_key=_key(variable, environ),
    )


def _openai(server: ServerSettings, environ: Mapping[str, str]) -> OpenAICompatible:
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
