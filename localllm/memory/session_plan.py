"""Store the model's own plan: a TODO list in the session, not in a file."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from localllm.memory.document import Document
    from localllm.memory.external_memory import ExternalMemorySystem
    from localllm.memory.memory_file import Change, T
    from localllm.memory.todos import Todo

_MOST_TOLD = 10
_LONGEST = 100  # characters of an item


class SessionPlan:
    """A list in the format of LOCALLLM.md: `text` is its Markdown, stored in the session's log.
    The parser is imported with the first item."""

    def __init__(self, text: str = "") -> None:
        self.text = text

    @cached_property
    def system(self) -> "ExternalMemorySystem":
        """The memory system for the list."""
        from localllm.memory.external_memory import ExternalMemorySystem

        return ExternalMemorySystem(Path(), file=self)

    def read(self) -> "Document":
        """Return the document, as MemoryFile."""
        from localllm.memory.document import Document

        return Document(self.text)

    def edit(self, change: "Change[T]") -> "T":
        """Apply a change as MemoryFile, without locking."""
        document, answer = change(self.read())
        self.text = document.text
        return answer

    def open_todos(self) -> "Sequence[Todo]":
        """Return the open items, the most urgent first."""
        return self.system.open_todos() if self.text else ()

    def told(self) -> str:
        """Return the open items as a reminder for the model; empty if there are none."""
        left = self.open_todos()
        lines = [
            f"- {one.id}{' (in progress)' if one.state == 'doing' else ''} {one.text[:_LONGEST]}"
            for one in left[:_MOST_TOLD]
        ]
        more = [f"(and {len(left) - _MOST_TOLD} more)"] if len(left) > _MOST_TOLD else []
        return "\n".join(["Your plan, as far as it is open:", *lines, *more]) if left else ""
