"""An ensemble of loopback workers, asked as the server asks it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from localllm.ensemble.config import AgentConfig, EnsembleConfig, SystemSettings
from localllm.ensemble.config_watch import FixedConfig
from localllm.ensemble.ensemble import ModelEnsemble
from localllm.ensemble.hosts import Host
from localllm.ensemble.records import EnsembleResult, Question, RunEvent, RunFinished
from tests.ensemble_servers.play import MODEL, Play
from tests.ensemble_servers.servers import OllamaServer, OllamaServers
from tests.support.ensemble_server import checks_in

PROMPT = "What is six times seven?"

REVIEW = "## Evaluation\nA is right.\n\n## Final answer\nIt is 42.\n"
"""What a reviewer writes."""


def config_of(reviewer: OllamaServer, workers: Sequence[OllamaServer], **settings: Any) -> EnsembleConfig:
    """A configuration with a worker for each server; fields of agents, `timeout` above all, are set for all of them."""
    fields = msgspec.structs.fields(AgentConfig)
    of_agents = {field.name: settings.pop(field.name) for field in fields if field.name in settings}
    return EnsembleConfig(
        reviewer_agent=agent("Reviewer", reviewer, **of_agents),
        worker_agents=tuple(
            agent(f"Worker {number}", server, **of_agents) for number, server in enumerate(workers, start=1)
        ),
        system_settings=SystemSettings(**settings),
    )


def agent(name: str, server: OllamaServer, **fields: Any) -> AgentConfig:
    """An agent with the model of a server."""
    return AgentConfig(**{"name": name, "api_url": f"{server.url}/api/chat", "model": MODEL} | fields)


class Asked:
    """A test's ensemble: `reviewer` and `workers` are its servers."""

    def __init__(
        self,
        servers: OllamaServers,
        reviewer: OllamaServer,
        workers: Sequence[OllamaServer],
        source: FixedConfig,
        ensemble: ModelEnsemble,
    ) -> None:
        self.servers = servers
        self.reviewer = reviewer
        self.workers = workers
        self.source = source
        self.ensemble = ensemble

    async def result(self, prompt: str = PROMPT, *, stream: bool = False, **more: Any) -> EnsembleResult:
        """The result of a question."""
        last = (await self.events(prompt, stream=stream, **more))[-1]
        assert isinstance(last, RunFinished)
        return last.result

    async def events(
        self, prompt: str = PROMPT, *, on_event: Callable[[RunEvent], None] = lambda event: None, **more: Any
    ) -> list[RunEvent]:
        """All events of a question."""
        events: list[RunEvent] = []
        async with aclosing(self.ensemble.run(Question(prompt=prompt, **more))) as stream:
            async for event in stream:
                events.append(event)
                on_event(event)
        return events

    def begin(self, prompt: str = PROMPT, **more: Any) -> "asyncio.Task[EnsembleResult]":
        """Ask in the background."""
        return asyncio.create_task(self.result(prompt, **more))

    def use(self, *workers: AgentConfig) -> None:
        """Have other workers from now on."""
        self.source.current = msgspec.structs.replace(self.source.current, worker_agents=workers)

    def host_of(self, server: OllamaServer) -> Host:
        """What the ensemble keeps of a server: whose turn it is there."""
        return self.ensemble.pool.host(server.url.removeprefix("http://"))

    def change(self, **settings: Any) -> None:
        """Have other settings hold from now on."""
        current = self.source.current
        changed = msgspec.structs.replace(current.system_settings, **settings)
        self.source.current = msgspec.structs.replace(current, system_settings=changed)

    def describe(self, *workers: AgentConfig) -> None:
        """Have the workers be called, weighted, described and chosen as these."""
        current = self.source.current
        named = tuple(
            msgspec.structs.replace(worker, api_url=old.api_url, model=old.model)
            for worker, old in zip(workers, current.worker_agents, strict=True)
        )
        self.source.current = msgspec.structs.replace(current, worker_agents=named)


@asynccontextmanager
async def asking(
    *workers: Play, reviewer: Play | None = None, environ: Mapping[str, str] | None = None, **settings: Any
) -> AsyncIterator[Asked]:
    """An ensemble of workers that play these parts, each on a server of its own, and a reviewer; `settings`: see
    config_of."""
    with OllamaServers() as servers:
        reviewing = servers.add(reviewer or Play(answer=REVIEW))
        working = [servers.add(play) for play in workers]
        source = FixedConfig(config_of(reviewing, working, **settings))
        ensemble = ModelEnsemble(source, environ or {}, checks_in(Path()))
        try:
            yield Asked(servers, reviewing, working, source, ensemble)
        finally:
            await ensemble.aclose()
