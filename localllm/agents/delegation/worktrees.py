"""Work trees for agents that write at the same time: each a copy of the project as it is now, outside of it.

A tree holds what git knows of the project's folder and what is new in it, byte by byte, changes that are in no commit
included; what git ignores is not in it. Each is a repository of its own with one commit, the state it began with: an
agent can look at its own changes there, and nothing it does reaches the user's repository, its index, stash, branches
or worktrees. What has become of a tree is found out with a git folder no command of the agent could write to.
"""

import asyncio
import os
import posixpath
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import msgspec

from localllm.base.errors import LocalLLMError, ToolExecutionError
from localllm.base.files import FileLock, try_lock
from localllm.base.gitignore import matcher
from localllm.base.i18n import Phrase
from localllm.base.paths import project_folder
from localllm.base.patterns import late_pattern
from localllm.base.programs import find_program
from localllm.sandbox.removal import delete_tree
from localllm.tools.guard.paths import ProjectRoot, shown
from localllm.tools.guard.rules import is_within
from localllm.tools.repository import LARGEST_OUTPUT, Repository

_Result = TypeVar("_Result")

MOST_FILES = 50_000
MOST_BYTES = 1_000_000_000
"""Of a project that is copied: a larger one would take longer to copy than the agents save."""

LARGEST_FILE = 50_000_000
"""Bytes of the largest file whose change is taken over."""

_SECONDS = 120.0
_MOST_ARGUMENTS = 500
_LOCK = "lock"
_BASE = "base"
_PLAIN = ("100644", "100755")
_CACHE = late_pattern(r"cache(?:s|__)?$")

_SETTINGS = {
    "init.defaultBranch": "work",
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.quotePath": "false",
    "core.compression": "0",  # the objects live for minutes
    "core.fsync": "none",
    "pack.window": "0",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "user.name": "localllm",
    "user.email": "localllm@localhost",
    "commit.gpgSign": "false",
}


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file an agent changed: its bytes when the tree was made, and now; None where there was, or is, none.

    `mode`: its permissions now, None where they are as they were. `odd`: why it cannot be taken over, if so.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None = None
    odd: str = ""


class TooLargeError(Exception):
    """The project has too many files, or too large ones, to be copied."""


class Interrupted(Exception):  # noqa: N818 - no error: somebody wanted it so
    """The copying was broken off."""


class WorkTrees:
    """The work trees of one piece of work in the project at `root`; `folder` is theirs alone, for this project. New
    files that `excluded` (patterns as in .gitignore) names are no changes: caches that commands leave behind. What lies
    in `closed` (paths in the project) is in no tree: no agent may read it, and git in a tree would show it.

    Every method may take seconds: run them in a thread. `stop` breaks off the one that is going on.
    """

    def __init__(self, root: Path, folder: Path, excluded: Sequence[str] = (), *, closed: Sequence[str] = ()) -> None:
        self._root = root
        self._closed = [posixpath.normpath(path) for path in closed]
        self._excluded = matcher([*excluded, project_folder(Path()).name])
        self._all = folder
        self._own = folder / uuid4().hex[:12]
        self._lock = -1
        self._stopped = threading.Event()
        self._base = ""
        self.submodules: list[str] = []
        """Folders that belong to other repositories: they are empty in the trees."""
        self.missing: list[str] = []
        """Folders at the top of the project that git ignores, and no tree has: environments, packages, and the like."""

    def open(self) -> None:
        """Keep the project as it is now. What earlier programs left behind, because they were killed, goes.

        Raises ToolExecutionError as Repository does, worktree_failed; TooLargeError.
        """
        files, self.missing = self._files(), self._ignored_folders()
        try:
            self._begin()
            self._copy(files, self._own / _BASE)
        except OSError as error:
            raise ToolExecutionError("worktree_failed", reason=error.strerror or str(error)) from error
        self._git(self._own / _BASE, "init", "--quiet", "--template=")
        self._git(self._own / _BASE, "add", "--all", "--force")
        self._git(self._own / _BASE, "commit", "--quiet", "--no-verify", "--allow-empty", "--message=start")
        self._git(self._own / _BASE, "repack", "-a", "-d", "--quiet")  # one file for each tree to copy
        self._base = self._git(self._own / _BASE, "rev-parse", "HEAD^{tree}").decode().strip()

    def _begin(self) -> None:
        """Make the folder, locked for as long as this program lives."""
        self._all.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(self._all):
            self._remove_stale()
            self._own.mkdir(mode=0o700)
            self._lock = os.open(self._own / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try_lock(self._lock)

    def add(self, name: str) -> Path:
        """A tree as the project was when this was opened. Raises ToolExecutionError worktree_failed."""
        tree = self._own / name / self._root.name  # an agent may find the project's name telling
        try:
            shutil.copytree(self._own / _BASE, tree, symlinks=True, copy_function=self._copy_file)
        except (OSError, shutil.Error) as error:
            raise ToolExecutionError("worktree_failed", reason=str(error)[:200]) from error
        return tree

    def changes(self, tree: Path) -> list[FileChange]:
        """What an agent made of its tree, without what git ignores. Raises ToolExecutionError."""
        raw = self._diff(tree, "--raw", "-r", "-z")
        fields = iter(os.fsdecode(raw).split("\0")[:-1])
        found = {path: facts.split(" ") for facts, path in zip(fields, fields, strict=True)}
        new = [path for path, facts in found.items() if facts[4] == "A"]
        ignored = Repository(self._root).ignored(new) | set(filter(self._excluded, new))
        before, after = ProjectRoot(self._own / _BASE), ProjectRoot(tree)
        return [
            _change(before, after, path, facts[0].lstrip(":"), facts[1])
            for path, facts in found.items()
            if path not in ignored
        ]

    def patch(self, tree: Path, changes: Sequence[FileChange]) -> bytes:
        """The changes as a patch that git can apply. Raises ToolExecutionError."""
        paths = [change.path for change in changes] if len(changes) <= _MOST_ARGUMENTS else []
        return self._diff(tree, "--patch", "--binary", "--full-index", paths=paths)

    def stop(self) -> None:
        """Break off what is going on in another thread."""
        self._stopped.set()

    def close(self) -> None:
        """Remove every tree."""
        if self._own.exists():
            delete_tree(str(self._own))
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _remove_stale(self) -> None:
        """Remove what killed programs left behind."""
        for folder in self._all.iterdir():
            if _is_abandoned(folder):
                delete_tree(str(folder))

    def _files(self) -> list[str]:
        """The files that are copied."""
        repository = Repository(self._root)
        listed = repository.run("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        staged = repository.run("ls-files", "-z", "--stage")
        if len(listed) >= LARGEST_OUTPUT or len(staged) >= LARGEST_OUTPUT:
            raise TooLargeError
        entries = os.fsdecode(staged).split("\0")[:-1]
        self.submodules = [entry.partition("\t")[2] for entry in entries if entry.startswith("160000 ")]
        names = [name for name in dict.fromkeys(os.fsdecode(listed).split("\0")[:-1]) if not name.endswith("/")]
        left_out = set(self.submodules)
        files = [
            name
            for name in names
            if name not in left_out and not any(is_within(name, folder) for folder in self._closed)
        ]
        if len(files) > MOST_FILES:
            raise TooLargeError
        return files

    def _ignored_folders(self) -> list[str]:
        """Those at the top of the project, but for caches and our own."""
        listed = Repository(self._root).run(
            "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"
        )
        names = [name.removesuffix("/") for name in os.fsdecode(listed).split("\0") if name.endswith("/")]
        own = project_folder(Path()).name
        return [name for name in names if "/" not in name and name != own and not _CACHE.search(name)]

    def _copy(self, files: Sequence[str], target: Path) -> None:
        total = 0
        made: set[str] = set()
        target.mkdir(mode=0o700)
        for name in files:
            source = self._root / name
            try:
                facts = source.lstat()
            except (FileNotFoundError, NotADirectoryError):
                continue  # deleted, and git has not been told
            total += facts.st_size
            if total > MOST_BYTES:
                raise TooLargeError
            if not stat.S_ISREG(facts.st_mode) and not stat.S_ISLNK(facts.st_mode):
                continue
            folder = os.path.dirname(name)  # noqa: PTH120 - a hundred times per millisecond
            if folder not in made:
                (target / folder).mkdir(parents=True, exist_ok=True)
                made.add(folder)
            with suppress(PermissionError):  # what the user may not read, no agent may
                self._copy_file(str(source), str(target / name))

    def _copy_file(self, source: str, target: str) -> None:
        """Copy a file, or a link as one."""
        if self._stopped.is_set():
            raise Interrupted
        shutil.copy2(source, target, follow_symlinks=False)

    def _diff(self, tree: Path, *how: str, paths: Sequence[str] = ()) -> bytes:
        index = self._own / f"index-{uuid4().hex[:8]}"
        within = {"GIT_DIR": str(self._own / _BASE / ".git"), "GIT_WORK_TREE": str(tree), "GIT_INDEX_FILE": str(index)}
        try:
            self._git(tree, "read-tree", self._base, within=within)
            self._git(tree, "add", "--all", within=within)
            now = self._git(tree, "write-tree", within=within).decode().strip()
            options = ("--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", *how)
            return self._git(tree, "diff-tree", *options, self._base, now, "--", *paths, within=within)
        finally:
            index.unlink(missing_ok=True)

    def _git(self, folder: Path, *arguments: str, within: dict[str, str] | None = None) -> bytes:
        if self._stopped.is_set():
            raise Interrupted
        found = self._run(folder, arguments, within or {})
        if found.returncode:
            raise ToolExecutionError("worktree_failed", reason=shown(found.stderr.decode("utf-8", "replace")[:300]))
        return found.stdout

    def _run(
        self, folder: Path, arguments: Sequence[str], within: dict[str, str]
    ) -> "subprocess.CompletedProcess[bytes]":
        """git with none of the user's settings and none of the project's: nothing is filtered, nothing else runs."""
        program = find_program("git", self._root)
        if program is None:
            raise ToolExecutionError("git_missing")
        settings = [item for name, value in _SETTINGS.items() for item in ("-c", f"{name}={value}")]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            **within,
        }
        try:
            return subprocess.run(
                [program, *settings, *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ToolExecutionError("worktree_failed", reason=Phrase("git.slow", seconds=_SECONDS)) from error


def _change(before: ProjectRoot, after: ProjectRoot, path: str, old_mode: str, new_mode: str) -> FileChange:
    """The change of one file; `odd` where it is, or was, no plain file, or cannot be read."""
    for mode in (old_mode, new_mode):
        if mode not in (*_PLAIN, "000000"):
            return FileChange(path=path, before=None, after=None, odd=str(Phrase("coordinate.not_plain")))
    try:
        old = before.read_bytes(path, LARGEST_FILE) if old_mode in _PLAIN else None
        new = after.read_bytes(path, LARGEST_FILE) if new_mode in _PLAIN else None
    except LocalLLMError as error:
        return FileChange(path=path, before=None, after=None, odd=error.what)
    mode = None
    if new is not None and old_mode != new_mode:
        mode = 0o755 if new_mode == "100755" else 0o644
    return FileChange(path=path, before=old, after=new, mode=mode)


def _is_abandoned(folder: Path) -> bool:
    """Whether the program whose trees these are has ended."""
    try:
        fd = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True  # killed in the moment it made the folder
    except OSError:
        return False
    try:
        return try_lock(fd)
    finally:
        os.close(fd)


async def stoppable(trees: WorkTrees, work: Callable[[], _Result]) -> _Result:
    """What `work` gives, done in a thread. Cancelling breaks it off, and waits for that."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        trees.stop()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # whoever cancels does not want to know
        raise


async def surely(work: Callable[[], None]) -> None:
    """Do `work` in a thread to its end, whatever is cancelled meanwhile."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    was_cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            was_cancelled = True
    task.result()
    if was_cancelled:
        raise asyncio.CancelledError
