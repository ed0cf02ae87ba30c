"""Model servers: candidate addresses, the results of discovery, and the choice of server and model."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.config.project_server import VLLM
from localllm.config.schema import SECRET_VARIABLES, LLMSettings, ProviderName
from localllm.config.trust import runs_elsewhere
from localllm.llm.addresses import PORTS, address_fault, is_loopback, ollama_base_url, reachable, server_root
from localllm.llm.providers.base import ModelInfo, may_be_taken, models_elsewhere

State = Literal["ready", "empty", "locked", "silent", "foreign", "absent"]
"""ready: offers models. empty: a model server without models. locked: requires a key. silent: accepts the connection
but does not answer in time, or is still loading its model. foreign: something other than a model server. absent:
nothing accepts the connection."""

ENSEMBLE_OWNER = "localllm"
"""`owned_by` of our own ensemble's models: discovery ignores it, so that it never becomes its own worker."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """An address that was probed, and what was found.

    `provider` is the protocol to use; if nothing was recognised, the provider whose setting holds the address.
    `software` is its display name (LM Studio, Ollama, llama.cpp, vLLM, "" if unknown). `seconds`: its response time.
    `detail`: what answers instead, or why it cannot be used; part of a sentence in the user's language. `set_by_user`:
    the address is not a default one. `key_variable`: the environment variable whose key it required and accepted; empty
    if it requires none. `is_of_another`: another person's program listens there, on a machine that is shared.
    """

    base_url: str
    provider: ProviderName
    state: State
    software: str = ""
    models: tuple[ModelInfo, ...] = ()
    seconds: float = 0.0
    detail: str = ""
    set_by_user: bool = False
    key_variable: str = ""
    is_of_another: bool = False


def choose(servers: Sequence[Server], model: str = "") -> tuple[Server, str] | None:
    """Choose the server and model to use, or return None.

    Of another person's servers only what is named is used where there are others: see `without_another_s`. Among ready
    servers, those at addresses set by the user come first, and those that have, or may have, a model loaded before the
    rest, which would have to load one: time or memory for that may be lacking. Ties keep their order. Among a server's
    models, loaded ones come first, then those that support tools; ties keep their order. None is taken that runs
    elsewhere.

    `model` matches that name on any server; else, if unambiguous, a name without its tag or publisher, or a substring,
    ignoring case. A model that Ollama runs remotely matches only by its full name.
    """
    own = without_another_s(servers)
    if not model:
        return _first(_ready(own))
    return _offering(_ready(own), model) or _offering(_ready(servers), model)


def without_another_s(servers: Sequence[Server]) -> list[Server]:
    """Return the servers without those of another person, unless the user has set them, or has set no address and there
    is no other server: one that is busy or wants a key is."""
    own = [server for server in servers if server.set_by_user or not server.is_of_another]
    is_there = any(server.set_by_user or server.state not in ("absent", "foreign") for server in own)
    return own if is_there else list(servers)


def _ready(servers: Sequence[Server]) -> list[Server]:
    return sorted((server for server in servers if server.state == "ready"), key=_reluctance)


def all_elsewhere(servers: Iterable[Server]) -> LLMConnectionError | None:
    """Return the error for servers of which none has a model that may be used unnamed, but the first ready one has some
    that run elsewhere; else None."""
    ready = [server for server in servers if server.state == "ready"]
    if not ready or any(may_be_taken(server.models) for server in ready):
        return None
    return models_elsewhere(ready[0].base_url, ready[0].models)


def nearest_models(servers: Sequence[Server], model: str) -> list[str]:
    """Return the names of all available models, the most similar to `model` first."""
    import difflib  # only needed for an unknown name

    names = dict.fromkeys(name for _, name in _offers(servers))
    ratio = difflib.SequenceMatcher(b=model.casefold())

    def likeness(name: str) -> float:
        ratio.set_seq1(name.casefold())
        return ratio.ratio()

    return sorted(names, key=likeness, reverse=True)


def _reluctance(server: Server) -> tuple[bool, bool]:
    return not server.set_by_user, all(info.loaded is False for info in may_be_taken(server.models))


def _first(ready: Sequence[Server]) -> tuple[Server, str] | None:
    local = ((server, may_be_taken(server.models)) for server in ready)
    return next(((server, min(models, key=_rank).id) for server, models in local if models), None)


def _rank(info: ModelInfo) -> tuple[int, int]:
    """Return the sort key of a model, lower is better; unknown ranks between yes and no."""
    loaded = {True: 0, None: 1, False: 2}[info.loaded]
    if info.abilities is None:
        return loaded, 1
    return loaded, 0 if "tools" in info.abilities else 2


def _offers(servers: Sequence[Server]) -> Iterator[tuple[Server, str]]:
    """Yield every model of every ready server."""
    return ((server, info.id) for server in servers if server.state == "ready" for info in server.models)


def _offering(ready: Sequence[Server], model: str) -> tuple[Server, str] | None:
    """Return the first server with a unique match for `model`.
    Stricter matchers are tried first; a server with several matches of one matcher is skipped."""
    wanted = model.casefold()
    whole: tuple[Callable[[str], bool], ...] = (
        lambda name: name == model,
        lambda name: name.casefold() in (wanted, f"{wanted}:latest"),
    )
    parts: tuple[Callable[[str], bool], ...] = (
        lambda name: name.casefold().partition(":")[0] == wanted,
        lambda name: name.casefold().rpartition("/")[2].partition(":")[0] == wanted,
        lambda name: wanted in name.casefold(),
    )
    for fits in (*whole, *parts):
        found = [(server, name) for server, name in _offers(ready) if fits(name)]
        if fits in parts:
            found = [(server, name) for server, name in found if not runs_elsewhere(name)]
        if len({name for _, name in found}) == 1:
            return found[0]
    return None


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """An address to probe. `provider` is the one whose setting holds it; `set_by_user`: it is not a default address.
    `key_variables`: environment variables whose key may be sent there if it requires one."""

    base_url: str
    provider: ProviderName
    set_by_user: bool = False
    key_variables: tuple[str, ...] = ()


def found_keys(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables that hold keys of model services.
    A key alone never selects a service: code is sent to another company only if the user asks for it."""
    keys = (variable for setting, variable in SECRET_VARIABLES.items() if setting.startswith("llm."))
    return tuple(variable for variable in keys if environ.get(variable, "").strip())


def candidates(settings: LLMSettings, environ: Mapping[str, str], also: Iterable[str] = (VLLM,)) -> list[Candidate]:
    """Return the addresses to probe, without duplicates: the user's, LM Studio, Ollama, other servers, `also`.

    A key is only sent to the address configured in its own section, never to a default address, where any program may
    listen.
    """
    usual = LLMSettings()
    ollama = ollama_base_url(settings.ollama.base_url, environ)
    found = [
        _candidate("lmstudio", settings.lmstudio.base_url, usual.lmstudio.base_url),
        _candidate("ollama", ollama, usual.ollama.base_url),
        _candidate("openai", settings.openai.base_url, usual.openai.base_url),
        *(Candidate(base_url=reachable(url), provider="openai") for url in also),
    ]
    return sorted(_each_once(found), key=lambda candidate: not candidate.set_by_user)


def same_place(base_url: str) -> str:
    """Return a key that is equal for two addresses of one server: with or without /v1, under any loopback name."""
    if address_fault(base_url):
        return base_url
    root = server_root(base_url)
    parts = urlsplit(root)
    host = "localhost" if is_loopback(root) else parts.hostname or ""
    return f"{parts.scheme}://{host}:{parts.port or PORTS[parts.scheme]}{parts.path}"


def _candidate(provider: ProviderName, base_url: str, usual: str) -> Candidate:
    url = reachable(base_url)
    set_by_user = same_place(url) != same_place(usual)
    variable = SECRET_VARIABLES[f"llm.{provider}.api_key"]
    return Candidate(
        base_url=url,
        provider=provider,
        set_by_user=set_by_user,
        key_variables=(variable,) if set_by_user else (),
    )


def _each_once(found: Iterable[Candidate]) -> Iterable[Candidate]:
    """Merge candidates at the same place: the first one, with the keys of all."""
    places: dict[str, Candidate] = {}
    for candidate in found:
        place = same_place(candidate.base_url)
        first = places.setdefault(place, candidate)
        keys = tuple(dict.fromkeys(first.key_variables + candidate.key_variables))
        places[place] = msgspec.structs.replace(first, key_variables=keys)
    return places.values()
