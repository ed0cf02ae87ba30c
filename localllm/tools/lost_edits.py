"""Find lines of the user's that a git command took away with a file's uncommitted changes."""

import re
from collections.abc import Sequence

from localllm.base.errors import LocalLLMError
from localllm.base.lazy_patterns import late_pattern
from localllm.snapshots.change_log import Change
from localllm.snapshots.store import Snapshots
from localllm.text.decoding import NotTextError, decode
from localllm.tools.git_execution import Question
from localllm.tools.git_repository import Repository

_GIT = late_pattern(
    r"\bgit\s(?P<options>[^|;&\n]{0,80}?)\b(?P<verb>checkout|restore|reset|switch)\b(?P<words>[^|;&\n]{0,999})"
)
_COMMITS = ("HEAD", "ORIG_HEAD", "HEAD@{1}")
_MOST_COMPARED = 30
"""Files that are compared with these commits."""
_FORCED = frozenset({"-f", "--force", "--discard-changes"})


def is_restoring(command: str, paths: Sequence[str]) -> bool:
    """Return whether git puts files back in a command; `paths` are those it changed."""
    for found in _GIT.finditer(command):
        words = set(re.findall(r"[^\s'\"]+", found["words"]))
        match found["verb"]:
            case "reset":
                is_back = "--hard" in words
            case "restore":
                is_back = not words & {"--staged", "-S"} or bool(words & {"--worktree", "-W"})
            case "switch":
                is_back = bool(words & _FORCED)
            case _:
                is_back = bool(words & {"--", ".", *_FORCED, *paths, *(path.rpartition("/")[2] for path in paths)})
        if is_back:
            return True
    return False


def lost_lines(command: str, changes: Sequence[Change], snapshots: Snapshots) -> dict[str, set[str]]:
    """Return the lines that the command took away, by file: of those that were there before this session changed
    anything, and right before the command. Reads files."""
    if not is_restoring(command, [change.path for change in changes]):
        return {}
    first: dict[str, str] = {}
    for made in snapshots.made.since(0):
        first.setdefault(made.path, made.before)
    lost = {
        change.path: (_known(first.get(change.path, change.before), snapshots) & _known(change.before, snapshots))
        - _known(change.after, snapshots)
        for change in changes
    }
    return {path: lines for path, lines in lost.items() if lines}


async def committed_lines(repository: Repository, paths: Sequence[str]) -> dict[str, set[str]]:
    """Return the lines of each file in the commits that were checked out last. Raises ToolExecutionError."""
    places = [(path, commit) for path in paths[:_MOST_COMPARED] for commit in _COMMITS]
    asked = [Question(("cat-file", "blob", f"{commit}:./{path}"), also_good=(128,)) for path, commit in places]
    found: dict[str, set[str]] = {}
    for (path, _), content in zip(places, await repository.ask(*asked), strict=True):
        found.setdefault(path, set()).update(_lines(content))
    return found


def _known(state: str, snapshots: Snapshots) -> set[str]:
    """Return the lines of a file in that state; none if they are not known."""
    try:
        return _lines(snapshots.content(state))
    except (LocalLLMError, OSError):
        return set()


def _lines(content: bytes) -> set[str]:
    try:
        return {line.strip() for line in decode(content).text.splitlines()} - {""}
    except NotTextError:
        return set()
