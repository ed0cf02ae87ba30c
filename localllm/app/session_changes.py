"""What a session has changed in the project: shown, taken back and made again."""

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
        """Take back the last change, or all of the last turn; a line for each file. If that was a rewind, the
        conversation comes back as well."""
        return self._conversation.undo(turn=turn)

    def redo(self) -> list[str]:
        """Make again what `undo` took back last, unless something was changed since; a line for each file."""
        return self._conversation.redo()

    def earlier(self, *, turn: bool = False) -> list[str]:
        """What `undo` would take back of an earlier session or another one, a line each; nothing where it is this
        session's."""
        return self._conversation.checkpoints.earlier_changes(turn=turn)

    def files(self) -> list[str]:
        """The files that tools have changed and that are not as they were; sorted."""
        return self._conversation.tool_system.changes.changed_since(0)

    def diffs(self, *, turn: bool = False) -> list[FileDiff]:
        """What has become of these files, of all or of those of the last request."""
        requests = [point for point in self.checkpoints() if not point.by_hand] if turn else []
        return self._conversation.tool_system.changes.diffs_since(requests[-1].position if requests else 0)

    def checkpoint(self, name: str) -> int:
        """Remember this point under a number and a name (which may be empty); the number."""
        return self._conversation.checkpoints.add(name).number

    def checkpoints(self) -> Sequence[Point]:
        """The points of this session, the newest last: one before each request, and those made by hand."""
        return self._conversation.checkpoints.points()

    def rewind(self, which: str) -> list[str]:
        """Bring files and conversation back to the point of this number or name; a line for each thing done."""
        lines = self._conversation.rewind(which)
        self._conversation.agent.ladder.begin()
        self._panel.forget()  # nobody knows which of it was before
        return lines
