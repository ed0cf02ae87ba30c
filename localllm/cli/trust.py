"""Trust in a project's settings: asked once for each content, before a chat; `config trust` answers at any time."""

from collections.abc import Callable
from pathlib import Path

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import _
from localllm.config.loader import Loaded
from localllm.config.trust import Answers
from localllm.tui.repl import Terminal


def settle(
    project: Path, loaded: Loaded, terminal: Terminal, load_believing: Callable[[str], Loaded], answers: Answers
) -> Loaded:
    """The settings as they hold after the person at the terminal has said whether he believes the project's.

    He is asked only where settings are held back that he has not been asked about. `load_believing` loads them again
    and believes the content with this digest; the answer is kept in `answers`.
    """
    waiting = loaded.held_back
    if waiting is None or waiting.answer is not None or not terminal.is_attended:
        return loaded
    believed = terminal.ask_trust(waiting.file, waiting.values)
    if believed is None:
        return loaded
    try:
        answers.remember(project, waiting.digest, believed=believed)
    except ConfigurationError as error:
        terminal.remark(
            _("The answer holds for this time only. {what} {why}", what=error.what, why=error.why), "warning"
        )
    else:
        if believed:
            terminal.remark(_("Believed until the file changes; localllm config untrust takes it back."))
    return load_believing(waiting.digest) if believed else loaded
