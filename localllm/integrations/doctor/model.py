"""The model: which servers there are, which of them answers, and whether it can be worked with."""

from collections.abc import Iterator

from localllm.app.server_check import WITHOUT_SERVER, Answering, find_out, is_at
from localllm.base.i18n import tr
from localllm.config.schema import SECRET_VARIABLES, ServerSettings
from localllm.integrations.doctor.inputs import Finding, Surroundings, note, of_error, ok, problem, warning
from localllm.integrations.doctor.project import instructions
from localllm.llm.discovery.servers import Server, found_keys
from localllm.llm.model_features import Profile, choose

LEAST_WINDOW = 4_096
"""Tokens below which the first request and one file no longer fit."""

GOOD_WINDOW = 8_192
"""Tokens below which a conversation has to be compacted all the time."""


async def model(here: Surroundings) -> list[Finding]:
    """Everything about servers and models, from one look at them."""
    answering = await find_out(
        here.loaded.settings.llm, here.project, here.loaded.allowed_environ(here.environ), here.look
    )
    told = instructions(here, _chosen(here, answering))
    return [*_answer(here, answering), *told, *_servers(here, answering), *_keys(here, answering)]


def _answer(here: Surroundings, answering: Answering) -> Iterator[Finding]:
    if answering.fault is not None:
        yield of_error("model", answering.fault)
    elif not answering.provider:
        yield warning("model", tr("doctor.no_model"), tr("doctor.no_model_fix"))
    elif answering.provider in WITHOUT_SERVER:
        yield note(
            "model",
            tr("doctor.scripted" if answering.provider == "scripted" else "doctor.embedded"),
            tr("doctor.without_server_fix"),
        )
    else:
        place = {"model": answering.model.id, "address": answering.address}
        yield ok("model", tr("doctor.model", software=answering.software or answering.provider, **place))
        yield _window(here, answering)
        yield _profile(here, answering)
        yield from _abilities(answering)


def _window(here: Surroundings, answering: Answering) -> Finding:
    told, window = answering.model.context_window, answering.window
    known = {"model": answering.model.id, "window": window}
    fix = _window_fix(here, answering)
    if window < LEAST_WINDOW:
        return problem("window", tr("doctor.window_too_small", least=LEAST_WINDOW, **known), fix)
    if window < GOOD_WINDOW:
        return warning("window", tr("doctor.window_small", good=GOOD_WINDOW, **known), fix)
    if not told and not here.loaded.settings.llm.context_window:
        return note("window", tr("doctor.window_unknown", **known), tr("doctor.window_unknown_fix"))
    most = answering.model.max_context_window
    return ok("window", tr("doctor.window_of", most=most, **known) if most > window else tr("doctor.window", **known))


def _profile(here: Surroundings, answering: Answering) -> Finding:
    return ok("profile", tr(f"doctor.profile_{_chosen(here, answering).name}"))


def _chosen(here: Surroundings, answering: Answering) -> Profile:
    settings = here.loaded.settings
    assumed = not answering.model.context_window and not settings.llm.context_window
    return choose(settings.agent.profile, answering.model, answering.window, assumed)


_WINDOW_FIXES = {
    "LM Studio": "doctor.window_fix_lmstudio",
    "Ollama": "doctor.window_fix_ollama",
    "llama.cpp": "doctor.window_fix_llamacpp",
    "vLLM": "doctor.window_fix_vllm",
}
_SOFTWARE_OF = {"lmstudio": "LM Studio", "ollama": "Ollama"}


def _window_fix(here: Surroundings, answering: Answering) -> str:
    """How to get a larger window: from our own setting where that is what makes it small, else from the server."""
    set_here, told = here.loaded.settings.llm.context_window, answering.model.context_window
    if set_here and (not told or set_here < told) and answering.provider != "ollama":
        return tr("doctor.window_fix_setting", window=set_here)
    software = answering.software or _SOFTWARE_OF.get(answering.provider, "")
    return tr(_WINDOW_FIXES.get(software, "doctor.window_fix_other"), good=2 * GOOD_WINDOW)


def _abilities(answering: Answering) -> Iterator[Finding]:
    abilities = answering.model.abilities
    if abilities is None:
        return
    if "tools" not in abilities:
        yield warning("abilities", tr("doctor.no_tools", model=answering.model.id), tr("doctor.no_tools_fix"))
    else:
        yield ok("abilities", tr("doctor.abilities", abilities=", ".join(sorted(abilities))))


def _servers(here: Surroundings, answering: Answering) -> Iterator[Finding]:
    for server in answering.servers:
        if not _is_told_already(here, answering, server):
            yield from _server(here, answering, server)


def _is_told_already(here: Surroundings, answering: Answering, server: Server) -> bool:
    """Whether this is the server (or the file) the settings name, whose own answer is the finding about the model."""
    if server.provider == "gguf":
        return True
    llm = here.loaded.settings.llm
    if llm.provider == "auto" or (answering.fault is None and server.state == "ready"):
        return False
    section: object = getattr(llm, llm.provider, None)
    return isinstance(section, ServerSettings) and is_at(server, section.base_url)


def _server(here: Surroundings, answering: Answering, server: Server) -> Iterator[Finding]:
    url = server.base_url
    worse = warning if answering.provider else problem  # where another server answers, this one is no hurry
    name = server.software or tr("doctor.a_server")
    match server.state:
        case "ready":
            yield ok("server", tr("doctor.server_ready", name=name, url=url, count=len(server.models)))
        case "empty":
            yield warning("server", tr("doctor.server_empty", name=name, url=url), _load_fix(server))
        case "locked":
            yield worse("server", *_locked(here, server, name))
        case "silent":
            what = tr("doctor.server_silent", url=url, detail=server.detail or "—")
            yield warning("server", what, tr("doctor.server_silent_fix"))
        case "foreign":
            what = tr("doctor.server_foreign", url=url, detail=server.detail or "—")
            fix = tr("doctor.address_fix", key=_address_key(server))
            yield worse("server", what, fix) if server.set_by_user else note("server", what)
        case "absent" if server.set_by_user:
            what = tr("doctor.server_absent", url=url, detail=server.detail or "—")
            yield worse("server", what, tr("doctor.address_fix", key=_address_key(server)))
        case _:
            return


def _locked(here: Surroundings, server: Server, name: str) -> tuple[str, str]:
    """What is wrong and the fix: `server.detail` is what to do where no key was found, else what is wrong with it."""
    variable = SECRET_VARIABLES[f"llm.{server.provider}.api_key"]
    place = {"name": name, "url": server.base_url}
    if variable in here.loaded.unsent_keys(here.environ):
        return tr("doctor.key_missing", **place), tr("start.keyless", variables=variable)
    if here.environ.get(variable, "").strip():
        return tr("doctor.key_refused", detail=server.detail, **place), tr("doctor.key_fix", variable=variable)
    return tr("doctor.key_missing", **place), tr("doctor.key_missing_fix", detail=server.detail)


_LOAD_FIXES = {"LM Studio": "doctor.load_lmstudio", "Ollama": "doctor.load_ollama"}


def _load_fix(server: Server) -> str:
    return tr(_LOAD_FIXES.get(server.software, "doctor.load_other"))


def _address_key(server: Server) -> str:
    return f"llm.{server.provider}.base_url"


def _keys(here: Surroundings, answering: Answering) -> Iterator[Finding]:
    keys = [name for name in found_keys(here.environ) if here.environ.get(name)]
    if keys and not answering.provider and here.loaded.settings.llm.provider == "auto":
        yield note("keys", tr("doctor.keys", variables=", ".join(keys)), tr("doctor.keys_fix"))
