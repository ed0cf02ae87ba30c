"""Follow the links of a path that the user has named, and see whether a project has put one of them there."""

import errno
import os
import sys
from pathlib import Path
from typing import NamedTuple

from localllm.base.paths import home_and_above, is_marked

_MOST_LINKS = 40  # of one path, as Linux counts


class Followed(NamedTuple):
    """Where a path leads, every link in it read once; `leads_out`: a link of a project leads out of that project."""

    real: Path
    leads_out: bool


def follow(path: Path, root: Path) -> Followed:
    """Where the path leads, looked at once: what is in its way may be exchanged at any moment.

    A link that lies in a project, the one at `root` or any other, and leads out of it was made by whoever packed the
    project, or by a command. Nobody has packed the home folder, or what is above it. Raises OSError for links in
    circles.
    """
    real, folders = _walked(path)
    leaving = (project for folder in folders for project in _projects_around(folder, root))
    return Followed(real, any(not real.is_relative_to(project) for project in leaving))


def _walked(path: Path) -> tuple[Path, list[Path]]:
    """The path with its links resolved, and the folders in which these lie."""
    if sys.platform == "win32":
        real = path.resolve()
        named = Path(os.path.abspath(path))  # noqa: PTH100 - without "..", as the resolved one
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
        except OSError:  # no link, or nothing at all
            current /= name
            continue
        folders.append(current)
        if len(folders) > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        waiting += [part for part in reversed(target.split("/")) if part not in ("", ".")]
        current = Path("/") if target.startswith("/") else current
    return current, folders


def _projects_around(folder: Path, root: Path) -> set[Path]:
    """The project at `root`, where a real folder lies in that, and the outermost one that it lies in."""
    nobodys, top = {*home_and_above(), Path("/")}, Path(os.path.realpath(root))
    around = [each for each in (folder, *folder.parents) if each not in nobodys]
    marked = [each for each in around if is_marked(each)]
    return {*marked[-1:], *(each for each in around if each == top)}
