"""Resolve the links of a path named by the user, and detect those that lead out of a project."""

import errno
import os
import sys
from pathlib import Path
from typing import NamedTuple

from localllm.base.paths import home_and_above, is_project

_MOST_LINKS = 40  # of one path, as Linux counts


class Followed(NamedTuple):
    """A resolved path, each link read once; `leads_out`: a link in a project leads out of that project."""

    real: Path
    leads_out: bool


def follow(path: Path, root: Path) -> Followed:
    """Resolve the path in one pass: any part of it may be replaced at any moment.

    A link that lies in a project, the one at `root` or any other, and leads out of it was created by the project's
    author, or by a command. The home folder and its parents count as no project. Raises OSError for circular links.
    """
    real, folders = _walked(path)
    leaving = (project for folder in folders for project in _projects_around(folder, root))
    return Followed(real, any(not real.is_relative_to(project) for project in leaving))


def _walked(path: Path) -> tuple[Path, list[Path]]:
    """Return the path with its links resolved, and the folders that contain the links."""
    if sys.platform == "win32":
        real = path.resolve()
        named = Path(os.path.abspath(path))  # noqa: PTH100 - without "..", like the resolved path
        return real, [] if real == named else [named.parent]
    current, folders = Path("/"), list[Path]()
    waiting = [*reversed(path.absolute().parts[1:])]
    while waiting:
        name = waiting.pop()
        if name == "..":
            current = current.parent
            continue
        try:
            target = os.readlink(current / name)  # noqa: PTH115 - as text, of which the parts count
        except OSError:  # no link, or missing
            current /= name
            continue
        folders.append(current)
        if len(folders) > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        waiting += [part for part in reversed(target.split("/")) if part not in ("", ".")]
        current = Path("/") if target.startswith("/") else current
    return current, folders


def _projects_around(folder: Path, root: Path) -> set[Path]:
    """Return the projects that the real folder lies in: that at `root`, those that are marked or have chat sessions. In
    each of them commands may have run that see no other."""
    nobodys, top = {*home_and_above(), Path("/")}, Path(os.path.realpath(root))
    around = [each for each in (folder, *folder.parents) if each not in nobodys]
    return {each for each in around if each == top or is_project(each)}
