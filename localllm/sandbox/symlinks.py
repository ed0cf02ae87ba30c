"""Resolve symlinks name by name, as the system does, without touching their targets."""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_MOST_LINKS = 40  # on the way to a file, as in the kernel
SKIPPED = frozenset({"node_modules", "site-packages"})
"""Package folders: they are scanned last, and only after a command."""


class Resolved(NamedTuple):
    """What a path stands for. `leads_out`: a symlink on the way lies in a project and leads out of it, or there are too
    many: a command, or whoever wrote the project, chose where to."""

    real: str
    leads_out: bool


class TooManyNamesError(Exception):
    """More names are on the ways than are to be followed."""


class Allowance:
    """How many names of paths may be followed: a command can leave any number of links that turn back and forth."""

    def __init__(self, names: int) -> None:
        self._left = names

    def spend(self, names: int) -> None:
        """Use up that many. Raises TooManyNamesError, now and from then on, if fewer are left."""
        self._left -= names
        if self._left < 0:
            raise TooManyNamesError


def follow(path: str, allowance: Allowance | None = None) -> list[str]:
    """Return the symlinks on the way to what the absolute path stands for, also those in place of folders, and last the
    path with all of them resolved. Raises TooManyNamesError."""
    found: list[str] = []
    at, rest = "/", path.split("/")[::-1]
    while rest:
        name = rest.pop()
        if allowance:
            allowance.spend(1)
        if name == "..":
            at = os.path.dirname(at)  # noqa: PTH120 - strings
        elif name not in ("", "."):
            at = os.path.join(at, name)  # noqa: PTH118 - strings
            with suppress(OSError, ValueError):  # a name with a zero byte
                target = os.readlink(at)  # noqa: PTH115 - strings
                found.append(at)
                if len(found) > _MOST_LINKS:
                    break
                at = "/" if target.startswith("/") else os.path.dirname(at)  # noqa: PTH120 - strings
                rest += target.split("/")[::-1]
    return [*found, at]


def resolve(path: str, root: Path | None) -> Resolved:
    """Resolve an absolute path, each symlink read once: what was judged is opened then, without following any, as a
    command may be exchanging it. A project is the one at `root`, and any other of the user."""
    from localllm.base import named_paths  # only the first command needs it

    try:
        found = named_paths.follow(Path(path), root or Path("/"))
    except OSError:
        return Resolved(path, leads_out=True)
    return Resolved(str(found.real), found.leads_out)


def find_plain(root: Path, path: Path) -> Path | None:
    """Return what an absolute path stands for in the folder `root` (symlinks resolved); None if that is elsewhere, or
    if the way there has a symlink or a package folder, which is not checked again."""
    *links, real = follow(str(path))
    target = Path(real)
    if links or not target.is_relative_to(root):
        return None
    inside = target.relative_to(root).parts
    return target if SKIPPED.isdisjoint(part.casefold() for part in inside) else None
