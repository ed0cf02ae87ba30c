"""Where protected files lead: a link to what it stands for, git's settings to the programs and settings they name.

That may be any file of the project, and is protected like what leads there.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from localllm.sandbox.git_config import Setting, parse
from localllm.sandbox.git_programs import named_files
from localllm.sandbox.protected import IN_GIT, Entry, is_git_settings

_GITDIR = b"gitdir: "
_MOST_WORKTREES = 50


class Leads:
    """What the protected files of the project `root` lead to. `user`: the settings of git that are the user's own."""

    def __init__(self, root: Path, user: Sequence[Setting], home: str) -> None:
        self._root = root
        self._user = user
        self._home = home

    def of(self, entries: Mapping[str, Entry]) -> set[str]:
        """Paths below the root, `/` between their names; not all of them exist."""
        found: set[str] = set()
        worktrees = [str(self._root)]
        linked = [str((self._root / path).parent) for path in entries if f"/{path}".casefold().endswith("/.git")]
        worktrees += linked[:_MOST_WORKTREES]
        for path, entry in entries.items():
            name = path.rpartition("/")[2].casefold()
            if stat.S_ISLNK(entry.mode):
                found.update(self._of_link(path, is_repository=name == ".git"))
            elif not entry.content:
                continue
            elif name == ".git" and entry.content.startswith(_GITDIR):
                found.update(self._of_gitdir(path, entry.content))
            elif is_git_settings(path) or name == "config.worktree":
                found.update(self._of_settings(path, entry.content, worktrees))
        return found | self.of_user(worktrees)

    def of_user(self, worktrees: Iterable[str]) -> set[str]:
        """What the user's own settings lead to in repositories; `worktrees`: the absolute paths of these."""
        named: set[str] = set()
        for worktree in dict.fromkeys(worktrees):
            named.update(self._inside(named_files(self._user, [worktree], self._home, self._home)))
        return named

    def of_included(self, entries: Mapping[str, Entry], paths: set[str]) -> set[str]:
        """What those of the paths that are files lead to, as settings that were included."""
        found: set[str] = set()
        for path in paths & entries.keys():
            if content := entries[path].content:
                found.update(self._of_settings(path, content, [str(self._root)]))
        return found

    def _of_link(self, path: str, *, is_repository: bool) -> Iterator[str]:
        for target in self._inside([os.path.realpath(self._root / path)]):
            yield from (f"{target}/{name}" for name in IN_GIT) if is_repository else [target]

    def _of_gitdir(self, path: str, content: bytes) -> Iterator[str]:
        said = os.fsdecode(content.removeprefix(_GITDIR).strip()).replace("\0", "")
        data = os.path.realpath((self._root / path).parent / said)
        for target in self._inside([data]):
            yield from (f"{target}/{name}" for name in IN_GIT)

    def _of_settings(self, path: str, content: bytes, worktrees: list[str]) -> list[str]:
        folder = (self._root / path).parent
        settings = list(parse(content))
        named = [one.value for one in settings if (one.section, one.name) == ("core", "worktree")]
        bases = [str(folder), str(folder.parent), *worktrees, *(str(folder / name) for name in named)]
        return self._inside(named_files(settings, dict.fromkeys(bases), self._home, str(folder)))

    def _inside(self, paths: Sequence[str]) -> list[str]:
        """Those below the root, by their names there and by where these really lead."""
        top = f"{self._root}/"
        both = dict.fromkeys([*paths, *map(os.path.realpath, paths)])
        below = [path.removeprefix(top) for path in both if path.startswith(top)]
        return [path for path in below if path and _is_no_repository(path)]


def _is_no_repository(path: str) -> bool:
    """Git's own data cannot be protected whole: it changes with every commit."""
    return not path.casefold().endswith("/.git") and path.casefold() != ".git"
