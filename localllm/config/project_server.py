"""Tell a model server that only an untrusted project has chosen from those of the user."""

from collections.abc import Mapping

from localllm.base.i18n import N_, Phrase
from localllm.config.schema import LLMSettings
from localllm.config.trust import SERVERS, addresses_of

LOOKED_AT = "LOCALLLM_ALSO_LOOK_AT"
"""The variable with further server addresses: see llm.candidates."""

VLLM = "http://localhost:8000"
"""Default address of vLLM, and of our own ensemble."""

OWN_SERVERS_ONLY = "LOCALLLM_OWN_SERVERS_ONLY"
"""The variable that keeps another person's server on this machine out, as long as the user has one."""

NOTICE = Phrase(
    N_(
        "The project's localllm.toml, which you have not trusted, chooses a model server that your own settings do not "
        "use: it gets none of your collections, the folders of research.docs and earlier sessions, and none of "
        "llm.fallback_providers answers in its place. To trust it: localllm config trust"
    )
)

ALONE_NOTICE = Phrase(
    N_(
        "The project's localllm.toml, which you have not trusted, chooses another model server than your own settings: "
        "none of llm.fallback_providers answers in its place. To trust it: localllm config trust"
    )
)


def usual_others(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the addresses to probe besides those in the settings."""
    return tuple(environ.get(LOOKED_AT, "").replace(",", " ").split()) or (VLLM,)


def is_of_project(now: LLMSettings, own: LLMSettings, environ: Mapping[str, str]) -> bool:
    """Return whether requests may go to a server to which they would not go by the user's `own` settings."""
    before, after = _addresses(own, environ), _addresses(now, environ)
    changed = {after[server] for server in after if after[server] != before[server]}
    return not _used(own, before, environ) >= changed | _used(now, after, environ)


def is_first_of_project(now: LLMSettings, own: LLMSettings, environ: Mapping[str, str]) -> bool:
    """Return whether other servers are asked first, before any fallback, than by the user's `own` settings: one of
    theirs, too, may be chosen because nothing answers there, so that a fallback elsewhere would."""
    return _first(now, environ) != _first(own, environ)


def _first(llm: LLMSettings, environ: Mapping[str, str]) -> tuple[str, set[tuple[str, str]]]:
    """Return the provider and the addresses that are asked first, as far as the place and the answer depend on them."""
    addresses = {server: url for server, url in _urls(llm, environ).items() if llm.provider in (server, "auto")}
    return llm.provider, {(server, _spelled(url)) for server, url in addresses.items() if server in SERVERS}


def _addresses(llm: LLMSettings, environ: Mapping[str, str]) -> dict[str, str]:
    return {server: _place(url) for server, url in _urls(llm, environ).items()}


def _urls(llm: LLMSettings, environ: Mapping[str, str]) -> dict[str, str]:
    sections = {"lmstudio": llm.lmstudio, "ollama": llm.ollama, "openai": llm.openai, "gemini": llm.gemini}
    return addresses_of({server: section.base_url for server, section in sections.items()}, environ)


def _used(llm: LLMSettings, addresses: Mapping[str, str], environ: Mapping[str, str]) -> set[str]:
    """Return host and port of each server that may be asked; for `auto`, of each that is looked for."""
    named: set[str] = {llm.provider, *llm.fallback_providers}
    others: tuple[str, ...] = ()
    if llm.provider == "auto":
        named |= {*SERVERS}
        others = usual_others(environ)
    return {*map(_place, others), *(addresses[server] for server in named if server in addresses)}


def _place(url: str) -> str:
    """Return host and port: whatever the path, the same program listens there."""
    scheme, _, rest = url.strip().lower().rpartition("://")
    host, colon, port = rest.partition("/")[0].rpartition(":")
    if not colon or port.endswith("]"):  # of an address such as [::1]
        host, port = f"{host}{colon}{port}", "443" if scheme == "https" else "80"
    return f"{'127.0.0.1' if host in ('localhost', '0.0.0.0') else host}:{port}"  # noqa: S104 - it means this machine


def _spelled(url: str) -> str:
    """Return the address with one spelling of what clients take alike: with `/v1` or without, this machine's names."""
    scheme, _, rest = url.strip().rpartition("://")
    path = rest.partition("/")[2].rstrip("/").removesuffix("v1").rstrip("/")
    return f"{scheme.lower() or 'http'}://{_place(url)}/{path}"
