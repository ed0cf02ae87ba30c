"""Summaries for the user: the server and model in use, the alternatives, and the obstacles if there is none."""

from collections.abc import Iterable, Sequence

import msgspec

from localllm.base.errors import LocalLLMError
from localllm.base.i18n import N_, _, sentences
from localllm.llm.addresses import apart_from_password, server_root
from localllm.llm.client import LLMClient
from localllm.llm.discovery.servers import Server
from localllm.llm.providers.base import ModelInfo

_SERVER_STATES = {
    "empty": N_("The server at {url} has no model yet: load one there."),
    "locked": N_("The server at {url} needs a key: {detail}."),
    "silent": N_("{url} accepts connections but does not answer in time: {detail}."),
}
_ABILITIES = {
    "unloaded": N_("not loaded"),
    "up_to": N_("up to {count} tokens"),
    "tools": N_("tools"),
    "thinking": N_("thinking"),
    "vision": N_("vision"),
}

_SOFTWARE = {"lmstudio": "LM Studio", "ollama": "Ollama", "openai": "OpenAI-compatible", "gguf": "llama.cpp"}
"""Display names of servers that do not identify themselves."""


class StandIn(msgspec.Struct, frozen=True):
    """The model of a fallback provider that answers while the provider in use cannot be reached."""

    provider: str
    address: str
    model: str


class Introduction(msgspec.Struct, frozen=True, kw_only=True):
    """What to show the user about the model in use, in the user's language.

    `who`: server, address, model and window in a line, empty if no model is connected. `hint`: the alternatives.
    `warnings`: that no model is connected, and the obstacles. `failure`: why the configured server or model cannot be
    used, and the fix.
    """

    who: str = ""
    hint: str = ""
    warnings: tuple[str, ...] = ()
    failure: str = ""


def introduce(
    client: LLMClient,
    servers: Sequence[Server],
    in_use: Server | None,
    failure: LocalLLMError | None,
    *,
    sought: bool,
    keys: Iterable[str] = (),
) -> Introduction:
    """Return the introduction of the model `client` uses. `sought`: any server would do. `keys`: variables with keys of
    services that are not used unless the user says so."""
    if failure is not None:
        return Introduction(failure=sentences(failure.what, failure.fix))
    if warnings := warn(client, servers, sought=sought, keys=keys):
        return Introduction(warnings=warnings)
    return Introduction(who=describe(client, in_use), hint=_hint(servers))


def warn(client: LLMClient, servers: Sequence[Server], *, sought: bool, keys: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the warning that no model is connected, with the obstacles; empty if one is. See `introduce`."""
    match client.provider.name:
        case "embedded" if sought:
            obstacles = list(_obstacles(servers))
            missing = (
                N_(
                    "No model server can be used yet: the embedded engine answers; it only finds and quotes. The next "
                    "request looks again; localllm doctor tells more."
                )
                if obstacles
                else N_(
                    "No model server found: the embedded engine answers; it only finds and quotes. Start "
                    "LM Studio's server, Ollama or llama-server -m FILE, and the next request uses it; "
                    "localllm doctor tells more."
                )
            )
            return (_(missing), *obstacles, *_unused(keys))
        case "embedded":
            return (_("The embedded engine answers: it finds and quotes, but does not think."),)
        case "scripted":
            return (_("The scripted provider plays answers from a file: no model is connected."),)
        case _:
            return ()


def describe(client: LLMClient, server: Server | None) -> str:
    """Return server, address, model and window: `Ollama · http://localhost:11434 · qwen3:8b · 16,384 tokens`."""
    name = client.provider.name
    software = software_of(server) if server else _SOFTWARE.get(name, name)
    address = server.base_url if server else client.provider.address
    address = apart_from_password(server_root(address))[0] if "://" in address else address  # else a file
    return " · ".join(part for part in (software, address, client.model, window(client)) if part)


def software_of(server: Server) -> str:
    """Return the server's name, or its kind."""
    return server.software or _SOFTWARE.get(server.provider, server.provider)


def window(client: LLMClient) -> str:
    """Return the model's window, marked if it is only assumed."""
    key = N_("{count} tokens assumed") if client.assumes_window else N_("{count} tokens")
    return _(key, count=f"{client.context_window:,}")


def model_note(info: ModelInfo) -> str:
    """Return a model's window, abilities and size as reported by its server."""
    parts = [_("not loaded")] if info.loaded is False else []
    if info.context_window:
        parts.append(_("{count} tokens", count=f"{info.context_window:,}"))
    elif info.max_context_window:
        parts.append(_("up to {count} tokens", count=f"{info.max_context_window:,}"))
    if info.abilities:
        parts.append(", ".join(_(_ABILITIES[ability]) for ability in sorted(info.abilities)))
    parts.append(" ".join(part for part in (info.parameters, info.quantization) if part))
    return " · ".join(part for part in parts if part)


def obstacle(server: Server) -> str:
    """Explain why a running server cannot be used; empty if it can, or is not running."""
    if server.state not in ("empty", "locked", "silent"):
        return ""
    return _(_SERVER_STATES[server.state], url=server.base_url, detail=server.detail)


def _obstacles(servers: Iterable[Server]) -> Iterable[str]:
    return (text for server in servers if (text := obstacle(server)))


def _unused(keys: Iterable[str]) -> Iterable[str]:
    return (
        _(
            "{variable} is set; nothing is sent there unless you say so: --provider openai --base-url URL.",
            variable=variable,
        )
        for variable in keys
    )


def _hint(servers: Sequence[Server]) -> str:
    """Return a hint how to switch models, if there are several."""
    ready = [server for server in servers if server.state == "ready"]
    if sum(len(server.models) for server in ready) < 2:
        return ""
    return _("There are others: /models lists them, /model NAME switches.")
