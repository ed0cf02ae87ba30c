"""The parts that all conversations in a project share."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from localllm.agent.panel.records import Advisers
from localllm.base.paths import Storage, cache_folder
from localllm.config.schema import Settings
from localllm.llm.client import LLMClient
from localllm.memory.project_memory import ProjectMemory
from localllm.rag.locations import user_folder
from localllm.repo_map.repo_map import RepoMap
from localllm.safety.confirmation import Confirmer
from localllm.safety.policy import Policy
from localllm.safety.saved_rules import RememberedRules
from localllm.safety.tool_definition import Tool
from localllm.sandbox.command_runner import LateRunner
from localllm.sessions.log import Seal

if TYPE_CHECKING:
    from localllm.rag.knowledge_base import KnowledgeBase


class OpenProject(msgspec.Struct, frozen=True):
    """The parts all conversations in a project share. `here` is the current folder in it; `storage` has the project's
    data; `own_tools` are tools from higher packages; `advisers` are asked by a stuck agent; `closed` are paths that
    rules deny reading; `knowledge` opens the collections, if there are any; `chosen_model` returns the
    model that the user has switched to, "" for none; `notify` shows the user a message."""

    root: Path
    here: Path
    storage: Storage
    settings: Settings
    client: LLMClient
    policy: Policy
    remembered: RememberedRules
    confirmer: Confirmer
    shows_pieces: bool
    runner: LateRunner
    repo_map: RepoMap
    own_tools: tuple[Tool, ...]
    advisers: Advisers | None
    seal: Seal
    memory: ProjectMemory
    closed: Sequence[str]
    knowledge: "Callable[[], KnowledgeBase | None]"
    chosen_model: Callable[[], str]
    notify: Callable[[str], Awaitable[None]]


def named_paths(project: OpenProject) -> Callable[[], frozenset[str]]:
    """Return a function for the paths in the project that protected files refer to, and the program's own folders
    there: files in these are trusted."""
    root = os.path.realpath(project.root)
    folders = map(os.path.realpath, (user_folder(project.settings, os.environ), cache_folder()))
    own = frozenset(os.path.relpath(folder, root) for folder in folders if folder.startswith(f"{root}/"))
    return lambda: own | project.runner.named_paths()
