"""From settings to a provider and a client."""

from collections.abc import Mapping
from pathlib import Path

from localllm.base.config.schema import SECRET_VARIABLES, LLMSettings, ServerSettings
from localllm.base.errors import ConfigurationError
from localllm.llm.addresses import address_fault
from localllm.llm.clients import LLMClient
from localllm.llm.providers.base import Provider
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

    Raises ConfigurationError: an address or a key that cannot be used, a script that cannot be read.
    """
    match settings.provider:
        case "lmstudio":
            return _server("lmstudio", settings.lmstudio, environ)
        case "openai":
            return _server("openai", settings.openai, environ)
        case "scripted":
            file = root / settings.scripted.file if settings.scripted.file else DEMO
            return Scripted(load_script(file), address=file.name)


def _server(name: str, settings: ServerSettings, environ: Mapping[str, str]) -> OpenAICompatible:
    if fault := address_fault(settings.base_url):
        raise ConfigurationError("llm_address_unusable", provider=name, address=settings.base_url, reason=fault)
    variable = SECRET_VARIABLES[f"llm.{name}.api_key"]
    return OpenAICompatible(
        name,
        settings.base_url,
        timeout=settings.timeout,
        idle_timeout=settings.idle_timeout,
        api_key=_key(variable, environ),
        key_variable=variable,
    )


def _key(variable: str, environ: Mapping[str, str]) -> str:
    """The key in `variable`. What no HTTP header can carry is refused here, by the variable's name alone: further
    down, a library would put the value into its error."""
    key = environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError("llm_key_unusable", variable=variable)
    return key
