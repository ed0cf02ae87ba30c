"""What a conversation is told of its project when it begins: how it wants to be worked on (AGENTS.md), for the system
prompt; and what is remembered of it (LOCALLLM.md), for the first message."""

from collections.abc import Sequence
from pathlib import Path

from localllm.base import logs
from localllm.base.errors import LocalLLMError
from localllm.base.i18n import tr
from localllm.core.project.instructions import Instructions, read_instructions, told
from localllm.llm.profiles import Profile
from localllm.llm.project_texts import framed
from localllm.memory.project_memory import ProjectMemory

_ABOUT = "Kept in {file} from earlier work. Background, no request:"


class Briefing:
    """Reads the files anew whenever it is asked: those for who stands in the folder `here` of the project (its own
    unless given). `instructions` are those that were told last."""

    def __init__(self, root: Path, memory: ProjectMemory, here: Path | None = None) -> None:
        self._root = root
        self._here = here or root
        self._memory = memory
        self._failure = ""
        self._conflict = 0
        self.instructions: Sequence[Instructions] = ()

    def for_system(self, profile: Profile) -> str:
        """What goes behind the system prompt, "" where there is nothing."""
        self.instructions = self.look(profile)
        return told(self.instructions)

    def look(self, profile: Profile) -> Sequence[Instructions]:
        """The files as they would be told now."""
        return read_instructions(self._root, profile.instructions, self._here)

    def notes(self, profile: Profile) -> str:
        """What is remembered, "" where nothing is. A file that cannot be used is left out: see `take_failure`."""
        try:
            searchable = profile.tools is None or "recall" in profile.tools
            digest = self._memory.digest(profile.notes, searchable=searchable)
            self._note_conflict()
        except LocalLLMError as error:
            if self._failure != str(error):
                logs.of("MEMORY").warning("%s", error)
            self._failure = str(error)
            return ""
        return framed("project-notes", _ABOUT.format(file=self._memory.name), digest) if digest else ""

    def _note_conflict(self) -> None:
        """Let it be said, once for each that comes up, that two versions of what is remembered are told as one."""
        line = self._memory.conflict
        if line and not self._conflict:
            self._failure = tr("memory.conflict", file=self._memory.name, line=line)
        self._conflict = line

    def take_failure(self) -> str:
        """Why what is remembered was not told, or not as it should be, once; "" where it was."""
        failure, self._failure = self._failure, ""
        return failure
