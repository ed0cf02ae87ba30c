"""Undoing what a command changed at protected names, where the sandbox cannot make them read-only."""

import os
import stat
from pathlib import Path, PurePosixPath
from threading import Lock
from time import strftime

from localllm.sandbox.git_settings import is_harmless_change
from localllm.sandbox.protected import Entry, is_git_settings, is_protected, look
from localllm.sandbox.restoring import Restorer


class ProtectedFiles:
    """The protected files of one project, compared before and after commands.

    Commands may overlap: what was there before the first of them counts for all. What a command put there is moved to
    `quarantine`, or lost if that is None. Nothing tells what somebody else changes meanwhile from a command's doing.
    """

    def __init__(self, root: Path, quarantine: Path | None) -> None:
        self._root = root
        self._quarantine = quarantine
        self._lock = Lock()
        self._running = 0
        self._before: dict[str, Entry] = {}

    def begin(self) -> None:
        """A command is about to run."""
        with self._lock:
            if not self._running:
                self._before = look(self._root, self._before)
            self._running += 1

    def end(self) -> tuple[str, ...]:
        """A command has ended: undo what it changed. The paths, sorted. Raises OSError where that is not possible."""
        with self._lock:
            self._running -= 1
            after = look(self._root, self._before)
            changed = [path for path in sorted(self._before | after) if self._must_be_undone(path, after.get(path))]
            if changed:
                self._undo(changed)
            return tuple(changed)

    def _must_be_undone(self, path: str, after: Entry | None) -> bool:
        before = self._before.get(path)
        if after is None:
            return not self._went_with_its_repository(path)
        if before and (before.identity == after.identity or _is_same(before, after)):
            return False
        return not _is_harmless(path, before, after)

    def _went_with_its_repository(self, path: str) -> bool:
        """Whether it was part of a `.git` that is gone as a whole: a repository that is no more is not believed."""
        above, git, _ = f"/{path}".rpartition("/.git/")
        return bool(git) and not os.path.lexists(f"{self._root}{above}/.git")

    def _undo(self, changed: list[str]) -> None:
        kept_in = self._quarantine and self._quarantine / f"{strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}"
        with Restorer(self._root, kept_in) as restorer:
            for path in changed:
                _restore(restorer, path, self._before.get(path))


def _restore(restorer: Restorer, path: str, before: Entry | None) -> None:
    match before:
        case Entry(mode=mode, content=bytes(target)) if stat.S_ISLNK(mode):
            restorer.put_link(path, target)
        case Entry(mode=mode, content=bytes(content)) if stat.S_ISREG(mode):
            restorer.put_file(path, content, stat.S_IMODE(mode))
        case _:
            restorer.remove(path)
            for folder in PurePosixPath(path).parents:
                if not (is_protected(str(folder)) and restorer.remove_if_empty(str(folder))):
                    return


def _is_same(before: Entry, after: Entry) -> bool:
    return before.content is not None and (before.mode, before.content) == (after.mode, after.content)


def _is_harmless(path: str, before: Entry | None, after: Entry) -> bool:
    """Whether a change is one that cannot do harm later, or our own."""
    if not stat.S_ISREG(after.mode) or after.content is None:
        return False
    old = (before and before.content) or b""
    if is_git_settings(path):
        return is_harmless_change(old, after.content)
    if not (path.startswith(".localllm/") and path.endswith(".jsonl")):
        return False
    # Logs of sessions grow while a command runs: this process, or another one in the same project, writes to them.
    return bool(old and after.content.startswith(old)) or _is_held_open(after)


def _is_held_open(entry: Entry) -> bool:
    """Whether a process that is alive has it open. The command's processes are dead by now, so it is not theirs."""
    return any(_opened(fd) == entry.identity[:2] for fd in Path("/proc").glob("[0-9]*/fd/*"))


def _opened(fd: Path) -> tuple[int, int] | None:
    """Device and inode of what an entry of /proc/PID/fd stands for."""
    try:
        about = fd.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino
