"""Undoing what a command changed at protected names, where the sandbox cannot make them read-only."""

import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from threading import Lock
from time import strftime

from localllm.base.errors import ToolExecutionError
from localllm.base.kept_outputs import is_kept_output
from localllm.sandbox.dotfiles import git_settings_of_user
from localllm.sandbox.protect.command_records import CommandRecord, CommandRecords, changed_at, last_change
from localllm.sandbox.protect.git_files import has_head
from localllm.sandbox.protect.git_index import IndexFiles
from localllm.sandbox.protect.git_settings import is_harmless_change, leads_inside
from localllm.sandbox.protect.git_state import harmless_part, is_unfinished_work
from localllm.sandbox.protect.indirect_targets import MOST_PLACES, Leads, links_to, trace
from localllm.sandbox.protect.protected_paths import (
    Entry,
    Reach,
    folders_that_lead_to,
    inode,
    is_git_settings,
    is_of_linked_work_tree,
    is_output,
    is_protected,
    is_seen_from,
    look_at,
    may_be_read_only,
    new_folders,
)
from localllm.sandbox.protect.protected_walk import ProtectedWalk
from localllm.sandbox.protect.quarantine import prune
from localllm.sandbox.protect.repository import all_alternates, linked_data, linked_git
from localllm.sandbox.protect.repository_data import RepositoryData
from localllm.sandbox.protect.restore import Restorer
from localllm.sandbox.protect.symlinks import SKIPPED, find_plain

_NOTHING = Entry(0, (), b"")

_MOST_PINS = 200  # each is a mount or two
_MOST_ROUNDS = 10  # of opening what commands have closed
_MOST_ROUNDS_AHEAD = 100
_MOST_REPOSITORIES = 2_000  # for which the user's own settings are looked at
_TIME_BEFORE = 0.5  # seconds for all folders; some 100,000 that are known
_TIME_AFTER = 3.0
_MOST_OUTPUT = 100_000_000  # bytes of new files with long output that are looked at, at one time
_MOST_AT_ONCE = 1_000  # paths that are undone at one time while commands run
_MANY = 100  # new files of a folder, above which it is moved as a whole
_COARSE = 3_000_000_000  # nanoseconds by which the times of some file systems are off


class ProtectedFiles:
    """The protected files of one project, compared before and after commands.

    Commands may overlap: what was there before the first of them counts for all. What a command put there is moved to
    `quarantine`, or lost if that is None. Nothing tells what somebody else changes meanwhile from a command's doing.
    What protected files lead to (see `leads`) is protected as well. `coarse`: nanoseconds by which the times of files
    may be off. `also`: absolute paths of others in the project, each a file, a link or nothing yet.
    """

    def __init__(self, root: Path, quarantine: Path | None, coarse: int = _COARSE, *, also: Iterable[str] = ()) -> None:
        self._root = root
        self._also = {path.removeprefix(f"{root}/") for path in also}
        self._quarantine = quarantine
        self._records = CommandRecords(quarantine and quarantine.parent / "commands", root)
        self._lock = Lock()
        self._running = 0
        self._before: dict[str, Entry] = {}
        self._tops: list[str] = []
        self._walk = ProtectedWalk(root)
        self._data = RepositoryData(root)
        self._in_data: frozenset[str] = frozenset()
        self._gone: dict[str, Entry] = {}
        self._broken: dict[str, Entry] = {}
        self._index_files = IndexFiles(root)
        self._named: tuple[str, ...] = ()
        self._places: frozenset[str] = frozenset()
        self._first: frozenset[str] | None = None
        self._reach = Reach()
        self._coarse = coarse
        self._opened = time.time_ns() - coarse
        self._begun = 0
        self._is_overlooked = False
        self._stuck: dict[str, tuple[Entry | None, Entry | None]] = {}

    def look_ahead(self) -> None:
        """Look into every folder once, for a thread that has time: commands wait less, and nothing is overlooked."""
        for _ in range(_MOST_ROUNDS_AHEAD):
            reach = Reach(_TIME_BEFORE, skipped=True)
            with self._lock:
                self._walk.look(self._before, reach=reach)
                if reach.is_complete:
                    self._walk.look(self._before)  # by now the kernel is asked to tell what is touched
                    self._data.look(reach, self._before)
                    return

    def recover(self) -> tuple[str, ...]:
        """Undo what commands changed whose program was killed; the paths. Raises OSError where that is not possible.
        What was changed after that is the user's, and stays."""
        with self._lock:
            return () if self._running else self._recover()

    def _recover(self) -> tuple[str, ...]:
        changed: set[str] = set()
        for record, lived in self._records.take_dead():
            changed |= self._undo_recorded(record, lived)
            self._before = {}
        return tuple(sorted(changed))

    def _undo_recorded(self, record: CommandRecord, lived: int) -> set[str]:
        self._before, self._named, self._in_data = record.before, record.named, frozenset()
        self._begun = self._opened = record.begun
        self._reach = Reach()
        self._reach.is_complete, self._reach.last = record.is_complete, dict(record.last)
        self._reach.repositories = set(record.repositories)
        self._reach.visited = {folder.rpartition("/")[0] for folder in record.last}
        reach = Reach(_TIME_AFTER, skipped=True)
        after = self._walk.look(self._before, reach=reach)
        after |= look_at(self._root, self._named, self._before, reach=reach)
        after |= look_at(self._root, self._before.keys() - after.keys(), self._before)
        self._take_in_outputs(after)
        changed = [
            path
            for path in sorted(self._before | after)
            if last_change(self._root, path, after.get(path)) <= lived and self._must_be_undone(path, after.get(path))
        ]
        if changed := list(_outermost(changed, after)):
            self._undo(changed, after)
        return set(changed)

    def begin(self) -> None:
        """A command is about to run."""
        with self._lock:
            if not self._running:
                with suppress(OSError):
                    self._recover()
                self._begun = time.time_ns() - self._coarse
                self._tops = []
                self._reach = Reach(_TIME_BEFORE)
                known = self._before
                self._before = self._walk.look(known, self._tops, self._reach)
                self._is_overlooked = False
                if self._first is None:
                    self._first = frozenset(self._reach.repositories)
                self._named = self._look_at_named(known)
                in_data = self._data.believe(self._reach, known)
                self._in_data = frozenset(in_data)
                self._record()
                self._before = in_data | self._before
                self._index_files.believe(self._reach)
                self._keep_settings_of_gone(known)
                self._leave_out_what_is_stuck()
            self._running += 1

    def _record(self) -> None:
        reach = self._reach
        self._records.begin(
            CommandRecord(
                begun=self._begun,
                before=self._before,
                named=self._named,
                repositories=frozenset(reach.repositories),
                is_complete=reach.is_complete,
                last=reach.last,
            )
        )

    def _keep_settings_of_gone(self, known: Mapping[str, Entry]) -> None:
        """What another repository at the place of one that is gone has to be compared with."""
        settings = {path: entry for path, entry in {**known, **self._gone}.items() if is_git_settings(path)}
        self._gone = {path: entry for path, entry in settings.items() if path not in self._before}

    def _leave_out_what_is_stuck(self) -> None:
        """Count what could not be undone as not there, as long as nobody has changed it."""
        for path, (before, now) in list(self._stuck.items()):
            there = self._before.get(path)
            if (there and there.identity) != (now and now.identity):
                del self._stuck[path]
            elif before:
                self._before[path] = before
            else:
                self._before.pop(path, None)

    def _look_at_named(self, known: Mapping[str, Entry]) -> tuple[str, ...]:
        """Look at what the protected files themselves lead to, and at what that does in turn."""
        leads = self._leads()
        first = leads.of_user(self._absolute(self._reach.repositories)) | self._also
        found, named, is_complete = trace(self._root, leads, self._before, first, known, self._tops, self._reach)
        self._before |= found
        self._places = frozenset(leads.places)
        self._is_overlooked |= not is_complete or len(self._places) > MOST_PLACES
        self._before |= look_at(self._root, self._links(), known)
        return tuple(sorted(named))

    def named(self) -> frozenset[str]:
        """What protected files, links and git's settings lead to, as paths below the root, of folders with all in them;
        and where git would look for another repository, if no folder is there: a file could send it anywhere."""
        with self._lock:
            if self._running:
                return frozenset(self._named) | self._vacant(self._places)
            reach, tops = Reach(_TIME_BEFORE), list[str]()
            entries = self._walk.look(self._before, tops, reach)
            leads = self._leads()
            first = leads.of_user(self._absolute(reach.repositories)) | self._also
            named = trace(self._root, leads, entries, first, self._before, tops, reach)[1]
            return frozenset(named) | self._vacant(leads.places)

    def _links(self) -> list[str]:
        """The links on the way to what is named: one in place of a folder would put another's content there."""
        also = (f"{self._root}/{path}" for path in self._also)
        return [*links_to(self._root, self._places), *links_to(self._root, also)]

    def _vacant(self, places: Iterable[str]) -> frozenset[str]:
        inside = f"{self._root}/"
        paths = [place for place in sorted(places)[:MOST_PLACES] if place.startswith(inside) and place != inside]
        return frozenset(place[len(inside) :] for place in paths if not os.path.isdir(place))  # noqa: PTH112 - strings

    def _leads(self) -> Leads:
        return Leads(self._root, git_settings_of_user(os.environ), os.environ.get("HOME", ""))

    def _absolute(self, folders: Iterable[str]) -> list[str]:
        """The paths of folders; those that were there before any command come first."""
        first = self._first or frozenset()
        by_age = sorted(folders, key=lambda folder: (folder not in first, folder))
        return [f"{self._root}/{folder}".rstrip("/") for folder in by_age[:_MOST_REPOSITORIES]]

    @property
    def is_overlooked(self) -> bool:
        """Whether, since commands began, there were more new folders than there was time to look into."""
        return self._is_overlooked

    @property
    def is_alone(self) -> bool:
        """Whether no more than one command is running."""
        return self._running <= 1

    @property
    def record(self) -> str:
        """The file that is kept while commands run, for the time each of them ends at; "" where there is none."""
        return self._records.file

    def pins(self) -> tuple[list[str], list[str]]:
        """The absolute paths that can be made read-only while a command runs, and the folders above them that must not
        be renamed. The nearest ones, if there are very many; nothing is undone the less for it.
        """
        whole = {top for top in self._tops if may_be_read_only(top) and not is_of_linked_work_tree(top)}
        known: dict[str, bool] = {}
        rest = {
            path
            for path in self._before
            if not (
                is_unfinished_work(path)
                or is_of_linked_work_tree(path)
                or path in whole
                or _lies_in(whole, path.rpartition("/")[0], known)
            )
        }
        pinned = sorted(whole | rest, key=lambda path: (path.count("/"), path))[:_MOST_PINS]
        held = dict.fromkeys(folder for path in pinned for folder in folders_that_lead_to(path))
        absolute = f"{self._root}/"
        return [absolute + path for path in pinned], sorted(absolute + folder for folder in held)

    def end(self) -> tuple[str, ...]:
        """A command has ended: undo what it changed. The paths, sorted. Raises OSError where that is not possible."""
        with self._lock:
            self._running -= 1
            changed = self._put_back()
            if not self._running:
                self._records.end()
            return changed

    def check(self) -> tuple[str, ...]:
        """While commands run: undo what they have changed so far, the rest of very much the next time. Otherwise as
        `end`."""
        with self._lock:
            changed = self._put_back(_MOST_AT_ONCE)
            for path in changed:
                if self._before.get(path, _NOTHING).content is None:
                    del self._before[path]  # it could not be put back, and will not be looked for again
            return changed

    def _put_back(self, most: int | None = None) -> tuple[str, ...]:
        after, reach = self._look_after()
        after |= self._look_at_new(reach)
        self._is_overlooked |= not reach.is_complete
        if not reach.is_complete:
            after |= look_at(self._root, self._before.keys() - after.keys(), self._before)
        self._take_in_outputs(after)
        changed = [path for path in sorted(self._before | after) if self._must_be_undone(path, after.get(path))]
        broken = self._data.broken()
        self._broken = {path: before for path, (before, _) in broken.items()}
        after |= {path: now for path, (_, now) in broken.items() if now}
        changed = sorted({*_outermost(changed, after), *broken})[:most]
        if changed:
            changed = self._undo(changed, after)
        return tuple(changed)

    def _was(self, path: str) -> Entry | None:
        """What was there before, also of a repository that has gone or is broken."""
        return self._broken.get(path) or self._before.get(path) or self._gone.get(path)

    def _take_in_outputs(self, after: Mapping[str, Entry]) -> None:
        """Count as there before what this program, or another one in the project, has kept of long output meanwhile.
        A command could have written no more into such a file than what its name says."""
        room = _MOST_OUTPUT
        for path, entry in after.items():
            before = self._before.get(path)
            if not is_output(path) or (before and before.identity == entry.identity):
                continue
            if is_kept_output(self._root / path, room):
                self._before[path] = entry
            room -= min(room, entry.identity[2])

    def _look_after(self) -> tuple[dict[str, Entry], Reach]:
        """Look at all there is now, also in folders that were closed so that nobody would."""
        rounds = 0
        while True:
            reach = Reach(_TIME_AFTER, skipped=True)
            after = self._walk.look(self._before, reach=reach)
            after |= look_at(self._root, self._named, self._before, reach=reach)
            after |= look_at(self._root, self._links(), self._before, reach=reach)
            after = self._data.look(reach, self._before) | after
            after |= self._index_files.look(reach)
            rounds += 1
            if rounds > _MOST_ROUNDS or not self._open_up(reach.closed):
                reach.is_complete &= rounds <= _MOST_ROUNDS
                return after, reach

    def _open_up(self, closed: set[str]) -> bool:
        """Whether there were some that commands have closed."""
        if not closed or sys.platform == "win32":
            return False
        with Restorer(self._root, None) as restorer:
            opened = [path for path in sorted(closed) if path and restorer.open_up(path, self._begun)]
        return bool(opened)

    def _look_at_new(self, reach: Reach) -> dict[str, Entry]:
        """What the user's own settings name in repositories that were not there before, if it is new as well."""
        new = reach.repositories - self._reach.repositories
        if not new:
            return {}
        self._is_overlooked |= len(new) > _MOST_REPOSITORIES
        leads = self._leads()
        named = leads.of_user(self._absolute(new)) - set(self._named)
        self._is_overlooked |= not leads.is_complete
        found = look_at(self._root, sorted(named), self._before, reach=reach)
        return {path: entry for path, entry in found.items() if entry.identity[4] >= self._opened}

    def _must_be_undone(self, path: str, after: Entry | None) -> bool:
        before = self._was(path)
        if after is None:
            may_go = is_unfinished_work(path) or (path in self._in_data and not is_protected(path))
            return not (may_go or self._went_with_its_repository(path))
        if before and (before.identity == after.identity or _is_same(before, after)):
            return False
        if before is None and self._was_there(path, after):
            return False
        return not (self._is_harmless(path, before, after) or self._keeps_objects_inside(path, after))

    def _is_harmless(self, path: str, before: Entry | None, after: Entry) -> bool:
        """Whether a change is one that cannot do harm later."""
        if not stat.S_ISREG(after.mode) or after.content is None:
            return False
        if is_unfinished_work(path):
            return _harmless_part(path, before, after) == after.content
        file = self._root / path
        if is_git_settings(path):
            old = (before and before.content) or b""
            return is_harmless_change(old, after.content, lambda key, value: self._may_lead(file.parent, key, value))
        if file.name == ".git":
            return linked_data(self._root, file) is not None
        if file.parent.parent.name == "worktrees" and file.name in ("gitdir", "commondir"):
            return linked_data(self._root, linked_git(file.parent)) == file.parent
        return False

    def _may_lead(self, data: Path, key: str, value: str) -> bool:
        """Whether a new repository with this data may have the setting: it names a folder of the project, or none on
        this machine."""
        if key == "core.worktree":
            top = find_plain(self._root, data / value)
            return top is not None and linked_data(self._root, top / ".git") == data
        return leads_inside(self._root, data, value, git_settings_of_user(os.environ))

    def _keeps_objects_inside(self, path: str, after: Entry) -> bool:
        """Whether it is a list of alternates that leads to the objects of other repositories of the project alone."""
        if not f"/{path}".casefold().endswith("/objects/info/alternates") or after.content is None:
            return False
        try:
            alternates = [target for _, target in all_alternates((self._root / path).parents[1])]
            return all(map(self._is_of_repository, alternates))
        except (OSError, ToolExecutionError):
            return False

    def _is_of_repository(self, objects: Path) -> bool:
        folder = find_plain(self._root, objects)
        return folder is not None and folder.name == "objects" and has_head(folder.parent)

    def _was_there(self, path: str, entry: Entry) -> bool:
        """Whether it lies in a folder that was not looked into before, and nothing on the way to it is new."""
        if self._reach.is_complete and SKIPPED.isdisjoint(path.casefold().split("/")):
            return False
        times = [entry.identity[4]]
        folder = path
        while (above := folder.rpartition("/")[0]) and above not in self._reach.visited:
            if folder != path:
                times.append(changed_at(self._root / folder))
            folder = above
        if folder.rpartition("/")[2].casefold() in SKIPPED and self._reach.last.get(folder) != inode(
            self._root / folder
        ):
            return False  # it has come from elsewhere
        was_seen = folder == path or is_seen_from(folder, path)
        was_seen &= self._reach.is_complete or is_protected(path)
        return not was_seen and max(times) < self._begun

    def _went_with_its_repository(self, path: str) -> bool:
        """Whether it was part of a `.git` that is gone as a whole, or of a linked work tree that is: a repository that
        is no more is not believed. In the place of the project's own one git would take that around the project."""
        if is_of_linked_work_tree(path):
            return path.endswith("/.git") or not os.path.lexists(self._root / path.rpartition("/")[0] / "HEAD")
        above, git, _ = f"/{path}".rpartition("/.git/")
        return bool(git and above) and not os.path.lexists(f"{self._root}{above}/.git")

    def _undo(self, changed: list[str], after: Mapping[str, Entry]) -> list[str]:
        """Put back what changed; the paths, those of a folder that was moved as a whole by its own."""
        kept_in = self._quarantine and self._quarantine / f"{strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}"
        errors: dict[str, OSError] = {}
        is_held = self._running > 0 or self._records.is_of_others()
        with Restorer(self._root, kept_in, is_held=is_held) as restorer:
            moved = {} if is_held else self._move_new_folders(restorer, changed, after)
            left = [path for path in changed if path not in moved]
            for path in left:
                before, now = self._was(path), after.get(path)
                part = _harmless_part(path, before, now) if now else None
                try:
                    if part is not None and now:
                        restorer.put_file(path, part, stat.S_IMODE(now.mode))
                    else:
                        _restore(restorer, path, before)
                    for folder in self._data.needed_folders(path) if path in self._broken else ():
                        restorer.put_folder(folder)
                except OSError as error:
                    errors[path] = error
                    self._stuck[path] = (before, now)
                else:
                    self._stuck.pop(path, None)
        if kept_in:
            prune(kept_in.parent)
        if errors:
            first = next(iter(errors.values()))
            raise OSError(first.errno, first.strerror, ", ".join(errors))
        return sorted({*left, *moved.values()})

    def _move_new_folders(self, restorer: Restorer, changed: list[str], after: Mapping[str, Entry]) -> dict[str, str]:
        """Take away folders with very many new files as a whole; the files, with these."""
        if len(changed) <= _MANY:
            return {}
        new = {path for path in changed if path in after and self._was(path) is None}
        others = {*self._tops, *self._before, *self._gone, *self._broken, *after} - new
        moved: dict[str, str] = {}
        for folder, paths in new_folders(sorted(new), others).items():
            if len(paths) > _MANY:
                with suppress(OSError):  # then one by one, which tells what cannot be undone
                    restorer.remove(folder)
                    moved |= dict.fromkeys(paths, folder)
        for path in moved:
            self._stuck.pop(path, None)
        return moved


def _outermost(changed: list[str], after: Mapping[str, Entry]) -> Iterator[str]:
    """Of sorted paths those that lie in no folder among them, which goes with all that is in it."""
    gone = "\0"
    for path in changed:
        if not f"{path}/".startswith(gone):
            yield path
            entry = after.get(path)
            gone = f"{path}/" if entry and stat.S_ISDIR(entry.mode) else gone


def _lies_in(whole: set[str], folder: str, known: dict[str, bool]) -> bool:
    """Whether the folder, or one above, is among `whole`. `known`: the answers so far."""
    asked: list[str] = []
    while folder and folder not in whole and folder not in known:
        asked.append(folder)
        folder = folder.rpartition("/")[0]
    answer = folder in whole or known.get(folder, False)
    known.update(dict.fromkeys(asked, answer))
    return answer


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


def _harmless_part(path: str, before: Entry | None, after: Entry) -> bytes | None:
    """What may stay of a file that may stay in part; else None."""
    if not is_unfinished_work(path) or not stat.S_ISREG(after.mode) or after.content is None:
        return None
    return harmless_part(path, (before and before.content) or b"", after.content)


def _is_same(before: Entry, after: Entry) -> bool:
    return before.content is not None and (before.mode, before.content) == (after.mode, after.content)
