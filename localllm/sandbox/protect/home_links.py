"""Find the files of a project that settings in the user's home are: dotfiles in a repository, linked into the home.

Shells, git and other programs read them there, by names that need not be protected ones (`~/.bashrc` →
`dotfiles/bashrc`).
"""

import os
import re
import time
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock

from localllm.sandbox.protect.folder_listings import FolderListings
from localllm.sandbox.symlinks import follow

_IN_CONFIG = 2
"""Levels of folders searched below `~/.config`; of other folders, only the entries."""

_SKIPPED = frozenset({".cache", ".git"})
_NAMING = (
    "BASH_ENV ENV ZDOTDIR PYTHONSTARTUP GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_TEMPLATE_DIR RIPGREP_CONFIG_PATH "
    "STARSHIP_CONFIG INPUTRC PSQLRC SCREENRC WGETRC CURL_HOME"
).split()
"""Variables that name a file or folder which shells, prompts, Python, git or other programs read each time."""

_RUN = "git fish systemd/user autostart environment.d plasma-workspace/env direnv localllm"
"""What in the folder of settings is run, or names programs that are, without its user starting it."""

_FIRST = frozenset(name.partition("/")[0] for name in _RUN.split())

_RUN_OF_DATA = frozenset(
    "applications autostart bash-completion caja caja-python dbus-1 file-manager fish kio konsole kservices5 "
    "kservices6 kwin nautilus nautilus-python nemo nemo-python systemd thumbnailers zsh".split()
)
"""The same in `~/.local/share`. Other programs have add-ons there, which their authors link to what they work on."""

_ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta/history")
"""Files: where a setting is linked to the folder, they are put back if a command makes them."""

_MOST_FOLDERS = 3_000  # what is run first
_SHARE = 20  # a search takes at most a twentieth of the time


class HomeLinks:
    """The symlinks in the home's settings that lead into the project at `root`.

    Searched are the names with a dot in the home and in the folders there, `~/.config` two levels deeper, and what is
    run of `~/.local/share`, as deep, outside the project. A symlink to the whole project, or above it, does not count:
    then every file of the project would be the user's setting. Nor does one to an environment (`~/.virtualenvs/x`),
    into which work installs packages. What is one is determined when it is first seen: a command that is running could
    make any folder look like it.

    If `~/.config` itself is the project, or lies in it, what of it is run by itself counts.
    """

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._root = str(root)
        self._inside = f"{root}/"
        self._environment = environment
        self._listings = FolderListings(lambda entry: entry.is_symlink() or entry.is_dir(follow_symlinks=False))
        self._environments: dict[str, bool] = {}
        self._lock = Lock()
        self._found: frozenset[str] = frozenset()
        self._fresh_until = 0.0

    def targets(self) -> frozenset[str]:
        """Return the paths below the root, separated by `/`, on the way of these symlinks and at their ends; not all of
        them exist. If the search is slow, as of up to twenty times its duration ago."""
        with self._lock:
            begun = time.monotonic()
            if begun >= self._fresh_until:
                ways = (
                    step for path in (*self._named(), *self._settings(), *self._links()) for step in self._way(path)
                )
                self._found = frozenset(step.removeprefix(self._inside) for step in ways)
                self._fresh_until = time.monotonic() + _SHARE * (time.monotonic() - begun)
            return self._found

    def _way(self, path: str) -> list[str]:
        way = [step for step in follow(path) if step.startswith(self._inside)]
        if way and os.path.isdir(way[-1]):  # noqa: PTH112 - strings
            is_one = any(os.path.isfile(f"{way[-1]}/{mark}") for mark in _ENVIRONMENT_MARKS)  # noqa: PTH113 - strings
            if self._environments.setdefault(way[-1], is_one):
                return []
        return way

    def _named(self) -> Iterator[str]:
        home = self._environment.get("HOME", "")
        for name in _NAMING:
            value = self._environment.get(name, "")
            if value and (name != "ENV" or "/" in value):  # ENV=production is no file
                value = re.sub(r"^(?:~|\$HOME|\$\{HOME\})(?=/)", lambda _: home, value)
                yield os.path.join(self._root, value)  # noqa: PTH118 - strings

    def _settings(self) -> Iterator[str]:
        """Yield what is run of the folders of settings, where these are the project or lie in it."""
        home = self._environment.get("HOME", "").rstrip("/")
        for folder in (self._environment.get("XDG_CONFIG_HOME", ""), home and f"{home}/.config"):
            if folder.startswith("/") and f"{os.path.realpath(folder)}/".startswith(self._inside):
                yield from (f"{folder}/{name}" for name in _RUN.split())

    def _links(self) -> Iterator[str]:
        home = self._environment.get("HOME", "").rstrip("/")
        if not home.startswith("/"):
            return
        settings = self._environment.get("XDG_CONFIG_HOME", "").rstrip("/")
        data = self._environment.get("XDG_DATA_HOME", "").rstrip("/")
        datas = {f"{home}/.local/share", *([data] if data.startswith("/") else [])}
        pending = deque([(home, -1, False), *((folder, _IN_CONFIG, True) for folder in datas)])
        pending += [(settings, _IN_CONFIG, False)] if settings.startswith("/") else []
        left = _MOST_FOLDERS
        while pending and left > 0:
            left -= 1
            folder, deeper, is_run = pending.popleft()
            if f"{folder}/".startswith(self._inside):
                continue
            for entry in self._listings.of(folder):
                is_top = deeper < 0
                if entry.name in _SKIPPED or (is_top and not entry.name.startswith(".")):
                    continue
                if folder in datas and entry.name not in _RUN_OF_DATA:
                    continue
                path = f"{folder}/{entry.name}"
                if entry.is_symlink():
                    yield path
                elif deeper:
                    in_top = _IN_CONFIG if entry.name == ".config" else 0
                    is_first = is_run or (deeper == _IN_CONFIG and entry.name in _FIRST)
                    put = pending.appendleft if is_first else pending.append
                    put((path, in_top if is_top else deeper - 1, is_first))
