"""Record events, and changes in the state of the tools, in a session's log."""

from collections.abc import Callable

from localllm.sessions.entries import Changed, Chosen, Entry, Planned, Tainted
from localllm.sessions.log import SessionLog
from localllm.tools.tool_system import ToolSystem


class Recorder:
    """Append the entries of a session to its log: before each, whether untrusted text was added, which files changed,
    the model's plan, and which model the user has chosen."""

    def __init__(self, log: SessionLog, tools: ToolSystem, chosen_model: Callable[[], str], model: str) -> None:
        """`chosen_model` returns the model that the user has chosen, `model` is the last one in the log."""
        self.log = log
        self._chosen_model = chosen_model
        self._model = model
        self._tools = tools
        self._plan = tools.plan.text
        self._is_tainted = tools.tainted
        self._has_downloaded = tools.has_downloaded
        self._position = tools.changes.position
        self._has_complained = False

    def keep(self, entry: Entry) -> None:
        """Append `entry` to the log."""
        self.catch_up()
        self.log.append(entry)

    def catch_up(self, *, taken_back: bool = False) -> None:
        """Log changes in the state of the tools since the last entry. `taken_back`: see Changed."""
        if self._tools.tainted and not self._is_tainted:
            self._is_tainted = True
            self.log.append(Tainted())
        if self._tools.has_downloaded and not self._has_downloaded:
            self._has_downloaded = True
            self.log.append(Tainted(by_command=True))
        for change in self._tools.changes.made_since(self._position):
            entry = Changed(path=change.path, before=change.before, after=change.after, taken_back=taken_back)
            self.log.append(entry)
        self._position = self._tools.changes.position
        if self._chosen_model() != self._model:
            self._model = self._chosen_model()
            self.log.append(Chosen(model=self._model))
        if self._tools.plan.text != self._plan:
            self._plan = self._tools.plan.text
            self.log.append(Planned(text=self._plan))

    def take_failure(self) -> str:
        """Return why logging fails, once; "" if it works, or this was reported."""
        if self._has_complained:
            return ""
        self._has_complained = bool(self.failure)
        return self.failure

    @property
    def failure(self) -> str:
        """Return which file cannot be written, and why; "" if logging works."""
        failure = self.log.failure
        return f"{failure.filename or self.log.file}: {failure.strerror or failure}" if failure else ""
