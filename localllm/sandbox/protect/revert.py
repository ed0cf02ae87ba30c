"""Compare the protected files of a project before and after commands, and undo the changes."""

import errno
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import TypeVar

import msgspec

from localllm.base import logs
from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.base.file_systems import has_exact_times
from localllm.sandbox.protect.command_records import (
    PATIENCE,
    CommandRecord,
    CommandRecords,
    Lifetime,
    OthersRecord,
)
from localllm.sandbox.protect.ending_checks import EndingChecks
from localllm.sandbox.protect.gone_files import note_gone
from localllm.sandbox.protect.harmful_changes import HarmfulChanges
from localllm.sandbox.protect.indirect_targets import with_matches
from localllm.sandbox.protect.package_folders import KnownPackages
from localllm.sandbox.protect.project_folder import ProjectFolder, moved_error
from localllm.sandbox.protect.protected_paths import (
    Entry,
    Reach,
    is_made_in_steps,
    look_at,
    ties_repository,
)
from localllm.sandbox.protect.protected_walk import ProtectedWalk
from localllm.sandbox.protect.put_back import PutBack, take_in_outputs
from localllm.sandbox.protect.read_only_pins import ReadOnlyPins
from localllm.sandbox.protect.referenced_files import ReferencedFiles
from localllm.sandbox.protect.repositories.git_index import IndexFiles
from localllm.sandbox.protect.repositories.nested_repositories import holders_of
from localllm.sandbox.protect.repositories.outer_work_trees import gitfiles_outside
from localllm.sandbox.protect.repositories.replaced_objects import ReplacedObjects
from localllm.sandbox.protect.repositories.repository_data import RepositoryData
from localllm.sandbox.protect.restore import Restorer

_NOTHING = Entry(0, (), b"")
_Found = TypeVar("_Found")

_MOST_ROUNDS = 10  # of opening folders that commands have made unreadable
_MOST_LOOKS = 100  # ahead, and where commands are stopped
_TIME_BEFORE = 0.5  # seconds for all folders; enough for some 100,000 known ones
_TIME_AFTER = 3.0
_TIME_WHERE_NEW = 5.0  # before a command, where packages have been installed
_TIME_AT_START = 20.0  # after a killed command, or one after which there was no time to scan all
_MOST_AT_ONCE = 1_000  # paths that are restored at one time while commands run
_A_MOMENT = 0.15  # seconds at least: what git makes in several steps is complete by then
_COARSE = 3_000_000_000  # nanoseconds by which file times may be off on some file systems
_EXACT = 100_000_000  # nanoseconds by which they may be off on those of this machine; a tick of its clock is shorter


class ProtectedFiles:
    """The protected files of one project, compared before and after commands.

    Commands may overlap: the state before the first of them counts for all. What a command put there is moved to
    `quarantine`, or deleted if that is None. Changes by somebody else meanwhile cannot be distinguished from a
    command's. What files and settings refer to is protected as well: see ReferencedFiles, also for `also` and `closed`.
    `coarse`: nanoseconds by which file times may be off. `is_hidden`: see OutwardLinks; `is_listed`: HarmfulChanges.
    """

    def __init__(
        self,
        root: Path,
        quarantine: Path | None,
        coarse: int = _COARSE,
        *,
        also: Iterable[str] = (),
        closed: Iterable[str] = (),
        is_hidden: Callable[[str], bool] = lambda _path: False,
        is_listed: Callable[[str], bool] = lambda _host: False,
    ) -> None:
        self._root = root
        self._is_listed = is_listed
        self._records = CommandRecords(quarantine and quarantine.parent / "commands", root)
        self._lock = Lock()
        self._running = 0
        self._known = CommandRecord()
        self._walk = ProtectedWalk(root)
        self._referenced = ReferencedFiles(root, quarantine and quarantine.parent / "path-programs", also, closed)
        self._data = RepositoryData(root)
        self._index_files = IndexFiles(root)
        self._replaced = ReplacedObjects(root)
        self._at_end = EndingChecks(root, is_hidden)
        self._coarse = coarse
        self._margin = min(coarse, _EXACT) if has_exact_times(root) else coarse
        self._opened = time.time_ns() - coarse
        self._made = time.monotonic_ns()
        self._is_overlooked = False
        self._is_cut_short = False
        self._is_too_large = False
        self._earlier: list[Lifetime] = []
        self._late: set[str] = set()
        self._began = 0.0
        self._is_unfinished = False
        self._failed: Exception | None = None
        self._spared = frozenset[str]()
        self._packages = KnownPackages(root)
        self._pins = ReadOnlyPins(root)
        self._folder = ProjectFolder(root)
        self._put = PutBack(self._folder, quarantine)
        as_here = partial(ProtectedFiles, quarantine=quarantine, is_hidden=is_hidden, is_listed=is_listed)
        self._at: Callable[[Path], ProtectedFiles] = as_here

    def look_ahead(self) -> None:
        """Scan every folder once, in a background thread: commands then wait less, and nothing is overlooked."""
        for _ in range(_MOST_LOOKS):
            reach = Reach(_TIME_BEFORE, skipped=True)
            with self._lock:
                others = list(self._records.of_others())
                found = self._walk.look(self._known.before, reach=reach)
                self._see_links(reach, others)
                if reach.is_complete:
                    self._note_packages(found, reach, others)
                    self._walk.look(self._known.before)  # the kernel watches by now
                    self._data.look(reach, self._known.before)
                    return

    def _note_packages(self, found: Iterable[str], reach: Reach, others: Collection[OthersRecord]) -> None:
        if not (self._running or others or self._records.is_of_others()):
            self._packages.note(found, reach.last)

    def recover(self) -> tuple[str, ...]:
        """Undo the changes of commands whose program was killed, or after which not all could be scanned; return the
        paths. Raises OSError if that is not possible, and SafetyViolationError record_unreadable if a record cannot be
        read, after the others. What was changed after that is the user's, and stays."""
        with self._lock:
            if self._running:
                return ()
            changed = self._recover()
            if self._records.unreadable:
                raise SafetyViolationError("record_unreadable", record=self._records.unreadable)
            return changed

    def _recover(self) -> tuple[str, ...]:
        changed: set[str] = set()
        ours = self._known
        if self._is_too_large:
            return ()
        try:
            for record, lived in self._records.take_dead():
                self._known = self._data.known = record
                self._index_files = IndexFiles(self._root)
                self._replaced = ReplacedObjects(self._root)
                self._at_end.forget()
                self._is_cut_short = False
                changed.update(self._put_back(within=Lifetime(self._root, record, lived)))
                if self._is_cut_short:
                    logs.of("SANDBOX").warning("not all was looked for that an earlier command may have left behind")
                    self._records.keep_taken()
                    self._is_too_large = True
        finally:
            self._known = ours
        return tuple(sorted(changed))

    def begin(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Record the state before a command. Raises as `end` if what the previous one changed could not be checked, and
        ToolExecutionError while commands are held off for very long, or until it `is_stopped`."""
        deadline = time.monotonic() + PATIENCE
        while not self._begin():
            self._records.wait(deadline, is_stopped)

    def _begin(self) -> bool:
        with self._lock:
            if not self._running:
                if self._is_unfinished:
                    if not self._records.are_kept:  # so no later start can put it back: what is there now counts
                        self._folder.hold()
                    self._put_back()
                    self._is_unfinished = False
                self._folder.hold()
                with suppress(OSError):
                    self._late.update(self._recover())
                known = self._look_before(self._known)
                if not self._folder.is_in_place:  # what was read may be another folder's
                    raise ToolExecutionError("command_failed_to_start", reason=os.strerror(errno.ELOOP))
                self._known = known
                if not self._records.begin(self._known):
                    return False
                self._began = time.monotonic()
            self._running += 1
            return True

    def _look_before(self, last: CommandRecord) -> CommandRecord:
        """Scan the project before a command. `last`: the state before the previous one."""
        begun, asked_for = time.time_ns() - self._coarse, time.monotonic_ns()
        reach, tops = Reach(_TIME_BEFORE), list[str]()
        others = list(self._records.of_others())  # their commands may end during the scan, or begin
        before = self._walk.look(last.before, tops, reach)
        is_new = not (others or self._packages.are_known(reach.last))
        if is_new:  # they were not scanned ahead yet, or the user has installed something
            found = self._walk.look(last.before, reach=Reach(_TIME_WHERE_NEW, skipped=True))
            self._note_packages(found, reach, others)
        self._see_links(reach, others)
        self._is_overlooked = self._is_cut_short = self._replaced.is_cut = False
        self._at_end.begin()
        self._earlier = []
        referenced = self._referenced.look(before, last.before, tops, reach)
        self._is_overlooked |= not referenced.is_complete
        in_data = self._data.believe(reach, last.before)
        before = in_data | before | referenced.found
        self._leave_out_what_others_changed(before, [*others, *self._records.of_others()])
        self._index_files.believe(reach)
        self._replaced.believe(reach, before)
        self._at_end.believe(self._data.objects(reach))
        tied = {path: entry for path, entry in {**last.before, **last.gone}.items() if ties_repository(path)}
        gone = {path: entry for path, entry in tied.items() if path not in before}
        self._put.leave_out_stuck(before)
        above_packages = {folder.rpartition("/")[0] for folder in reach.last}
        if reach.last or not reach.is_complete:
            self._wait_out_the_margin(asked_for if is_new else self._made)
        return CommandRecord(
            **msgspec.structs.asdict(self._data.known),
            root=str(self._root),
            begun=begun,
            started=time.time_ns() - self._margin,
            opened=self._opened,
            before=before,
            in_data=frozenset(in_data),
            gone=gone,
            holders=holders_of(self._root, before),
            tops=tuple(tops),
            named=referenced.named,
            places=referenced.places,
            linkless=referenced.linkless,
            repositories=frozenset(reach.repositories),
            visited=frozenset(above_packages if reach.is_complete else reach.visited),
            last=self._packages.inodes | reach.last,
            is_complete=reach.is_complete,
        )

    def _wait_out_the_margin(self, moment: int) -> None:
        """Wait until what was made before the `moment` (time.monotonic_ns) is older, by its times, than what a command
        makes now."""
        time.sleep(max(moment + self._margin - time.monotonic_ns(), 0) / 1e9)

    def _see_links(self, reach: Reach, others: Iterable[OthersRecord]) -> None:
        """Record the links that a scan has found. `others`: the commands of other programs when it began."""
        every = [*others, *self._records.of_others()]
        lifetimes = [Lifetime(self._root, CommandRecord(begun=one.record.begun), one.lived) for one in every]
        self._at_end.links.see(reach.links, is_running=self._running > 0, others=lifetimes)

    def _leave_out_what_others_changed(self, before: dict[str, Entry], others: Iterable[OthersRecord]) -> None:
        """Take what commands of another program, or earlier ones after which not all could be scanned, have changed to
        be as it was before them: that program will undo it, and it must not be restored here."""
        for record, folder, lived in others:
            lifetime = Lifetime(self._root, record, lived)
            if lived < sys.maxsize:
                self._earlier.append(lifetime)
            for path in {*(path for path in before if path.startswith(folder)), *record.before}:
                now, theirs = before.get(path), record.before.get(path)
                if (now and now.identity) == (theirs and theirs.identity) or not lifetime.holds(path, now):
                    continue
                if now and not (theirs or record.is_complete or lifetime.saw_change(now)):
                    continue  # it may have been there, and not have been seen
                if theirs:
                    before[path] = theirs
                else:
                    del before[path]

    def named(self) -> frozenset[str]:
        """Return what protected files, symlinks and git config refer to, as paths below the root, which for folders
        include all in them; and where git would look for another repository, if no folder is there: a file could direct
        it anywhere."""
        with self._lock:
            if self._running:
                return frozenset(self._known.named) | self._referenced.vacant(self._known.places)
            reach, tops = Reach(_TIME_BEFORE), list[str]()
            known = self._known.before
            others = list(self._records.of_others())
            entries = self._walk.look(known, tops, reach)
            self._see_links(reach, others)
            return self._referenced.named(entries, known, tops, reach)

    @property
    def is_overlooked(self) -> bool:
        """Whether, since commands began, there were more new folders than there was time to scan."""
        return self._is_overlooked or self._replaced.is_cut or self._at_end.is_cut

    @property
    def is_alone(self) -> bool:
        """Whether at most one command is running."""
        return self._running <= 1

    @property
    def has_others(self) -> bool:
        """Whether commands of another program run in the project."""
        return self._records.is_of_others()

    def hold_off(self, folders: Collection[Path]) -> AbstractContextManager[bool]:
        """See CommandRecords."""
        return self._records.hold_off(folders)

    @property
    def record(self) -> str:
        """The file, kept while commands run, whose time is set when each of them ends; "" if there is none."""
        return self._records.file

    def pins(self) -> tuple[list[str], list[str]]:
        """See ReadOnlyPins."""
        return self._pins.of(self._known)

    def gitfiles_outside(self) -> list[str]:
        """See outer_work_trees."""
        return gitfiles_outside(self._root, self._known.before)

    def end(self) -> tuple[str, ...]:
        """Undo what an ended command changed; return the paths, sorted. Raises OSError if that is not possible, and
        SafetyViolationError project_moved if the project's folder is no longer in its place."""
        with self._lock:
            self._running -= 1
            try:
                undone = {*self._put_back(), *self._late}
                self._late.clear()
                return tuple(sorted(undone))
            except BaseException as error:
                if not self._folder.is_in_place:
                    raise self._end_elsewhere() from error
                self._is_unfinished |= not isinstance(error, OSError)  # that is of single files, which are `stuck`
                raise
            finally:
                if not self._running:
                    self._records.end(is_kept=self._is_cut_short)
                    if not self._is_unfinished:
                        self._folder.release()

    def _end_elsewhere(self) -> SafetyViolationError:
        """Undo what the commands changed where the project's folder is now, if none runs; return the error. If that is
        not possible, the next start there does, or the next command once it is in its place again."""
        if self._running:
            return moved_error(self._root)
        if self._folder.is_deleted:
            self._is_cut_short = False  # its number on its disk may be another folder's next
            return moved_error(self._root, is_deleted=True)
        place, is_kept = self._folder.place(), self._records.end(is_kept=True)
        with suppress(OSError, SafetyViolationError):
            if place and is_kept:
                return moved_error(self._root, place, self._at(place).recover())
        self._is_unfinished = True
        if is_kept:
            return moved_error(self._root)
        return SafetyViolationError("command_not_reverted", path=place or self._root, reason=os.strerror(errno.ENOENT))

    def take_aside(self) -> list[str]:
        """Return the new names of files that were put back, and had no room in the quarantine, once."""
        aside, self._put.aside = self._put.aside, []
        return aside

    def check(self) -> tuple[str, ...]:
        """Undo what running commands have changed so far; if that is very much, the rest next time. Otherwise as
        `end`. What is made in several steps is undone if it is still incomplete a moment later."""
        changed = set(self._check(is_made_in_steps))
        if doubtful := self._spared:
            time.sleep(_A_MOMENT * (1 + int.from_bytes(os.urandom(2)) / 0xFFFF))  # no command can foresee it
            changed.update(self._check(lambda path: path not in doubtful and is_made_in_steps(path)))
        return tuple(sorted(changed))

    def check_stopped(self) -> tuple[str, ...]:
        """As `check`, for commands that are stopped, and so complete nothing: look until nothing is left."""
        looks = iter(lambda: self._check(lambda _path: False, is_stopped=True), ())
        return tuple(chain.from_iterable(islice(looks, _MOST_LOOKS)))

    def _check(self, is_spared: Callable[[str], bool], *, is_stopped: bool = False) -> tuple[str, ...]:
        """Undo changes, except where `is_spared`, and of those that are judged at the end."""
        with self._lock:
            if not self._running:
                return ()
            waits = partial(self._pins.trees(self._known).waits, is_stopped=is_stopped)
            changed = self._put_back(_MOST_AT_ONCE, is_spared=lambda path: waits(path) or is_spared(path))
            self._spared = frozenset(path for path in self._spared if not waits(path))
            for path in changed:
                if self._known.before.get(path, _NOTHING).content is None:
                    del self._known.before[path]  # it could not be restored, and is not looked for again
            return changed

    def _put_back(
        self,
        most: int | None = None,
        within: Lifetime | None = None,
        is_spared: Callable[[str], bool] = lambda _path: False,
    ) -> tuple[str, ...]:
        """Undo changes, at most `most` at a time. `within`: those of a killed command."""
        known, self._failed = self._known, None
        self._folder.insist_on_place()
        after, reach = self._look_after(self._time_after(most) if within is None else _TIME_AT_START)
        after |= self._tried(lambda: self._look_at_new(reach))
        self._is_cut_short = not reach.is_complete
        self._is_overlooked |= self._is_cut_short
        if not reach.is_complete:
            after |= look_at(self._root, known.before.keys() - after.keys(), known.before)
        self._at_end.links.see(reach.links, is_running=True)
        self._folder.insist_on_place()  # else the folder that was looked at may be another one
        take_in_outputs(self._root, known.before, after)
        broken = self._tried(self._data.broken)
        after |= {path: now for path, (_, now) in broken.items() if now}
        heads = {path: before for path, (before, _) in broken.items()}
        harmful = HarmfulChanges(self._root, known, heads, within, self._earlier, self._is_listed)
        is_held = self._running > 0 or self._records.is_of_others()
        undo = partial(self._put.undo, harmful=harmful, needed_folders=self._data.needed_folders, is_held=is_held)
        undone = undo({*known.before, *after, *broken}, after, most=most, is_spared=is_spared)
        self._spared = undone.spared
        if most is None:
            late = self._look_late(reach, harmful, is_ours=within is None, is_held=is_held)
            undone, after = undone.with_more(undo(late, late)), after | late
            self._tried(lambda: self._index_files.forget_forged_times(reach, is_held=is_held))
        if undone.error:
            raise undone.error
        if self._failed:
            raise SafetyViolationError("command_not_reverted", path=self._root, reason=self._failed) from self._failed
        left = {path: now for path, now in (self._index_files.linked | after).items() if path not in undone.found}
        if most is None:
            note_gone(self._root, self._pins.trees(known), known.before.keys() - after.keys() - undone.found)
        if most is None and not is_held:
            self._packages.note(left, reach.last)
        return tuple(sorted({*undone.restored, *self._put.copy_linked(left, harmful)}))

    def _look_late(self, reach: Reach, harmful: HarmfulChanges, *, is_ours: bool, is_held: bool) -> dict[str, Entry]:
        """Return what takes long to find, now that the protected files are back; delete what git derives."""
        objects = self._tried(lambda: dict.fromkeys(self._data.objects(reach)))
        seconds = min(reach.seconds, _TIME_AFTER) if is_held else reach.seconds  # nothing else is looked at meanwhile
        looks = self._at_end.looks(harmful.known, objects, seconds, is_ours=is_ours, is_held=is_held)
        late = {path: now for look in looks for path, now in self._tried(look).items()}
        self._put.delete(self._tried(lambda: self._at_end.derived.new(objects)), harmful)
        return late

    def _time_after(self, most: int | None) -> float:
        """Return how long to scan: after a command as long as it has run, since making folders takes longer than
        listing them."""
        ran = time.monotonic() - self._began if most is None else 0.0
        return max(_TIME_AFTER, min(ran, _TIME_AT_START))

    def _look_after(self, seconds: float) -> tuple[dict[str, Entry], Reach]:
        """Scan the current state, including folders that commands have made unreadable."""
        rounds = 0
        while True:
            after, reach = self._look_once(seconds)
            rounds += 1
            if rounds > _MOST_ROUNDS or not self._open_up(reach.closed):
                reach.is_complete &= rounds <= _MOST_ROUNDS
                return after, reach

    def _look_once(self, seconds: float) -> tuple[dict[str, Entry], Reach]:
        known, reach = self._known, Reach(seconds, skipped=True)

        def at(paths: Callable[[], Iterable[str]]) -> dict[str, Entry]:
            return self._tried(lambda: look_at(self._root, paths(), known.before, reach=reach))

        after = self._tried(lambda: self._walk.look(known.before, reach=reach))
        after |= at(lambda: with_matches(self._root, known.named, reach)) | at(
            lambda: self._referenced.links(known.places, known.linkless)
        )
        after = self._tried(lambda: self._data.look(reach, known.before)) | after
        after |= self._tried(lambda: self._index_files.look(reach))
        after |= self._tried(lambda: self._replaced.look(reach))
        return after, reach

    def _tried(self, look: Callable[[], dict[str, _Found]]) -> dict[str, _Found]:
        """Return what a scan finds. If it fails on something a command has left, the others go on: what they find is
        undone, and the scan is repeated before the next command."""
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - of whatever a command has left
            logs.of("SANDBOX").warning("not all can be looked at: %r", error)
            self._failed = error
            return {}

    def _open_up(self, closed: set[str]) -> bool:
        """Open the folders that commands have made unreadable; return whether there were any."""
        if not closed or sys.platform == "win32":
            return False
        with Restorer(self._root, None, identity=self._folder.identity) as restorer:
            opened = [path for path in sorted(closed) if path and restorer.open_up(path, self._known.begun)]
        return bool(opened)

    def _look_at_new(self, reach: Reach) -> dict[str, Entry]:
        """Return what settings name in repositories and work trees that did not exist before, if it is new as well and
        no copy of something protected, as in a work tree."""
        new = reach.repositories - self._known.repositories
        if not new:
            return {}
        named, is_complete = self._referenced.of_new(new)
        self._is_overlooked |= not is_complete
        found = look_at(self._root, sorted(named - set(self._known.named)), self._known.before, reach=reach)
        known = {(entry.mode, entry.content) for entry in self._known.before.values() if entry.content}
        is_new = {path: entry for path, entry in found.items() if entry.identity[4] >= self._known.opened}
        return {path: entry for path, entry in is_new.items() if (entry.mode, entry.content) not in known}
