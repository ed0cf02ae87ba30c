"""Find the files of a project to snapshot before a command runs, and detect changed ones cheaply."""

import errno
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from localllm.base import gitignore
from localllm.base.file_watch import Touched, Watcher
from localllm.base.gitignore import Rules, RulesReader
from localllm.base.instruction_files import is_instruction
from localllm.base.regular_files import content_time, read_beginning

if TYPE_CHECKING:
    from localllm.snapshots.tracked_files import TrackedFiles

NEVER_KEPT = frozenset(
    {".git", ".localllm", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".tox", ".nox", ".gradle"}
)
"""Folders that are skipped: git has its own history, and caches are regenerated."""

HEAVY = frozenset({"node_modules", ".venv", "venv", "bower_components"})
"""Folders treated as ignored by .gitignore: their content is reinstalled."""

MOST_FILES = 200_000
_MOST_LINKED = 1_000  # files with several hard links, which are checked each time
_MOST_LARGE = 1_000
_MOST_INDEXES = 20  # of the project and repositories nested in it, which tell what git tracks
_SMALL_FILES = 200
_SMALL_BYTES = 5_000_000
_DEEPEST = 200


class Sign(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Metadata that identify a version of a file without reading it."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int


class Found(msgspec.Struct, frozen=True, gc=False):
    """A regular file. `ignored`: .gitignore ignores it, so it is probably generated."""

    path: str
    sign: Sign
    ignored: bool


class _Folder:
    """A scanned folder. `prefix` is its path with a `/`, "" for the root; `ignored` the prefix of the outermost ignored
    folder around it, "" for none. `held_only`: only those of its files count that `holds` accepts. `repository`: the
    prefix of the nested repository whose index counts, "" for that of the project."""

    __slots__ = ("depth", "files", "folders", "held_only", "ignored", "inode", "prefix", "repository", "rules")

    def __init__(self, prefix: str, rules: tuple[Rules, ...], ignored: str, depth: int, inode: int) -> None:
        self.prefix = prefix
        self.rules = rules
        self.ignored = ignored
        self.depth = depth
        self.inode = inode
        self.held_only = False
        self.repository = ""
        self.files: set[str] = set()
        self.folders: set[str] = set()


class ProjectTree:
    """The regular files below a folder, at most MOST_FILES. Links are not followed.

    Ignored files are included one by one, ignored folders only while they are small. If the system reports file events
    (and `watch` is not off), the tree is walked once; otherwise at each `refresh`.

    `large` are the ignored folders that are not looked into, with their inodes, except those of packages.
    `repositories` are the folders called .git, with a `/`; `links` those named like an instruction file of assistants,
    with their targets. `is_cut`: there are more files; `is_too_deep`: some are in too many folders, or have paths too
    long to open them. `data_elsewhere`: the folder with the data of the project's repository, with a `/`, where that is
    in the project under another name (`.bare`); "" otherwise: it is not looked into. `holds` returns whether a file, or
    a folder by its path with a `/`, counts regardless of .gitignore, as what git tracks does.
    """

    def __init__(self, root: Path, *, watch: bool = True, holds: Callable[[str], bool] = lambda _: False) -> None:
        self.files: dict[str, Found] = {}
        self.large: dict[str, int] = {}
        self.repositories: set[str] = set()
        self.links: dict[str, str] = {}
        self.is_cut = self.is_too_deep = False
        self.data_elsewhere = ""
        self._root = str(root).rstrip("/") + "/"
        self._holds_known = holds
        self._tracked: dict[str, TrackedFiles] = {}
        self._folders: dict[str, _Folder] = {}
        self._linked: set[str] = set()
        self._watcher: Watcher | None = None
        self._watchable = watch
        self._reader = RulesReader()
        self._device = self._inode = -1

    def refresh(self) -> set[str] | None:
        """Rescan. Returns the paths whose files may have changed, appeared or gone since the last time; None: any may
        have."""
        self._reader = RulesReader()
        self._look_anew_at_tracked()
        touched = self._watcher.touched() if self._watcher and self._is_same() else None
        if touched is None or touched.passing or "" in touched.lost:  # such an entry may link to any file
            return self._walk_all()
        for path in self._linked:
            touched.entries.add((_above(path), path.rpartition("/")[2]))
        changed: set[str] = set()
        before = len(self._linked)
        self._follow(touched, changed)
        if len(self._linked) > before:
            self._find_links(changed)
        if self._watcher is None or any(path.endswith(".gitignore") for path in changed):
            return self._walk_all()
        return changed

    def gone_of(self, large: Mapping[str, int]) -> list[str]:
        """Return those of the folders, which were `large`, that are nowhere in the project any more. Empty where the
        system reports no events, and so no inodes are known."""
        gone = [path for path in large if not os.path.lexists(self._root + path)]
        if not gone or self._watcher is None:
            return []
        self.large = {path: at for path, at in self.large.items() if os.path.lexists(self._root + path)}
        there = {*self.large.values(), *(folder.inode for folder in self._folders.values())}
        return [path for path in gone if large[path] not in there]

    def forget(self) -> None:
        """Make the next `refresh` scan everything."""
        if self._watcher:
            self._watcher.close()
            self._watcher = None

    def _holds(self, path: str, repository: str) -> bool:
        if self._holds_known(path):
            return True
        if repository not in self._tracked:
            from localllm.snapshots.tracked_files import TrackedFiles  # nothing may be ignored

            if len(self._tracked) >= _MOST_INDEXES:
                return False
            self._tracked[repository] = TrackedFiles(Path(self._root + repository))
        return self._tracked[repository].holds(path.removeprefix(repository))

    def _look_anew_at_tracked(self) -> None:
        for tracked in self._tracked.values():
            tracked.begin()

    def _is_same(self) -> bool:
        try:
            facts = os.stat(self._root)  # noqa: PTH116 - the path is text here, for speed
        except OSError:
            return False
        return (facts.st_dev, facts.st_ino) == (self._device, self._inode)

    def _walk_all(self) -> None:
        """Scan everything; returns None, since anything may have changed."""
        self.forget()
        self.files, self.large, self.links, self._folders, self._linked = {}, {}, {}, {}, set()
        try:
            facts = os.stat(self._root)  # noqa: PTH116 - as above
        except OSError:
            return
        self._device, self._inode = facts.st_dev, facts.st_ino
        self.data_elsewhere = data_elsewhere(self._root)
        self.is_cut = self.is_too_deep = False
        if self._watchable:
            try:
                self._watcher = Watcher(Path(self._root))
            except (OSError, ValueError):
                self._watchable = False
        self._look_anew_at_tracked()
        self._walk(_Folder("", (), "", 0, self._inode), None)
        self._look_anew_at_tracked()  # lets go of what it has read

    def _find_links(self, changed: set[str]) -> None:
        """Add the other names of changed hard-linked files, for which no events are reported."""
        inodes = {self.files[path].sign.inode for path in self._linked}
        paths = [path for path, found in self.files.items() if found.sign.inode in inodes]
        for path in paths:
            self._look_at(self._folders[_above(path)], path.rpartition("/")[2], changed)

    def _follow(self, touched: Touched, changed: set[str]) -> None:
        """Scan the touched paths, and add the files that may have changed to `changed`."""
        grown: set[str] = set()
        for prefix in touched.lost:
            self._drop(prefix, changed)
            touched.entries.add((_above(prefix), prefix.rstrip("/").rpartition("/")[2]))
        for prefix, name in touched.entries:
            if folder := self._folders.get(prefix):
                self._look_at(folder, name, changed)
                grown.add("" if folder.held_only else folder.ignored)
        for ignored in grown - {""}:
            if ignored in self._folders and not _is_small(self._root + ignored):
                self._drop(ignored, changed)
                self._look_at(self._folders[_above(ignored)], ignored.rstrip("/").rpartition("/")[2], changed)

    def _look_at(self, folder: _Folder, name: str, changed: set[str]) -> None:
        path = folder.prefix + name
        try:
            facts = os.lstat(self._root + path)
        except OSError as error:
            self._note_failure(error)
            facts = None
        known = self._folders.get(path + "/")
        is_folder = facts is not None and stat.S_ISDIR(facts.st_mode)
        if known and not (facts and is_folder and facts.st_ino == known.inode):
            self._drop(known.prefix, changed)
            known = None
        if is_folder and known is None and (inner := self._enter(folder, name)):
            self._walk(inner, changed)
        if facts and stat.S_ISREG(facts.st_mode):
            self._note(folder, name, facts)
        elif name in folder.files:
            self._forget_file(folder, name)
        self._note_link(path)
        changed.add(path)

    def _walk(self, start: _Folder, changed: set[str] | None) -> None:
        """Scan all files below a folder and watch its folders, each before it is scanned, so that nothing is missed."""
        waiting = [start]
        while waiting:
            folder = waiting.pop()
            if not self._watch(folder):
                continue
            entries = _entries(self._root + folder.prefix, self._note_failure)
            if not folder.ignored and any(entry.name == ".git" for entry in entries):
                folder.repository = folder.prefix
            if any(entry.name == ".gitignore" for entry in entries):
                data = _ignore_file(self._root + folder.prefix)
                folder.rules = self._reader.read(data, folder.prefix, folder.rules)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if inner := self._enter(folder, entry.name):
                        waiting.append(inner)
                elif entry.is_file(follow_symlinks=False) and (facts := _facts(entry, self._note_failure)):
                    if len(self.files) >= MOST_FILES:
                        self.is_cut = True
                        return self._unwatch()
                    self._note(folder, entry.name, facts)
                    if changed is not None:
                        changed.add(folder.prefix + entry.name)
                elif entry.is_symlink():
                    self._note_link(folder.prefix + entry.name)
        return None

    def _note_failure(self, error: OSError) -> None:
        self.is_too_deep |= error.errno == errno.ENAMETOOLONG

    def _note_link(self, path: str) -> None:
        self.links.pop(path, None)
        if is_instruction(path) and len(self.links) < _MOST_LINKED:
            try:
                self.links[path] = os.readlink(self._root + path)  # noqa: PTH115 - as above
            except OSError:
                return  # not a folder

    def _enter(self, folder: _Folder, name: str) -> _Folder | None:
        """Return the folder of this name, if it is to be scanned."""
        if name == ".git":
            self.repositories.add(f"{folder.prefix}{name}/")
        if name in NEVER_KEPT or f"{folder.prefix}{name}/" == self.data_elsewhere:
            return None
        if folder.depth > _DEEPEST:
            self.is_too_deep = True
            return None
        prefix = f"{folder.prefix}{name}/"
        ignored, held_only = folder.ignored, folder.held_only
        if not ignored and (name in HEAVY or gitignore.left_out(prefix, folder.rules)):
            held_only = not _is_small(self._root + prefix)
            ignored = prefix
            if held_only and name not in HEAVY and len(self.large) < _MOST_LARGE:
                with suppress(OSError):
                    self.large[prefix] = os.lstat(self._root + prefix).st_ino
        if held_only and not self._holds(prefix, folder.repository):
            return None
        inner = _Folder(prefix, folder.rules, ignored, folder.depth + 1, -1)
        inner.held_only, inner.repository = held_only, folder.repository
        return inner

    def _watch(self, folder: _Folder) -> bool:
        """Register the folder; return whether it can be scanned."""
        path = self._root + folder.prefix
        if self._watcher:
            try:
                facts = os.lstat(path)
                folder.inode = facts.st_ino
                self._watcher.add(path, folder.prefix)
                if facts.st_dev != self._device:
                    self._unwatch()
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                return False
            except OSError as error:
                self._note_failure(error)
                if error.errno == errno.ENAMETOOLONG:
                    return False
                self._unwatch()
        self._folders[folder.prefix] = folder
        if parent := self._folders.get(_above(folder.prefix)) if folder.prefix else None:
            parent.folders.add(folder.prefix)
        return True

    def _unwatch(self) -> None:
        """Walk the tree from now on, since part of it cannot be watched."""
        self._watchable = False
        self.forget()

    def _note(self, folder: _Folder, name: str, facts: os.stat_result) -> None:
        path = folder.prefix + name
        ignored = bool(folder.ignored) or gitignore.left_out(path, folder.rules)
        known = self.files.get(path)
        is_held = ignored and not (known and known.ignored) and self._holds(path, folder.repository)
        if folder.held_only and not is_held:
            return
        ignored = ignored and not is_held
        self.files[path] = Found(path, sign_of(facts), ignored)
        folder.files.add(name)
        if facts.st_nlink > 1:
            self._linked.add(path)
            if len(self._linked) > _MOST_LINKED:
                self._unwatch()

    def _forget_file(self, folder: _Folder, name: str) -> None:
        folder.files.discard(name)
        self.files.pop(folder.prefix + name, None)
        self._linked.discard(folder.prefix + name)

    def _drop(self, prefix: str, changed: set[str]) -> None:
        """Remove a folder with all its content."""
        for path in [path for path in self.links if path.startswith(prefix)]:
            del self.links[path]
        if prefix in self._folders and (parent := self._folders.get(_above(prefix))):
            parent.folders.discard(prefix)
        waiting = [prefix]
        while waiting:
            folder = self._folders.pop(waiting.pop(), None)
            if folder is None:
                continue
            if self._watcher:
                self._watcher.remove(folder.prefix)
            for name in list(folder.files):
                changed.add(folder.prefix + name)
                self._forget_file(folder, name)
            waiting += folder.folders


def _above(path: str) -> str:
    """Return the prefix of the parent of a file, or of a folder given by its prefix."""
    parent = path.rstrip("/").rpartition("/")[0]
    return f"{parent}/" if parent else ""


def _pass_over(_error: OSError) -> None:
    pass


def _entries(folder: str, on_failure: Callable[[OSError], None] = _pass_over) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError as error:  # gone meanwhile, unreadable or too deep: nothing in it can be stored
        on_failure(error)
        return []


def _facts(entry: "os.DirEntry[str]", on_failure: Callable[[OSError], None] = _pass_over) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError as error:
        on_failure(error)
        return None


def sign_of(facts: os.stat_result) -> Sign:
    """Return the sign of a file from its stat result."""
    return Sign(facts.st_ino, facts.st_size, content_time(facts), facts.st_ctime_ns, stat.S_IMODE(facts.st_mode))


def _ignore_file(folder: str) -> bytes:
    try:
        return read_beginning(Path(folder, ".gitignore"), 1_000_000)
    except OSError:
        return b""


def _is_small(folder: str) -> bool:
    """Whether a folder has few files and bytes; counting stops at the limits."""
    files = size = 0
    waiting = [folder]
    while waiting:
        for entry in _entries(waiting.pop()):
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
                files += 1
            elif facts := _facts(entry):
                files, size = files + 1, size + facts.st_size
            if files > _SMALL_FILES or size > _SMALL_BYTES:
                return False
    return True


def data_elsewhere(top: str) -> str:
    """Return the folder below `top` (with a `/`) to which the `.git` file there leads as the data of its repository,
    relative and with a `/`; "" if there is none of that kind."""
    from localllm.sandbox.protect.repositories.git_files import is_repository, led_to

    git = Path(top, ".git")
    said = led_to(git) if git.is_file() and not git.is_symlink() else ""
    data = os.path.normpath(os.path.join(top, said)) if said else ""  # noqa: PTH118 - strings
    is_inside = data.startswith(top) and ".git" not in data.removeprefix(top).split("/")
    return f"{data.removeprefix(top)}/" if is_inside and is_repository(Path(data)) else ""
