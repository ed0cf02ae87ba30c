"""Load the project's memory on demand: its parser takes 40 ms to import, and most projects have none."""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localllm.memory.external_memory import ExternalMemorySystem
    from localllm.memory.search import MemoryEntry


class ProjectMemory:
    """The memory of the project at `root`, in its file `name`.
    `sessions` and `closed` are as for ExternalMemorySystem."""

    def __init__(
        self,
        root: Path,
        name: str,
        *,
        sessions: "Callable[[], Iterable[MemoryEntry]]" = tuple,
        closed: Sequence[str] = (),
    ) -> None:
        self.closed = closed
        self._root = root
        self.name = name
        self._sessions = sessions

    @cached_property
    def system(self) -> "ExternalMemorySystem":
        """The memory system, imported at first use."""
        from localllm.memory.external_memory import ExternalMemorySystem

        return ExternalMemorySystem(self._root, self.name, sessions=self._sessions, closed=self.closed)

    @property
    def is_there(self) -> bool:
        """Whether the file exists."""
        return os.path.lexists(self._root / self.name)

    @property
    def version(self) -> tuple[int, int, int]:
        """An identifier of the file's version; zeros if it is missing."""
        try:
            facts = os.stat(self._root / self.name)  # noqa: PTH116 - Path's raises for a name with a NUL
        except (OSError, ValueError):
            return 0, 0, 0
        return facts.st_ino, facts.st_size, facts.st_mtime_ns

    def digest(self, limit_bytes: int, *, searchable: bool = True, session_id: str = "") -> str:
        """Return the digest of ExternalMemorySystem. Errors as MemoryFile."""
        return self.system.digest(limit_bytes, searchable=searchable, session_id=session_id) if self.is_there else ""

    @property
    def conflict(self) -> int:
        """The line number of an unresolved git conflict in the file, 0 if there is none. Errors as MemoryFile."""
        return self.system.file.read().conflict if self.is_there else 0
