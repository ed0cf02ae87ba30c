"""List the names of programs that a command must not put into folders of the project that are on the user's PATH.

With a `.venv` of the project activated, or its `node_modules/.bin` on the PATH, a `git` there is what the user's shell
runs next, in any folder.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from localllm.base import logs
from localllm.base.files import atomic_write
from localllm.base.paths import records_name
from localllm.base.regular_files import read_regular
from localllm.sandbox.protect.protected_paths import joined

_NAMES = (
    "sh bash dash ksh zsh fish pwsh sudo su doas pkexec passwd "
    "ssh scp sftp ssh-add ssh-agent ssh-copy-id ssh-keygen ssh-askpass gpg gpg2 pinentry "
    "git git-lfs git-crypt gitk tig lazygit svn localllm "
    "ls cat cp mv rm ln mkdir rmdir touch chmod chown date sleep head tail wc sort uniq cut tr tee df du dd uname "
    "hostname id whoami groups basename dirname realpath readlink mktemp nohup timeout xargs seq tput clear reset stty "
    "pkill pgrep killall ps top htop uptime lsof grep egrep fgrep sed awk gawk find diff cmp less more man "
    "tar gzip gunzip zcat unzip zip curl wget rsync nc ping ip ifconfig netstat ss dig "
    "vi vim nvim nano emacs emacsclient cursor subl xdg-open xclip xsel wl-copy wl-paste pbcopy pbpaste tmux screen "
    "docker podman kubectl systemctl journalctl crontab mount umount apt apt-get dpkg dnf pacman zypper flatpak brew "
    "direnv starship mise asdf zoxide atuin dircolors lesspipe"
)
"""What shells, prompts and everybody run in any folder, and packages do not install under these names. Not python, node
and what comes with them, nor what PyPI and npm have as well (cmake, aws, rg, which), nor usual names of scripts
(test)."""

_LARGEST = 1_000_000  # bytes of what is written down

_PROGRAM_FOLDERS = frozenset({"bin", ".bin", "sbin"})

_NAMES_AT_THE_TOP = "git ls sudo localllm"
"""Where the project's own folder is on the PATH: others may be names of folders there (docker, vim)."""


def is_program_of_system(path: str) -> bool:
    """Return whether a path below the project has, in a folder for programs, the name of one of the system's."""
    *_, folder, name = f"//{path}".split("/")
    return folder in _PROGRAM_FOLDERS and name in _NAMES.split()


class PathPrograms:
    """The programs of the system's names that could be put on the PATH in the project at `root`.

    Names that are there when this is first asked are left out: an environment may bring a git of its own (conda). They
    are written down in the folder `kept_in`, so that `/undo` gives one back also after a restart.
    """

    def __init__(self, root: Path, environment: Mapping[str, str], kept_in: Path | None = None) -> None:
        self._root = str(root)
        self._path = environment.get("PATH", "")
        self._kept_in = kept_in

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The folders on the PATH, as paths below the root, both as they are named and with symlinks resolved. A
        relative one is taken from the root."""
        return tuple(dict.fromkeys(self._folders()))

    def _folders(self) -> Iterator[str]:
        top = f"{self._root}/"
        for entry in self._path.split(os.pathsep) if self._path else ():
            folder = os.path.join(self._root, entry)  # noqa: PTH118 - strings
            for place in (os.path.abspath(folder), os.path.realpath(folder)):  # noqa: PTH100
                if f"{place}/".startswith(top):
                    yield place[len(top) :]

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths below the root, separated by `/`, at which there is nothing yet."""
        names = {folder: (_NAMES if folder else _NAMES_AT_THE_TOP).split() for folder in self.folders}
        paths = [joined(folder, name) for folder, those in names.items() for name in those]
        there = {path for path in paths if os.path.lexists(f"{self._root}/{path}")}
        return frozenset(paths) - self._own(there) if paths else frozenset()

    def _own(self, there: set[str]) -> set[str]:
        """Return the project's own programs: those that are there, and those that were in an earlier session."""
        if not self._kept_in:
            return there
        known = set[str]()
        file = self._kept_in / records_name(Path(self._root)).rstrip("-")
        with suppress(OSError, ValueError):
            known = set(read_regular(file, _LARGEST).decode().split("\0")) - {""}
        if not there <= known:
            try:
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                atomic_write(file, "\0".join(sorted(known | there)).encode())
            except OSError as error:
                logs.of("SANDBOX").warning("programs of the project's own are not written down: %r", error)
        return known | there
