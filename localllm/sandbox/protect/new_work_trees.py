"""Recognise what a new work tree or clone of the project brings: files of protected names that it has at the same
place."""

import os
import stat
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from localllm.base.folded_names import folded
from localllm.sandbox.git_config import parse
from localllm.sandbox.protect.command_records import CommandRecord
from localllm.sandbox.protect.indirect_targets import Leads, trace, with_matches
from localllm.sandbox.protect.protected_paths import Entry, Reach, is_protected, joined, look_at
from localllm.sandbox.protect.repositories.git_files import gitfile_target, is_repository, led_to
from localllm.sandbox.protect.repositories.git_settings import local_address, local_places
from localllm.sandbox.protect.repositories.linked_trees import has_entries
from localllm.sandbox.protect.repositories.nested_repositories import settings_in
from localllm.sandbox.protect.repositories.repository import linked_data, linked_git
from localllm.sandbox.symlinks import find_plain

_MOST_NEW = 50  # work trees that are judged, as each takes a while


class NewWorkTrees:
    """The linked work trees of the repository of the project `root`, and clones of it, that were not there before
    (`known`).

    Where all that protected files refer to is in one of them as it is in the project, or missing, a file that another
    work tree had with the same content at the same place brings nothing new. Git would commit its removal. What it
    refers to from its new place counts as well: above it that is a place of the project, which any command may write.
    """

    def __init__(self, root: Path, known: CommandRecord) -> None:
        self._root = root
        self._known = known
        self._found: dict[str, bool] = {}
        self._judged = 0
        self._submodules: dict[str, bool] = {}

    def has_copy(self, path: str, after: Entry) -> bool:
        """Return whether this is a file of such a work tree that brings nothing new."""
        if not stat.S_ISREG(after.mode) or after.content is None:
            return False
        tree = self._tree_of(path)
        if tree is None or not self._had(path.removeprefix(f"{tree}/"), after):
            return False
        return self._names_nothing_new(tree, path, after)

    def _names_nothing_new(self, tree: str, path: str, entry: Entry) -> bool:
        """Return whether all that the file refers to, from its place in the new tree, is there as in another tree, or
        was protected before, or lies outside of the project."""
        found, named, is_complete = trace(self._root, Leads(self._root, (), ""), {path: entry}, set(), None)
        files = {one for one in named if os.path.lexists(self._root / one) and not os.path.isdir(self._root / one)}  # noqa: PTH112
        return is_complete and files <= found.keys() and all(self._is_known(tree, *one) for one in found.items())

    def _is_known(self, tree: str, path: str, entry: Entry) -> bool:
        is_inside = path.startswith(f"{tree}/")
        return self._had(path.removeprefix(f"{tree}/"), entry) if is_inside else path in self._known.before

    def _had(self, name: str, entry: Entry) -> bool:
        """Return whether a work tree had the same at its path `name`."""
        if ".git" in folded(name).split("/"):
            return False
        before = (self._known.before.get(joined(other, name)) for other in self._others)
        return any(one and (one.mode, one.content) == (entry.mode, entry.content) for one in before)

    def _tree_of(self, path: str) -> str | None:
        """Return the new work tree that a path is in; of a submodule, that of the repository around it."""
        while folder := path.rpartition("/")[0]:
            if os.path.lexists(self._root / folder / ".git") and not self._is_submodule(folder):
                break
            path = folder
        if folder and folder not in self._found:
            is_new = self._is_new(folder)
            self._judged += is_new
            self._found[folder] = is_new and self._judged <= _MOST_NEW and self._is_like_the_others(folder)
        return folder if folder and self._found[folder] else None

    def _is_new(self, folder: str) -> bool:
        if folder in self._known.repositories or is_protected(folder) or self._common is None:
            return False
        git = self._root / folder / ".git"
        if git.is_dir() and not git.is_symlink():
            return is_repository(git) and not os.path.lexists(git / "commondir") and self._is_clone(git)
        data = linked_data(self._root, git) or moved_data(self._root, git, self._known.before)
        return data is not None and data.parents[1] == self._common and data.parent.name == "worktrees"

    def _is_submodule(self, folder: str) -> bool:
        if folder not in self._submodules:
            data = linked_data(self._root, self._root / folder / ".git")
            self._submodules[folder] = data is not None and data.parent.name != "worktrees"
        return self._submodules[folder]

    def _is_clone(self, git: Path) -> bool:
        """Return whether a repository has a remote that the project has, or a repository of the project for one."""
        try:
            addresses = _remotes(settings_in(git))
        except (OSError, ValueError):
            return False
        places = [place for one in addresses if (path := local_address(one)) for place in local_places(path)]
        found = (find_plain(self._root, git.parent / place) for place in places)
        is_of_project = any(one and one not in (git, git.parent) and is_repository(one) for one in found)
        return is_of_project or any(one in self._addresses for one in addresses if not local_address(one))

    @cached_property
    def _addresses(self) -> set[str]:
        """The addresses of the project's remotes."""
        path = str(self._common.relative_to(self._root) / "config") if self._common else ""
        entry = self._known.before.get(path)
        return set(_remotes((entry and entry.content) or b""))

    @cached_property
    def _common(self) -> Path | None:
        """The data of the project's own repository, if it is in the project."""
        git = self._root / ".git"
        if not git.is_dir() or git.is_symlink():
            git = Path(os.path.normpath(self._root / (led_to(git) or "..")))
        return git if "" in self._known.repositories and git.is_relative_to(self._root) else None

    @cached_property
    def _others(self) -> dict[str, None]:
        """The work trees from before."""
        linked = (folder for folder in sorted(self._known.repositories) if folder and self._is_linked(folder))
        return dict.fromkeys(("", *linked))

    def _is_linked(self, folder: str) -> bool:
        file = self._known.before.get(f"{folder}/.git")
        said = gitfile_target(file.content) if file and file.content and stat.S_ISREG(file.mode) else ""
        data = Path(os.path.normpath(self._root / folder / said)) if said else None
        return data is not None and data.parent.name == "worktrees" and data.parents[1] == self._common

    def _is_like_the_others(self, tree: str) -> bool:
        """Return whether nothing that protected files refer to is there with another content."""
        reach = Reach()
        named = with_matches(self._root, [f"{tree}/{name}" for name in self._named], reach)
        there = {path for path in named if os.path.lexists(self._root / path)}
        folders = {os.path.dirname(f"{self._root}/{path}") for path in there}  # noqa: PTH120 - strings
        if any(os.path.realpath(folder) != folder for folder in folders):
            return False  # `look_at` reads nothing behind a link
        found = look_at(self._root, sorted(there), self._known.before, reach=reach)
        files = {path for path in there if not os.path.isdir(self._root / path)}  # noqa: PTH112 - a link may lead there
        if not reach.is_complete or not files <= found.keys():
            return False
        return all(self._had(path.removeprefix(f"{tree}/"), entry) for path, entry in found.items())

    @cached_property
    def _named(self) -> list[str]:
        """What protected files refer to, as paths in a work tree."""
        found: dict[str, None] = {}
        for name in self._known.named:
            tree = name
            while (tree := tree.rpartition("/")[0]) and tree not in self._others:
                pass
            inside = name[len(tree) + 1 :] if tree else name
            if ".git" not in folded(inside).split("/"):
                found[inside] = None
        return list(found)


def moved_data(root: Path, git: Path, before: Mapping[str, Entry]) -> Path | None:
    """Return the data of the linked work tree with the file `git`, if that tree was moved there as a plain folder: a
    `.git` from before led to it, in a folder where nothing is left, and there is none at the place that the data names.
    Git finds it all the same."""
    said = led_to(git)
    data = find_plain(root, git.parent / said) if said else None
    if data is None or data.parent.name != "worktrees" or git.parent == root or find_plain(root, git) != git:
        return None
    named = linked_git(data)
    if not named.is_relative_to(root) or os.path.lexists(named):
        return None
    trees = (root / path.removesuffix("/.git") for path, entry in before.items() if _leads_to(root, path, entry, data))
    return data if any(not has_entries(tree) for tree in trees) else None


def _leads_to(root: Path, path: str, entry: Entry, data: Path) -> bool:
    if not path.endswith("/.git") or not entry.content or not stat.S_ISREG(entry.mode):
        return False
    said = gitfile_target(entry.content)
    return bool(said) and os.path.normpath((root / path).parent / said) == str(data)


def _remotes(settings: bytes) -> list[str]:
    return [one.value for one in parse(settings) if (one.section, one.name) == ("remote", "url")]
