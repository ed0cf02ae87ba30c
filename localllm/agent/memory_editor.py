"""The project's memory as the user changes it in a session."""

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
    """What he changes can be undone and is in the journal, and at once in the session's log (`note`); what the model
    should know of it, `tell` lets it read with the next request. Methods raise LocalLLMError as the memory does."""

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
        """The file, as the settings name it."""
        return self._memory.name

    @property
    def is_there(self) -> bool:
        """Whether there is a file yet."""
        return self._memory.is_there

    @property
    def conflict(self) -> int:
        """As ProjectMemory has it."""
        return self._memory.conflict

    @property
    def version(self) -> object:
        """Another one whenever the file is another, or the model's plan."""
        return self._memory.version, self.plan.text

    @property
    def system(self) -> "ExternalMemorySystem":
        """The memory itself, to be looked at."""
        return self._memory.system

    def open_todos(self) -> "Sequence[Todo]":
        """What is unfinished, the most urgent first."""
        return self._memory.system.open_todos() if self._memory.is_there else ()

    def known_todos(self) -> "Sequence[Todo]":
        """The whole list, read again only where the file has changed; empty where it cannot be used."""
        return self._read()[2]

    def known_entries(self) -> "Sequence[tuple[str, str, str]]":
        """The id, kind and text of all that can be forgotten, as `known_todos` knows it."""
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
        """Change it, by a `command` of the chat, which also `makes` other files; it is made where there is none. One
        that cannot be used is not touched, and the reason is one for the person: the tools' own would be for the
        model."""
        if self._memory.is_there:
            await asyncio.to_thread(self._memory.system.file.read)
        try:
            async with self._tools.by_person(command, self._memory.name, makes=makes):
                return await change(self._memory.system)
        finally:
            self._note()

    async def make(self, command: str, files: Sequence[str], make: Callable[[], Awaitable[T]]) -> T:
        """Make `files` beside it by a `command` of the chat, and leave it alone."""
        try:
            async with self._tools.by_person(command, makes=files):
                return await make()
        finally:
            self._note()

    def instructions(self, profile: Profile) -> tuple[Sequence[Instructions], bool]:
        """How the project wants to be worked on, file by file; and whether this conversation was told so already."""
        said = self._briefing.instructions
        return (said, True) if said else (self._briefing.look(profile), False)
