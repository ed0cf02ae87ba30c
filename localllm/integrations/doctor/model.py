"""Check the model: which servers exist, which one answers, and whether its model is usable."""

from collections.abc import Iterator

from localllm.app.server_check import WITHOUT_SERVER, Answering, find_out, is_at
from localllm.base.i18n import N_, _
from localllm.config.schema import SECRET_VARIABLES, ServerSettings
from localllm.integrations.doctor.inputs import Finding, Surroundings, note, of_error, ok, problem, warning
from localllm.integrations.doctor.project import instructions
from localllm.llm.discovery.servers import Server, found_keys
from localllm.llm.model_profiles import Profile, choose
from localllm.tools.builtin import tools_for

_PROFILES = {
    "compact": N_("The model gets the compact profile: a short prompt, tools: {count} (agent.profile)."),
    "standard": N_("The model gets the standard profile, tools: {count} (agent.profile)."),
    "embedded": N_("The embedded engine plans with all tools."),
}

LEAST_WINDOW = 4_096
"""Token limit below which the first request and one file do not fit."""

GOOD_WINDOW = 8_192
"""Token limit below which a conversation is compacted all the time."""


async def model(here: Surroundings) -> list[Finding]:
    """Check servers and models, from one discovery."""
    answering = await find_out(
        here.loaded.settings.llm, here.project, here.loaded.allowed_environ(here.environ), here.look
    )
    told = instructions(here, _chosen(here, answering))
    return [*_answer(here, answering), *told, *_servers(here, answering), *_keys(here, answering)]


def _answer(here: Surroundings, answering: Answering) -> Iterator[Finding]:
    if answering.fault is not None:
        yield of_error("model", answering.fault)
    elif not answering.provider:
        yield warning(
            "model",
            _(
                "No model server was found. Until one is, the embedded engine answers: it finds and "
                "quotes, but does not think."
            ),
            _(
                "Any of these is found automatically once it runs:\n"
                "LM Studio: load a model, then Developer → Start Server.\n"
                "Ollama: install it, then ollama pull qwen3:8b (it starts its server itself; else ollama "
                "serve).\n"
                "llama.cpp: llama-server -m MODEL.gguf --jinja -c 16384"
            ),
        )
    elif answering.provider in WITHOUT_SERVER:
        yield note(
            "model",
            _(
                N_("The scripted provider plays a file, as the settings say: no model is asked.")
                if answering.provider == "scripted"
                else N_("The embedded engine answers, as the settings say: it finds and quotes, but does not think.")
            ),
            _("For a model: localllm config set llm.provider auto."),
        )
    else:
        place = {"model": answering.model.id, "address": answering.address}
        yield ok(
            "model",
            _("{model} answers ({software}, {address}).", software=answering.software or answering.provider, **place),
        )
        yield _window(here, answering)
        yield _profile(here, answering)
        yield from _abilities(answering)


def _window(here: Surroundings, answering: Answering) -> Finding:
    told, window = answering.model.context_window, answering.window
    known = {"model": answering.model.id, "window": window}
    fix = _window_fix(here, answering)
    if window < LEAST_WINDOW:
        return problem(
            "window",
            _(
                "{model} has a window of only {window:,} tokens; below {least:,} hardly a file fits into a request.",
                least=LEAST_WINDOW,
                **known,
            ),
            fix,
        )
    if window < GOOD_WINDOW:
        return warning(
            "window",
            _(
                "{model} has a window of only {window:,} tokens; below {good:,} conversations are short.",
                good=GOOD_WINDOW,
                **known,
            ),
            fix,
        )
    if not told and not here.loaded.settings.llm.context_window:
        return note(
            "window",
            _("The server does not report the context window of {model}: {window:,} tokens are assumed.", **known),
            _("Set it with localllm config set llm.context_window N."),
        )
    most = answering.model.max_context_window
    return ok(
        "window",
        _("{model} has a window of {window:,} tokens, out of a possible {most:,}.", most=most, **known)
        if most > window
        else _("{model} has a window of {window:,} tokens.", **known),
    )


def _profile(here: Surroundings, answering: Answering) -> Finding:
    profile = _chosen(here, answering)
    tools = {tool.name for tool in tools_for(here.loaded.settings)} | {"explore"}  # in a higher layer
    count = len(tools if profile.tools is None else tools & profile.tools)
    return ok("profile", _(_PROFILES[profile.name], count=count))


def _chosen(here: Surroundings, answering: Answering) -> Profile:
    settings = here.loaded.settings
    assumed = not answering.model.context_window and not settings.llm.context_window
    return choose(settings.agent.profile, answering.model, answering.window, assumed)


_WINDOW_FIXES = {
    "LM Studio": N_(
        "In LM Studio load the model again with a longer context: the slider Context Length, "
        "{good} or more (or lms load MODEL --context-length {good})."
    ),
    "Ollama": N_(
        "localllm config set llm.context_window {good} asks Ollama for a window (num_ctx) of "
        "that size; for all programs set OLLAMA_CONTEXT_LENGTH={good} where ollama serve "
        "runs."
    ),
    "llama.cpp": N_(
        "Start llama-server with -c {good} or more. With several slots (-np N) each gets "
        "only its share of -c: raise -c, or use -np 1."
    ),
    "vLLM": N_("Start vLLM with --max-model-len {good} or more."),
}
_SOFTWARE_OF = {"lmstudio": "LM Studio", "ollama": "Ollama"}


def _window_fix(here: Surroundings, answering: Answering) -> str:
    """Return how to get a larger window: by our own setting if that limits it, else by the server."""
    set_here, told = here.loaded.settings.llm.context_window, answering.model.context_window
    if set_here and (not told or set_here < told) and answering.provider != "ollama":
        return _(
            "llm.context_window limits it to {window:,}: raise it, or localllm config unset llm.context_window.",
            window=set_here,
        )
    software = answering.software or _SOFTWARE_OF.get(answering.provider, "")
    return _(
        _WINDOW_FIXES.get(
            software,
            N_(
                "Start the server with a context window of {good} tokens or more; its own "
                "documentation names the option."
            ),
        ),
        good=2 * GOOD_WINDOW,
    )


def _abilities(answering: Answering) -> Iterator[Finding]:
    abilities = answering.model.abilities
    if abilities is None:
        return
    if "tools" not in abilities:
        yield warning(
            "abilities",
            _(
                "{model} does not support tool calls, its server says: it will hardly cope with a project.",
                model=answering.model.id,
            ),
            _("Choose a model with tools: localllm models lists them (llama-server needs --jinja)."),
        )
    else:
        yield ok("abilities", _("The model can do: {abilities}.", abilities=", ".join(sorted(abilities))))


def _servers(here: Surroundings, answering: Answering) -> Iterator[Finding]:
    for server in answering.servers:
        if not _is_told_already(here, answering, server):
            yield from _server(here, answering, server)


def _is_told_already(here: Surroundings, answering: Answering, server: Server) -> bool:
    """Return whether this is the configured server (or file), which the finding about the model covers."""
    if server.provider == "gguf":
        return True
    llm = here.loaded.settings.llm
    if llm.provider == "auto" or (answering.fault is None and server.state == "ready"):
        return False
    section: object = getattr(llm, llm.provider, None)
    return isinstance(section, ServerSettings) and is_at(server, section.base_url)


def _server(here: Surroundings, answering: Answering, server: Server) -> Iterator[Finding]:
    url = server.base_url
    worse = warning if answering.provider else problem  # less urgent if another server answers
    name = server.software or _("A server")
    match server.state:
        case "ready":
            yield ok("server", _("{name} at {url}, models: {count}.", name=name, url=url, count=len(server.models)))
        case "empty":
            yield warning("server", _("{name} at {url} has no model yet.", name=name, url=url), _load_fix(server))
        case "locked":
            yield worse("server", *_locked(here, server, name))
        case "silent":
            what = _(
                "{url} accepts connections but does not answer in time: {detail}.", url=url, detail=server.detail or "—"
            )
            yield warning(
                "server", what, _("It may be loading a model: try again in a moment, or check the server's log.")
            )
        case "foreign":
            what = _("What answers at {url} is not a model server: {detail}.", url=url, detail=server.detail or "—")
            fix = _("Start the server, or correct {key}.", key=_address_key(server))
            yield worse("server", what, fix) if server.set_by_user else note("server", what)
        case "absent" if server.set_by_user:
            what = _("Nothing answers at the configured address {url}: {detail}.", url=url, detail=server.detail or "—")
            yield worse("server", what, _("Start the server, or correct {key}.", key=_address_key(server)))
        case _:
            return


def _locked(here: Surroundings, server: Server, name: str) -> tuple[str, str]:
    """Return fault and fix: `server.detail` is the fix if there is no key, else what is wrong with it."""
    variable = SECRET_VARIABLES[f"llm.{server.provider}.api_key"]
    place = {"name": name, "url": server.base_url}
    if variable in here.loaded.unsent_keys(here.environ):
        return _("{name} at {url} needs a key.", **place), _(
            "{variables} is not sent: the project's localllm.toml, which you have not trusted, chooses the "
            "server. To trust it: localllm config trust",
            variables=variable,
        )
    if here.environ.get(variable, "").strip():
        return _("{name} at {url} needs a key: {detail}.", detail=server.detail, **place), _(
            "Set the right key in the environment variable {variable}.", variable=variable
        )
    return _("{name} at {url} needs a key.", **place), _("To use it: {detail}.", detail=server.detail)


_LOAD_FIXES = {
    "LM Studio": N_("Load a model in LM Studio (or lms load MODEL)."),
    "Ollama": N_("Download one, such as: ollama pull qwen3:8b"),
}


def _load_fix(server: Server) -> str:
    return _(_LOAD_FIXES.get(server.software, N_("Load a model there.")))


def _address_key(server: Server) -> str:
    return f"llm.{server.provider}.base_url"


def _keys(here: Surroundings, answering: Answering) -> Iterator[Finding]:
    keys = [name for name in found_keys(here.environ) if here.environ.get(name)]
    if keys and not answering.provider and here.loaded.settings.llm.provider == "auto":
        yield note(
            "keys",
            _(
                "{variables} is set; nothing is sent to a service on the network unless you say so.",
                variables=", ".join(keys),
            ),
            _("To use one: localllm --provider openai --base-url URL."),
        )
