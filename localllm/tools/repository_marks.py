"""Tell what a command has left in a repository that nothing else shows: patterns of files to leave out, an end of the
history, and locks."""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from localllm.base.errors import LocalLLMError
from localllm.base.i18n import Phrase
from localllm.base.regular_files import read_regular
from localllm.safety.path_names import some_of
from localllm.sandbox.protect.repositories.repository import Place, find_place
from localllm.tools.exclude_file import excluded, remarks_on_excluded

_OF_WORK_TREE = ("index.lock", "HEAD.lock")
_OF_ALL = ("packed-refs.lock", "config.lock", "shallow.lock")
_LONGEST_HEAD = 10_000
_LARGEST = 1_000_000  # bytes
_BRANCH = b"ref: "


class Marks(NamedTuple):
    """Patterns in the exclude file, locks, and the commits at which the history ends."""

    excluded: frozenset[str] = frozenset()
    locks: frozenset[str] = frozenset()
    ends: frozenset[bytes] = frozenset()


def marks_of(root: Path) -> Marks:
    """Return the marks of the repository that `root` is in."""
    patterns = excluded(root)
    with suppress(LocalLLMError, OSError, ValueError):
        if place := find_place(root):
            return Marks(patterns, frozenset(_locks(place)), _ends(place))
    return Marks(patterns)


def remarks_on_marks(root: Path, before: Marks) -> list[Phrase]:
    """Return remarks for model and user on what a command has added to the marks `before` it."""
    remarks = remarks_on_excluded(root, before.excluded)
    now = marks_of(root)
    if locks := sorted(now.locks - before.locks):
        remarks.append(
            Phrase(
                "The command has left locks in the repository ({names}): git refuses to work there until they are "
                "deleted. Delete them if no git is running.",
                names=some_of(locks),
            )
        )
    if now.ends - before.ends:
        remarks.append(
            Phrase(
                "The command has cut the history of the repository short (.git/shallow): git shows no older commits, "
                "and /undo does not bring them back. git fetch --unshallow does; if they are still in the repository, "
                "deleting .git/shallow is enough."
            )
        )
    return remarks


def _locks(place: Place) -> list[str]:
    found = [name for name in _OF_WORK_TREE if os.path.lexists(place.folder / name)]
    head = read_regular(place.folder / "HEAD", _LONGEST_HEAD)
    branch = [os.fsdecode(head[len(_BRANCH) :].strip()) + ".lock"] if head.startswith(_BRANCH) else []
    return found + [name for name in (*_OF_ALL, *branch) if os.path.lexists(place.common / name)]


def _ends(place: Place) -> frozenset[bytes]:
    with suppress(OSError):
        return frozenset(read_regular(place.common / "shallow", _LARGEST).split())
    return frozenset()
