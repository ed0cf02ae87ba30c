"""Show, undo and redo the changes of a session in the project."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localllm.agent.checkpoints import Point
from localllm.tools.change_history import FileDiff

if TYPE_CHECKING:
    from localllm.agent.advice import Panel
    from localllm.app.session import Conversation


class SessionChanges:
    """The changes of one conversation. Methods raise ToolExecutionError."""

    def __init__(self, conversation: "Conversation", panel: "Panel") -> None:
        self._conversation = conversation
        self._panel = panel

    def undo(self, *, turn: bool = False) -> list[str]:
        """Undo the last change, or all of the last turn; return a line per file. Undoing a rewind restores the
        conversation as well."""
        return self._conversation.undo(turn=turn)

    def redo(self) -> list[str]:
        """Redo the last `undo`, unless something was changed since; return a line per file."""
        return self._conversation.redo()

    def earlier(self, *, turn: bool = False) -> list[str]:
        """List what `undo` would revert of another session, a line each; empty if the next change is this session's."""
        return self._conversation.checkpoints.earlier_changes(turn=turn)

    def files(self) -> list[str]:
        """Return the files that tools changed and that still differ; sorted."""
        return self._conversation.tool_system.changes.changed_since(0)

    def diffs(self, *, turn: bool = False) -> list[FileDiff]:
        """Return the diffs of these files, of all or of those of the last request."""
        requests = [point for point in self.checkpoints() if not point.by_hand] if turn else []
        return self._conversation.tool_system.changes.diffs_since(requests[-1].position if requests else 0)

    def checkpoint(self, name: str) -> int:
        """Create a checkpoint with a name (may be empty); return its number."""
        return self._conversation.checkpoints.add(name).number

    def checkpoints(self) -> Sequence[Point]:
        """Return the checkpoints of this session, newest last: one before each request, and manual ones."""
        return self._conversation.checkpoints.points()

    @property
    def is_rewound(self) -> bool:
        """Whether `undo` would undo a rewind that changed anything."""
        return self._conversation.checkpoints.is_rewound

    def rewind(self, which: str) -> list[str]:
        """Rewind files and conversation to the checkpoint of this number or name; return a line for each action."""
        lines = self._conversation.rewind(which)
        self._conversation.agent.ladder.begin()
        self._panel.forget()  # which of it was before is unknown
        return lines
