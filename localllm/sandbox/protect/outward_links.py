"""Find the symlinks that a command leaves in a project and that lead to a place of the home which it cannot see, or
into the data of a repository.

The first are of no use to the command. The user's own tools would write to where they lead, or empty it: `npm ci` where
`node_modules` has become such a link. By the others a folder is opened or entered of which nothing has looked at what
programs trust in it: in a repository's data only git's own names are looked for.

A link is judged when it is new. One whose way has a package folder on it is judged again after each command: links in
there are not looked at, and where it leads changes with them.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from localllm.base.folded_names import folded
from localllm.sandbox.protect.command_records import CommandRecord, Lifetime
from localllm.sandbox.protect.protected_paths import Entry, identity_of
from localllm.sandbox.symlinks import SKIPPED, Allowance, TooManyNamesError, follow

_MOST = 20_000  # links that are remembered
_MOST_NEW = 200_000  # links that are judged after a command
_MOST_NAMES = 200_000  # names of the paths that are followed at a time, some 2 s
_OF_PROCESS = "/proc/"  # `/proc/self/cwd` leads elsewhere for each program
_DATA = ".git"
_OF_ANNEX = "/annex/objects/"
_UNKNOWN = "?"
"""What a link stands for that has not been followed."""


class _Link(NamedTuple):
    """A link, what it stands for ("": something in the project that may be), and the links on the way there.
    `is_unsteady`: a package folder is on the way."""

    entry: Entry
    real: str
    by: tuple[str, ...] = ()
    is_unsteady: bool = False


class OutwardLinks:
    """The symlinks of the project at `root`, before commands and since. `is_hidden`: whether commands see nothing at an
    absolute path of the home, which exists or not. `is_cut`: not all new ones were judged."""

    def __init__(self, root: Path, is_hidden: Callable[[str], bool]) -> None:
        self._root = root
        self._is_hidden = is_hidden
        self._before: dict[str, _Link] = {}
        self._unsteady: dict[str, _Link] = {}
        self._since: dict[str, None] = {}
        self._allowance = Allowance(_MOST_NAMES)
        self.is_cut = False

    def see(self, paths: Iterable[str], *, is_running: bool, others: Collection[Lifetime] = ()) -> None:
        """Record links: while no command runs, as those from before; else to judge them later, as an unchanged folder
        is not listed again. `others`: commands of other programs, whose links are not from before either."""
        if is_running:
            self._since |= dict.fromkeys(paths)
            return
        self._allowance = Allowance(_MOST_NAMES)
        if not others:
            for path in list(self._unsteady):
                self._follow_again(path, self._read(path))
        for path in paths:
            link = self._read(path)
            if link and any(other.saw_change(link.entry) for other in others):
                self._since[path] = None
            elif link:
                self._follow_again(path, link)
                if len(self._before) < _MOST:
                    self._before[path] = link

    def _follow_again(self, path: str, link: _Link | None) -> bool:
        """Remember a link to be judged again, if it has to be; return False if there is no room."""
        self._unsteady.pop(path, None)
        if not (link and link.is_unsteady):
            return True
        if len(self._unsteady) < _MOST:
            self._unsteady[path] = link
        return path in self._unsteady

    def new(self, known: CommandRecord, *, is_ours: bool) -> dict[str, Entry]:
        """Return those that came since `known`, of this program if `is_ours`, and lead to something hidden; where one
        was at such a path before, it is added to the record. What stands for the same as a link from before is left: it
        may be that one, moved or copied; so is what leads there by way of another one that is new and taken away."""
        self.is_cut |= len(self._since) > _MOST_NEW
        self._allowance = Allowance(_MOST_NAMES)
        noted, self._since = list(self._since)[:_MOST_NEW], {}
        saw_all = is_ours and known.is_complete and len(self._before) < _MOST
        reals = {link.real for link in self._before.values()} - {_UNKNOWN}
        found: dict[str, _Link] = {}
        for path in noted:
            link, before = self._read(path), self._before.get(path)
            if not link or (before and before.entry.identity == link.entry.identity):
                continue
            is_new = saw_all or link.entry.identity[4] >= known.begun
            if is_new and link.real not in ("", *reals) and self._is_harmful(path, link.real):
                found[path] = link
                known.gone.update({path: before.entry} if before else {})
            elif not self._follow_again(path, link):
                found[path] = link
            elif not before and len(self._before) < _MOST:
                self._before[path] = link
        taken = {path for path, link in found.items() if not link.by and path not in known.gone}
        harmful = {path: link.entry for path, link in found.items() if taken.isdisjoint(link.by)}
        return harmful | self._turned(reals, known.begun, set(harmful))

    def _turned(self, reals: Collection[str], begun: int, taken: set[str]) -> dict[str, Entry]:
        """Return what makes links from before lead to something hidden now: the links in package folders that do; the
        link itself where there is none."""
        found: dict[str, Entry] = {}
        for path, before in list(self._unsteady.items()):
            link = self._read(path)
            if not link or path in taken or before.entry.identity != link.entry.identity:
                continue
            if link.real in ("", before.real, *reals) or not self._is_harmful(path, link.real):
                self._follow_again(path, link)
            elif taken.isdisjoint(link.by):
                at = self._turning(link.by, begun) or path
                found[at] = self._entry(at) or link.entry
        return found

    def _turning(self, by: Iterable[str], begun: int) -> str:
        """Return the last of the links in package folders, of those that are new if there are any; "" for none."""
        entries = [(path, self._entry(path)) for path in by if _is_in_packages(path)]
        new = [path for path, entry in entries if entry and entry.identity[4] >= begun]
        return next(reversed(new or [path for path, _ in entries]), "")

    def _entry(self, path: str) -> Entry | None:
        link = self._root / path
        try:
            about = link.lstat()
            target = os.fsencode(link.readlink()) if stat.S_ISLNK(about.st_mode) else None
        except OSError:
            return None  # deleted meanwhile
        return None if target is None else Entry(about.st_mode, identity_of(about), target)

    def _is_harmful(self, path: str, real: str) -> bool:
        is_inside = real.startswith(f"{self._root}/")
        if not (is_inside or real in (_UNKNOWN, _OF_PROCESS) or self._is_in_data(real) or self._is_hidden(real)):
            return False
        folder = os.path.dirname(f"{self._root}/{path}")  # noqa: PTH120 - strings
        try:
            self._allowance.spend(folder.count("/"))
        except TooManyNamesError:
            return True
        return os.path.realpath(folder) == folder

    def _read(self, path: str) -> _Link | None:
        entry = self._entry(path)
        if entry is None or entry.content is None:
            return None
        try:
            return _Link(entry, *self._leads(path, os.fsdecode(entry.content)))
        except TooManyNamesError:
            return _Link(entry, _UNKNOWN)

    def _leads(self, path: str, target: str) -> tuple[str, tuple[str, ...], bool]:
        """Return what a link with this target stands for, the links of the project on the way, and whether a package
        folder is."""
        self._allowance.spend(path.count("/") + target.count("/"))
        inside = f"{self._root}/"
        folder = os.path.dirname(f"{inside}{path}")  # noqa: PTH120 - strings
        place = os.path.normpath(os.path.join(folder, target))  # noqa: PTH118 - strings
        if f"{place}/".startswith(inside) and not _turns_back(target) and not self._has_link(place[len(inside) :]):
            return (place if self._is_in_data(place) else ""), (), _is_in_packages(place[len(inside) :])
        *links, real = follow(f"{inside}{path}", self._allowance)
        is_unsteady = any(
            _is_in_packages(way[len(inside) :]) for way in (*links, place, real) if way.startswith(inside)
        )
        if f"{real}/".startswith(inside) and not self._is_in_data(real):
            return "", (), is_unsteady
        by = tuple(link[len(inside) :] for link in links[1:] if link.startswith(inside))
        return (_OF_PROCESS if any(link.startswith(_OF_PROCESS) for link in links) else real), by, is_unsteady

    def _is_in_data(self, real: str) -> bool:
        """Return whether this is or lies in the data of a repository, in the project or elsewhere, and is no file that
        git-annex keeps there, to which a link stands in the tree."""
        folders = folded(real.removeprefix(f"{self._root}/")).split("/")
        if _DATA not in folders:
            return False
        is_of_annex = _OF_ANNEX in f"/{'/'.join(folders[folders.index(_DATA) + 1 :])}/"  # of submodules, too
        return not is_of_annex or os.path.isdir(real)  # noqa: PTH112 - strings

    def _has_link(self, path: str) -> bool:
        """Return whether there is a link at the path or on the way to it: in a package folder it may be a new one."""
        names = path.split("/")
        self._allowance.spend(len(names))
        return any(os.path.islink(f"{self._root}/{'/'.join(names[:end])}") for end in range(1, len(names) + 1))  # noqa: PTH114


def _is_in_packages(path: str) -> bool:
    return not SKIPPED.isdisjoint(folded(path).split("/"))


def _turns_back(target: str) -> bool:
    """Return whether a `..` follows a name, which may be a link: then the text does not tell where it leads."""
    names = [name for name in target.split("/") if name not in ("", ".")]
    return ".." in names[next((at for at, name in enumerate(names) if name != ".."), len(names)) :]
