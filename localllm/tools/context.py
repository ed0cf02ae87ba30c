"""What a tool may use: the project, and the guards around it. A tool knows no model and no terminal."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from localllm.base.events import AgentEvent, Emit
from localllm.config.schema import Settings
from localllm.memory.project_memory import ProjectMemory
from localllm.memory.session_plan import SessionPlan
from localllm.repo_map.repo_map import RepoMap
from localllm.repo_map.request import Focus
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import closed_to_reading
from localllm.sandbox.background import BackgroundCommands
from localllm.sandbox.command_runner import CommandRunner
from localllm.tools.text_files import SeenFiles

if TYPE_CHECKING:
    from localllm.rag.records import Collection, Found
    from localllm.web.services import WebAccess


def _unknown() -> bool | None:
    return None


def _nobody(_event: AgentEvent) -> None:
    """Nobody is shown what happens while the tool runs."""


def _never(_before: str, _after: str) -> bool:
    return False


def _not_so() -> bool:
    return False


class Knowledge(Protocol):
    """The collections of documents. Its methods raise KnowledgeBaseError."""

    def collections(self) -> "list[Collection]":
        """All of them by name."""
        ...

    async def search(self, query: str, name: str = "") -> "Found":
        """The passages that answer a query, from one collection or all."""
        ...


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """`output_limit` is how many characters of output the model is given at most; `overflow_folder` keeps the rest.

    `seen` knows which version of each file the model read or wrote last. `sees` tells whether the model can see
    pictures; None where nobody knows. `web` is None where the settings keep it off, `knowledge` where there are no
    collections. `emit` is where what happens while
    the tool runs is shown. `may_follow` tells whether a page may lead to another address without a question; it raises
    SafetyViolationError for one that is denied. `may_read_anew` tells whether the page of the call is one that may be
    read without a question though no search had found it. `plan` is what the call's preview has planned.
    """

    root: ProjectRoot
    settings: Settings
    runner: CommandRunner
    output_limit: int
    overflow_folder: Path
    background: BackgroundCommands = msgspec.field(default_factory=BackgroundCommands)
    seen: SeenFiles = msgspec.field(default_factory=SeenFiles)
    sees: Callable[[], bool | None] = _unknown
    web: "WebAccess | None" = None
    knowledge: "Knowledge | None" = None
    focus: Focus = msgspec.field(default_factory=Focus)
    repo_map: RepoMap | None = None
    memory: ProjectMemory | None = None
    session_plan: SessionPlan = msgspec.field(default_factory=SessionPlan)
    emit: Emit = _nobody
    may_follow: Callable[[str, str], bool] = _never
    may_read_anew: Callable[[], bool] = _not_so
    plan: object = None

    @property
    def project_memory(self) -> ProjectMemory:
        """What is remembered of the project; without `memory` only what its file tells."""
        return self.memory or ProjectMemory(self.root.path, self.settings.project.memory_file)


def holds_commands(context: ToolContext) -> bool:
    """Whether commands can write in the project alone and reach no network, and what they change there is kept."""
    settings = context.settings
    return settings.safety.auto_backup and not settings.command_hosts and context.runner.level != "none"


def closed_paths(context: ToolContext) -> list[str]:
    """The paths in the project whose content the rules let no tool show: see `closed_to_reading`."""
    return closed_to_reading(context.settings.safety, context.root.relative)
