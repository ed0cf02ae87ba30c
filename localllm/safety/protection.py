"""Determine which project files only the user may change: run, or trusted, outside the sandbox later."""

import os
import time
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.base.environment import believed_in
from localllm.base.folded_names import folded
from localllm.base.hidden_in_home import is_hidden_in_home, is_in_home
from localllm.base.own_folders import own_folder_around
from localllm.base.paths import cache_folder, config_file, data_folder, state_folder

if TYPE_CHECKING:
    from localllm.sandbox.launcher.mount_table import MountTable

_REPOSITORIES = (("HEAD", "objects", "refs"), ("HEAD", "commondir"))
"""Marks by which git recognizes a repository, see is_git_directory in its setup.c."""

_FRESH_SECONDS = 1.0
"""One `/undo` checks thousands of files, and reading takes milliseconds. Each tool call reads afresh."""


class Protection:
    """Judges paths below the folder `root` (links resolved), `/` between their names."""

    def __init__(self, root: Path, named: Callable[[], Collection[str]] = tuple) -> None:
        """Create it; `named` returns the current paths that protected files lead to."""
        self._root = root
        self._named = named
        self._leads: set[str] = set()
        self._patterns: list[str] = []
        self._fresh_until = 0.0

    def covers(self, relative: str, data: bytes = b"") -> bool:
        """Return whether only the user may change the file, to the content `data`."""
        from localllm.sandbox.environment import secrets_named_by
        from localllm.sandbox.protect.content_rules import is_believed_for_content
        from localllm.sandbox.protect.protected_paths import is_protected
        from localllm.sandbox.protect.repositories.git_attributes import is_closed_attributes

        if self._is_among_own_files:
            return True
        named = map(os.path.realpath, secrets_named_by(os.environ, with_programs=True))
        named = (path for path in named if not f"{self._root}/".startswith(f"{path}/"))  # a folder for all there is
        own = (*believed_in(str(self._root)), os.path.realpath(state_folder()), *self._mounted_state, *named)
        return (
            is_protected(relative)
            or is_believed_for_content(relative, data)
            or is_closed_attributes(self._root, relative)
            or self._is_of_repository(relative)
            or self._is_hidden_in_home(relative)
            or any(self._is_in(path, relative) for path in own)
            or self._is_named(relative)
        )

    @cached_property
    def _is_among_own_files(self) -> bool:
        state, cache, data, config = state_folder(), cache_folder(), data_folder(), config_file().parent
        return own_folder_around(self._root, state, cache, data, config) is not None

    def _is_in(self, own: str, relative: str) -> bool:
        """Return whether the file is, or is in, a folder of this program, which may be in the project."""
        return folded(f"{self._root}/{relative}/").startswith(folded(f"{own}/"))

    def _is_of_repository(self, relative: str) -> bool:
        """Return whether it is repository data, or would make a repository: git takes any folder with HEAD, objects and
        refs for one, and obeys its settings and hooks."""
        parts = folded(relative).split("/")
        if ".git" in parts[:-1]:
            return not f"/{folded(relative)}".endswith("/.git/info/exclude")
        for depth in range(len(parts)):
            folder = self._root.joinpath(*relative.split("/")[:depth])
            if any(
                all(parts[depth] == mark.casefold() or os.path.lexists(folder / mark) for mark in marks)
                for marks in _REPOSITORIES
            ):
                return True
        return False

    def _is_hidden_in_home(self, relative: str) -> bool:
        """Return whether it is in a hidden file or folder of the user's home, if that is the project or in it: too many
        names there are run, or trusted, by programs."""
        path = str(self._root / relative)
        if any(
            path.startswith(f"{place}/") and f"{part}{path[len(place) :]}".lstrip("/").startswith(".")
            for place, part in self._mounted_home
        ):
            return True
        return is_in_home(self._root) and is_hidden_in_home(path)

    @cached_property
    def _mounted_home(self) -> list[tuple[str, str]]:
        """Where the home, or a part of it, is mounted in the project as well, and which part."""
        return self._mounted(os.path.expanduser("~"))  # noqa: PTH111 - pathlib raises if there is none

    @cached_property
    def _mounted_state(self) -> list[str]:
        return [place for place, _ in self._mounted(state_folder())]

    def _mounted(self, folder: str | Path) -> list[tuple[str, str]]:
        from localllm.safety.second_mounts import places_of

        table = self._mounts
        return [*places_of(os.path.realpath(folder), str(self._root), table)] if table else []

    @cached_property
    def _mounts(self) -> "MountTable | None":
        from localllm.safety.second_mounts import mounts_in

        return mounts_in(str(self._root))

    def _is_named(self, relative: str) -> bool:
        """Return whether a protected file, or git's settings, lead to it or to a folder above it: as hooks, a program,
        further settings, or the target of a link."""
        from localllm.sandbox.protect.indirect_targets import is_matched, is_pattern

        if time.monotonic() >= self._fresh_until:
            self._leads = {folded(path) for path in self._named()}
            self._patterns = [*filter(is_pattern, self._leads)]
            self._fresh_until = time.monotonic() + _FRESH_SECONDS
        parts = folded(relative).split("/")
        is_named = not self._leads.isdisjoint("/".join(parts[:end]) for end in range(1, len(parts) + 1))
        return is_named or any(is_matched("/".join(parts), one) for one in self._patterns)
