"""Model servers on this machine: where to look for one, and what was found."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from localllm.config.schema import SECRET_VARIABLES, LLMSettings, ProviderName
from localllm.config.trust import runs_elsewhere
from localllm.llm.addresses import PORTS, address_fault, is_loopback, ollama_base_url, reachable, server_root
from localllm.llm.providers.base import ModelInfo

State = Literal["ready", "empty", "locked", "silent", "foreign", "absent"]
"""ready: offers models. empty: a model server without any. locked: it wants a key. silent: it takes the connection
and does not answer in time, or is still loading its model. foreign: something else answers. absent: nobody takes the
connection."""

ENSEMBLE_OWNER = "localllm"
"""`owned_by` of the models our own ensemble lists: it is never found as a server, or it might become its own worker."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """An address where a model server was looked for, and what is there.

    `provider` is how to talk to it; where nothing was recognised, whose address it is in the settings. `software` is
    its name for people (LM Studio, Ollama, llama.cpp, vLLM, "" where unknown). `seconds`: how long it took to answer.
    `detail`: what answers in its place, or why it cannot be used; part of a sentence, in the user's language.
    `set_by_user`: its address is not one of the usual ones. `key_variable`: the environment variable with the key it
    asked for and took; empty where it asks for none.
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


def choose(servers: Sequence[Server], model: str = "") -> tuple[Server, str] | None:
    """The server to use and its model, or None.

    Of the servers that are ready, those at addresses the user has set come first; then those that have, or may have, a
    model in memory: the others would load one first, for which there may be neither time nor room. Else their order
    decides. Of a server's models the loaded ones come first, then those that can use tools; again their order decides.

    `model` means the model of that name on any server; else, where that leaves no doubt, the name without its tag or
    its publisher, or a part of it, whatever its case. A model that Ollama has run elsewhere is meant by its whole name
    only.
    """
    ready = sorted((server for server in servers if server.state == "ready"), key=_reluctance)
    if model:
        return _offering(ready, model)
    if not ready:
        return None
    return ready[0], min(ready[0].models, key=_rank).id


def nearest_models(servers: Sequence[Server], model: str) -> list[str]:
    """The names of all models that can be had, those most like `model` first."""
    import difflib  # for a name that nobody has

    names = dict.fromkeys(name for _, name in _offers(servers))
    ratio = difflib.SequenceMatcher(b=model.casefold())

    def likeness(name: str) -> float:
        ratio.set_seq1(name.casefold())
        return ratio.ratio()

    return sorted(names, key=likeness, reverse=True)


def _reluctance(server: Server) -> tuple[bool, bool]:
    return not server.set_by_user, all(info.loaded is False for info in server.models)


def _rank(info: ModelInfo) -> tuple[int, int]:
    """Smaller is better. What is unknown counts between yes and no."""
    loaded = {True: 0, None: 1, False: 2}[info.loaded]
    if info.abilities is None:
        return loaded, 1
    return loaded, 0 if "tools" in info.abilities else 2


def _offers(servers: Sequence[Server]) -> Iterator[tuple[Server, str]]:
    """Every model of every server that is ready."""
    return ((server, info.id) for server in servers if server.state == "ready" for info in server.models)


def _offering(ready: Sequence[Server], model: str) -> tuple[Server, str] | None:
    """The first server with the one model that is meant. Stricter readings come first; one with several models that
    fit decides nothing."""
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


VLLM = "http://localhost:8000"
"""Where vLLM listens unless told otherwise; our own ensemble as well."""

ALSO_VARIABLE = "LOCALLLM_ALSO_LOOK_AT"
"""The environment variable with the addresses, between commas or spaces, that are looked at instead of VLLM."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """An address to look at. `provider` is whose it is in the settings; `set_by_user`: it is not one of the usual
    ones. `key_variables`: the environment variables whose key may be sent there if it asks for one."""

    base_url: str
    provider: ProviderName
    set_by_user: bool = False
    key_variables: tuple[str, ...] = ()


def usual_others(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where to look besides the addresses of the settings."""
    return tuple(environ.get(ALSO_VARIABLE, "").replace(",", " ").split()) or (VLLM,)


def found_keys(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables with keys of model services that are set. No service is used because its key lies there: somebody's
    code goes to another company only when they say so."""
    keys = (variable for setting, variable in SECRET_VARIABLES.items() if setting.startswith("llm."))
    return tuple(variable for variable in keys if environ.get(variable, "").strip())


def candidates(settings: LLMSettings, environ: Mapping[str, str], also: Iterable[str] = (VLLM,)) -> list[Candidate]:
    """What to look at, each address once: those the user has set first, then LM Studio, Ollama, other servers, `also`.

    A key belongs to the address its section of the settings has been given: none is sent to a usual one, where
    anything may run.
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
    """A text that is equal for two addresses of the same server: with or without /v1, and this machine by any name."""
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
    """The first of those at the same place, with the keys of all."""
    places: dict[str, Candidate] = {}
    for candidate in found:
        place = same_place(candidate.base_url)
        first = places.setdefault(place, candidate)
        keys = tuple(dict.fromkeys(first.key_variables + candidate.key_variables))
        places[place] = msgspec.structs.replace(first, key_variables=keys)
    return places.values()
