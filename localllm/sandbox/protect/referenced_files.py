"""Find what is protected besides the protected names: what files of these names refer to (see `indirect_targets`), what
the home's settings are symlinks to (see `home_links`), and programs of the system's names on the PATH (see
`path_programs`)."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from localllm.base.environment import own_variables
from localllm.sandbox.dotfiles import git_settings_of_user
from localllm.sandbox.protect.files_around import entries_around, places_around
from localllm.sandbox.protect.home_links import HomeLinks
from localllm.sandbox.protect.indirect_targets import MOST_PLACES, Leads, links_to, trace
from localllm.sandbox.protect.path_programs import PathPrograms
from localllm.sandbox.protect.protected_paths import Entry, Reach, joined, look_at
from localllm.sandbox.protect.repositories.repository import Place

_MOST_REPOSITORIES = 2_000  # for which the user's own git settings are checked


class Referenced(NamedTuple):
    """The entries `found` at what is `named`, as paths below the root; `places`: see Leads; `linkless`: paths at which,
    and on the way to which, no symlink may be created."""

    found: dict[str, Entry]
    named: tuple[str, ...]
    places: frozenset[str]
    linkless: tuple[str, ...]
    is_complete: bool


class ReferencedFiles:
    """Finds these in the project at `root`. `kept`: see PathPrograms. `also`: absolute paths of others, each a file, a
    symlink or nothing yet; `closed`: such as commands may create, but not as a symlink."""

    def __init__(self, root: Path, kept: Path | None, also: Iterable[str], closed: Iterable[str]) -> None:
        self._root = root
        self._also = {path.removeprefix(f"{root}/") for path in also}
        self._linkless = (*self._also, *(f"{path.removeprefix(f'{root}/')}/-" for path in closed))
        self._home_links = HomeLinks(root, own_variables())
        self._on_path = PathPrograms(root, os.environ, kept)
        self._first: frozenset[str] | None = None

    def look(
        self, entries: Mapping[str, Entry], known: Mapping[str, Entry], tops: list[str], reach: Reach
    ) -> Referenced:
        """Follow what the entries at protected names refer to, and what that does in turn. The other arguments are
        those of `look_at`."""
        if self._first is None:
            self._first = frozenset(reach.repositories)
        on_path = [joined(folder, "-") for folder in self._on_path.folders]
        linkless = (*self._linkless, *on_path, *sorted(self._home_links.targets()))
        leads, (found, named, is_complete) = self._follow(entries, known, tops, reach)
        is_complete &= len(leads.places) <= MOST_PLACES
        found |= look_at(self._root, self.links(leads.places, linkless), known)
        return Referenced(found, tuple(sorted(named)), frozenset(leads.places), linkless, is_complete)

    def named(
        self, entries: Mapping[str, Entry], known: Mapping[str, Entry], tops: list[str], reach: Reach
    ) -> frozenset[str]:
        """Return what `look` finds to be named, and what is `vacant`."""
        leads, (_, named, _) = self._follow(entries, known, tops, reach)
        return frozenset(named) | self.vacant(leads.places)

    def _follow(
        self, entries: Mapping[str, Entry], known: Mapping[str, Entry], tops: list[str], reach: Reach
    ) -> tuple[Leads, tuple[dict[str, Entry], set[str], bool]]:
        """Follow the entries, and what lies around the project, as `trace`; return by what as well."""
        places = self._places()
        leads = self._leads(places)
        around = entries_around(self._root, _home(), places)
        first = self._roots(leads, reach)
        return leads, trace(self._root, leads, {**around, **entries}, first, known, tops, reach)

    def links(self, places: Iterable[str], linkless: Iterable[str]) -> list[str]:
        """Return the symlinks on the way to the places: one in place of a folder would put other content there."""
        others = (f"{self._root}/{path}" for path in linkless)
        return [*links_to(self._root, places), *links_to(self._root, others)]

    def vacant(self, places: Iterable[str]) -> frozenset[str]:
        """Return the places in the project at which there is no folder, as paths below the root."""
        inside = f"{self._root}/"
        paths = [place for place in sorted(places)[:MOST_PLACES] if place.startswith(inside) and place != inside]
        return frozenset(place[len(inside) :] for place in paths if not os.path.isdir(place))  # noqa: PTH112 - strings

    def of_new(self, repositories: Collection[str]) -> tuple[set[str], bool]:
        """Return what the user's own settings name in new repositories, and those of their repository in new work
        trees; and whether that is all."""
        leads = self._leads(self._places())
        folders = self._absolute(repositories)
        named = leads.of_user(folders) | leads.of_linked(folders)
        return named, leads.is_complete and len(repositories) <= _MOST_REPOSITORIES

    def _roots(self, leads: Leads, reach: Reach) -> set[str]:
        """Return what is named outside the project, as paths below the root."""
        by_git = leads.of_user(self._absolute(reach.repositories))
        return by_git | self._also | self._home_links.targets() | self._on_path.paths

    def _places(self) -> list[Place]:
        return places_around(self._root, _home())

    def _leads(self, places: Sequence[Place]) -> Leads:
        return Leads(self._root, git_settings_of_user(os.environ), _home(), places)

    def _absolute(self, folders: Iterable[str]) -> list[str]:
        """Return the absolute paths of folders; those that existed before any command come first."""
        first = self._first or frozenset()
        by_age = sorted(folders, key=lambda folder: (folder not in first, folder))
        return [f"{self._root}/{folder}".rstrip("/") for folder in by_age[:_MOST_REPOSITORIES]]


def _home() -> str:
    return os.environ.get("HOME", "")
