"""Check the data of a project's repositories after a command: only kinds of files that git has there may stay.

A repository also has to be one still: otherwise git would use another one, around the project.
"""

import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.folded_names import folded
from localllm.sandbox.protect.folder_listings import FolderListings
from localllm.sandbox.protect.protected_paths import IN_GIT, Entry, Reach, identity_of, is_protected, look_at, matters
from localllm.sandbox.protect.repositories.git_files import has_head
from localllm.sandbox.protect.repositories.repository import MOST_FOLDERS, all_alternates, data_folders
from localllm.sandbox.protect.repositories.repository_kinds import Data, RepositoryKinds

_MOST_FOLDERS = 100_000  # more than a git tool waits for, as in the scan for protected names
_NEEDED = ("objects", "refs")
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")  # git makes no such branch


class KnownData(msgspec.Struct, kw_only=True):
    """The state of repository data before commands. Absolute paths: `folders` with the data of linked repositories,
    `alternates` that others read, `strange` folders. `heads`: the HEAD of each complete repository."""

    folders: frozenset[str] = frozenset()
    alternates: frozenset[str] = frozenset()
    strange: frozenset[str] = frozenset()
    heads: dict[str, Entry] = msgspec.field(default_factory=dict[str, Entry])


class RepositoryData:
    """Scans the repository data of one project before and after commands. `known`: the state to compare with."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._kinds = RepositoryKinds()
        self._modules = FolderListings(_may_hold_data)
        self.known = KnownData()

    def believe(self, reach: Reach, known: Mapping[str, Entry]) -> dict[str, Entry]:
        """Record the entries of no known kind, which may stay as they are; return them by path below the root. `known`:
        content that is not read again."""
        folders = frozenset(self._named(reach.repositories))
        self.known = KnownData(folders=folders, alternates=frozenset(self._alternates_of(reach)))
        found = self._look(reach, known)
        if strange := [path for path, entry in found.items() if stat.S_ISDIR(entry.mode)]:
            self.known.strange = frozenset(f"{self._root}/{path}" for path in strange)
            found = self._look(reach, known)
        self.known.heads = look_at(self._root, self._whole_heads(reach.repositories), known)
        return found

    def look(self, reach: Reach, known: Mapping[str, Entry]) -> dict[str, Entry]:
        """Return what is there now, as `believe` does; of folders that did not exist then, only the folders
        themselves."""
        return self._look(reach, known)

    def _look(self, reach: Reach, known: Mapping[str, Entry]) -> dict[str, Entry]:
        start = len(str(self._root)) + 1

        def note_closed(path: str) -> None:
            reach.closed.add(path[start:])

        kinds = self._kinds.look(self._data(reach), _MOST_FOLDERS, note_closed, self.known.strange)
        reach.is_complete &= kinds.is_complete
        found: dict[str, Entry] = {}
        files: list[str] = []
        for entry in kinds.strange:
            if entry.is_dir(follow_symlinks=False):
                found |= self._folder(entry.path)
            else:
                files.append(entry.path[start:])
        for entry in kinds.objects:
            folder = entry.path[start : -len("/objects")]
            if not os.path.lexists(self._root / folder / "refs"):
                continue
            if not is_protected(folder):  # git runs and trusts this in a repository to which somebody may push
                files += [f"{folder}/{name}" for name in IN_GIT if "*" not in name]
            elif not matters(f"{folder}/config"):  # git has none there
                found |= self._folder(entry.path)
        return found | look_at(self._root, files, known, reach=reach)

    def _folder(self, path: str) -> dict[str, Entry]:
        try:
            about = os.lstat(path)
        except OSError:
            return {}  # deleted meanwhile
        return {path[len(str(self._root)) + 1 :]: Entry(about.st_mode, identity_of(about), b"")}

    def objects(self, reach: Reach) -> list[str]:
        """Return the folders with the objects of git's repositories, of their submodules, and of others in the project
        that they read the objects of, as absolute paths."""
        found: dict[str, None] = {}
        data = (data.folder for data in self._data(reach) if data.is_of_git)
        for objects in (f"{one}/objects" for folder in data for one in self._with_modules(folder, reach)):
            found[objects] = None
            with suppress(OSError, ToolExecutionError):
                found |= {str(target): None for _, target in all_alternates(Path(objects))}
        return [folder for folder in found if folder.startswith(f"{self._root}/")]

    def _with_modules(self, top: str, reach: Reach) -> Iterator[str]:
        """Yield the folder with the data of a repository, and those that may have the data of its submodules."""
        pending = [top]
        for folder in pending:
            if len(pending) > MOST_FOLDERS:
                reach.is_complete = False
                return
            yield folder
            inside = self._modules.of(folder)
            pending += [entry.path for entry in inside if folder != top or folded(entry.name) == "modules"]

    def _data(self, reach: Reach) -> list[Data]:
        """Return the folders with repository data, the nearest first, none within one that is nothing else. A file
        created since does not make the folder it names one of them."""
        whole = {f"{self._root}/{folder}/.git".replace("//", "/") for folder in reach.repositories}
        whole = {path for path in whole if not os.path.islink(path) and os.path.isdir(path)}  # noqa: PTH112, PTH114
        whole |= self.known.folders
        found = dict.fromkeys((os.path.join(self._root, folder).rstrip("/") for folder in reach.bare), False)  # noqa: PTH118
        found |= dict.fromkeys(self.known.alternates, False) | dict.fromkeys(whole, True)
        of_git = [Data(path, found[path]) for path in _not_within(found, whole)]
        of_others = [Data(f"{self._root}/{path}", is_of_git=False) for path in reach.others]
        return sorted(of_git + of_others, key=lambda data: (data.folder.count("/"), data.folder))

    def _named(self, repositories: Collection[str]) -> Iterator[str]:
        for folder in repositories:
            for data in data_folders(self._root / folder / ".git"):
                if data.is_relative_to(self._root) and data != self._root:
                    yield str(data)

    def _alternates_of(self, reach: Reach) -> Iterator[str]:
        """Yield the repositories in the project whose objects others read, even if they are no longer repositories."""
        gits = [self._root / folder / ".git" for folder in reach.repositories]
        for data in (*gits, *(self._root / folder for folder in reach.bare)):
            with suppress(OSError, ToolExecutionError):
                for _, target in all_alternates(data / "objects"):
                    folder = target.parent
                    if folder != self._root and folder.is_relative_to(self._root) and has_head(folder):
                        yield str(folder)

    def _whole_heads(self, repositories: Collection[str]) -> list[str]:
        """Return the HEAD of each complete repository."""
        gits = [f"{folder}/.git".removeprefix("/") for folder in repositories]
        return [f"{git}/HEAD" for git in gits if self._is_whole(git)]

    def _is_whole(self, git: str) -> bool:
        path = self._root / git
        folders = (path, *(path / name for name in _NEEDED))
        return all(os.path.isdir(one) and not os.path.islink(one) for one in folders) and has_head(path)  # noqa: PTH112, PTH114

    def broken(self) -> dict[str, tuple[Entry, Entry | None]]:
        """Return each HEAD of a folder that is no longer a repository, or of a branch whose name would steer the
        terminal that git shows it on, before and now. A removed repository does not count, unless it is the project's
        own."""
        found: dict[str, tuple[Entry, Entry | None]] = {}
        for head, before in self.known.heads.items():
            git = head.rpartition("/")[0]
            if git != ".git" and not os.path.lexists(self._root / git):
                continue
            now = look_at(self._root, [head]).get(head)
            is_steering = now and now.content != before.content and _CONTROL.search(now.content or b"")
            if is_steering or not self._is_whole(git):
                found[head] = before, now
        return found

    @staticmethod
    def needed_folders(head: str) -> list[str]:
        """Return the folders that a repository with this HEAD has to have."""
        return [f"{head.removesuffix('HEAD')}{name}" for name in _NEEDED]


def _may_hold_data(entry: os.DirEntry[str]) -> bool:
    """Return whether a folder in the data of a repository may have that of a submodule, at any depth."""
    return entry.is_dir(follow_symlinks=False) and entry.name not in ("objects", "refs", "logs")


def _not_within(folders: Collection[str], whole: Collection[str]) -> Iterator[str]:
    """Yield the folders that are not within one of the `whole` ones, of which everything is looked at. Around others,
    anybody can put what looks like a bare repository."""
    last = None
    for folder in sorted(f"{folder}/" for folder in folders):
        if last is None or not folder.startswith(last):
            last = folder if folder.removesuffix("/") in whole else last
            yield folder.removesuffix("/")
