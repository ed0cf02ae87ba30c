"""Find lines of the user's that a git command took away with a file's uncommitted changes."""

import re
from collections.abc import Sequence

from localllm.base.errors import LocalLLMError
from localllm.base.lazy_patterns import late_pattern
from localllm.snapshots.change_log import Change
from localllm.snapshots.store import Snapshots
from localllm.text.decoding import NotTextError, decode

_GIT = late_pattern(
    r"\bgit\s(?P<options>[^|;&\n]{0,80}?)\b(?P<verb>checkout|restore|reset)\b(?P<words>[^|;&\n]{0,999})"
)


def is_restoring(command: str, paths: Sequence[str]) -> bool:
    """Return whether git puts files back in a command; `paths` are those it changed."""
    for found in _GIT.finditer(command):
        words = set(re.findall(r"[^\s'\"]+", found["words"]))
        match found["verb"]:
            case "reset":
                is_back = "--hard" in words
            case "restore":
                is_back = not words & {"--staged", "-S"} or bool(words & {"--worktree", "-W"})
            case _:
                is_back = bool(words & {"--", ".", *paths, *(path.rpartition("/")[2] for path in paths)})
        if is_back:
            return True
    return False


def lost_edits(command: str, changes: Sequence[Change], snapshots: Snapshots) -> list[str]:
    """Return the files in which the command took away lines that were there before this process changed anything, and
    right before the command."""
    paths = [change.path for change in changes]
    if "git" not in command or not is_restoring(command, paths):
        return []
    first: dict[str, str] = {}
    for made in snapshots.made_since(0):
        first.setdefault(made.path, made.before)
    return [
        change.path
        for change in changes
        if (_lines(first.get(change.path, change.before), snapshots) & _lines(change.before, snapshots))
        - _lines(change.after, snapshots)
    ]


def _lines(state: str, snapshots: Snapshots) -> set[str]:
    """Return the lines of a file in that state; none if they are not known."""
    try:
        return {line.strip() for line in decode(snapshots.content(state)).text.splitlines()} - {""}
    except (LocalLLMError, OSError, NotTextError):
        return set()
