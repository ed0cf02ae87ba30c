"""Back up the git repositories of a project outside of it: each object once, small files as they change.

Damage by a command is detected by looking for what existed before: git's own operations (commit, checkout, rebase, gc)
move and pack, but lose nothing that is referenced.
"""

import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property, partial
from hashlib import sha256
from itertools import groupby
from pathlib import Path

import msgspec

from localllm.base.file_lock import FileLock
from localllm.base.files import atomic_write
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.blob_store import Programs, make_folder, more_seconds
from localllm.snapshots.change_log import UNSTAGED
from localllm.snapshots.file_state import FileIndex, Known, content_of, state_of, state_of_losses
from localllm.snapshots.project_scan import Sign
from localllm.snapshots.repository_losses import Side, lost_in
from localllm.snapshots.repository_objects import Read, RepositoryFiles, entries_in_index, ids_in, is_object
from localllm.snapshots.repository_restore import (
    HEAD_LOG,
    Loss,
    differs,
    encoded,
    files_lost,
    open_file,
    read,
    staged_entries,
)
from localllm.snapshots.store import MAX_AGE, Snapshots

MOST_BYTES = 300_000_000
"""Bytes stored for a project's repositories together. Of larger ones only the small files are stored, not the
objects."""

MOST_REPOSITORIES = 20
"""Repositories stored per project: known ones first, then the outermost."""

LARGEST_SMALL_FILE = 20_000_000
"""Bytes of the largest stored file that is no object, such as the index."""

_SMALL = 1 << 16  # bytes of an object that is written in one call
_PLACE = "place"
_INDEX = "index"
_DAY = 24 * 3600.0
_UNSETTLED = 50_000_000  # ns: see recorder


class _Kept:
    """The known files of one repository, by path in its folder."""

    def __init__(self) -> None:
        self.known: dict[str, Known] = {}
        self.signs: dict[str, Sign] = {}

    def note(self, path: str, known: Known | None) -> None:
        """Record a file; None if it is gone."""
        if known is None:
            self.known.pop(path, None)
            self.signs.pop(path, None)
        else:
            self.known[path] = known
            self.signs[path] = known.sign


class _Place:
    """The storage of the backup's index."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def index_file(self) -> Path:
        """The index of stored file versions."""
        return self._folder / _INDEX

    def write_index(self, data: bytes, *, add: bool = False) -> None:
        """Replace `index_file`, or append to it."""
        make_folder(self._folder)
        with FileLock(self._folder / "lock"):
            if not add:
                return atomic_write(self.index_file, data, mode=0o600)
            with self.index_file.open("ab") as file:
                file.write(data)
        return None


class RepositoryBackup:
    """The backups of one project's repositories, in `folder`."""

    def __init__(self, snapshots: Snapshots, *, watch: bool = True) -> None:
        self._snapshots = snapshots
        self._folder = snapshots.repository_folder
        self._contents = snapshots.repositories
        self._watch = watch
        self._files: dict[str, RepositoryFiles] = {}
        self._kept_of: dict[str, _Kept] = {}
        self._due: dict[str, set[str]] = {}
        self._copied = 0
        self._is_placed = False

    @cached_property
    def _index(self) -> FileIndex:
        return FileIndex(_Place(self._folder))

    @property
    def is_complete(self) -> bool:
        """Whether everything found by the last `keep` is stored."""
        return not (self._index.left_out or any(files.is_too_large for files in self._files.values()))

    def keep(self, root: ProjectRoot, tops: Iterable[str], deadline: float) -> bool:
        """Copy new content of the repositories (folders called .git, with a `/`), until `deadline` by time.monotonic;
        return whether the backup is complete. Raises OSError if it cannot be stored."""
        known = {_top_of(path) for path in self._index.paths()}
        wanted = sorted({".git/", *tops}, key=lambda top: (top not in known, top.count("/"), top))[:MOST_REPOSITORIES]
        for top in wanted:
            self._due[top] = self._due.get(top, set()) | self._files_of(root, top).refresh()
        for top in wanted:
            self._copy_new(root, top, deadline)
        self._index.save()
        if not self._is_placed and (self._folder / _INDEX).exists():
            self._is_placed = True
            atomic_write(self._folder / _PLACE, os.fsencode(root.path), mode=0o600)
            remove_unused(self._folder.parent.parent)
        if self._copied > MOST_BYTES:  # repeatedly repacked
            self._copied = 0
            self._contents.forget_all_but(self._snapshots.needed_of_repositories(), grace=60.0)
        return self.is_complete

    def _files_of(self, root: ProjectRoot, top: str) -> RepositoryFiles:
        """Return the files of a repository; initially as of the last backup."""
        if top not in self._files:
            kept = self._kept_of[top] = _Kept()
            for path in self._index.paths():
                if path.startswith(top):
                    kept.note(path.removeprefix(top), self._index.get(path))
            self._files[top] = RepositoryFiles(root.path / top, dict(kept.signs), watch=self._watch)
        return self._files[top]

    def _copy_new(self, root: ProjectRoot, top: str, deadline: float) -> None:
        files, due, later = self._files[top], self._due[top], set[str]()
        pending = {path.removeprefix(top) for path in self._index.pending if path.startswith(top)}
        for path in due - files.files.keys():
            self._note(top, path, None)
        if files.is_too_large:  # stored files are still updated
            later = due - self._kept_of[top].known.keys()
            due = due - later
        new = [path for path in (due | pending) if self._is_new(top + path, files.files.get(path))]
        objects = sum(files.files[path].size for path in new if is_object(path))
        deadline += more_seconds([files.files[path].size for path in new])
        room = MOST_BYTES - self._index.size
        with_objects = objects <= room  # all objects or none: part of a history is useless
        room = room if with_objects else LARGEST_SMALL_FILE
        new.sort(key=lambda path: (is_object(path), path.rpartition("/")[0]))
        for _, paths in groupby(new, key=lambda path: path.rpartition("/")[0]):
            group = list(paths)
            try:
                with root.open_parent(top + group[0]) as folder:
                    for path in group:
                        sign = files.files[path]
                        fits = with_objects if is_object(path) else sign.size <= room
                        self._note(top, path, self._kept(folder, top + path, sign, deadline, fits=fits))
            except OSError as error:
                if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
                    raise
        self._due[top] = later  # not before: if it cannot be stored, all of it is due the next time

    def _note(self, top: str, path: str, known: Known | None) -> None:
        self._index.put(top + path, known)
        self._kept_of[top].note(path, known)

    def _is_new(self, path: str, sign: Sign | None) -> bool:
        known = self._index.get(path)
        return sign is not None and (known is None or known.sign != sign or not known.settled)

    def _kept(self, folder: int, path: str, sign: Sign, deadline: float, *, fits: bool) -> Known:
        """Copy one file of the open `folder`, if it qualifies."""
        settled = sign.ctime_ns < time.time_ns() - _UNSETTLED
        unkept = Known(sign, "", settled=True, ignored=False)
        if not fits or (sign.size > LARGEST_SMALL_FILE and not is_object(path)):
            return unkept
        if time.monotonic() > deadline:
            return msgspec.structs.replace(unkept, settled=False)
        name = ""
        if is_object(path):
            name = sha256(f"{path}\0{sign.size}".encode("utf-8", "surrogateescape")).hexdigest()
            if sign.size and self._contents.size(name) == sign.size:
                os.utime(self._contents.path(name))
                return Known(sign, state_of(name, sign.mode), settled=True, ignored=False)
        try:
            file = open_file(folder, path)
        except OSError:  # gone meanwhile, or not permitted
            return msgspec.structs.replace(unkept, settled=False)
        with os.fdopen(file, "rb") as source:
            if is_object(path):
                self._copied += sign.size
                if sign.size <= _SMALL:
                    self._contents.put_small(name, source.read(_SMALL))
                else:
                    self._contents.put_file(name, file)
            else:
                name = self._contents.put_bytes(source.read(LARGEST_SMALL_FILE))
        return Known(sign, state_of(name, sign.mode), settled=settled, ignored=False)

    def losses(self, root: ProjectRoot) -> list[tuple[str, str]]:
        """Return the damage since the last `keep`: for each repository its path, and the state to restore. Raises
        OSError if that cannot be stored."""
        found: list[tuple[str, str]] = []
        tops = list(self._files) or dict.fromkeys(sorted({_top_of(path) for path in self._index.paths()} - {""}))
        for top in tops:
            files = self._files_of(root, top)
            changed = files.refresh()
            self._due[top] = self._due.get(top, set()) | changed
            if not changed:
                continue
            kept = self._kept_of[top]
            now = Side(files.files, files.folders, lambda path, last=0, top=top: read(root, top + path, last))
            then = Side(kept.signs, set(), self._reader(kept.known))
            has_lost_objects = any(map(is_object, changed - files.files.keys()))
            named = self._named_by_losses() if has_lost_objects else ()
            lost = lost_in(then, now, changed, partial(self._is_altered, root, top), named)
            losses = {top + path: Loss(kept.known[path], files.files.get(path)) for path in lost.paths}
            losses |= {top + path: Loss(self._of_bytes(data)) for path, data in lost.written.items()}
            losses |= dict.fromkeys((top + path for path in lost.folders), Loss())
            if losses:
                found.append((top, state_of_losses(self._contents.put_bytes(encoded(losses)))))
        return found

    def staged(self, root: ProjectRoot) -> dict[str, str]:
        """Return the files whose entry in the index is another than at the last `keep`, and the object it names now.
        Nothing of a repository with a new commit, which may have taken the entries."""
        found: dict[str, str] = {}
        for top, kept in self._kept_of.items():
            signs, folder = self._files[top].files, top.removesuffix(".git/")
            if signs.get("index") == kept.signs.get("index") or signs.get(HEAD_LOG) != kept.signs.get(HEAD_LOG):
                continue
            with suppress(OSError):
                data = self._reader(kept.known)("index") if "index" in kept.known else b""
                then, now = dict(entries_in_index(data, 20)), staged_entries(root, top)
                changed = (path for path in then | now if then.get(path) != now.get(path))
                found |= {folder + path: now.get(path, UNSTAGED) for path in changed}
        return found

    def _named_by_losses(self) -> set[str]:
        """Return the objects named by lost refs, logs and indexes that may still be restored."""
        names: set[str] = set()
        for state in self._snapshots.repositories_to_put_back():
            for path, known in files_lost(self._contents, state).items():
                if not is_object(path):
                    with suppress(OSError):
                        names |= ids_in(path, self._contents.get(content_of(known.state)))
        return names

    def _reader(self, before: dict[str, Known]) -> Read:
        def read(path: str, last: int = 0) -> bytes:
            if not before[path].state:
                raise FileNotFoundError(path)
            return self._contents.get(content_of(before[path].state))[-last:]

        return read

    def _of_bytes(self, data: bytes) -> Known:
        state = state_of(self._contents.put_bytes(data), 0o644)
        return Known(Sign(0, len(data), 0, 0, 0o644), state, settled=True, ignored=False)

    def _is_altered(self, root: ProjectRoot, top: str, path: str) -> bool:
        """Whether a file differs from its copy."""
        known = self._kept_of[top].known[path]
        try:
            return bool(known.state) and differs(root, top + path, known, self._contents)
        except FileNotFoundError:
            return False


def remove_unused(snapshots: Path) -> None:
    """Remove the backups of projects that were deleted a day ago or had no command within the retention time, unless
    something lost can still be restored."""
    for place in snapshots.glob(f"*/repositories/{_PLACE}"):
        with suppress(OSError):
            age = time.time() - place.stat().st_mtime
            is_gone = age > _DAY and not Path(os.fsdecode(place.read_bytes())).exists()
            is_unused = age > MAX_AGE and not Snapshots(place.parent.parent).repositories_to_put_back()
            if (is_gone or is_unused) and not Programs(place.parent.parent / "programs").living():
                shutil.rmtree(place.parent, ignore_errors=True)


def _top_of(path: str) -> str:
    folder, found, _ = path.partition(".git/")
    return folder + found
