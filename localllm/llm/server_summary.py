"""Who answers, put into words: which server and model, what else there is, and how to get one where there is none."""

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
    "locked": N_("The server at {url} wants a key: {detail}."),
    "silent": N_("{url} takes connections but does not answer in time: {detail}."),
}
_ABILITIES = {
    "unloaded": N_("not loaded"),
    "up_to": N_("up to {count} tokens"),
    "tools": N_("tools"),
    "thinking": N_("thinking"),
    "vision": N_("vision"),
}

_SOFTWARE = {"lmstudio": "LM Studio", "ollama": "Ollama", "openai": "OpenAI-compatible", "gguf": "llama.cpp"}
"""What to call a server that does not say what it is."""


class Introduction(msgspec.Struct, frozen=True, kw_only=True):
    """What a person should know of who answers, in his language.

    `who`: server, address, model and window in a line, empty where no model is connected. `hint`: what else there is.
    `warnings`: that no model is connected, and what stands in the way. `failure`: why the server or model that is set
    cannot be asked, and the fix.
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
    """The introduction of whoever `client` asks. `sought`: any server would have done. `keys`: variables with keys of
    services that are not used unless the person says so."""
    if failure is not None:
        return Introduction(failure=sentences(failure.what, failure.fix))
    if warnings := warn(client, servers, sought=sought, keys=keys):
        return Introduction(warnings=warnings)
    return Introduction(who=describe(client, in_use), hint=_hint(servers))


def warn(client: LLMClient, servers: Sequence[Server], *, sought: bool, keys: Iterable[str] = ()) -> tuple[str, ...]:
    """That no model is connected, and what stands in the way; nothing where one is. See `introduce`."""
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
    """Server, address, model and window: `Ollama · http://localhost:11434 · qwen3:8b · 16,384 tokens`."""
    name = client.provider.name
    software = software_of(server) if server else _SOFTWARE.get(name, name)
    address = server.base_url if server else client.provider.address
    address = apart_from_password(server_root(address))[0] if "://" in address else address  # a file
    return " · ".join(part for part in (software, address, client.model, window(client)) if part)


def software_of(server: Server) -> str:
    """Its name, or what kind of server it is."""
    return server.software or _SOFTWARE.get(server.provider, server.provider)


def window(client: LLMClient) -> str:
    """The model's window; it says so where that is only assumed."""
    key = N_("{count} tokens assumed") if client.assumes_window else N_("{count} tokens")
    return _(key, count=f"{client.context_window:,}")


def model_note(info: ModelInfo) -> str:
    """What its server tells of a model: window, abilities, size."""
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
    """Why a server that is there cannot be used; empty where it can, or is not there."""
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
    """How to change, where there is something to change to."""
    ready = [server for server in servers if server.state == "ready"]
    if sum(len(server.models) for server in ready) < 2:
        return ""
    return _("There are others: /models lists them, /model NAME changes.")
