"""Names inside a project that something outside the sandbox runs or believes later: hooks, settings, start-up files.

The file tools refuse to write there. Commands: see `reverting`.
"""

import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

PROTECTED_NAMES = (
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/info/attributes",
    ".git/modules",
    ".git/worktrees",
    ".gitmodules",
    ".envrc",
    ".vscode",
    ".idea",
    ".zed",
    ".fleet",
    ".dir-locals.el",
    ".exrc",
    ".vimrc",
    ".nvim.lua",
    ".gdbinit",
    ".lldbinit",
    ".devcontainer",
    ".husky",
    ".github/workflows",
    ".gitlab-ci.yml",
    ".circleci",
    ".mcp.json",
    ".localllm",
    "localllm.toml",
    ".claude",
    ".cursor",
    ".codex",
    ".gemini",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshenv",
    ".zshrc",
    ".zprofile",
    ".zlogin",
)
"""Paths below the project, or below any folder in it; of a folder, all that is beneath. A `.git` that is not a folder
(but leads to one) is protected as well."""

_IN_GIT = tuple(name.removeprefix(".git/") for name in PROTECTED_NAMES if name.startswith(".git/"))
_WHOLE = frozenset(name for name in PROTECTED_NAMES if "/" not in name)
_SKIPPED = frozenset({"node_modules", "site-packages"})
_MOST_FOLDERS = 5_000  # looked into for protected names, the nearest first
_MOST_CONTENT = 8_000_000  # bytes of protected files that are held while a command runs


def is_protected(relative_path: str) -> bool:
    """Whether a path below the project (`/` between its names) is, or lies beneath, a protected name; in any case."""
    parts = [part.rstrip(". ") or part for part in relative_path.casefold().replace("\\", "/").split("/")]
    return parts[-1] == ".git" or any(_begins_protected(parts[start:]) for start in range(len(parts)))


def _begins_protected(parts: list[str]) -> bool:
    path = "/".join(parts)
    return any(path == name or path.startswith(f"{name}/") for name in PROTECTED_NAMES)


def is_git_settings(path: str) -> bool:
    """Whether a protected path is the settings file of a repository."""
    *folders, name = path.casefold().split("/")
    return name == "config" and _WHOLE.isdisjoint(folders)


class Entry(msgspec.Struct, frozen=True):
    """A protected file, link or special file. `content`: a link's target; None where there was too much to keep.

    `identity`: device, inode, size, and the times of the last change of content and of anything at all (ns); the last
    cannot be forged.
    """

    mode: int
    identity: tuple[int, ...]
    content: bytes | None


def look(root: Path, known: Mapping[str, Entry] | None = None) -> dict[str, Entry]:
    """Every protected entry below `root`, folders themselves left out, by its path there.

    Looks in as many folders as is quickly done, the nearest first. Content that is in `known` is not read again.
    """
    found: dict[str, Entry] = {}
    room = _MOST_CONTENT
    paths = list(_protected_paths(root))
    for path in sorted(paths, key=_is_own):  # our own logs may be large: what is small comes first
        try:
            about = (root / path).lstat()
            entry = _entry(root / path, about, (known or {}).get(path), 0 if _is_bulk(path) else room)
        except OSError:
            continue  # gone meanwhile, or not to be read even by its owner
        room -= len(entry.content or b"")
        found[path] = entry
    return found


def _entry(path: Path, about: os.stat_result, known: Entry | None, room: int) -> Entry:
    identity = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
    if known and known.identity == identity:
        return known
    if stat.S_ISLNK(about.st_mode):
        return Entry(about.st_mode, identity, os.fsencode(path.readlink()))
    if not stat.S_ISREG(about.st_mode):
        return Entry(about.st_mode, identity, b"")
    return Entry(about.st_mode, identity, _read(path) if about.st_size <= room else None)


def _read(path: Path) -> bytes:
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor has no path
        return file.read(_MOST_CONTENT)


def _is_own(path: str) -> bool:
    return path.casefold().startswith(".localllm/")


def _is_bulk(path: str) -> bool:
    """Whether it is old output of commands: worth noticing that it was changed, not worth keeping twice."""
    return path.casefold().startswith(".localllm/tool-output/")


def _protected_paths(root: Path) -> Iterator[str]:
    """The nearest first. A folder that looks like a bare repository is searched like a `.git`."""
    pending = deque([""])
    for _ in range(_MOST_FOLDERS):
        if not pending:
            return
        folder = pending.popleft()
        entries = _list(root, folder)
        if {"HEAD", "objects", "refs"} <= {entry.name for entry in entries}:
            yield from _beneath_any(root, folder, entries, _IN_GIT)
        for entry in entries:
            name, path = entry.name.casefold(), _join(folder, entry.name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if name == ".git" and is_folder:
                yield from _beneath_any(root, path, _list(root, path), _IN_GIT)
            elif name == ".git" or name in _WHOLE:
                yield from _leaves(root, path, entry)
            elif name == ".github" and is_folder:
                yield from _beneath_any(root, path, _list(root, path), ("workflows",))
            elif is_folder and name not in _SKIPPED:
                pending.append(path)


def _beneath_any(root: Path, folder: str, entries: list[os.DirEntry[str]], names: tuple[str, ...]) -> Iterator[str]:
    """The leaves of those of `entries` whose names begin one of `names` (`a` or `a/b`)."""
    for entry in entries:
        name, path = entry.name.casefold(), _join(folder, entry.name)
        if name in names:
            yield from _leaves(root, path, entry)
        elif entry.is_dir(follow_symlinks=False):
            deeper = tuple(other.partition("/")[2] for other in names if other.startswith(f"{name}/"))
            yield from _beneath_any(root, path, _list(root, path), deeper) if deeper else ()


def _leaves(root: Path, path: str, entry: os.DirEntry[str]) -> Iterator[str]:
    """The entry, or all beneath it that is not a folder; but not what git ships as examples and never runs."""
    if entry.is_dir(follow_symlinks=False):
        for inner in _list(root, path):
            yield from _leaves(root, _join(path, inner.name), inner)
    elif _matters(path):
        yield path


def _matters(path: str) -> bool:
    """Of a repository's own folder the data does not: it changes with every commit, also in submodules."""
    lower = f"/{path.casefold()}"
    if "/hooks/" in lower and lower.endswith(".sample"):
        return False
    _, worktree, its_data = lower.partition("/.git/worktrees/")
    if worktree:
        return its_data.endswith(("/commondir", "/config.worktree", "/gitdir"))
    _, inside, rest = lower.partition("/.git/modules/")
    return (
        not inside or "/hooks/" in rest or rest.endswith(("/config", "/config.worktree", "/commondir", "/attributes"))
    )


def _list(root: Path, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(f"{root}/{folder}") as entries:
            return list(entries)
    except OSError:
        return []  # gone meanwhile, or closed to its owner


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
