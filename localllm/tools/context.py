"""The resources a tool may use: the project, and the guards around it. A tool knows no model and no terminal."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from localllm.base.events import AgentEvent, Emit
from localllm.base.i18n import plural
from localllm.config.schema import Settings
from localllm.memory.project_memory import ProjectMemory
from localllm.memory.session_plan import SessionPlan
from localllm.repo_map.repo_map import RepoMap
from localllm.repo_map.request import Focus
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import closed_to_reading, guarded_from_reading, is_within
from localllm.sandbox.background import BackgroundCommands
from localllm.sandbox.command_runner import CommandRunner
from localllm.tools.text_files import SeenFiles

if TYPE_CHECKING:
    from localllm.rag.records import Collection, Found
    from localllm.web.services import WebAccess


def _unknown() -> bool | None:
    return None


def _nobody(_event: AgentEvent) -> None:
    """Ignore the event (the default `emit`)."""


def _never(_before: str, _after: str) -> bool:
    return False


def _none() -> Sequence[str]:
    return ()


def _not_so() -> bool:
    return False


def _shuns_none(_url: str) -> bool:
    return False


class Knowledge(Protocol):
    """The collections of documents. Its methods raise KnowledgeBaseError."""

    def collections(self) -> "list[Collection]":
        """Return all collections, sorted by name."""
        ...

    async def search(self, query: str, name: str = "", top_k: int = 0) -> "Found":
        """Return the passages that answer a query, from one collection or all; `top_k` 0 is the setting's."""
        ...


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """The context of a tool call.
    `output_limit`: maximum characters of output for the model; `overflow_folder` stores the rest.

    `seen` tracks the version of each file the model last read or wrote. `sees` returns whether the model can see
    images, None if unknown. `web` is None if disabled, `knowledge` if there are no collections. `emit` receives events
    while the tool runs. `may_follow` returns whether a page may lead to another address without confirmation; it raises
    SafetyViolationError for a denied one. `may_read_anew` returns whether the call's page could be read without
    confirmation even if no search had found it. `is_shunned` returns whether the user has forbidden to read an address.
    `changed` returns the files that tools have changed in this session.
    `plan` is the plan made by the call's preview.
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
    is_shunned: Callable[[str], bool] = _shuns_none
    changed: Callable[[], Sequence[str]] = _none
    plan: object = None

    @property
    def project_memory(self) -> ProjectMemory:
        """The project's memory; without `memory`, only what its file contains."""
        return self.memory or ProjectMemory(self.root.path, self.settings.project.memory_file)


def holds_commands(context: ToolContext) -> bool:
    """Return whether commands write only in the project, backed up, and reach no network."""
    settings = context.settings
    return settings.safety.auto_backup and not settings.command_hosts and context.runner.level != "none"


def closed_paths(context: ToolContext) -> list[str]:
    """Return the paths in the project that rules close to reading: see `closed_to_reading`."""
    return closed_to_reading(context.settings.safety, context.root.relative)


class NotShown(msgspec.Struct, frozen=True):
    """The paths whose files a tool leaves out: those that rules close to reading (`closed`), and those that
    `read_file` asks about (`asked`)."""

    closed: Sequence[str]
    asked: Sequence[str]

    @property
    def paths(self) -> list[str]:
        """All of them."""
        return [*self.closed, *self.asked]

    def hides(self, path: str) -> bool:
        """Return whether the file `path` is left out."""
        return any(is_within(path, folder) for folder in self.paths)

    def note(self, count: int, kind: str) -> str:
        """Report to the model that `count` files of this kind are left out, and why."""
        them = plural(count, "it", "them")
        reasons = [f"a rule closes {them}"] if self.closed else []
        reasons += [f"read_file asks about {them}"] if self.asked else []
        return f"[{count} {kind} {plural(count, 'file is', 'files are')} left out: {', or '.join(reasons)}]"


def not_shown(context: ToolContext, place: str) -> NotShown:
    """Return what a tool that looks at `place` must leave out: closed paths, and those asked about before reading that
    are below it. Of the latter, the user was asked about a `place` that is one, or in one."""
    relative = context.root.relative
    named = relative(place)
    guarded = guarded_from_reading(context.settings.safety, relative)
    return NotShown(closed_paths(context), [path for path in guarded if not is_within(named, path)])
