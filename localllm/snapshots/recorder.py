"""Snapshot what a command may change before it runs, and detect its changes afterwards.

The first time, every file of the project is read; after that only those whose inode, size, times or mode differ. What
the time before a command did not suffice for is read in a background thread until the next one begins.
"""

import asyncio
import os
import stat
import threading
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from io import BufferedReader
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import LocalLLMError, ToolExecutionError
from localllm.base.i18n import N_, _, ngettext, sentences
from localllm.base.instruction_files import is_instruction
from localllm.base.regular_files import hides_changes
from localllm.safety.path_names import some_of
from localllm.safety.paths import ProjectRoot
from localllm.snapshots import project_scan
from localllm.snapshots.blob_store import more_seconds
from localllm.snapshots.change_log import Begun, Change
from localllm.snapshots.file_state import ABSENT, LOST, FileIndex, Known, is_unkept, state_of, unkept
from localllm.snapshots.project_scan import HEAVY, Found, ProjectTree, Sign, sign_of
from localllm.snapshots.store import Snapshots

if TYPE_CHECKING:
    from localllm.snapshots.repository_backup import RepositoryBackup

LARGEST_TEXT = 5_000_000
"""Bytes of the largest text that is stored."""

LARGEST_BINARY = 1_000_000
"""Bytes of the largest non-text file that is stored."""

MOST_SECONDS = 3.0
"""Seconds to read files before one command; the rest is read after it. A few files have SECONDS_FOR_FEW more."""

_SECONDS_FOR_REPOSITORIES = 1.0  # at least, however long the files took

_SECONDS_AT_ONCE = 0.1  # for which the background thread holds the lock
_SECONDS_UNSAVED = 2.0

MOST_BYTES = 300_000_000
"""Most bytes stored for commands."""

MOST_CHANGES = 10_000
"""Most recorded files created by a command; changed or deleted ones are always recorded."""

_MOST_LOOKED_AT = 20_000  # files and folders that one command would remove

_UNSETTLED = 50_000_000  # ns: a file changed this shortly before its scan may change again unnoticed


class _Call(msgspec.Struct, frozen=True):
    """A running command: changes that others record from then on are theirs. `links`: those of the tree at its
    start; `large`: see ProjectTree."""

    name: str
    tool: str
    since: float
    recorded: int = 0
    links: Mapping[str, str] | None = None
    large: Mapping[str, int] = {}


class _Start:
    """The start of a call, prepared in a thread: `name` once it is recorded. It may have been cancelled by then."""

    def __init__(self) -> None:
        self.name = ""
        self.is_cancelled = False


class CommandSnapshots:
    """The files of one project as they were before its commands. `watch`: see ProjectTree."""

    def __init__(self, snapshots: Snapshots, *, watch: bool = True) -> None:
        self._watch = watch
        self._snapshots = snapshots
        self._working = threading.Lock()
        self._loaded: FileIndex | None = None
        self._tree: ProjectTree | None = None
        self._is_hidden = False
        self._noted: set[str] = set()
        self._running = 0
        """Number of commands that run, counted by the event loop: what they change must not be stored as what was there
        before them."""
        self._is_behind = False
        """Whether the time was over before all files were read."""
        self._saved = 0.0  # time.monotonic, by the background thread
        self._unkept_before = (0, 0)
        """Result of `_unkept` when the last command began, which may have removed such files."""
        self._obeyed: list[str] = []
        self._gone: list[str] = []

    @cached_property
    def _repositories(self) -> "RepositoryBackup":
        from localllm.snapshots.repository_backup import RepositoryBackup  # most answers need no command

        return RepositoryBackup(self._snapshots, watch=self._watch)

    @property
    def _keeps_repositories(self) -> bool:
        """Whether the repositories are stored completely, or no command has needed it yet."""
        if self._tree and self._tree.data_elsewhere:
            return False
        return "_repositories" not in vars(self) or self._repositories.is_complete

    @asynccontextmanager
    async def around(self, root: ProjectRoot, *, tool: str, command: str = "") -> AsyncGenerator[list[Change]]:
        """Snapshot the project, let a command run, and record its changes; the list is then filled with them. Files
        with a name that occurs in `command` are stored first.

        Raises ToolExecutionError undo_cannot_keep before the command runs, if nothing can be stored.
        """
        self._running += 1
        start = _Start()
        try:
            try:
                call = await asyncio.to_thread(self._begin, root, tool, command, start)
            except asyncio.CancelledError:
                start.is_cancelled = True
                self._end_cancelled(start)
                raise
            changes: list[Change] = []
            try:
                yield changes
            finally:
                changes += await asyncio.to_thread(self._finish, root, call)
        finally:  # also if it was cancelled while the thread goes on
            self._running -= 1
            if not self._running:
                threading.Thread(target=self._copy_the_rest, args=[root], daemon=True).start()

    @property
    def left_out(self) -> int:
        """Number of files not stored, for their size or for lack of time."""
        return sum(self._unkept)

    @property
    def _unkept(self) -> tuple[int, int]:
        """Number of files not stored for their size (or because they cannot be read), and of those not read yet."""
        if self._loaded is None:
            return 0, 0
        unread = len(self._loaded.left_out & self._loaded.pending)
        return len(self._loaded.left_out) - unread, unread

    def take_note(self) -> str:
        """Return a note for the user on files that are not stored, once; otherwise empty."""
        count, unread = map(max, self._unkept, self._unkept_before)
        total = len(self._loaded.paths()) if self._loaded else 0
        notes = {
            N_(
                "Some of the project is too large to be kept (files: {count}): /undo cannot restore what "
                "commands change there."
            ): bool(count),
            N_(
                "Not all files could be copied yet ({unread:,} of {total:,} are left): until they are, /undo cannot "
                "restore what commands change in them. It goes on between the commands."
            ): bool(unread),
            N_(
                "The git repository is not kept, or not all of it: /undo cannot restore what a command destroys in it."
            ): not self._keeps_repositories,
            N_(
                "The project has more than {most:,} files: /undo cannot restore what commands change in the others."
            ): self._tree is not None and self._tree.is_cut,
            N_(
                "Some files lie in more than 200 folders, or their paths are too long: /undo cannot restore what "
                "commands change in them."
            ): self._tree is not None and self._tree.is_too_deep,
        }
        new = {key for key, holds in notes.items() if holds} - self._noted
        self._noted |= new
        gone, self._gone = self._gone, []
        left_out = some_of(gone)
        return sentences(
            _("Gone, and not kept for /undo, as .gitignore leaves it out: {paths}.", paths=left_out) if gone else "",
            *(
                _(key, count=count, unread=unread, total=total, most=project_scan.MOST_FILES)
                for key in notes
                if key in new
            ),
        )

    def take_obeyed(self) -> Sequence[str]:
        """Return the links to instruction files, or their targets, that the last command changed."""
        obeyed, self._obeyed = self._obeyed, []
        return obeyed

    def recover(self, root: ProjectRoot) -> list[Change]:
        """`Snapshots.recover`, also for commands during which the program was killed."""

        def of_command(begun: Begun) -> list[Change]:
            with self._working:
                return self._changes(root, _Call(begun.call, begun.tool, begun.time))

        return self._snapshots.recover(root, of_command)

    def keep(self, root: ProjectRoot, command: str = "") -> int:
        """Read unknown files, those named in `command` first; return the number of files that are not stored. Raises
        OSError."""
        with self._working:
            tree, deadline = self._tree_of(root), time.monotonic() + MOST_SECONDS
            unlisted = _Unlisted(root)
            self._is_behind = False
            try:
                touched = self._touched(tree)
                sizes = [found.sign.size for path in touched if (found := tree.files.get(path))]
                more = more_seconds(sizes)
                for path in _named_first(touched, command):
                    found, old = self._find(path, tree, unlisted), self._index.get(path)
                    if found is None:
                        self._index.put(path, None)
                    elif old is None or not old.settled or self._differs(path, found) or old.ignored != found.ignored:
                        freed = old.sign.size if old and old.state else 0
                        room = MOST_BYTES - self._index.size + freed
                        self._index.put(path, self._read(root, found, room, deadline + more))
                self._index.save()
                deadline = max(deadline, time.monotonic() + _SECONDS_FOR_REPOSITORIES)
                self._repositories.keep(root, tree.repositories, deadline)
            except BaseException:
                tree.forget()
                raise
        return self.left_out

    def would_bring_back(self, root: ProjectRoot, paths: Iterable[str]) -> bool:
        """Whether /undo could restore everything at these paths if a command removes it: only stored regular files,
        none ignored by .gitignore, no links, no repository."""
        try:
            self.keep(root)
            with self._working:
                return all(self._is_kept(root.path, path) for path in paths)
        except (OSError, LocalLLMError):
            return False

    def _is_kept(self, root: Path, path: str) -> bool:
        pending = [os.path.normpath(path)]
        behind_links = os.path.realpath(root / os.path.dirname(path.rstrip("/")))  # noqa: PTH120 - a Path drops what ".." comes after
        if behind_links != os.path.normpath(os.path.join(os.path.realpath(root), os.path.dirname(pending[0]))):  # noqa: PTH118, PTH120
            return False
        looked_at = 0
        for name in pending:
            looked_at += 1
            place = root / name
            if (
                looked_at > _MOST_LOOKED_AT
                or name in (".", "..")
                or name.startswith("../")
                or ".git" in place.parts[len(root.parts) :]
            ):
                return False
            facts = place.lstat()
            if stat.S_ISDIR(facts.st_mode):
                pending += [f"{name}/{entry}" for entry in os.listdir(place)]  # noqa: PTH208 - names
                continue
            known = self._index.get(name) if stat.S_ISREG(facts.st_mode) else None
            if known is None or not known.state or known.ignored or known.sign != sign_of(facts):
                return False
        return True

    def keep_repositories(self, root: ProjectRoot) -> bool:
        """Back up the project's repositories; return whether they are complete."""
        with self._working:
            tops = self._tree.repositories if self._tree else ()
            try:
                is_kept = self._repositories.keep(root, tops, time.monotonic() + MOST_SECONDS)
                return is_kept and not project_scan.data_elsewhere(f"{root.path}/")
            except OSError:
                return False

    def _copy_the_rest(self, root: ProjectRoot) -> None:
        """Read the pending files until a command runs: for a background thread."""
        with self._working:  # also waits for a thread of `_begin`
            left = self._is_behind
            paths = iter(self._index.pending.copy() if left else ())
        while left:
            with self._working, suppress(OSError):  # the next command reports it
                if self._running or self._tree is None:
                    return
                now = time.monotonic()
                while time.monotonic() < now + _SECONDS_AT_ONCE and (left := (path := next(paths, None)) is not None):
                    found = self._tree.files.get(path) if path in self._index.pending else None
                    if found is not None:
                        room = MOST_BYTES - self._index.size
                        self._index.put(path, self._read(root, found, room, now + MOST_SECONDS))
                if not left or now > self._saved + _SECONDS_UNSAVED:
                    self._index.save()
                    self._saved = now
            time.sleep(_SECONDS_AT_ONCE / 4)  # lets others have the lock

    def _begin(self, root: ProjectRoot, tool: str, command: str, start: _Start) -> _Call:
        since, recorded = time.time(), self._snapshots.recorded
        try:
            self.keep(root, command)
            self._unkept_before = self._unkept
        except OSError as error:
            folder = self._snapshots.index_file.parent
            reason = error.strerror or str(error)
            raise ToolExecutionError("undo_cannot_keep", path=root.path, folder=folder, reason=reason) from error
        tree = self._tree_of(root)
        start.name = self._snapshots.begin({}, tool=tool)
        if start.is_cancelled:
            self._end_cancelled(start)
        return _Call(start.name, tool, since, recorded, dict(tree.links), dict(tree.large))

    def _end_cancelled(self, start: _Start) -> None:
        """Record the end of a call that never ran: the next process would take what the user changes for its work."""
        if start.name:
            with suppress(OSError, LocalLLMError):
                self._snapshots.record(ended=start.name)

    def _finish(self, root: ProjectRoot, call: _Call) -> list[Change]:
        """Detect and record the changes since `_begin`."""
        try:
            with self._working:
                changes = self._changes(root, call)
            self._snapshots.record(*changes, ended=call.name)
        except (OSError, LocalLLMError) as error:
            self._snapshots.fail(str(error), ended=call.name)
            return []
        return changes

    def _changes(self, root: ProjectRoot, call: _Call) -> list[Change]:
        tree, unlisted = self._tree_of(root), _Unlisted(root)
        try:
            now = {path: self._find(path, tree, unlisted) for path in self._touched(tree)}
            differ = sorted(path for path, found in now.items() if self._differs(path, found))
            old = [path for path in differ if self._index.get(path)]
            made = [path for path in differ if not self._index.get(path) and not path.endswith(".git")]
            made.sort(key=lambda path: (not is_instruction(path), (found := now[path]) is not None and found.ignored))
            theirs = self._snapshots.recorded_since(call.since, call.recorded) if differ else {}
            changes: list[Change] = []
            for path in (*old, *made[:MOST_CHANGES]):  # undone from the end: created files first
                for states in self._change(path, now[path], theirs.get(path), root, unlisted):
                    changes.append(self._snapshots.make(call.name, call.tool, path, *states))
            for top, state in self._repositories.losses(root):
                changes.append(self._snapshots.make(call.name, call.tool, top, state, LOST))
            if changes and (staged := self._repositories.staged(root)):
                changes = [msgspec.structs.replace(one, staged=staged.get(one.path, "")) for one in changes]
            if call.links is not None:
                self._obeyed = _obeyed(root.path, call.links, tree.links, changes)
            self._gone += tree.gone_of(call.large)
        except BaseException:
            tree.forget()
            raise
        if len(made) > MOST_CHANGES:
            tree.forget()
            self._snapshots.fail(
                ngettext(
                    (
                        "not all new files, of which there are more than {count} (changed and deleted "
                        "files are restored)"
                    ),
                    (
                        "not all new files, of which there are more than {count} (changed and deleted "
                        "files are restored)"
                    ),
                    MOST_CHANGES,
                )
            )
        return changes

    def _find(self, path: str, tree: ProjectTree, unlisted: "_Unlisted") -> Found | None:
        """Return the current file, including a user's own file the tree no longer scans."""
        if found := tree.files.get(path):
            return found
        facts = unlisted.facts(path) if self._index.holds(path) else None
        return Found(path, sign_of(facts), ignored=False) if facts else None

    def _touched(self, tree: ProjectTree) -> Iterable[str]:
        """Return the files to check: those that may have changed, and pending ones."""
        touched = tree.refresh()
        if touched is None:
            return {*tree.files, *self._index.paths()}
        return touched | self._index.pending

    def _differs(self, path: str, found: Found | None) -> bool:
        """Whether the file may differ from the known one."""
        known = self._index.get(path)
        return (known and known.sign) != (found and found.sign) or (found is not None and self._is_hidden)

    def _change(
        self, path: str, new: Found | None, theirs: tuple[str, str] | None, root: ProjectRoot, unlisted: "_Unlisted"
    ) -> list[tuple[str, str]]:
        """Return the transitions of one file: before and after the changes of others (`theirs`). Empty for a file that
        a program regenerates."""
        old = self._index.get(path)
        before = ABSENT if old is None else old.state or unkept(old.sign)
        after = ABSENT
        self._index.put(path, None)
        if new is not None:
            seen = self._read(root, new, LARGEST_TEXT, time.monotonic() + MOST_SECONDS)
            self._index.put(path, seen)
            after = seen.state or unkept(new.sign)
        elif unlisted.facts(path):  # its folder, ignored before as well, is no longer scanned
            return []
        if new is not None and new.ignored and not _is_told(path):
            return []
        if after == before:
            return []
        found, left = theirs or (after, after)
        parts = ((before, found), (left, after)) if theirs is None or not is_unkept(before) else ((left, after),)
        return [part for part in parts if part[0] != part[1]]

    def _read(self, root: ProjectRoot, found: Found, room: int, deadline: float) -> Known:
        """Read a file and store its content, if it qualifies."""
        settled = found.sign.ctime_ns < time.time_ns() - _UNSETTLED
        unread = Known(found.sign, "", settled, found.ignored)
        if found.sign.size > min(LARGEST_TEXT, room):
            return msgspec.structs.replace(unread, settled=True)
        if time.monotonic() > deadline:
            self._is_behind = True
            return msgspec.structs.replace(unread, settled=False)
        try:
            with root.open_listed(found.path, even_closed=True) as file:
                unread = msgspec.structs.replace(unread, sign=_sign_of_opened(file, found.sign))
                data = file.read(LARGEST_TEXT + 1)
        except OSError:  # gone meanwhile, or unreadable
            return unread
        if len(data) > LARGEST_BINARY and b"\0" in data[:8_000]:
            return unread
        return msgspec.structs.replace(unread, state=state_of(self._snapshots.keep_bytes(data), found.sign.mode))

    @property
    def _index(self) -> FileIndex:
        if self._loaded is None:
            self._loaded = FileIndex(self._snapshots)
        return self._loaded

    def _tree_of(self, root: ProjectRoot) -> ProjectTree:
        if self._tree is None:
            self._tree = ProjectTree(root.path, watch=self._watch, holds=self._index.holds)
            self._is_hidden = hides_changes(root.path)
        return self._tree


def _named_first(paths: Iterable[str], command: str) -> Iterable[str]:
    """Return the paths, those first of which the name is in the command line."""
    return sorted(paths, key=lambda path: path.rpartition("/")[2] not in command) if command else paths


def _obeyed(root: Path, before: Mapping[str, str], now: Mapping[str, str], changes: Iterable[Change]) -> list[str]:
    """Return the links that are new or have another target, and the changed files that are targets of links."""
    leads = {os.path.relpath(os.path.realpath(root / link), root) for link in now} - {"."}
    paths = (change.path for change in changes)
    led_to = (path for path in paths if not leads.isdisjoint((path, *map(str, PurePath(path).parents))))
    return list(dict.fromkeys((*(link for link, target in now.items() if before.get(link) != target), *led_to)))


def _sign_of_opened(file: BufferedReader, found: Sign) -> Sign:
    """Return the sign of an opened file that was found with this one: opening a closed file changes its ctime."""
    opened = sign_of(os.fstat(file.fileno()))
    return opened if msgspec.structs.replace(opened, ctime_ns=found.ctime_ns) == found else found


def _is_told(path: str) -> bool:
    """Whether a change of an ignored file is recorded. Instruction files in packages are excluded."""
    *folders, name = path.split("/")
    return name.startswith(".env") or (is_instruction(path) and HEAVY.isdisjoint(folders))


class _Unlisted:
    """Files outside the tree, looked up by exact name: neither through links, nor by a name in other case, which some
    file systems accept."""

    def __init__(self, root: ProjectRoot) -> None:
        self._root = root.path
        self._names: dict[str, frozenset[str]] = {}

    def facts(self, path: str) -> os.stat_result | None:
        """Return the stat result of the regular file; None if there is none."""
        folder, _, name = path.rpartition("/")
        if folder not in self._names:
            self._names[folder] = self._listed(str(self._root / folder))
        if name not in self._names[folder]:
            return None
        try:
            facts = os.lstat(self._root / path)
        except OSError:
            return None
        return facts if stat.S_ISREG(facts.st_mode) else None

    def _listed(self, folder: str) -> frozenset[str]:
        try:
            return frozenset(os.listdir(folder) if os.path.realpath(folder) == folder else ())  # noqa: PTH208 - names
        except OSError:
            return frozenset()
