"""The protected names of a project: what something outside the sandbox runs or believes later (see `protected_names`).

The file tools refuse to write there. Commands: see `reverting`.
"""

import math
import os
import stat
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec

from localllm.sandbox.protect.folder_listings import FolderListings
from localllm.sandbox.protect.git_state import is_unfinished_work
from localllm.sandbox.protect.protected_names import BELIEVED
from localllm.sandbox.protect.symlinks import SKIPPED

PROTECTED_NAMES = tuple(name for believer in BELIEVED for name in believer.names)
"""As `Believer.names`. A `.git` that is not a folder (but leads to one) is protected as well."""

PROTECTED_ENDINGS = tuple(name[1:] for name in PROTECTED_NAMES if name.startswith("*"))
"""Of names of files, wherever they are."""

_SETTINGS_OF_MODULES = (
    "/config",
    "/config.worktree",
    "/commondir",
    "/attributes",
    "/info/alternates",
    "/info/http-alternates",
)
IN_GIT = tuple(name.removeprefix(".git/") for name in PROTECTED_NAMES if name.startswith(".git/"))
"""Paths in the folder of a repository."""

_NAMES = frozenset(name.casefold() for name in PROTECTED_NAMES)
_LONGEST = max(name.count("/") for name in _NAMES) + 1  # parts
_WHOLE = frozenset(name for name in _NAMES if "/" not in name)
_IN_OTHERS = {
    top: tuple(sorted(name.removeprefix(f"{top}/") for name in _NAMES if name.startswith(f"{top}/")))
    for top in {name.partition("/")[0] for name in _NAMES - _WHOLE} - {".git"}
}
_OTHER_REPOSITORIES = frozenset({".hg", ".jj", ".sl", "_darcs"})
_LOOKED_FOR = _WHOLE | {".git", *_IN_OTHERS, "head", "objects", "refs", *(name.partition("/")[0] for name in IN_GIT)}
_MOST_FOLDERS = 200_000
_MOST_BENEATH = 10_000  # files beneath folders that are protected because something names them
_NAMES_OF_HOOKS = (
    "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg "
    "post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive "
    "post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate "
    "fsmonitor-watchman p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change"
)
_HOOKS = frozenset(_NAMES_OF_HOOKS.split())
_MOST_CONTENT = 8_000_000  # bytes of protected files that are held while a command runs


def is_protected(relative_path: str) -> bool:
    """Whether a path below the project (`/` between its names) is, or lies beneath, a protected name; in any case."""
    parts = [part.rstrip(". ") or part for part in relative_path.casefold().replace("\\", "/").split("/")]
    return parts[-1] == ".git" or any(_begins_protected(parts[start:]) for start in range(len(parts)))


def _begins_protected(parts: list[str]) -> bool:
    top = parts[0]
    if top in _WHOLE or top.endswith(PROTECTED_ENDINGS):
        return True
    if top != ".git" and top not in _IN_OTHERS:
        return False
    if any("/".join(parts[:end]) in _NAMES for end in range(2, min(len(parts), _LONGEST) + 1)):
        return True
    return len(parts) > 1 and _is_among(parts[1], _IN_OTHERS.get(top, ()))


def _is_among(name: str, names: tuple[str, ...]) -> bool:
    """Whether it is one of the names, where `*` at the beginning stands for anything."""
    return name in names or any(one.startswith("*") and name.endswith(one[1:]) for one in names)


@cache
def _first_steps(names: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """The first parts of the names with what follows each ("" for nothing), and the endings of those with `*`."""
    steps: dict[str, tuple[str, ...]] = {}
    for name in names:
        first, _, rest = name.partition("/")
        steps[first] = (*steps.get(first, ()), rest)
    return steps, tuple(name[1:] for name in names if name.startswith("*"))


def names_beneath(path: str) -> tuple[str, ...]:
    """The names below the link at `path` that are believed: "" where all that it leads to is."""
    parts = path.casefold().split("/")
    for start, part in enumerate(parts):
        names = IN_GIT if part == ".git" else _IN_OTHERS.get(part, ())
        way = "".join(f"{one}/" for one in parts[start + 1 :])
        if found := tuple(name.removeprefix(way) for name in names if name.startswith(way) and "*" not in name):
            return found
    return ("",)


def is_seen_from(folder: str, path: str) -> bool:
    """Whether a look into what holds `folder` has seen `path`, which lies beneath it, even if it got no further."""
    names = _IN_OTHERS.get(folder.rpartition("/")[2].casefold(), ())
    beneath = path[len(folder) + 1 :].casefold()
    return is_protected(folder) or any(f"{beneath}/".startswith(f"{name}/") for name in names)


def is_git_settings(path: str) -> bool:
    """Whether a protected path is the settings file of a repository."""
    parts = path.casefold().split("/")
    of_others = (_begins_protected(parts[start:]) for start, part in enumerate(parts) if part != ".git")
    return parts[-1] == "config" and not any(of_others)


def may_be_read_only(path: str) -> bool:
    """Whether honest work changes nothing of a protected path: git keeps data beside settings in some folders."""
    return not (path.casefold().endswith((".git/modules", ".git/worktrees")) or is_unfinished_work(path))


def is_of_linked_work_tree(path: str) -> bool:
    """Whether it ties a work tree or a submodule to its data: git removes it with these."""
    lower = path.casefold()
    return lower.endswith("/.git") or ("/worktrees/" in lower and lower.endswith(("/gitdir", "/commondir")))


def folders_that_lead_to(path: str) -> list[str]:
    """The folders above a protected path that are part of its being protected: `.git` of `.git/hooks`.

    The outermost first. Those that merely hold such a thing are left out: honest work renames between them.
    """
    *above, name = path.split("/")
    if name.casefold() in _WHOLE or not above:
        return []
    begins = [at for at, folder in enumerate(above) if folder.casefold() in (".git", *_IN_OTHERS)]
    first = begins[-1] if begins else len(above) - 1
    return ["/".join(above[: at + 1]) for at in range(first, len(above))]


class Entry(msgspec.Struct, frozen=True):
    """A protected file, link or special file. `content`: a link's target; None where there was too much to keep.

    `identity`: device, inode, size, and the times of the last change of content and of anything at all (ns); the last
    cannot be forged.
    """

    mode: int
    identity: tuple[int, ...]
    content: bytes | None


def may_matter(entry: os.DirEntry[str]) -> bool:
    """Whether a protected name may be the entry's, or lie beneath it."""
    return entry.is_dir(follow_symlinks=False) or _is_looked_for(entry.name.casefold())


def _is_wanted(entry: os.DirEntry[str]) -> bool:
    return _is_looked_for(entry.name.casefold())


def _is_looked_for(name: str) -> bool:
    return name in _LOOKED_FOR or name.endswith(PROTECTED_ENDINGS)


def _is_link_on_the_way(entry: os.DirEntry[str]) -> bool:
    """Whether it is a link that a folder may be behind."""
    return entry.is_symlink() and not os.path.isfile(entry.path)  # noqa: PTH113 - an entry would remember the answer


class Reach:
    """How far a look may go, and how far it got. `seconds`: for all folders; `skipped`: also into those of packages.

    `visited`: the folders that were looked into. `is_complete`: there are no others. `closed`: those that cannot be
    read. `repositories`: those with a `.git`; `bare`: those that look like what is in one; `others`: the data of other
    version control. `last`: those of packages, with their inodes.
    """

    def __init__(self, seconds: float = math.inf, *, skipped: bool = False) -> None:
        self.seconds = seconds
        self.skipped = skipped
        self.visited: set[str] = set()
        self.closed: set[str] = set()
        self.repositories: set[str] = set()
        self.bare: set[str] = set()
        self.others: set[str] = set()
        self.last: dict[str, int] = {}
        self.is_complete = True


def look(
    root: Path,
    known: Mapping[str, Entry] | None = None,
    listings: FolderListings | None = None,
    tops: list[str] | None = None,
    reach: Reach | None = None,
) -> dict[str, Entry]:
    """Every protected entry below `root`, folders themselves left out, by its path there.

    Looks in as many folders as `reach` permits: those that are new, then the nearest. Content that is in `known` is not
    read again, nor are folders `listings` knows (those of entries that `may_matter`). To `tops` go the protected paths
    themselves, also those of folders that are empty.
    """
    reach = reach or Reach()
    walk = _Walk(root, listings or FolderListings(may_matter), [] if tops is None else tops, reach)
    return _entries(root, list(walk.protected_paths()), known, reach.closed)


def look_at(
    root: Path,
    paths: Iterable[str],
    known: Mapping[str, Entry] | None = None,
    tops: list[str] | None = None,
    reach: Reach | None = None,
) -> dict[str, Entry]:
    """As `look`, of what is at, or beneath, certain paths.

    Not of all that is beneath, where that is very much: `reach` is then incomplete, and git's hooks come first.
    """
    reach = reach or Reach()
    leaves: list[str] = []
    folders: list[str] = []
    for path in paths:
        try:
            is_folder = stat.S_ISDIR((root / path).lstat().st_mode)
        except OSError:
            continue  # there is none
        (folders if is_folder else leaves).append(path)
        if tops is not None:
            tops.append(path)
    return _entries(root, leaves + _nearest_beneath(root, folders, reach), known, reach.closed)


def _nearest_beneath(root: Path, folders: list[str], reach: Reach) -> list[str]:
    """The files in the folders, then those deeper; each once, although the folders may lie in one another."""
    hooks: list[str] = []
    others: list[str] = []
    pending = list(folders)
    seen = set(folders)
    for at, folder in enumerate(pending):
        if at >= len(folders) and len(hooks) + len(others) > _MOST_BENEATH:
            reach.is_complete = False
            break
        for inner in _list(root, folder, reach.closed):
            path = _join(folder, inner.name)
            if not inner.is_dir(follow_symlinks=False):
                (hooks if inner.name in _HOOKS else others).append(path)
            elif path not in seen:
                seen.add(path)
                pending.append(path)
    found = list(islice(filter(_matters, [*hooks, *others]), _MOST_BENEATH + 1))
    reach.is_complete &= len(found) <= _MOST_BENEATH
    return found[:_MOST_BENEATH]


def _entries(root: Path, paths: list[str], known: Mapping[str, Entry] | None, closed: set[str]) -> dict[str, Entry]:
    there: list[tuple[str, os.stat_result]] = []
    for path in paths:
        try:
            there.append((path, (root / path).lstat()))
        except PermissionError:
            closed.add(path.rpartition("/")[0])
        except OSError:
            continue  # gone meanwhile
    found: dict[str, Entry] = {}
    room = _MOST_CONTENT
    for path, about in sorted(there, key=lambda one: one[1].st_size):  # nothing large takes the room of the rest
        try:
            entry = _entry(root / path, about, (known or {}).get(path), 0 if is_output(path) else room)
        except PermissionError:
            entry = Entry(about.st_mode, identity_of(about), None)  # it may be run all the same
        except OSError:
            continue
        room -= len(entry.content or b"")
        found[path] = entry
    return found


def _entry(path: Path, about: os.stat_result, known: Entry | None, room: int) -> Entry:
    identity = identity_of(about)
    if known and known.identity == identity:
        return known
    if stat.S_ISLNK(about.st_mode):
        return Entry(about.st_mode, identity, os.fsencode(path.readlink()))
    if not stat.S_ISREG(about.st_mode):
        return Entry(about.st_mode, identity, b"")
    return Entry(about.st_mode, identity, _read(path) if about.st_size <= room else None)


def identity_of(about: os.stat_result) -> tuple[int, ...]:
    """What changes with a file (see `Entry`)."""
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _read(path: Path) -> bytes:
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor has no path
        return file.read(_MOST_CONTENT)


def is_output(path: str) -> bool:
    """Whether it is long output that is kept: worth noticing that it was changed, not worth keeping twice."""
    return path.casefold().startswith(".localllm/tool-output/")


class _Walk:
    """One look through a project for protected paths; those that are whole, files or folders, go to `tops`."""

    def __init__(self, root: Path, listings: FolderListings, tops: list[str], reach: Reach) -> None:
        self._root = root
        self._listings = listings
        self._tops = tops
        self._reach = reach

    def _folders(self) -> Iterator[tuple[str, list[str]]]:
        """Each folder, and a list for those in it that are to be looked into as well."""
        fresh, known = deque([""]), deque[str]()
        last: list[str] = []
        knows = self._listings.knows
        deadline = time.monotonic() + self._reach.seconds
        for _ in range(_MOST_FOLDERS):
            if not (fresh or known) or time.monotonic() > deadline:
                break
            folder = fresh.popleft() if fresh else known.popleft()
            inside: list[str] = []
            yield folder, inside
            self._reach.visited.add(folder)
            for path in inside:
                if path.rpartition("/")[2].casefold() in SKIPPED:
                    last.append(path)
                    self._reach.last[path] = inode(self._root / path)
                else:
                    (known if knows(f"{self._root}/{path}") else fresh).append(path)
        self._reach.is_complete = not (fresh or known)
        for top in last if self._reach.skipped else ():
            folders, is_complete = self._listings.search(f"{self._root}/{top}", _is_wanted, deadline, self._note_closed)
            self._reach.is_complete &= is_complete
            for folder in folders:
                yield folder[len(str(self._root)) + 1 :], []

    def _note_closed(self, path: str) -> None:
        self._reach.closed.add(path[len(str(self._root)) + 1 :])

    def protected_paths(self) -> Iterator[str]:
        """The nearest first. A folder that looks like a bare repository is searched like a `.git`."""
        for folder, inside in self._folders():
            entries = self._listings.of(f"{self._root}/{folder}", self._note_closed)
            names = {entry.name for entry in entries}
            if "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names):
                self._reach.bare.add(folder)
                yield from self._beneath_any(folder, entries, IN_GIT)
            for entry in entries:
                name, path = entry.name.casefold(), _join(folder, entry.name)
                is_folder = entry.is_dir(follow_symlinks=False)
                if name == ".git":
                    self._reach.repositories.add(folder)
                if name == ".git" and is_folder:
                    yield from self._beneath_any(path, self._list(path), IN_GIT)
                elif (
                    name == ".git"
                    or name in _WHOLE
                    or (name.endswith(PROTECTED_ENDINGS) and not is_folder)
                    or (name in _IN_OTHERS and _is_link_on_the_way(entry))
                ):
                    yield from self._whole(path, entry)
                elif is_folder:
                    if name in _IN_OTHERS:
                        yield from self._beneath_any(path, self._list(path), _IN_OTHERS[name])
                    if name in _OTHER_REPOSITORIES:
                        self._reach.others.add(path)
                    inside.append(path)

    def _beneath_any(self, folder: str, entries: list[os.DirEntry[str]], names: tuple[str, ...]) -> Iterator[str]:
        """The leaves of those of `entries` whose names begin one of `names` (`a`, `a/b` or `*.a`), and the links in
        place of folders on the way to these."""
        steps, endings = _first_steps(names)
        for entry in entries:
            name = entry.name.casefold()
            deeper = steps.get(name, ())
            if not deeper and not name.endswith(endings):
                continue
            path = _join(folder, entry.name)
            if not deeper or "" in deeper or _is_link_on_the_way(entry):
                yield from self._whole(path, entry)
            elif entry.is_dir(follow_symlinks=False):
                yield from self._beneath_any(path, self._list(path), deeper)

    def _whole(self, path: str, entry: os.DirEntry[str]) -> Iterator[str]:
        self._tops.append(path)
        return _leaves(self._root, path, entry, self._reach.closed)

    def _list(self, folder: str) -> list[os.DirEntry[str]]:
        return _list(self._root, folder, self._reach.closed)


def _leaves(root: Path, path: str, entry: os.DirEntry[str], closed: set[str]) -> Iterator[str]:
    """The entry, or all beneath it that is not a folder; but not what git ships as examples and never runs."""
    found = _beneath(root, path, closed) if entry.is_dir(follow_symlinks=False) else [(path, False)]
    return (path for path, is_folder in found if not is_folder and _matters(path))


def _beneath(root: Path, top: str, closed: set[str]) -> Iterator[tuple[str, bool]]:
    """All there, and whether it is a folder; without calls within calls, as folders may nest deeper than those can."""
    pending = [top]
    for folder in pending:
        for inner in _list(root, folder, closed):
            path = _join(folder, inner.name)
            is_folder = inner.is_dir(follow_symlinks=False)
            if is_folder:
                pending.append(path)
            yield path, is_folder


def _matters(path: str) -> bool:
    """Of a repository's own folder the data does not: it changes with every commit, also in submodules."""
    lower = f"/{path.casefold()}"
    if "/site-packages/" in lower and lower.endswith("customize.py"):
        return False  # tools for tracing ship these, and an environment in the project is the project's own
    if "/hooks/" in lower and lower.endswith(".sample"):
        return False
    _, worktree, its_data = lower.partition("/.git/worktrees/")
    if worktree:
        return its_data.endswith(("/commondir", "/config.worktree", "/gitdir")) or is_unfinished_work(lower)
    _, inside, rest = lower.partition("/.git/modules/")
    return not inside or "/hooks/" in rest or rest.endswith(_SETTINGS_OF_MODULES) or is_unfinished_work(lower)


def _list(root: Path, folder: str, closed: set[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(f"{root}/{folder}") as entries:
            return list(entries)
    except PermissionError:
        closed.add(folder)
        return []
    except OSError:
        return []  # gone meanwhile


def inode(path: Path) -> int:
    """Its number on its disk; 0 where it is gone."""
    try:
        return path.lstat().st_ino
    except OSError:
        return 0


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
