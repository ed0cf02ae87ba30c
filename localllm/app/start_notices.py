"""Notices at start-up: storage locations and untrusted project settings."""

from collections.abc import Sequence
from pathlib import Path

from localllm.base.hidden_in_home import is_in_home
from localllm.base.i18n import N_, _
from localllm.base.paths import Storage

_STORED = {
    "state": N_("{own} cannot be used here ({reason}): long output is kept in {folder}."),
    "nowhere": N_(
        "Nothing of this session is saved: {own} cannot be used here ({reason}), and {folder} is not writable."
    ),
}


def place_notices(root: Path, storage: Storage) -> list[str]:
    """Report a project that is or holds the home, which is hardly ever meant, and a storage location outside it."""
    notices: list[str] = []
    if is_in_home(root):
        notices.append(
            _(
                "{folder} is no project, it holds your home: the sandbox runs no command here. The model sees hidden "
                "files right in your home only after a question, and the rest, such as a .env of a project, without "
                "one. Start localllm in the folder that you work on.",
                folder=root,
            )
        )
    if storage.place != "project":
        notices.append(_(_STORED[storage.place], own=storage.other.name, reason=storage.reason, folder=storage.folder))
    return notices


def settings_notices(withheld: Sequence[str], unsent: Sequence[str]) -> list[str]:
    """Report keys of the project's settings ignored until it is trusted, and variables with keys that are not sent to
    its server."""
    lines: list[str] = []
    if withheld:
        lines.append(
            _(
                "Ignored in the project's localllm.toml: {keys}. Read the file; to trust it: localllm config trust",
                keys=", ".join(withheld),
            )
        )
    if unsent:
        lines.append(
            _(
                "{variables} is not sent: the project's localllm.toml, which you have not trusted, chooses "
                "the server. To trust it: localllm config trust",
                variables=", ".join(unsent),
            )
        )
    return lines
