"""Decide which changes at protected names and in repository data have to be undone, and which are harmless."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

from localllm.base.errors import ToolExecutionError
from localllm.base.folded_names import folded
from localllm.sandbox.dotfiles import git_settings_of_user
from localllm.sandbox.git_config import Setting, parse
from localllm.sandbox.protect.command_records import CommandRecord, Lifetime, changed_at
from localllm.sandbox.protect.content_rules import is_believed_for_content, is_judged_by_content
from localllm.sandbox.protect.interrupted_work import harmless_part, is_unfinished_work
from localllm.sandbox.protect.mercurial_requirements import harmless_requirements, is_requirements
from localllm.sandbox.protect.new_work_trees import NewWorkTrees, moved_data
from localllm.sandbox.protect.protected_paths import (
    Entry,
    folders_that_lead_to,
    inode,
    is_attributes,
    is_git_settings,
    is_of_linked_work_tree,
    is_protected,
    is_seen_from,
)
from localllm.sandbox.protect.repositories.git_attributes import OwnFilters
from localllm.sandbox.protect.repositories.git_files import gitfile_target, has_head
from localllm.sandbox.protect.repositories.git_settings import (
    address_from,
    host_of,
    is_harmless_change,
    leads_inside,
    local_address,
    used_addresses,
)
from localllm.sandbox.protect.repositories.index_entries import settings_of
from localllm.sandbox.protect.repositories.linked_trees import LinkedTrees, has_entries
from localllm.sandbox.protect.repositories.nested_repositories import (
    AroundRepositories,
    folder_that_holds,
    remotes_elsewhere,
    settings_in,
    work_tree_in,
)
from localllm.sandbox.protect.repositories.replaced_objects import is_list_of_refs
from localllm.sandbox.protect.repositories.repository import all_alternates, linked_data, linked_git
from localllm.sandbox.protect.repositories.stored_objects import is_index_of_pack
from localllm.sandbox.symlinks import SKIPPED, find_plain


class HarmfulChanges:
    """Judges changes in the project at `root` against the state `known` from before. `broken`: the former HEAD of each
    folder that no longer is a repository. `within`: for killed commands, the only time whose changes count. `earlier`:
    those of commands after which not all could be scanned: what is from then was not there before. `is_listed`: whether
    the user lists a host for commands."""

    def __init__(
        self,
        root: Path,
        known: CommandRecord,
        broken: Mapping[str, Entry],
        within: Lifetime | None = None,
        earlier: Iterable[Lifetime] = (),
        is_listed: Callable[[str], bool] = lambda _host: False,
    ) -> None:
        self._root = root
        self.known = known
        self.broken = broken
        self._within = within
        self._earlier = tuple(earlier)
        self._is_listed = is_listed
        self._filters = OwnFilters(root, known.before)
        self._new_trees = NewWorkTrees(root, known)
        self._trees = LinkedTrees(root, known.before)
        self._around = AroundRepositories()
        self._device = root.lstat().st_dev

    def was(self, path: str) -> Entry | None:
        """Return the entry from before, also of a repository that is removed or broken."""
        return self.broken.get(path) or self.known.before.get(path) or self.known.gone.get(path)

    def has(self, path: str, after: Entry | None) -> bool:
        """Return whether the change to `after` (None: removed) at the path has to be undone."""
        if self._within and not self._within.holds(path, after):
            return False
        if path in self.broken:
            return True
        before = self.was(path)
        if after is None:
            if self._trees.took_along(path):
                return False
            if before and stat.S_ISDIR(before.mode):
                return False  # only its path was too long to look into it
            if self._is_judged_by_content(path):
                return is_believed_for_content(path, (before and before.content) or b"")
            if self._is_judged_by_attributes(path):
                return not self._may_have_attributes(before, after)
            may_go = _may_stay_in_part(path) or (path in self.known.in_data and not is_protected(path))
            return not (may_go or self._went_with_its_repository(path))
        if before and (before.identity == after.identity or _is_same(before, after)):
            return False
        if before is None and (self._was_there(path, after) or self._new_trees.has_copy(path, after)):
            return False
        return not (self._is_harmless(path, before, after) or self._keeps_objects_inside(path, after))

    def _is_judged_by_attributes(self, path: str) -> bool:
        return is_attributes(path) and path not in self.known.named and not is_protected(path)

    def _is_judged_by_content(self, path: str) -> bool:
        return is_judged_by_content(path) and path not in self.known.named and not is_protected(path)

    def _may_have_attributes(self, before: Entry | None, after: Entry | None) -> bool:
        if any(entry and not stat.S_ISREG(entry.mode) for entry in (before, after)):
            return self._filters.may_change(None, None)  # git passes over a link
        old, new = (entry.content if entry else b"" for entry in (before, after))
        return self._filters.may_change(old, new)

    def _is_harmless(self, path: str, before: Entry | None, after: Entry) -> bool:
        """Return whether a change cannot do harm later."""
        content = after.content if stat.S_ISREG(after.mode) else None
        if self._is_judged_by_content(path):
            return content is not None and not is_believed_for_content(path, content)
        if self._is_judged_by_attributes(path):
            return self._may_have_attributes(before, after)
        if content is None:
            return False
        if _may_stay_in_part(path):
            return harmless_part_of(path, before, after) == content
        file = self._root / path
        if before is None and file.name == "config.worktree" and file.parent.parent.name == "worktrees":
            main = self._before(
                file.parents[2] / file.name
            )  # which git copies for a new work tree, but for core.worktree
            return bool(main and main.content == content) and work_tree_in(content, file.parent) is None
        if is_git_settings(path):
            old = (before and before.content) or b""
            if not is_harmless_change(old, content, lambda key, value: self._may_lead(file.parent, key, value)):
                return False
            top = file.parents[1] if file.parent.name == ".git" else work_tree_in(content, file.parent) or file.parent
            return bool(old) or not self._diverts(top, file.parent)
        if file.name == ".git":
            data = linked_data(self._root, file) or moved_data(self._root, file, self.known.before)
            return data is not None and not self._diverts(file.parent, data)
        if file.parent.parent.name == "worktrees" and file.name in ("gitdir", "commondir"):
            return linked_data(self._root, linked_git(file.parent)) == file.parent
        return False

    def _diverts(self, top: Path, data: Path) -> bool:
        """Return whether a `git push` at `top` would go elsewhere with the repository that has this data: to an address
        that the repository which was there did not have, nor the submodule whose data git would take it for, one that
        is new in the project and not at a host the user lists, or with files of a repository around."""
        settings = settings_in(data)
        addresses = remotes_elsewhere(settings)
        own = self._before(settings_of(data / "index"))
        before = [remotes_elsewhere(content) for content in self._settings_before(top)]
        before += [] if own else self._of_submodule(data)
        known = set[str]().union(*before)
        if before and addresses - known:
            return True
        if own and own.content:
            known |= remotes_elsewhere(own.content)
        new = addresses - known - self._of_moved(settings_of(data / "index"), settings)
        return not all(map(self._is_at_listed_host, new)) or self._around.diverts_pushes(top, settings)

    def _of_submodule(self, data: Path) -> Iterator[set[str]]:
        """Yield the addresses that were named before for the submodule which has its data there once it is checked out:
        in `.gitmodules`, and in the settings of the repository around."""
        parts = data.relative_to(self._root).parts
        for at in (at for at, part in enumerate(parts) if folded(part) == "modules"):
            around, name = self._root.joinpath(*parts[:at]), "/".join(parts[at + 1 :])
            around = around.parents[1] if around.parent.name == "worktrees" else around
            places = map(self._before, (around / "config", around.parent / ".gitmodules"))
            named = [(entry and entry.content) or b"" for entry in places]
            bases = remotes_elsewhere(named[0]) or {""}
            for one in chain.from_iterable(map(parse, named)):
                if (one.section, one.subsection, one.name) == ("submodule", name, "url"):
                    yield {address_from(base, one.value) for base in bases}

    def _of_moved(self, place: Path, settings: bytes) -> set[str]:
        """Return the addresses of remotes of the repository with these settings at another place before, if it has been
        moved, with all around its `.git`: any other one is not this one. A bare one or a submodule stays what it is."""
        moved = inode(folder_that_holds(place))
        found = [path for path, number in self.known.holders.items() if number == moved != 0]
        contents = [(self._root / path, self.known.before[path].content or b"") for path in found]
        return set[str]().union(
            *(
                remotes_elsewhere(content)
                for old, content in contents
                if not os.path.lexists(old)
                and (folded(old.parent.name) == ".git") == (folded(place.parent.name) == ".git")
                and (work_tree_in(content, old.parent) is None) == (work_tree_in(settings, place.parent) is None)
            )
        )

    def _is_at_listed_host(self, address: str) -> bool:
        return all(map(self._is_listed, map(host_of, used_addresses(address, self._of_user))))

    @cached_property
    def _of_user(self) -> list[Setting]:
        """The user's own settings, which no command changes: a clone of many repositories asks for them for each."""
        return git_settings_of_user(os.environ)

    def _settings_before(self, top: Path) -> Iterator[bytes]:
        """Yield the settings of the repository that had its work tree there: its own, those that its `.git` file led
        to, and those of a submodule that name the folder."""
        git = top / ".git"
        places = [git / "config"]
        file = self._before(git)
        if file and file.content and stat.S_ISREG(file.mode) and (said := gitfile_target(file.content)):
            places.append(settings_of(Path(os.path.normpath(top / said)) / "index"))
        contents = [entry.content for entry in map(self._before, dict.fromkeys(places)) if entry and entry.content]
        if not places[-1].is_relative_to(self._root):  # which no command changes
            with suppress(OSError, ValueError):
                contents.append(settings_in(places[-1].parent))
        yield from dict.fromkeys([*contents, *self._in_modules.get(top, ())])

    @cached_property
    def _in_modules(self) -> dict[Path, list[bytes]]:
        """The settings of submodules from before, by the work tree that they name."""
        found: dict[Path, list[bytes]] = {}
        for path in self.known.before:
            if "/modules/" in path and is_git_settings(path):
                place = self._root / path
                entry = self._before(place)
                if entry and entry.content and (top := work_tree_in(entry.content, place.parent)):
                    found.setdefault(top, []).append(entry.content)
        return found

    def _before(self, place: Path) -> Entry | None:
        return self.was(str(place.relative_to(self._root))) if place.is_relative_to(self._root) else None

    def _may_lead(self, data: Path, key: str, value: str) -> bool:
        """Return whether a new repository with this data may have the setting: it names a folder of the project, or
        none on this machine."""
        if key == "core.worktree":
            top = find_plain(self._root, data / value)
            return top is not None and linked_data(self._root, top / ".git") == data
        if key == "submodule.url" and not (local_address(value) or self._is_at_listed_host(value)):
            return False
        return leads_inside(self._root, data, value, self._of_user)

    def _keeps_objects_inside(self, path: str, after: Entry) -> bool:
        """Return whether this is a list of alternates that names only the objects of other repositories in the
        project."""
        if not folded(f"/{path}").endswith("/objects/info/alternates") or after.content is None:
            return False
        try:
            alternates = [target for _, target in all_alternates((self._root / path).parents[1])]
            return all(map(self._is_of_repository, alternates))
        except (OSError, ToolExecutionError):
            return False

    def _is_of_repository(self, objects: Path) -> bool:
        folder = find_plain(self._root, objects)
        return folder is not None and folder.name == "objects" and has_head(folder.parent)

    def _was_there(self, path: str, entry: Entry) -> bool:
        """Return whether the entry is in a folder that was not scanned before, and nothing on the path to it is new."""
        known = self.known
        if known.is_complete and SKIPPED.isdisjoint(folded(path).split("/")):
            return False
        folder, folders = path, list[str]()
        while (above := folder.rpartition("/")[0]) and above not in known.visited:
            folders += [folder] if folder != path else []
            folder = above
        is_of_packages = known.is_complete or folded(folder.rpartition("/")[2]) in SKIPPED
        if is_of_packages and known.last.get(folder) != inode(self._root / folder):
            return False  # moved here from elsewhere
        was_seen = folder == path or is_seen_from(folder, path)
        was_seen &= known.is_complete or is_protected(path)
        if is_of_packages:  # what is above has changed where something was put beside it, as by an update of a package
            is_by_its_name = is_protected(path.rpartition("/")[2])
            leads = [] if is_by_its_name else folders_that_lead_to(path)
            folders = [one for one in folders if one in leads or known.last.get(one) != inode(self._root / one)]
        times = [entry.identity[4], *(changed_at(self._root / one) for one in folders)]
        if was_seen or max(times) >= self._started(entry):
            return False
        return not any(lifetime.saw_change(entry) for lifetime in self._earlier)

    def _started(self, entry: Entry) -> int:
        """Return the time before which no command changed anything on the entry's file system."""
        is_of_root = entry.identity[0] == self._device
        return (is_of_root and self.known.started) or self.known.begun

    def _went_with_its_repository(self, path: str) -> bool:
        """Return whether the path was part of a `.git` or linked work tree that is removed as a whole: nothing trusts a
        repository that does not exist. The project's own does not count: without it git would use one around the
        project."""
        folder = self._root / path.rpartition("/")[0]
        if path.endswith("/.git") and is_of_linked_work_tree(path):
            return not (has_entries(folder) and self._has_data_of(path, folder))
        if is_of_linked_work_tree(path):
            return not os.path.lexists(folder / "HEAD")
        above, git, _ = f"/{path}".rpartition("/.git/")
        return bool(git and above) and not os.path.lexists(f"{self._root}{above}/.git")

    def _has_data_of(self, git: str, folder: Path) -> bool:
        """Return whether the data is still there to which a `.git` file in the folder led: git would use the repository
        around for the files of another one."""
        before = self.was(git)
        said = gitfile_target(before.content) if before and before.content and stat.S_ISREG(before.mode) else ""
        return bool(said) and has_head(folder / said)


def harmless_part_of(path: str, before: Entry | None, after: Entry) -> bytes | None:
    """Return what may stay of a file that may stay in part; else None."""
    if is_judged_by_content(path):
        return None
    if is_list_of_refs(path) and stat.S_ISREG(after.mode):
        return after.content  # see ReplacedObjects
    if is_index_of_pack(path):
        return after.content  # see StoredObjects
    if not _may_stay_in_part(path) or not stat.S_ISREG(after.mode) or after.content is None:
        return None
    was = (before and before.content) or b""
    part_of = harmless_requirements if is_requirements(path) else partial(harmless_part, path)
    return part_of(was, after.content)


def _may_stay_in_part(path: str) -> bool:
    return is_unfinished_work(path) or is_requirements(path)


def _is_same(before: Entry, after: Entry) -> bool:
    return before.content is not None and (before.mode, before.content) == (after.mode, after.content)
