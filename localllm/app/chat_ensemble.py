"""Ask an ensemble from within a chat; it runs in this process, with the agents of its config.json."""

from collections.abc import Callable, Mapping
from contextlib import aclosing, nullcontext
from pathlib import Path

from localllm.app.late_sandbox import late_checker
from localllm.base import offline
from localllm.base.errors import ConfigurationError
from localllm.config.schema import Settings
from localllm.ensemble.answer_checks import AnswerChecks
from localllm.ensemble.config import EnsembleConfig
from localllm.ensemble.config_file import CONFIG_FILE, read_config
from localllm.ensemble.config_reach import is_on_this_machine, lies_in, refuse_far_reach
from localllm.ensemble.config_watch import FixedConfig
from localllm.ensemble.ensemble import ModelEnsemble
from localllm.ensemble.records import EnsembleResult, Question, RunEvent, RunFinished


class ChatEnsemble:
    """The configured ensemble, for the chat of the project at `root`; `environ` has its agents' keys."""

    def __init__(self, settings: Settings, root: Path, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._named = settings.ensemble.config
        self._root = root
        self._file = root / (Path(self._named).expanduser() if self._named else CONFIG_FILE)
        self._environ = environ
        self.is_here = False
        """Whether all agents of the last question are on this machine."""

    async def ask(self, prompt: str, on_event: Callable[[RunEvent], None]) -> EnsembleResult:
        """Ask all workers and have the reviewer merge; cancelling ends every request. Raises ConfigurationError only
        for the configuration: errors of agents are in the result."""
        config, is_users = self._configuration()
        self.is_here = is_on_this_machine(config)
        with nullcontext() if is_users else offline.own_network_only():
            checks = AnswerChecks(late_checker(self._settings, self._root), self._root)
            ensemble = ModelEnsemble(FixedConfig(config), self._environ, checks, self._file.parent)
            try:
                async with aclosing(ensemble.run(Question(prompt=prompt, stream=True))) as events:
                    async for event in events:
                        if isinstance(event, RunFinished):
                            return event.result
                        on_event(event)
            finally:
                await ensemble.aclose()
        raise AssertionError("a run ends with RunFinished")

    def _configuration(self) -> tuple[EnsembleConfig, bool]:
        """Return the configuration, and whether it is the user's own; any other may only use the local network."""
        if not self._named and not self._file.is_file():
            raise ConfigurationError("ensemble_none_in_chat", folder=self._file.parent)
        is_users = self._is_users()
        config = read_config(self._file)
        is_users = is_users and self._is_users()  # a link may have been replaced meanwhile
        if not is_users:
            refuse_far_reach(config, self._file)
        elif offline.is_on():
            for agent in (config.reviewer_agent, *config.worker_agents):
                offline.name_address(agent.base_url)
        return config, is_users

    def _is_users(self) -> bool:
        """Whether the user named the file, and commands cannot write it."""
        return bool(self._named) and not lies_in(self._file, self._root)
