"""The files in the folder of a git repository, and which of them changed: told by the kernel where it can, else by the
times of folders and files."""

import os
import re
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from localllm.base.file_watch import Watcher
from localllm.snapshots.project_scan import Sign, sign_of

MOST_FILES = 20_000
"""Files of one repository; where there are more it `is_too_large`, and of the rest those are looked at that were there
before."""

_FIRST = ("objects", "pack")  # folders without which it cannot be told what is lost
_SETTLED = 3_000_000_000  # ns: a folder changed this short before may change again without its times telling
_PASSED_OVER = re.compile(
    r"(?:^|.*/)[^/]*\.lock$"
    r"|(?!(?:.*/)?(?:refs|logs)/)(?:.*/)?(?:gc\.pid|fsmonitor--daemon[^/]*|objects/(?:.*/)?(?:tmp_|\.tmp-)[^/]*)$",
    re.DOTALL,
)
_OBJECT = re.compile(
    r"(?:^|/)(?:objects/(?:[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?"
    r"|pack/pack-[0-9a-f]{40,64}\.(?:pack|idx|rev|bitmap|mtimes|keep|promisor))"
    r"|lfs/objects/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{64})$"
)


_Listed = tuple[int, list[str], list[str]]
"""The time of a folder, the files in it, and the folders."""

_UNLISTED: _Listed = (0, [], [])


def is_object(path: str) -> bool:
    """Whether it is a file of git's (or git-lfs's) store of objects, whose content its name stands for."""
    return _OBJECT.search(path) is not None


class RepositoryFiles:
    """The regular files below `folder` by their paths there; locks and half-written files are passed over, links not
    followed. `folders` are those that are there, with a `/` at the end, "" for the whole."""

    def __init__(self, folder: Path, files: dict[str, Sign], *, watch: bool = True) -> None:
        """`files` are those of an earlier look."""
        self.files: dict[str, Sign] = files
        self.is_too_large = False
        self._top = f"{folder}/"
        self._watch = watch
        self._watcher: Watcher | None = None
        self._identity = (0, 0)
        self._listed: dict[str, _Listed] = {}

    @property
    def folders(self) -> set[str]:
        """The folders that are there."""
        return set(self._listed)

    def refresh(self) -> set[str]:
        """Look again; the files that came, went or changed since the last time."""
        try:
            facts = os.lstat(self._top.rstrip("/"))
            identity = (facts.st_dev, facts.st_ino) if stat.S_ISDIR(facts.st_mode) else (-1, -1)
        except OSError:
            identity = (-1, -1)
        touched = self._touched_folders() if identity == self._identity else None
        if touched is not None and (changed := self._look_into(touched)) is not None:
            return changed
        before = self.files
        if identity != self._identity:
            self._forget()
        self._identity = identity
        self.files = dict[str, Sign]()
        if identity != (-1, -1):
            self._start_watching()
            self._look(before)
        else:
            self._listed = {}
        now = self.files
        return {path for path, sign in now.items() if before.get(path) != sign} | (before.keys() - now.keys())

    def _touched_folders(self) -> set[str] | None:
        """The folders in which files came, went or changed; None where it may be any."""
        touched = self._watcher.touched() if self._watcher else None
        if (
            touched is None
            or touched.lost
            or any(not _PASSED_OVER.match(folder + name) for folder, name in touched.passing)
        ):
            return None  # what passed may have been a link to any file; git's own temporary files are none
        for folder, name in touched.entries:
            if f"{folder}{name}/" in self._listed:
                return None
        return {folder for folder, _ in touched.entries}

    def _look_into(self, folders: set[str]) -> set[str] | None:
        """Look at the files of these folders alone; those that changed, None where there are other folders in them."""
        try:
            listed = {prefix: self._list(prefix) for prefix in folders if prefix in self._listed}
        except OSError:
            return None
        if any(set(inner) != set(self._listed[prefix][2]) for prefix, (_, _, inner) in listed.items()):
            return None
        changed: set[str] = set()
        for prefix, (_, names, _) in listed.items():
            gone = set(self._listed[prefix][1]) - set(names)
            for path in (prefix + name for name in (*gone, *names)):
                sign = self._sign(path)
                if sign != self.files.get(path):
                    changed.add(path)
                if sign:
                    self.files[path] = sign
                else:
                    self.files.pop(path, None)
        self._listed |= listed
        return changed

    def _sign(self, path: str) -> Sign | None:
        try:
            facts = os.lstat(self._top + path)
        except OSError:
            return None
        return sign_of(facts) if stat.S_ISREG(facts.st_mode) else None

    def _forget(self) -> None:
        if self._watcher:
            self._watcher.close()
        self._watcher = None
        self._listed = {}

    def _start_watching(self) -> None:
        if self._watch and self._watcher is None and not self.is_too_large:
            try:
                self._watcher = Watcher(Path(self._top))
            except (OSError, ValueError):
                self._watch = False

    def _look(self, before: Iterable[str]) -> None:
        """Look at every file; folders whose times are the same are not listed again. `before` are the files of an
        earlier look."""
        listed: dict[str, _Listed] = {}
        waiting = [""]
        self.is_too_large = False
        while waiting:
            prefix = waiting.pop()
            try:
                self._add_watch(prefix)
                listed[prefix] = self._list(prefix)
            except OSError:
                continue
            _, names, inner = listed[prefix]
            waiting += [f"{prefix}{name}/" for name in sorted(inner, key=lambda name: name in _FIRST)]
            for name in names[: MOST_FILES + 1 - len(self.files)]:
                if sign := self._sign(prefix + name):
                    self.files[prefix + name] = sign
            if len(self.files) > MOST_FILES:
                self.is_too_large = True
                self._forget()
                self.files |= {path: sign for path in before if (sign := self._sign(path))}
                listed |= dict.fromkeys(waiting, _UNLISTED)
                break
        self._listed = listed

    def _list(self, prefix: str) -> _Listed:
        facts = os.lstat((self._top + prefix).rstrip("/"))
        if not stat.S_ISDIR(facts.st_mode):
            raise NotADirectoryError(prefix)
        moment = facts.st_ctime_ns
        known = self._listed.get(prefix)
        if known and known[0] == moment:
            return known
        names: list[str] = []
        inner: list[str] = []
        with os.scandir(self._top + prefix) as entries:
            for entry in entries:
                if not _PASSED_OVER.match(prefix + entry.name):
                    (inner if entry.is_dir(follow_symlinks=False) else names).append(entry.name)
        return moment if moment + _SETTLED < time.time_ns() else 0, names, inner

    def _add_watch(self, prefix: str) -> None:
        if self._watcher:
            try:
                self._watcher.add(self._top + prefix, prefix)
            except (FileNotFoundError, NotADirectoryError):
                raise
            except OSError:
                self._watch = False
                self._watcher.close()
                self._watcher = None
