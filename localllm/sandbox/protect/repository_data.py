"""What a command leaves in the data of a project's repositories: only the kinds of things that git has there may stay.

And a repository that was one before a command is one after it: git would go on to another, around the project.
"""

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.sandbox.protect.git_files import has_head
from localllm.sandbox.protect.protected_paths import IN_GIT, Entry, Reach, identity_of, is_protected, look_at
from localllm.sandbox.protect.repository import all_alternates, data_folders
from localllm.sandbox.protect.repository_kinds import Data, RepositoryKinds

_MOST_FOLDERS = 100_000  # as `protected_names` looks into more, too, than a tool of git waits for
_NEEDED = ("objects", "refs")


class KnownData(msgspec.Struct, kw_only=True):
    """What is known of the data of repositories from before commands. Absolute paths: `folders` with the data of those
    that are linked, `alternates` that others read, `strange` folders. `heads`: the HEAD of each that was whole."""

    folders: frozenset[str] = frozenset()
    alternates: frozenset[str] = frozenset()
    strange: frozenset[str] = frozenset()
    heads: dict[str, Entry] = msgspec.field(default_factory=dict[str, Entry])


class RepositoryData:
    """Looks through that of one project, before and after commands. `known`: what it is compared with."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._kinds = RepositoryKinds()
        self.known = KnownData()

    def believe(self, reach: Reach, known: Mapping[str, Entry]) -> dict[str, Entry]:
        """What is there and none of the kinds, by path below the root; it may stay as it is. `known`: content that is
        not read again."""
        folders = frozenset(self._named(reach.repositories))
        self.known = KnownData(folders=folders, alternates=frozenset(self._alternates_of(reach)))
        found = self._look(reach, known)
        if strange := [path for path, entry in found.items() if stat.S_ISDIR(entry.mode)]:
            self.known.strange = frozenset(f"{self._root}/{path}" for path in strange)
            found = self._look(reach, known)
        self.known.heads = look_at(self._root, self._whole_heads(reach.repositories), known)
        return found

    def look(self, reach: Reach, known: Mapping[str, Entry]) -> dict[str, Entry]:
        """What there is now, as `believe`; of folders that were not there then, no more than these themselves."""
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
            files += self._beside(entry)
        return found | look_at(self._root, files, known, reach=reach)

    def _folder(self, path: str) -> dict[str, Entry]:
        try:
            about = os.lstat(path)
        except OSError:
            return {}  # gone meanwhile
        return {path[len(str(self._root)) + 1 :]: Entry(about.st_mode, identity_of(about), b"")}

    def _beside(self, objects: os.DirEntry[str]) -> list[str]:
        """What git runs and believes in a repository within the data of another one, which somebody may push to."""
        folder = objects.path[len(str(self._root)) + 1 : -len("/objects")]
        if is_protected(folder) or not os.path.lexists(self._root / folder / "refs"):
            return []
        return [f"{folder}/{name}" for name in IN_GIT if "*" not in name]

    def _data(self, reach: Reach) -> list[Data]:
        """The folders with the data of repositories, the nearest first; none lies in another. That a file which has
        come since leads somewhere does not make it such a folder."""
        whole = {f"{self._root}/{folder}/.git".replace("//", "/") for folder in reach.repositories}
        whole = {path for path in whole if not os.path.islink(path) and os.path.isdir(path)}  # noqa: PTH112, PTH114
        whole |= self.known.folders
        found = dict.fromkeys((os.path.join(self._root, folder).rstrip("/") for folder in reach.bare), False)  # noqa: PTH118
        found |= dict.fromkeys(self.known.alternates, False) | dict.fromkeys(whole, True)
        of_git = [Data(path, found[path]) for path in _outermost(found)]
        of_others = [Data(f"{self._root}/{path}", is_of_git=False) for path in reach.others]
        return sorted(of_git + of_others, key=lambda data: (data.folder.count("/"), data.folder))

    def _named(self, repositories: Collection[str]) -> Iterator[str]:
        for folder in repositories:
            for data in data_folders(self._root / folder / ".git"):
                if data.is_relative_to(self._root) and data != self._root:
                    yield str(data)

    def _alternates_of(self, reach: Reach) -> Iterator[str]:
        """The repositories in the project whose objects others read: also when they are no repositories any more."""
        gits = [self._root / folder / ".git" for folder in reach.repositories]
        for data in (*gits, *(self._root / folder for folder in reach.bare)):
            with suppress(OSError, ToolExecutionError):
                for _, target in all_alternates(data / "objects"):
                    folder = target.parent
                    if folder != self._root and folder.is_relative_to(self._root) and has_head(folder):
                        yield str(folder)

    def _whole_heads(self, repositories: Collection[str]) -> list[str]:
        """The HEAD of each repository that is one."""
        gits = [f"{folder}/.git".removeprefix("/") for folder in repositories]
        return [f"{git}/HEAD" for git in gits if self._is_whole(git)]

    def _is_whole(self, git: str) -> bool:
        path = self._root / git
        folders = (path, *(path / name for name in _NEEDED))
        return all(os.path.isdir(one) and not os.path.islink(one) for one in folders) and has_head(path)  # noqa: PTH112, PTH114

    def broken(self) -> dict[str, tuple[Entry, Entry | None]]:
        """Each HEAD of a repository that is none any more: as it was, and as it is now. One that is gone is no loss,
        but for that of the project itself."""
        found: dict[str, tuple[Entry, Entry | None]] = {}
        for head, before in self.known.heads.items():
            git = head.rpartition("/")[0]
            if (git == ".git" or os.path.lexists(self._root / git)) and not self._is_whole(git):
                found[head] = before, look_at(self._root, [head]).get(head)
        return found

    @staticmethod
    def needed_folders(head: str) -> list[str]:
        """The folders without which a repository with this HEAD is none."""
        return [f"{head.removesuffix('HEAD')}{name}" for name in _NEEDED]


def _outermost(folders: Collection[str]) -> Iterator[str]:
    """Those that lie in none of the others."""
    last = None
    for folder in sorted(f"{folder}/" for folder in folders):
        if last is None or not folder.startswith(last):
            last = folder
            yield folder.removesuffix("/")
