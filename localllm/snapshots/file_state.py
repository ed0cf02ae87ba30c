"""The state of a file, as the journal of changes writes it: what it holds, and its permissions."""

import hashlib
import os
import stat

from localllm.safety.paths import ProjectRoot
from localllm.snapshots.project_scan import Sign

ABSENT = "absent"
"""The state of a file that is not there. Any other is `<SHA-256 of the content>:<permissions in octal>`, or what
`unkept` gives."""

_UNKEPT = "unkept:"
_REPOSITORY = "repository:"
LOST = f"{_REPOSITORY}lost:0"
"""The state of a repository in which a command destroyed something."""


def look(root: ProjectRoot, relative: str) -> str:
    """The state of a file as it is now (its digest and its mode, or ABSENT), without keeping it. Raises what
    ProjectRoot.open_file does."""
    if not root.exists(relative):
        return ABSENT
    with root.open_file(relative) as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        return state_of(hashlib.file_digest(file, "sha256").hexdigest(), mode)


def is_in_state(root: ProjectRoot, relative: str, state: str) -> bool:
    """Whether a file is in a state that was recorded of it."""
    if is_repository(state):
        return False
    if not is_unkept(state):
        return look(root, relative) == state
    if not root.exists(relative):
        return False
    facts = root.stat(relative)
    return state.startswith(f"{_UNKEPT}{facts.st_size}-{facts.st_mtime_ns}:")


def state_of(content: str, mode: int) -> str:
    """The state of a file that has the content of this SHA-256 and these permissions."""
    return f"{content}:{mode:o}"


def content_of(state: str) -> str:
    """The SHA-256 of the content; of a state that has none, something that is no SHA-256."""
    return state.partition(":")[0]


def mode_of(state: str) -> int:
    """The permissions."""
    return int(state.rpartition(":")[2], 8)


def unkept(facts: Sign) -> str:
    """The state of a file whose content is not kept."""
    return f"{_UNKEPT}{facts.size}-{facts.mtime_ns}:{facts.mode:o}"


def state_of_losses(version: str) -> str:
    """The state of a repository before it lost what the content of this SHA-256 lists."""
    return f"{_REPOSITORY}{version}:0"


def is_repository(state: str) -> bool:
    """Whether it is the state of a repository, not of a file."""
    return state.startswith(_REPOSITORY)


def losses_of(state: str) -> str:
    """The SHA-256 of the content that lists what a repository lost."""
    return state.removeprefix(_REPOSITORY).partition(":")[0]


def is_unkept(state: str) -> bool:
    """Whether `unkept` gave it."""
    return state.startswith(_UNKEPT)
