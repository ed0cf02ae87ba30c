"""What a killed program had left behind, and what became of it at the next start."""

from collections.abc import Sequence
from pathlib import Path

from localllm.base import logs
from localllm.base.errors import LocalLLMError
from localllm.base.i18n import _, ngettext
from localllm.base.own_folders import reopen_all, reopened_notice
from localllm.base.paths import is_recorded, state_folder
from localllm.safety.path_names import some_of
from localllm.sandbox.command_runner import LateRunner
from localllm.tools.change_history import ChangeHistory


class Recovery:
    """Undoes or records what a killed program had changed. Nothing of it may keep the program from starting.

    `put_back`: number of protected files restored before the settings were read; `reopened`: files of the program's own
    that a command had closed.
    """

    def __init__(self, *, put_back: int = 0, reopened: Sequence[str] = ()) -> None:
        self.put_back = put_back
        self.reopened = [*reopened]
        self.files = 0
        self.not_undone: Sequence[str] = ()
        self.failure = ""

    def run(self, root: Path, runner: LateRunner, changes: ChangeHistory) -> None:
        """Restore protected files, which do not count as changed then, and make the other changes undoable."""
        self._take_back(root, runner)
        try:
            try:
                self.files = changes.recover()
            except PermissionError:
                if not (opened := reopen_all()):
                    raise
                self.reopened += opened
                self.files = changes.recover()
        except (OSError, LocalLLMError) as error:
            logs.of("UNDO").warning("what a killed program had changed cannot be looked for: %s", error)
        self.not_undone = changes.not_undone

    def _take_back(self, root: Path, runner: LateRunner) -> None:
        """Restore protected project files that commands had changed. Loads nothing if there are none."""
        if not is_recorded(root.resolve(), state_folder() / "commands"):
            return
        try:
            self.put_back += len(runner.recover())
        except OSError as error:
            logs.of("SANDBOX").warning("what a killed command had changed cannot be put back: %s", error)
        except LocalLLMError as error:
            self.failure = str(error)

    def notices(self) -> list[str]:
        """Return what the user is told at the start."""
        lines: list[str] = []
        if self.reopened:
            lines.append(reopened_notice(self.reopened))
        if self.files:
            lines.append(
                ngettext(
                    "The program was killed during its last change; that change ({count} file) can be undone.",
                    "The program was killed during its last change; that change ({count} files) can be undone.",
                    self.files,
                )
            )
        if self.not_undone:
            lines.append(
                _(
                    "The program was killed during an undo. Not restored yet: {names}. /undo continues.",
                    names=some_of(self.not_undone),
                )
            )
        if self.put_back:
            lines.append(
                ngettext(
                    "The program was killed while a command was running; the protected file it had changed "
                    "({count}) was restored.",
                    "The program was killed while a command was running; the protected files it had changed "
                    "({count}) were restored.",
                    self.put_back,
                )
            )
        return [*lines, *([self.failure] if self.failure else [])]
