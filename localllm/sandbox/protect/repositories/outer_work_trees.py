"""Find the linked work trees that the user has outside of the project.

Git forgets a work tree whose `.git` file it does not see, with what was staged there, and its commits if no branch has
them: at each `git worktree prune`, and after some months at each `git gc`. A command sees nothing of the folder.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from localllm.base.folded_names import folded
from localllm.sandbox.protect.protected_paths import Entry
from localllm.sandbox.protect.repositories.git_files import led_to, line_of

_MOST_TREES = 50  # each is a mount


def gitfiles_outside(root: Path, entries: Mapping[str, Entry]) -> list[str]:
    """Return the `.git` files of linked work trees outside `root` whose data is in the project, each of which leads
    back to that data: what the data says may be from a command. `entries`: the protected files, by path."""
    return list(islice(_gitfiles(root, entries), _MOST_TREES))


def _gitfiles(root: Path, entries: Mapping[str, Entry]) -> Iterator[str]:
    for path, entry in entries.items():
        if not folded(path).endswith("/gitdir") or not entry.content:
            continue
        data = (root / path).parent
        git = Path(os.path.normpath(data / line_of(entry.content)))
        if data.parent.name != "worktrees" or git.name != ".git" or git.is_relative_to(root):
            continue
        said = led_to(git)
        if said and Path(os.path.realpath(git.parent / said)) == data:
            yield str(git)
