"""Questions to an ensemble from within a chat, answered in this process by the agents of its config.json."""

from collections.abc import Callable, Mapping
from contextlib import aclosing
from pathlib import Path

from localllm.base import offline
from localllm.base.errors import ConfigurationError
from localllm.config.schema import Settings
from localllm.ensemble.config import EnsembleConfig
from localllm.ensemble.config_file import CONFIG_FILE, read_config, refuse_far_reach
from localllm.ensemble.config_watch import FixedConfig
from localllm.ensemble.ensemble import ModelEnsemble
from localllm.ensemble.records import EnsembleResult, Question, RunEvent, RunFinished


class ChatEnsemble:
    """The ensemble that the settings name, for the chat of the project at `root`; `environ` has its agents' keys."""

    def __init__(self, settings: Settings, root: Path, environ: Mapping[str, str]) -> None:
        self._named = settings.ensemble.config
        self._root = root
        self._file = root / (Path(self._named).expanduser() if self._named else CONFIG_FILE)
        self._environ = environ

    async def ask(self, prompt: str, on_event: Callable[[RunEvent], None]) -> EnsembleResult:
        """Ask all workers and have the reviewer merge; cancelled, every request ends. Raises ConfigurationError, for
        the configuration alone: what agents do wrong is in the result."""
        ensemble = ModelEnsemble(FixedConfig(self._configuration()), self._environ, self._file.parent)
        try:
            async with aclosing(ensemble.run(Question(prompt=prompt, stream=True))) as events:
                async for event in events:
                    if isinstance(event, RunFinished):
                        return event.result
                    on_event(event)
        finally:
            await ensemble.aclose()
        raise AssertionError("a run ends with RunFinished")

    def _configuration(self) -> EnsembleConfig:
        if not self._named and not self._file.is_file():
            raise ConfigurationError("ensemble_none_in_chat", folder=self._file.parent)
        config = read_config(self._file)
        if self._file.resolve().is_relative_to(self._root.resolve()):  # commands may write it, named or not
            refuse_far_reach(config, self._file)
        elif offline.is_on():
            for agent in (config.reviewer_agent, *config.worker_agents):
                offline.name_address(agent.base_url)
        return config
