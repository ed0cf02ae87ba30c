"""The agents of an ensemble: models with connections that are cached and shared while they are configured."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from localllm.base.errors import ConfigurationError, EnsembleError, LLMConnectionError, LocalLLMError
from localllm.base.events import Json
from localllm.config.schema import KEY_VARIABLES, SECRET_VARIABLES, LLMSettings
from localllm.ensemble.config import AgentConfig, EnsembleConfig, SystemSettings
from localllm.ensemble.hosts import NOT_THERE, Host, HostReport, served
from localllm.llm.client import ASSUMED_CONTEXT_WINDOW
from localllm.llm.factory import make_provider
from localllm.llm.messages import Message
from localllm.llm.overflow import overflow_of
from localllm.llm.providers.base import ModelInfo, Provider
from localllm.llm.tokens import Calibration

CONNECT_SECONDS = 3.0
"""Timeout for connecting and for a server's model description: a host in the network answers within a round trip, and
one that is switched off must not delay every question."""


class _Place(msgspec.Struct, frozen=True):
    """The key of a connection: agents with an equal key share one."""

    provider: str
    address: str
    model: str
    key_variable: str
    num_ctx: int


class Endpoint:
    """A model behind a provider on `host`, shared by all agents that name it."""

    def __init__(self, provider: Provider, model: str, host: Host) -> None:
        self.provider = provider
        self.model = model
        self.host = host
        self.calibration = Calibration()
        self._info: ModelInfo | None = None
        self._describing: asyncio.Task[ModelInfo] | None = None
        self._has_answered = False
        self._evident_window = 0

    @property
    def window(self) -> int:
        """The context window in tokens, as described or discovered by the server; 0 if unknown."""
        told = self._info.context_window if self._info else 0
        return min((window for window in (told, self._evident_window) if window), default=0)

    @property
    def assumed_window(self) -> int:
        """The context window, with a conservative default if unknown."""
        return self.window or ASSUMED_CONTEXT_WINDOW

    @property
    def is_ready(self) -> bool:
        """Whether the model has been described."""
        return self._info is not None

    @property
    def constrains(self) -> bool:
        """Whether the server is known to constrain answers to a JSON schema."""
        return self.provider.constrains

    async def get_ready(self) -> None:
        """Fetch the model's description before the first request, which fixes its window, and whenever its host is in
        doubt. Concurrent callers share one request, so that a missing host costs them one timeout. Raises
        LLMConnectionError if the connection fails, EnsembleError during the host's back-off after that. A server
        without a description may still answer."""
        self.host.refuse_rest(self.provider.address)
        if self._info is not None and not self.host.is_doubtful:
            return
        if self._describing is None:
            self._describing = asyncio.get_running_loop().create_task(self._describe())
            self._describing.add_done_callback(self._described)
        await asyncio.shield(self._describing)

    def note_answer(self) -> None:
        """Record an answer, so the model is loaded: a server that describes only loaded models is asked again."""
        info = self._info
        if not self._has_answered and info is not None and not info.context_window:
            self._info = None
        self._has_answered = True
        self.host.note_connection()

    def learn_from(self, error: LLMConnectionError, messages: Sequence[Message]) -> bool:
        """Whether a context overflow error yields new information: a smaller window, or a higher token count of these
        messages."""
        overflow, counts = overflow_of(error), self.calibration.counts
        if overflow is None:
            return False
        if overflow.n_prompt_tokens:
            self.calibration.learn(messages, (), overflow.n_prompt_tokens)
        if 0 < overflow.n_ctx < self.assumed_window:
            self._evident_window = overflow.n_ctx
            return True
        return self.calibration.counts > counts

    async def aclose(self) -> None:
        """Close the idle connections."""
        if self._describing is not None:
            self._describing.cancel()
        await self.provider.aclose()

    async def _describe(self) -> ModelInfo:
        try:
            async with asyncio.timeout(2 * CONNECT_SECONDS):
                return await self.provider.describe(self.model)
        except (LLMConnectionError, TimeoutError) as error:
            if isinstance(error, LLMConnectionError) and error.key in NOT_THERE:
                self.host.note_failure(error)
                raise
            return ModelInfo(self.model)

    def _described(self, task: asyncio.Task[ModelInfo]) -> None:
        self._describing = None
        if not task.cancelled() and task.exception() is None:
            info = task.result()
            if self._info is None or info.context_window:  # a server that is just starting has no description yet
                self._info = info
            self.host.note_connection()


class Agent(msgspec.Struct, frozen=True):
    """A resolved agent: its configuration, its endpoint, and the timeout of its whole answer in seconds."""

    config: AgentConfig
    endpoint: Endpoint
    timeout: float

    @property
    def name(self) -> str:
        return self.config.name


class Agents:
    """All agents of one configuration; a run keeps them to its end even if the configuration changes."""

    def __init__(self, config: EnsembleConfig, reviewer: Agent, workers: tuple[Agent, ...]) -> None:
        self.config = config
        self.reviewer = reviewer
        self.workers = workers
        self.runs = 0

    @property
    def settings(self) -> SystemSettings:
        return self.config.system_settings

    def __iter__(self) -> Iterator[Agent]:
        """Yield the reviewer, then the workers."""
        yield self.reviewer
        yield from self.workers


class AgentPool:
    """Create agents and cache their connections. `environ` has the API keys; paths of providers without a server are
    relative to `root`.

    Connections that a new configuration leaves unchanged are kept; those it removes are closed when the last run that
    uses them ends.
    """

    def __init__(self, environ: Mapping[str, str], root: Path = Path()) -> None:
        self._environ = environ
        self._root = root
        self._endpoints: dict[_Place, Endpoint] = {}
        self._hosts: dict[str, Host] = {}
        self._current: Agents | None = None
        self._earlier: list[Agents] = []

    async def take(self, config: EnsembleConfig) -> Agents:
        """Acquire the agents of `config` for one run; release with `give_back`. Raises ConfigurationError."""
        current = self._current
        if current is None or (current.config is not config and current.config != config):
            made = self._made(config)
            if current is not None:
                self._earlier.append(current)
            self._current = current = made
            current.runs += 1
            await self._close_unused()
        else:
            current.runs += 1
        return current

    async def give_back(self, agents: Agents) -> None:
        """Release the agents of a run."""
        agents.runs -= 1
        if not agents.runs and agents is not self._current:
            await self._close_unused()

    async def aclose(self) -> None:
        """Close all connections; those in use are closed when their answers end."""
        endpoints, self._endpoints = self._endpoints, {}
        self._current = None
        self._earlier.clear()
        for endpoint in endpoints.values():
            await endpoint.aclose()

    def host(self, address: str) -> Host:
        """Return the host of agents at an address. Raises KeyError."""
        return self._hosts[address]

    async def report(self, config: EnsembleConfig) -> tuple[HostReport, ...]:
        """Ask the agents' hosts concurrently for the state of their models. Raises ConfigurationError."""
        agents = await self.take(config)
        try:
            by_host: dict[str, list[Agent]] = {}
            for agent in agents:
                by_host.setdefault(agent.endpoint.host.address, []).append(agent)
            return tuple(await asyncio.gather(*map(_report, by_host.values())))
        finally:
            await self.give_back(agents)

    def _made(self, config: EnsembleConfig) -> Agents:
        windows = _windows(config)
        reviewer, *workers = (self._agent(agent, config.system_settings, windows) for agent in _configs(config))
        return Agents(config, reviewer, tuple(workers))

    def _agent(self, config: AgentConfig, settings: SystemSettings, windows: Mapping[tuple[str, str], int]) -> Agent:
        place = _place(config, windows)
        endpoint = self._endpoints.get(place)
        if endpoint is None:
            provider = _provider(config, place, self._environ, self._root)
            address = _host_of(provider)
            host = self._hosts.setdefault(address, Host(address))
            endpoint = self._endpoints[place] = Endpoint(provider, config.model, host)
        endpoint.host.limit = settings.per_host
        return Agent(config, endpoint, settings.default_timeout if config.timeout is None else config.timeout)

    async def _close_unused(self) -> None:
        self._earlier = [agents for agents in self._earlier if agents.runs]
        needed = {agent.endpoint for agents in (self._current, *self._earlier) if agents for agent in agents}
        unused = {place: endpoint for place, endpoint in self._endpoints.items() if endpoint not in needed}
        self._endpoints = {place: each for place, each in self._endpoints.items() if place not in unused}
        addresses = {endpoint.host.address for endpoint in needed}
        self._hosts = {address: host for address, host in self._hosts.items() if address in addresses}
        for endpoint in unused.values():
            await endpoint.aclose()


def check_agents(config: EnsembleConfig, environ: Mapping[str, str], root: Path = Path()) -> None:
    """Raise ConfigurationError if an agent of `config` can never be used: an invalid address or key, a missing file.
    Sends no request."""
    windows = _windows(config)
    for agent in _configs(config):
        _provider(agent, _place(agent, windows), environ, root)


def _configs(config: EnsembleConfig) -> tuple[AgentConfig, ...]:
    return (config.reviewer_agent, *config.worker_agents)


def _windows(config: EnsembleConfig) -> dict[tuple[str, str], int]:
    """Return the num_ctx of each model by its address: the largest any agent wants, since Ollama reloads a model
    whenever the value changes."""
    windows: dict[tuple[str, str], int] = {}
    for agent in _configs(config):
        key = agent.base_url, agent.model
        windows[key] = max(windows.get(key, 0), agent.num_ctx)
    return windows


def _place(config: AgentConfig, windows: Mapping[tuple[str, str], int]) -> _Place:
    num_ctx = windows[config.base_url, config.model]
    return _Place(config.provider, config.base_url, config.model, config.api_key_env, num_ctx)


def _provider(config: AgentConfig, place: _Place, environ: Mapping[str, str], root: Path) -> Provider:
    """Create the provider of an agent, with only the key it names. Raises ConfigurationError."""
    secrets = {name for names in KEY_VARIABLES.values() for name in names} | set(SECRET_VARIABLES.values())
    own = {name: value for name, value in environ.items() if name not in secrets and name != "OLLAMA_HOST"}
    if place.key_variable:
        key = environ.get(place.key_variable, "").strip()
        variable = SECRET_VARIABLES.get(f"llm.{place.provider}.api_key")
        if not key or variable is None:
            raise ConfigurationError("ensemble_no_key", agent=config.name, variable=place.key_variable)
        own[variable] = key
    return make_provider(_settings(place), root, own)


def _settings(place: _Place) -> LLMSettings:
    """Build the model layer's settings of a connection."""
    defaults = LLMSettings()
    changes: dict[str, Json] = {"provider": place.provider, "model": place.model, "context_window": place.num_ctx}
    match place.provider:
        case "azure":
            changes["azure"] = msgspec.structs.replace(
                defaults.azure, endpoint=place.address, deployment_name=place.model, timeout=CONNECT_SECONDS
            )
        case "gguf":
            changes["gguf"] = msgspec.structs.replace(defaults.gguf, file=place.model)
        case "scripted":
            changes["scripted"] = msgspec.structs.replace(defaults.scripted, file=place.model)
        case "lmstudio" | "ollama" | "openai" | "gemini" as name:
            section = getattr(defaults, name)
            changes[name] = msgspec.structs.replace(section, base_url=place.address, timeout=CONNECT_SECONDS)
        case _:
            pass
    return msgspec.structs.replace(defaults, **changes)


def _host_of(provider: Provider) -> str:
    """Return the host and port of a provider's server; its address if it has no server."""
    return urlsplit(provider.address).netloc or provider.address


async def _report(agents: list[Agent]) -> HostReport:
    """Ask a host for the state of the models these agents use."""
    endpoints = {agent.endpoint.model: agent.endpoint for agent in agents}
    first = agents[0].endpoint
    listed: list[ModelInfo] = []
    error: LLMConnectionError | None = None
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            listed = await first.provider.list_models()
    except TimeoutError:
        error = LLMConnectionError("llm_silent", url=first.provider.address, seconds=CONNECT_SECONDS)
    except LLMConnectionError as failure:
        error = failure
    models = tuple(served(model, endpoint.window, listed) for model, endpoint in endpoints.items())
    names = tuple(agent.name for agent in agents)
    why = explained(error, agents[0]) if error else None
    return HostReport(first.host.address, names, models, first.host.limit, first.host.waiting, why)


_IN_CONFIG = {
    "llm_refused": "ensemble_unreachable",
    "llm_unreachable": "ensemble_unreachable",
    "llm_model_not_found": "ensemble_no_model",
    "llm_no_deployment": "ensemble_no_model",
    "llm_unauthorized": "ensemble_unauthorized",
    "llm_malformed": "ensemble_malformed",
    "llm_bad_request": "ensemble_bad_request",
    "llm_thinking_cut": "ensemble_thinking_cut",
    "llm_context_overflow": "ensemble_overflow",
}
"""Errors whose texts refer to the settings of the chat."""


def explained(error: LocalLLMError, agent: Agent) -> LocalLLMError:
    """Replace a fix that refers to the chat's settings by one that refers to the ensemble's configuration."""
    if error.key not in _IN_CONFIG:
        return error
    known = {"url": agent.endpoint.provider.address, "reason": "", "available": "—", "status": ""} | error.params
    made = EnsembleError(_IN_CONFIG[error.key], **{**known, "model": agent.config.model})
    made.__cause__ = error
    return made
