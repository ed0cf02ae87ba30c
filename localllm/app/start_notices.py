"""Notices at start-up: storage locations, untrusted project settings, recovery."""

from collections.abc import Sequence

from localllm.base.i18n import N_, _, ngettext
from localllm.base.paths import Storage
from localllm.safety.paths import some_of

_STORED = {
    "state": N_("{own} cannot be used here ({reason}): long output is kept in {folder}."),
    "nowhere": N_(
        "Nothing of this session is saved: {own} cannot be used here ({reason}), and {folder} is not writable."
    ),
}


def storage_notices(storage: Storage) -> list[str]:
    """Report the storage location, if it is not the project."""
    if storage.place == "project":
        return []
    return [_(_STORED[storage.place], own=storage.other.name, reason=storage.reason, folder=storage.folder)]


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


def recovery_notices(files: int, put_back: int = 0, not_undone: Sequence[str] = ()) -> list[str]:
    """Report files changed by an interrupted call of a killed program, restored files that run later outside the
    sandbox, and files that an interrupted undo has not restored."""
    lines: list[str] = []
    if files:
        lines.append(
            ngettext(
                "The program was killed during its last change; that change ({count} file) can be undone.",
                "The program was killed during its last change; that change ({count} files) can be undone.",
                files,
            )
        )
    if not_undone:
        lines.append(
            _(
                "The program was killed during an undo. Not restored yet: {names}. /undo continues.",
                names=some_of(not_undone),
            )
        )
    if put_back:
        lines.append(
            ngettext(
                "The program was killed while a command was running; the protected file it had changed "
                "({count}) was restored.",
                "The program was killed while a command was running; the protected files it had changed "
                "({count}) were restored.",
                put_back,
            )
        )
    return lines
