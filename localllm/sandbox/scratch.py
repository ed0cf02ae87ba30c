"""Create a folder for the temporary files of each command, and delete it after the command."""

import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from localllm.base.file_lock import try_lock
from localllm.base.files import open_beneath, open_folder
from localllm.base.regular_files import NO_LINK, READ, opened
from localllm.sandbox.launcher.removal import delete_tree
from localllm.sandbox.symlinks import follow

_NAME = re.compile(r"localllm-[0-9a-f]{16}")
_STARTUP = """\
unset BASH_ENV
trap '{{ case "${{PIPESTATUS[@]}}" in
    *" "*) builtin printf "%s " "${{PIPESTATUS[@]}}" "|" "$_" >| {file} || builtin : "$_" ;;
esac; }} 2> /dev/null' DEBUG EXIT
builtin : /bin/bash
"""
"""Records the exit statuses of a pipeline, before each command and at the end. The last words of its commands keep `$_`
as it would be without it. `set -x` shows none of it."""

_PLAIN_PATH = re.compile(r"[\w/.+-]+", re.ASCII)
_MOST_STATUSES = 1_000  # bytes
_MOST_IN_RESULT, _MOST_IN_RESULTS = 16_000_000, 64_000_000  # bytes of one result, and of all
_USUAL_BASE = "/tmp"  # noqa: S108 - the names below it are random ones
_STALE = 3600.0  # seconds; only has to exceed the moment between creating a folder and locking it


class Scratch:
    """A folder for one command: for its temporary files, and as its home, with symlinks to the toolchains.

    It is locked while this process lives, so that others see it is in use. It does not lie in the folder `project`:
    another command could change it.
    """

    def __init__(self, toolchains: Mapping[str, Path], project: Path | None = None) -> None:
        self.folder = base_folder(project) / f"localllm-{os.urandom(8).hex()}"
        self.temporary = self.folder / "tmp"
        self.home = self.folder / "home"
        self._startup = self.folder / "startup"
        self._statuses = self.folder / "statuses"
        self.folder.mkdir(mode=0o700)
        self._lock = _lock(self.folder)
        try:
            self._furnish(toolchains)
        except OSError:
            self.remove()  # the disk may be full
            raise

    def _furnish(self, toolchains: Mapping[str, Path]) -> None:
        self.temporary.mkdir()
        self.home.mkdir()
        for name, target in toolchains.items():
            link = self.home / name
            if "/" in name:
                link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables with its paths."""
        found = {"HOME": str(self.home), "TMPDIR": str(self.temporary)}
        return found | {"BASH_ENV": str(self._startup)} if self._startup.exists() else found

    def ask_for_statuses(self) -> None:
        """Make the shell record how each part of its last pipeline ended: see `statuses`. Nothing else changes for the
        command: bash reads this file first, and what the trap does is not in its output."""
        if not _PLAIN_PATH.fullmatch(str(self._statuses)):  # it is inserted in shell code
            return
        with self._startup.open("x", encoding="utf-8") as file:  # follows no symlink
            file.write(_STARTUP.format(file=self._statuses))

    def statuses(self) -> tuple[int, ...]:
        """Return the exit status of each part of the last pipeline; empty if not requested, or if the shell did not get
        to it. The command may have written the file itself."""
        with suppress(OSError, ValueError), opened(os.open(self._statuses, READ | NO_LINK)) as file:
            return tuple(map(int, file.read(_MOST_STATUSES).partition(b"|")[0].split()))
        return ()

    def results(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return those of the files in $TMPDIR with these names that are regular; each is cut after 16 MB, all after
        64. A command may have replaced the folder or a file: no symlink is followed, and no pipe is waited for."""
        found: dict[str, bytes] = {}
        room = _MOST_IN_RESULTS
        top = open_folder(self.folder)
        try:
            for name in names:
                path = f"{self.temporary.name}/{name}"
                with suppress(OSError), opened(open_beneath(top, path, READ | NO_LINK, links=False)) as file:
                    found[name] = file.read(min(_MOST_IN_RESULT, room))
                    room -= len(found[name])
        finally:
            os.close(top)
        return found

    def __enter__(self) -> "Scratch":
        return self

    def __exit__(self, *failure: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Delete the folder, also what a command has made read-only. What cannot be deleted stays."""
        delete_tree(str(self.folder))
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_stale(age: float = _STALE) -> None:
    """Delete the folders left behind by killed programs, which nobody has locked. `age`: seconds that a folder has to
    be old."""
    for base in {base_folder(), Path(_USUAL_BASE).resolve()}:
        names: list[str] = []
        with suppress(OSError):  # there is no such folder any more
            names = os.listdir(base)  # noqa: PTH208 - there may be thousands of others
        for name in filter(_NAME.fullmatch, names):
            with suppress(OSError):  # another process is deleting it as well
                about = (base / name).lstat()
                if about.st_uid == os.getuid() and about.st_mtime <= time.time() - age:
                    _remove_unless_locked(base / name)


def _remove_unless_locked(folder: Path) -> None:
    fd = _lock(folder)
    if fd is not None:
        delete_tree(str(folder))
        os.close(fd)


def base_folder(project: Path | None = None) -> Path:
    """Return the folder for temporary files: $TMPDIR, unless that or a symlink on the way to it lies in the project."""
    named = Path(os.environ.get("TMPDIR") or _USUAL_BASE).absolute()
    passed = [*map(Path, follow(str(named))), named] if project else []
    lies_inside = project and any(path.is_relative_to(project) for path in passed)
    return Path(_USUAL_BASE).resolve() if lies_inside else named.resolve()


def _lock(folder: Path) -> int | None:
    """Lock the folder; return the descriptor that keeps it locked, or None if another process has it, or folders cannot
    be locked."""
    try:
        fd = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0))
    except PermissionError:
        return None  # Windows has no locks of folders
    if try_lock(fd):
        return fd
    os.close(fd)
    return None
