"""Restore what commands changed at protected names."""

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from time import strftime
from typing import NamedTuple

from localllm.base import logs
from localllm.base.kept_outputs import is_kept_output
from localllm.sandbox.protect.harmful_changes import HarmfulChanges, harmless_part_of
from localllm.sandbox.protect.project_folder import ProjectFolder
from localllm.sandbox.protect.protected_paths import Entry, by_depth, is_output, is_protected, new_folders
from localllm.sandbox.protect.quarantine import prune
from localllm.sandbox.protect.restore import Restorer
from localllm.sandbox.protect.shared_files import sever

_MOST_OUTPUT = 100_000_000  # bytes of new long output that is checked at one time
_MANY = 100  # new files in a folder; one with more is moved as a whole


class Undone(NamedTuple):
    """Paths with changes that have to be undone; those of them that were spared this time; what was restored; and why
    the first of the others could not be restored."""

    found: frozenset[str]
    spared: frozenset[str]
    restored: frozenset[str]
    error: OSError | None

    def with_more(self, other: "Undone") -> "Undone":
        """Return both together."""
        restored = self.restored | other.restored
        return Undone(self.found | other.found, self.spared | other.spared, restored, self.error or other.error)


class PutBack:
    """Restores changes in the project's `folder`; what it removes is kept in `quarantine` (None: it is deleted).

    `stuck`: what could not be restored, with its entries before and after the change. `aside`: the names in the project
    of files from before that the quarantine had no room for.
    """

    def __init__(self, folder: ProjectFolder, quarantine: Path | None) -> None:
        self._folder = folder
        self._root = folder.root
        self._quarantine = quarantine
        self.aside: list[str] = []
        self.stuck: dict[str, tuple[Entry | None, Entry | None]] = {}

    def undo(
        self,
        paths: Iterable[str],
        after: Mapping[str, Entry],
        harmful: HarmfulChanges,
        needed_folders: Callable[[str], Iterable[str]],
        *,
        is_held: bool,
        most: int | None = None,
        is_spared: Callable[[str], bool] = lambda _path: False,
    ) -> Undone:
        """Restore those of the paths whose changes have to be undone, at most `most`, but for what `is_spared`. See
        `_put_back`."""
        found = frozenset(path for path in paths if _must_go(harmful, path, after.get(path)))
        spared = frozenset(filter(is_spared, found))
        found -= spared
        changed = sorted({*_outermost(sorted(found), after), *(harmful.broken.keys() & found)}, key=by_depth)[:most]
        if not changed:
            return Undone(found, spared, frozenset(), None)
        try:
            restored = self._put_back(changed, after, harmful, needed_folders, is_held=is_held)
        except OSError as error:
            return Undone(found, spared, frozenset(), error)
        return Undone(found, spared, frozenset(restored), None)

    def _put_back(
        self,
        changed: list[str],
        after: Mapping[str, Entry],
        harmful: HarmfulChanges,
        needed_folders: Callable[[str], Iterable[str]],
        *,
        is_held: bool,
    ) -> list[str]:
        """Restore the changed paths; return them, or the folder for files in one that was moved as a whole.

        `after`: the current entries. `needed_folders`: returns those that a broken repository needs. `is_held`: see
        Restorer. Raises OSError for the first path that cannot be restored, after restoring the others.
        """
        kept_in = self._quarantine and self._quarantine / f"{strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}"
        errors: dict[str, OSError] = {}
        with self._restorer(kept_in, is_held=is_held, started=harmful.known.started) as restorer:
            moved = {} if is_held else self._move_new_folders(restorer, changed, after, harmful)
            left = [path for path in changed if path not in moved]
            for path in left:
                before, now = harmful.was(path), after.get(path)
                part = _part_that_stays(path, before, now) if now else None
                try:
                    if part is not None and now:
                        restorer.put_file(path, part, stat.S_IMODE(now.mode))
                    else:
                        _restore(restorer, path, before)
                    for folder in needed_folders(path) if path in harmful.broken else ():
                        restorer.put_folder(folder)
                except OSError as error:
                    errors[path] = error
                    self.stuck[path] = (before, now)
                else:
                    self.stuck.pop(path, None)
            self.aside += restorer.aside
        if kept_in:
            prune(kept_in.parent)
        if errors:
            first = next(iter(errors.values()))
            raise OSError(first.errno, first.strerror, ", ".join(errors))
        return sorted({*left, *moved.values()})

    def _restorer(self, kept_in: Path | None, *, is_held: bool = False, started: int = 0) -> Restorer:
        return Restorer(self._root, kept_in, is_held=is_held, started=started, identity=self._folder.identity)

    def delete(self, derived: Mapping[str, Entry], harmful: HarmfulChanges) -> None:
        """Delete what a command has written of files that can be made again, without keeping them."""
        if paths := [path for path, now in derived.items() if _must_go(harmful, path, now)]:
            with self._restorer(None) as restorer:
                for path in paths:
                    restorer.remove(path)

    def copy_linked(self, left: Mapping[str, Entry], harmful: HarmfulChanges) -> Iterator[str]:
        """Replace each file to which a command added a hard link by a copy; yield the paths. Through the other name git
        (`.git/COMMIT_EDITMSG`, a log), or whatever else the user runs, would write to it."""
        for path, now in left.items():
            before = harmful.was(path)
            if stat.S_ISREG(now.mode) and now.names > (before.names if before else 1) and not is_output(path):
                one = {(now.identity[0], now.identity[1]): (path,)}
                if sever(self._root, one, largest=sys.maxsize).shared:
                    with self._restorer(None) as restorer:
                        restorer.open_up(path, 0)
                    if sever(self._root, one, largest=sys.maxsize).shared and os.path.lexists(self._root / path):
                        raise OSError(errno.EMLINK, os.strerror(errno.EMLINK), path)
                yield path

    def _move_new_folders(
        self, restorer: Restorer, changed: list[str], after: Mapping[str, Entry], harmful: HarmfulChanges
    ) -> dict[str, str]:
        """Move folders with very many new files away as a whole; return the files, each with its folder."""
        if len(changed) <= _MANY:
            return {}
        new = {path for path in changed if path in after and harmful.was(path) is None}
        others = {*harmful.known.tops, *harmful.known.before, *harmful.known.gone, *harmful.broken, *after} - new
        moved: dict[str, str] = {}
        for folder, paths in new_folders(sorted(new), others).items():
            if len(paths) > _MANY:
                with suppress(OSError):  # then one by one, which reports what cannot be undone
                    restorer.remove(folder)
                    moved |= dict.fromkeys(paths, folder)
        for path in moved:
            self.stuck.pop(path, None)
        return moved

    def leave_out_stuck(self, before: dict[str, Entry]) -> None:
        """Take what could not be restored to be as it was before, as long as nobody changes it."""
        for path, (was, now) in list(self.stuck.items()):
            there = before.get(path)
            if (there and there.identity) != (now and now.identity):
                del self.stuck[path]
            elif was:
                before[path] = was
            else:
                before.pop(path, None)


def take_in_outputs(root: Path, before: dict[str, Entry], after: Mapping[str, Entry]) -> None:
    """Count long output that this program, or another one in the project, has stored meanwhile as there before. A
    command cannot have put anything else there: the name of such a file has to match its content."""
    room = _MOST_OUTPUT
    for path, entry in after.items():
        was = before.get(path)
        if not is_output(path) or (was and was.identity == entry.identity):
            continue
        if is_kept_output(root / path, room):
            before[path] = entry
        room -= min(room, entry.identity[2])


def _must_go(harmful: HarmfulChanges, path: str, now: Entry | None) -> bool:
    """Return whether a change has to be undone, or cannot be judged."""
    try:
        return harmful.has(path, now)
    except Exception as error:  # noqa: BLE001 - of whatever a command has written there
        logs.of("SANDBOX").warning("%s cannot be judged, and is put back: %r", path, error)
        return True


def _outermost(changed: list[str], after: Mapping[str, Entry]) -> Iterator[str]:
    """Yield the sorted paths that are in no folder among them, which is removed with everything in it."""
    gone = "\0"
    for path in changed:
        if not f"{path}/".startswith(gone):
            yield path
            entry = after.get(path)
            gone = f"{path}/" if entry and stat.S_ISDIR(entry.mode) else gone


def _part_that_stays(path: str, before: Entry | None, now: Entry) -> bytes | None:
    try:
        return harmless_part_of(path, before, now)
    except Exception as error:  # noqa: BLE001
        logs.of("SANDBOX").warning("no part of %s stays: %r", path, error)
        return None


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
