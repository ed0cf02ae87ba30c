"""Keep in a session's log what happens, and what has become of its tools since."""

from localllm.sessions.entries import Changed, Entry, Planned, Tainted
from localllm.sessions.log import SessionLog
from localllm.tools.tool_system import ToolSystem


class Recorder:
    """Puts the entries of a session into its log: before each, whether strangers' text has come in by now, and which
    files were changed, and what the model's plan is."""

    def __init__(self, log: SessionLog, tools: ToolSystem) -> None:
        self.log = log
        self._tools = tools
        self._plan = tools.plan.text
        self._is_tainted = tools.tainted
        self._position = tools.changes.position
        self._has_complained = False

    def keep(self, entry: Entry) -> None:
        """Put `entry` into the log."""
        self.catch_up()
        self.log.append(entry)

    def catch_up(self) -> None:
        """Put into the log what has become of the tools since the last entry."""
        if self._tools.tainted and not self._is_tainted:
            self._is_tainted = True
            self.log.append(Tainted())
        for change in self._tools.changes.made_since(self._position):
            self.log.append(Changed(path=change.path, before=change.before, after=change.after))
        self._position = self._tools.changes.position
        if self._tools.plan.text != self._plan:
            self._plan = self._tools.plan.text
            self.log.append(Planned(text=self._plan))

    def take_failure(self) -> str:
        """Why nothing is kept, once; "" where all is well, or that was said."""
        if self._has_complained:
            return ""
        self._has_complained = bool(self.failure)
        return self.failure

    @property
    def failure(self) -> str:
        """Which file cannot be written, and why; "" where all is well."""
        failure = self.log.failure
        return f"{failure.filename or self.log.file}: {failure.strerror or failure}" if failure else ""
