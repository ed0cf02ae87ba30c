"""What belongs to a project but lies outside it: the repository around it, or the one it is a linked worktree of."""

import os
from collections.abc import Iterable
from pathlib import Path

_MOST = 4096  # bytes of git's one-line files


def around(root: Path, never: Iterable[Path]) -> list[Path]:
    """The folders outside `root` (links resolved) that git, and the project's own tools, read: its commands may, too.

    For a folder of a repository, all of that; not where it is one of `never` (homes, `/tmp`) or holds one, nor where
    it is somebody else's. For a linked worktree, the data of
    its repository, if that knows the worktree as well: what a project says of itself is not believed.
    """
    git = root / ".git"
    if os.path.isfile(git):  # noqa: PTH113 - Path's raise where something on the way is closed, or a loop
        return _of_worktree(git)
    if os.path.lexists(git):
        return []
    top = next((folder for folder in root.parents if os.path.isdir(folder / ".git")), None)  # noqa: PTH112 - as above
    if top is None or any(folder.is_relative_to(top) for folder in never) or not _has_one_owner(top / ".git", root):
        return []
    return [top]


def _of_worktree(git: Path) -> list[Path]:
    said = _line(git).removeprefix("gitdir: ")
    data = _real(git.parent / said)
    if data.parent.name != "worktrees" or not said:
        return []
    knows_it = _real(data / _line(data / "gitdir")) == git
    common = data.parent.parent
    return [common] if knows_it and os.path.isfile(common / "HEAD") else []  # noqa: PTH113 - as above


def _has_one_owner(*paths: Path) -> bool:
    try:
        return len({path.stat().st_uid for path in paths}) == 1
    except OSError:
        return False


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _line(path: Path) -> str:
    """What a file says, "" where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST).decode("utf-8", "surrogateescape").strip().replace("\0", "")
    except OSError:
        return ""
