"""Ask whether to trust a project's settings: once per content, before a chat; see also `config trust`."""

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
    """Return the settings after the user has decided whether to trust the project's.

    The user is asked only about withheld settings without an earlier answer. `load_believing` loads the settings again
    and trusts the content with this digest; the answer is stored in `answers`.
    """
    waiting = loaded.held_back
    if waiting is None or not waiting.is_asked or waiting.answer is not None or not terminal.is_attended:
        return loaded
    believed = terminal.ask_trust(waiting.file, waiting.values)
    if believed is None:
        return loaded
    try:
        answers.remember(project, waiting.digest, believed=believed)
    except ConfigurationError as error:
        terminal.remark(
            _("Your answer applies only this time. {what} {why}", what=error.what, why=error.why), "warning"
        )
    else:
        if believed:
            terminal.remark(_("Trusted until the file changes; localllm config untrust revokes it."))
    return load_believing(waiting.digest) if believed else loaded
