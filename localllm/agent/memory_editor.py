"""Edit the project's memory on the user's behalf during a session."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from localllm.agent.system_prompt import Briefing
from localllm.base.errors import LocalLLMError
from localllm.llm.model_profiles import Profile
from localllm.memory.project_memory import ProjectMemory
from localllm.project.instructions import Instructions
from localllm.tools.tool_system import ToolSystem

if TYPE_CHECKING:
    from localllm.memory.external_memory import ExternalMemorySystem
    from localllm.memory.search import MemoryEntry
    from localllm.memory.todos import Todo

T = TypeVar("T")


class Remembering:
    """The user's edits of the memory, undoable, journalled and logged (`note`).
    `tell` passes what the model should know to its next request. Methods raise LocalLLMError like the memory."""

    def __init__(
        self,
        memory: ProjectMemory,
        tools: ToolSystem,
        briefing: Briefing,
        tell: Callable[[str], None],
        note: Callable[[], None],
    ) -> None:
        self._memory = memory
        self._tools = tools
        self._briefing = briefing
        self.tell = tell
        self._note = note
        self.plan = tools.plan
        self._known: tuple[object, tuple[MemoryEntry, ...], tuple[Todo, ...]] = None, (), ()

    @property
    def name(self) -> str:
        """The memory file's name, as in the settings."""
        return self._memory.name

    @property
    def is_there(self) -> bool:
        """Whether the file exists."""
        return self._memory.is_there

    @property
    def conflict(self) -> int:
        """See ProjectMemory."""
        return self._memory.conflict

    @property
    def version(self) -> object:
        """A value that changes whenever the file or the model's plan does."""
        return self._memory.version, self.plan.text

    @property
    def system(self) -> "ExternalMemorySystem":
        """The memory itself, for reading."""
        return self._memory.system

    def open_todos(self) -> "Sequence[Todo]":
        """Return the unfinished TODOs, the most urgent first."""
        return self._memory.system.open_todos() if self._memory.is_there else ()

    def known_todos(self) -> "Sequence[Todo]":
        """Return all TODOs, cached until the file changes; empty if it is unusable."""
        return self._read()[2]

    def known_entries(self) -> "Sequence[tuple[str, str, str]]":
        """Return the id, kind and text of all removable entries, cached like `known_todos`."""
        return [(one.id, one.kind, one.text) for one in self._read()[1]]

    def _read(self) -> "tuple[object, tuple[MemoryEntry, ...], tuple[Todo, ...]]":
        if not self._memory.is_there:
            return None, (), ()
        version = self._memory.version
        if self._known[0] != version:
            entries: tuple[MemoryEntry, ...] = ()
            todos: tuple[Todo, ...] = ()
            with suppress(LocalLLMError):
                todos, entries = self._memory.system.todos(), tuple(self._memory.system.forgettable())
            self._known = version, entries, todos
        return self._known

    async def change(
        self,
        command: str,
        change: "Callable[[ExternalMemorySystem], Awaitable[T]]",
        *,
        makes: Sequence[str] = (),
    ) -> T:
        """Run a `command` of the chat that changes the memory, created if missing, and `makes` other files. An unusable
        memory is not touched, and its error is raised first, as the tools' own would address the model."""
        if self._memory.is_there:
            await asyncio.to_thread(self._memory.system.file.read)
        try:
            async with self._tools.by_person(command, self._memory.name, makes=makes):
                return await change(self._memory.system)
        finally:
            self._note()

    async def make(self, command: str, files: Sequence[str], make: Callable[[], Awaitable[T]]) -> T:
        """Run a `command` of the chat that creates `files` beside the memory, without changing it."""
        try:
            async with self._tools.by_person(command, makes=files):
                return await make()
        finally:
            self._note()

    def instructions(self, profile: Profile) -> tuple[Sequence[Instructions], bool]:
        """Return the project's instructions, file by file. And whether this conversation already contains them."""
        said = self._briefing.instructions
        return (said, True) if said else (self._briefing.look(profile), False)
