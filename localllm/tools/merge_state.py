"""What git has begun and not ended, and which files are in conflict: read from its files, without running git."""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from localllm.base.errors import LocalLLMError
from localllm.base.i18n import Phrase, Phrases
from localllm.base.regular_files import read_regular
from localllm.safety.path_names import shown
from localllm.safety.paths import ProjectRoot
from localllm.sandbox.protect.repositories.repository import find_place
from localllm.snapshots.repository_objects import unmerged_in_index
from localllm.text.conflict_markers import marker_lines
from localllm.text.decoding import NotTextError
from localllm.tools.text_files import load

_OPERATIONS = {
    "merge": ("MERGE_HEAD",),
    "rebase": ("rebase-merge", "rebase-apply"),
    "cherry-pick": ("CHERRY_PICK_HEAD",),
    "revert": ("REVERT_HEAD",),
    "bisect": ("BISECT_LOG",),
}
"""Operations in progress, and the files in the git folder that indicate them."""

_PICKED = {b"pick": "cherry-pick", b"revert": "revert"}
"""The operations on several commits, by what `sequencer/todo` lists each as, the one that it stopped at first."""

_LARGEST_TODO = 10_000_000  # bytes
_LARGEST_INDEX = 128_000_000
_MOST_READ = 50  # files in conflict

_MOST_NAMED = 6

_GIT = re.compile(r"\bgit\b")
_MAY_TAKE = re.compile(
    r"\b(?:add|am|checkout|cherry-pick|commit|continue|merge|pull|rebase|restore|revert|stage|stash|update-index)\b"
)
_CONFLICT = re.compile(r"\bMerge conflict in ([^\n]{1,500})")


class MergeState(NamedTuple):
    """`operation` in progress: "merge", "rebase", "cherry-pick", "revert", "bisect" or ""; `unmerged`: the files of the
    project in conflict according to git's index; `head`: the state of the log of HEAD; `prefix`: the project's folder
    in the repository, with a `/` at its end."""

    operation: str = ""
    unmerged: tuple[str, ...] = ()
    head: tuple[int, int] = (0, 0)
    prefix: str = ""

    def within(self, names: Iterable[str]) -> list[str]:
        """Return those of the repository's files that are in the project, relative to it."""
        return [name.removeprefix(self.prefix) for name in names if name.startswith(self.prefix)]


def operation_in(folder: Path) -> tuple[str, bool]:
    """Return the operation in progress according to the data of a work tree in `folder`, "" if none, and whether it
    goes on with further commits after the one that it stopped at."""
    todo: list[bytes] = []
    with suppress(OSError):
        todo = read_regular(folder / "sequencer/todo", _LARGEST_TODO).splitlines()
    found = (name for name, marks in _OPERATIONS.items() if any(os.path.lexists(folder / mark) for mark in marks))
    name = next(found, _PICKED.get(todo[0].partition(b" ")[0], "") if todo else "")
    return name, name == "rebase" or (name in _PICKED.values() and len(todo) > 1)


def operation_of(root: Path) -> str:
    """Return the operation in progress in the repository that `root` is in, "" if none."""
    with suppress(LocalLLMError, OSError):
        if place := find_place(root):
            return operation_in(place.folder)[0]
    return ""


def read_merge_state(root: Path) -> MergeState:
    """Return the state of the repository that `root` is in, without what cannot be read."""
    try:
        place = find_place(root)
    except (LocalLLMError, OSError):
        return MergeState()
    if place is None:
        return MergeState()
    prefix = "" if root == place.top else f"{root.relative_to(place.top)}/"
    state = MergeState(operation_in(place.folder)[0], prefix=prefix)
    with suppress(OSError):
        data = read_regular(place.folder / "index", _LARGEST_INDEX)
        state = state._replace(unmerged=tuple(state.within(unmerged_in_index(data, 20))))
    with suppress(OSError):
        facts = os.stat(place.folder / "logs/HEAD")  # noqa: PTH116 - fast
        state = state._replace(head=(facts.st_mtime_ns, facts.st_size))
    return state


class Taken(NamedTuple):
    """Files that a command has taken as merged though they hold conflict markers, with the lines of these; whether they
    are in a commit."""

    files: dict[str, list[int]]
    is_committed: bool

    @property
    def phrase(self) -> Phrase:
        """What happened, for model and user."""
        named: list[str | Phrase] = [
            Phrase("{path} (lines {lines})", path=shown(path), lines=_listed(lines))
            for path, lines in [*self.files.items()][:_MOST_NAMED]
        ]
        more = ["…"] if len(self.files) > _MOST_NAMED else []
        places = Phrases([*named, *more], ", ")
        if self.is_committed:
            return Phrase("Committed with conflict markers: {places}.", places=places)
        return Phrase("Added with conflict markers: {places}.", places=places)


def _listed(lines: Sequence[int]) -> str:
    return ", ".join([*map(str, lines[:_MOST_NAMED]), *("…" for _ in lines[_MOST_NAMED : _MOST_NAMED + 1])])


def state_before(root: Path, command: str) -> MergeState | None:
    """Return the state before a command; None if that cannot mark a conflict as resolved."""
    may_take = any((git := _GIT.search(line)) and _MAY_TAKE.search(line, git.end()) for line in command.split("\n"))
    return read_merge_state(root) if may_take else None


def taken_with_markers(root: ProjectRoot, before: MergeState | None, output: str) -> Taken | None:
    """Return the files that a command has taken as merged though they hold conflict markers: of those in conflict
    `before` it, or since then according to its `output`. Not those that are in conflict again, with the next commit of
    a rebase. None if there are none."""
    since = _CONFLICT.findall(output) if before else ()
    if before is None or not (before.unmerged or since):
        return None
    now = read_merge_state(root.path)
    candidates = dict.fromkeys((*before.unmerged, *now.within(name.strip() for name in since)))
    files = marked(root, (path for path in candidates if path not in now.unmerged))
    return Taken(files, now.head != before.head) if files else None


def marked(root: ProjectRoot, paths: Iterable[str]) -> dict[str, list[int]]:
    """Return those of the files that hold conflict markers, with their lines."""
    found: dict[str, list[int]] = {}
    for path in islice(paths, _MOST_READ):
        with suppress(LocalLLMError, OSError, NotTextError):
            if lines := marker_lines(load(root, path).text):
                found[path] = lines
    return found
