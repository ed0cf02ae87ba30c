"""Find what protected files refer to: the targets of symlinks, the programs and files that git config names, and what
direnv and mise export.

These may be any files of the project, and are protected like the files that refer to them.
"""

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from localllm.base.errors import ToolExecutionError
from localllm.base.folded_names import folded
from localllm.sandbox.git_config import Setting, expanded, parse
from localllm.sandbox.git_programs import named_files
from localllm.sandbox.protect.compose_files import compose_files_of
from localllm.sandbox.protect.files_around import links_in, place_outside
from localllm.sandbox.protect.protected_paths import IN_BARE, Entry, Reach, is_git_settings, look_at, names_beneath
from localllm.sandbox.protect.repositories.git_files import gitfile_target, line_of
from localllm.sandbox.protect.repositories.git_settings import local_address, local_places, used_addresses
from localllm.sandbox.protect.repositories.repository import (
    Place,
    all_alternates,
    all_settings_of,
    with_included,
)
from localllm.sandbox.protect.sourced_files import sourced_by, versions_beside
from localllm.sandbox.symlinks import follow

_MOST_WORKTREES = 50
_MOST_ROUNDS = 10  # of included config files, and of symlinks to symlinks
_ALTERNATES = "/objects/info/alternates"
MOST_PLACES = 1_000
_MOST_MATCHES = 10_000  # of which a command may have made any number
_MOST_LISTED = 100_000  # names that a pattern is compared with
_ANY_FOLDERS = "**"
_MOST_SETTINGS = 1 << 19  # bytes of config files
_SECONDS = 0.2  # for following symlinks


class Leads:
    """What the protected files of the project `root` refer to. `user`: the user's own git settings, at `home`;
    `places`: the repositories around the project.

    For one scan. What exceeds the limits, which are far above any real project, is skipped; `is_complete` is false
    then.
    """

    def __init__(self, root: Path, user: Sequence[Setting], home: str, places: Sequence[Place] = ()) -> None:
        self._root = root
        self._home = home
        self._tops = [str(place.top) for place in places]
        self._outside = [(user, home)]  # settings, and the folder that relative includes start from
        self._outside += [(all_settings_of(place, home), str(place.common)) for place in places]
        self._room = _MOST_SETTINGS
        self._deadline = time.monotonic() + _SECONDS
        self._links_in: dict[str, list[str]] = {}
        self.is_complete = True
        self.places: set[str] = set()
        """Absolute paths by which git gets from one place to another: a repository, its objects, work trees. Not
        resolved, so that the symlinks on the way are seen."""

    def of(self, entries: Mapping[str, Entry]) -> set[str]:
        """Return paths below the root, separated by `/`; not all of them exist. Those of entries outside the project
        are absolute."""
        found: set[str] = set()
        worktrees = [str(self._root), *self._tops]
        linked = [str((self._root / path).parent) for path in entries if folded(f"/{path}").endswith("/.git")]
        worktrees += linked[:_MOST_WORKTREES]
        self.is_complete &= len(linked) <= _MOST_WORKTREES
        for path, entry in sorted(entries.items(), key=_urgency):
            name = folded(path.rpartition("/")[2])
            if stat.S_ISLNK(entry.mode):
                if time.monotonic() > self._deadline:
                    self.is_complete = False
                    continue
                found.update(self._of_link(path))
            elif composed := compose_files_of(self._root, path):
                found.update(self._inside(composed))
            elif not entry.content:
                continue
            elif name == ".git" and (said := gitfile_target(entry.content)):
                found.update(self._of_place(path, said, is_data=True))
            elif name in ("gitdir", "commondir"):
                found.update(self._of_place(path, line_of(entry.content), is_data=name == "commondir"))
            elif folded(f"/{path}").endswith(_ALTERNATES):
                found.update(self._of_alternates(path))
            elif read := [*sourced_by(path, entry.content), *versions_beside(path)]:
                folder = (self._root / path).parent
                named = (os.path.normpath(folder / one) for one in read)
                places = [_file_at(place) for one in named for place in self._matched(one)]
                found.update(self._inside(places))
            elif is_git_settings(path) or name == "config.worktree":
                found.update(self._of_settings(path, entry.content, worktrees))
        return found | self.of_user(worktrees)

    def _matched(self, named: str) -> list[str]:
        places, is_complete = _matches(self._root, named)
        self.is_complete &= is_complete
        return places

    def of_user(self, worktrees: Iterable[str]) -> set[str]:
        """Return what settings outside the project refer to in repositories with these absolute paths."""
        named: set[str] = set()
        for worktree in dict.fromkeys(worktrees):
            for settings, beside in self._outside:
                named.update(self._named(settings, [worktree], beside))
        return named

    def of_linked(self, worktrees: Iterable[str]) -> set[str]:
        """Return what the settings of their own repository refer to in linked work trees with these absolute paths."""
        named: set[str] = set()
        for worktree in worktrees:
            if os.path.isfile(f"{worktree}/.git") and (place := place_outside(folder := Path(worktree), folder)):  # noqa: PTH113
                named.update(self._named(all_settings_of(place, self._home), [worktree], str(place.common)))
        return named

    def of_included(self, entries: Mapping[str, Entry], paths: set[str]) -> set[str]:
        """Return what those of the paths that are files refer to, read as included config files."""
        found: set[str] = set()
        for path in paths & entries.keys():
            if content := entries[path].content:
                found.update(self._of_settings(path, content, [str(self._root)]))
        return found

    def _of_link(self, path: str) -> Iterator[str]:
        *links, last = follow(str(self._root / path))
        yield from self._inside(links)
        for target in self._inside([last]):
            if os.path.isfile(last):  # noqa: PTH113 - a string
                yield target
            yield from (f"{target}/{name}".rstrip("/") for name in names_beneath(path))

    def _of_place(self, path: str, said: str, *, is_data: bool) -> Iterator[str]:
        """Yield what the file at `path` refers to. `is_data`: a folder with data, in which git trusts certain names."""
        place = str((self._root / path).parent / said)
        self.places.add(place)
        *_, data = follow(place)
        for target in self._inside([data]) if is_data else ():
            yield from (f"{target}/{name}" for name in IN_BARE)

    def _of_alternates(self, path: str) -> Iterator[str]:
        with suppress(ToolExecutionError):
            for _, target in all_alternates((self._root / path).parents[1]):
                self.places.add(str(target))
                yield from self._inside([f"{target}/info/alternates"])

    def _of_settings(self, path: str, content: bytes, worktrees: list[str]) -> list[str]:
        folder = (self._root / path).parent
        if len(content) > self._room:
            self.is_complete = False
            return []
        self._room -= len(content)
        settings = list(with_included(parse(content), folder, self._home))
        named = [one.value for one in settings if (one.section, one.name) == ("core", "worktree")][-1:]
        self.places.update(str(folder / name) for name in named)
        top = folder / named[0] if named else folder.parent if folder.name == ".git" else folder
        for one in settings:
            if one.section == "remote" and one.name in ("url", "pushurl"):
                self.places.update(self._of_remote(one.value, settings, top))
        bases = [str(folder), str(folder.parent), *worktrees, *(str(folder / name) for name in named)]
        return self._named(settings, dict.fromkeys(bases), str(folder))

    def _of_remote(self, value: str, settings: Sequence[Setting], top: Path) -> Iterator[str]:
        for address in used_addresses(value, (*settings, *self._outside[0][0])):
            path = local_address(address) and os.path.normpath(top / local_address(address))
            if path.startswith(f"{self._root}/"):
                yield from local_places(path)
            elif path:
                yield path

    def _named(self, settings: Sequence[Setting], folders: Iterable[str], beside: str) -> list[str]:
        bases = list(folders)
        paths, is_complete = named_files(settings, bases, self._home, beside)
        self.is_complete &= is_complete
        hooks = [one.value for one in settings if (one.section, one.name) == ("core", "hookspath")]
        places = (Path(base, expanded(hook, self._home)) for hook in hooks for base in bases)
        return self._inside([*paths, *(link for place in places for link in self._hooks_outside(str(place)))])

    def _hooks_outside(self, folder: str) -> list[str]:
        """Return the hooks that are symlinks in a folder outside the root: they may lead into it."""
        if f"{os.path.normpath(folder)}/".startswith(f"{self._root}/"):
            return []
        if folder not in self._links_in:
            self._links_in[folder] = [path for path, _ in links_in(folder)]
        return self._links_in[folder]

    def _inside(self, paths: Sequence[str]) -> list[str]:
        """Return the paths below the root, both as they are named and with symlinks resolved."""
        top = f"{self._root}/"
        both = dict.fromkeys(step for path in paths for step in (path, *follow(path)))
        below = [path.removeprefix(top) for path in both if path.startswith(top)]
        return [path for path in below if path and _is_no_repository(path)]


def trace(
    root: Path,
    leads: Leads,
    entries: Mapping[str, Entry],
    first: set[str],
    known: Mapping[str, Entry] | None = None,
    tops: list[str] | None = None,
    reach: Reach | None = None,
) -> tuple[dict[str, Entry], set[str], bool]:
    """Follow the references of the entries and the paths `first`, and those of what they refer to.

    Returns the entries that exist, all paths, and whether these are complete. The other arguments are those of
    `look_at`.
    """
    found: dict[str, Entry] = {}
    named: set[str] = set()
    further = (leads.of(entries) | first) - set(tops or ())
    for _ in range(_MOST_ROUNDS):
        further -= named
        if not further:
            break
        there = look_at(root, sorted(further), known, tops, reach)
        found |= there
        named |= further
        further = leads.of(there) | leads.of_included(there, further)
    return found, named, not further - named and leads.is_complete


def with_matches(root: Path, named: Iterable[str], reach: Reach) -> list[str]:
    """Return the paths below the root, and the files that are there by now for those of them that are patterns."""
    top = f"{root}/"
    every: dict[str, None] = {}
    for path in named:
        places, is_complete = _matches(root, f"{top}{path}")
        every |= dict.fromkeys(places)
        reach.is_complete &= is_complete
    return [place.removeprefix(top) for place in every]


def _matches(root: Path, named: str) -> tuple[list[str], bool]:
    """Return the path, and the files of the project that it matches as a pattern (mise); and whether these are all."""
    top, places, left = f"{root}/", [str(root)], _MOST_LISTED
    if not is_pattern(named) or not named.startswith(top):
        return [named], True
    is_complete, wanted = True, named.removeprefix(top).split("/")
    for part in [*wanted, *(["*"] if wanted[-1] == _ANY_FOLDERS else [])]:
        if not is_pattern(part):
            places = [f"{place}/{part}" for place in places]
            continue
        found = list(places) if part == _ANY_FOLDERS else []
        for place in found or places:  # the first grows meanwhile
            with suppress(OSError), os.scandir(place) as entries:
                inside = list(islice(entries, left))
                left -= len(inside)
                if part == _ANY_FOLDERS:
                    found += [entry.path for entry in inside if entry.is_dir(follow_symlinks=False)]
                else:
                    found += [entry.path for entry in inside if fnmatchcase(entry.name, part)]
        is_complete &= left > 0 and len(found) <= _MOST_MATCHES
        places = found[:_MOST_MATCHES]
    return [named, *places], is_complete


def is_matched(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern."""
    wanted = pattern.split("/")
    reached = _with_next({0}, wanted)
    for part in path.split("/"):
        fits = {at for at in reached if at < len(wanted) and fnmatchcase(part, wanted[at])}
        reached = _with_next({at if wanted[at] == _ANY_FOLDERS else at + 1 for at in fits}, wanted)
    return len(wanted) in reached


def _with_next(reached: set[int], wanted: Sequence[str]) -> set[int]:
    """Return the places in a pattern, and those behind what may stand for no folder at all."""
    for at, part in enumerate(wanted):
        if at in reached and part == _ANY_FOLDERS:
            reached.add(at + 1)
    return reached


def is_pattern(path: str) -> bool:
    """Return whether a path may stand for others."""
    return any(sign in path for sign in "*?[")


def _file_at(sourced: str) -> str:
    """Return the file that is read where this is sourced: of a folder, as `source_env` takes it, its .envrc."""
    return f"{sourced}/.envrc" if os.path.isdir(sourced) else sourced  # noqa: PTH112 - a string


def _urgency(found: tuple[str, Entry]) -> tuple[bool, bool, int]:
    """Sort the project's own repository first, then what git runs, then small files: time and space are limited."""
    path, entry = found
    return not path.startswith(".git/"), ".git" not in folded(path).split("/"), len(entry.content or b"")


def links_to(root: Path, places: Iterable[str]) -> list[str]:
    """Return the symlinks in the project on the way to absolute paths, and the files there, as paths below the root."""
    top = f"{root}/"
    found: set[str] = set()
    for place in sorted(places)[:MOST_PLACES]:
        *links, last = follow(place)
        found.update(links, [last] if os.path.isfile(last) else [])  # noqa: PTH113 - strings
    return [path.removeprefix(top) for path in sorted(found) if path.startswith(top)]


def _is_no_repository(path: str) -> bool:
    """Return whether the path is no `.git`: git's own data cannot be protected as a whole, as each commit changes
    it."""
    return not folded(path).endswith("/.git") and folded(path) != ".git"
