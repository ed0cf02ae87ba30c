"""Tell what a commit of a command lacks: the hooks that lie in the user's home, and the signature."""

import os
import re
from contextlib import suppress
from pathlib import Path

from localllm.base.errors import LocalLLMError
from localllm.base.i18n import Phrase
from localllm.base.regular_files import read_regular
from localllm.sandbox.dotfiles import git_settings_of_user, hooks_out_of_sight
from localllm.sandbox.git_config import Setting
from localllm.sandbox.protect.repositories.repository import find_place
from localllm.tools.merge_state import MergeState, read_merge_state

COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_MADE_COMMIT = re.compile(rb"\t(?:commit|am|cherry-pick|merge|pull|rebase|revert)\b")
_MOVED = b": Fast-forward"
_LARGEST_LOG = 64_000_000  # bytes


def remarks_on_commit(root: Path, before: MergeState | None) -> list[Phrase]:
    """Return remarks for model and user if a command has committed. `before`: the repository's state before it; None
    for a command that does not commit."""
    if before is None or not _has_committed(root, before):
        return []
    settings = git_settings_of_user(os.environ, root)
    remarks: list[Phrase] = []
    if (folder := hooks_out_of_sight(settings, os.environ, root)) and (names := hooks_in(folder)):
        remarks.append(
            Phrase(
                "Committed without the hooks in the home ({names} in {folder}), which commands do not see.",
                names=", ".join(names),
                folder=folder,
            )
        )
    if signs(settings):
        remarks.append(
            Phrase(
                "Committed without the signature that the settings ask for (commit.gpgsign): git commit --amend "
                "--no-edit outside the sandbox adds it."
            )
        )
    return remarks


def hooks_in(folder: Path) -> tuple[str, ...]:
    """Return the names of the hooks in the folder that a commit runs."""
    return tuple(name for name in COMMIT_HOOKS if os.access(folder / name, os.X_OK))


def signs(settings: list[Setting]) -> bool:
    """Return whether commits are to be signed."""
    said = [one.value.lower() for one in settings if (one.section, one.name) == ("commit", "gpgsign")]
    return said[-1:] in (["true"], ["yes"], ["on"], ["1"])


def _has_committed(root: Path, before: MergeState) -> bool:
    """Return whether the log of HEAD has new lines about a commit."""
    if read_merge_state(root).head == before.head:
        return False
    with suppress(LocalLLMError, OSError):
        if place := find_place(root):
            lines = read_regular(place.folder / "logs/HEAD", _LARGEST_LOG)[before.head[1] :].splitlines()
            return any(_MADE_COMMIT.search(line) and not line.endswith(_MOVED) for line in lines)
    return False
