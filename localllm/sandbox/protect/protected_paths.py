"""Recognise and read the protected paths of a project: what something outside the sandbox runs or trusts later (see
`protected_names`).

The file tools refuse to write there. Changes by commands are undone: see `revert`.
"""

import hashlib
import math
import os
import stat
import struct
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec

from localllm.base.folded_names import folded
from localllm.base.regular_files import content_time, hides_changes, open_regular
from localllm.sandbox.protect.content_rules import is_judged_by_content
from localllm.sandbox.protect.interrupted_work import is_unfinished_work
from localllm.sandbox.protect.mercurial_requirements import is_requirements
from localllm.sandbox.protect.name_patterns import NamePatterns, is_like
from localllm.sandbox.protect.protected_names import BELIEVED

PROTECTED_NAMES = tuple(name for believer in BELIEVED for name in believer.names)
"""As `Believer.names`. A `.git` that is a file or symlink, and so leads to a repository, is protected as well."""


_PATTERNS = NamePatterns(name for name in PROTECTED_NAMES if "/" not in name)
"""Of file names that are protected in every folder: they are looked for at each file of a project."""

_SETTINGS_OF_MODULES = (
    "/config",
    "/config.worktree",
    "/commondir",
    "/gitdir",
    "/attributes",
    "/info/alternates",
    "/info/http-alternates",
)
ATTRIBUTES = ".gitattributes"
"""Protected only from losing a filter: see `git_attributes`."""

IN_GIT = tuple(name.removeprefix(".git/") for name in PROTECTED_NAMES if name.startswith(".git/"))
"""Protected paths in the data folder of a repository."""

IN_BARE = tuple(name for name in IN_GIT if name not in ("modules", "worktrees"))
"""The same for a data folder not called `.git`: repositories in these two are found as data folders of their own."""

_HIDDEN = ".*/"
IN_HIDDEN = frozenset(name.removeprefix(_HIDDEN).casefold() for name in PROTECTED_NAMES if name.startswith(_HIDDEN))
"""Files that are protected directly in any folder whose name begins with a dot."""

_NAMES = frozenset(name.casefold() for name in PROTECTED_NAMES if not name.startswith(_HIDDEN))
_LONGEST = max(name.count("/") for name in _NAMES) + 1  # components
WHOLE = frozenset(name for name in _NAMES if "/" not in name)
IN_OTHERS = {
    top: tuple(sorted(name.removeprefix(f"{top}/") for name in _NAMES if name.startswith(f"{top}/")))
    for top in {name.partition("/")[0] for name in _NAMES - WHOLE} - {".git"}
}
_IDS_OF_JJ = (".jj/repo/config-id", ".jj/workspace-config-id")
_MOST_BENEATH = 10_000  # files below folders that are protected because something refers to them
_NAMES_OF_HOOKS = (
    "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg "
    "post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive "
    "post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate "
    "fsmonitor-watchman p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change"
)
_HOOKS = frozenset(_NAMES_OF_HOOKS.split())
_MOST_CONTENT = 8_000_000  # bytes of protected files kept in memory while a command runs


def is_protected(relative_path: str) -> bool:
    """Return whether a path below the project (`/` as separator) is a protected name or below one. Ignores case."""
    parts = [part.rstrip(". ") or part for part in folded(relative_path).replace("\\", "/").split("/")]
    is_pointer = parts[-1] == ".git" or names_repository(relative_path)
    return is_pointer or _is_believed(parts)


def _is_believed(parts: list[str]) -> bool:
    return any(_begins_protected(parts[start:]) for start in range(len(parts)))


def names_repository(path: str) -> bool:
    """Return whether a file at the path would tell jj where its repository is, whose settings name programs. A folder
    there is the repository itself."""
    return folded(f"/{path}").endswith("/.jj/repo")


def _begins_protected(parts: list[str]) -> bool:
    top = parts[0]
    if top in WHOLE or is_like_protected(top):
        return True
    if len(parts) > 1 and is_in_hidden(top, parts[1]):
        return True
    if top != ".git" and top not in IN_OTHERS:
        return False
    if any("/".join(parts[:end]) in _NAMES for end in range(2, min(len(parts), _LONGEST) + 1)):
        return True
    return len(parts) > 1 and _is_among(parts[1], IN_OTHERS.get(top, ()))


def _is_among(name: str, names: tuple[str, ...]) -> bool:
    """Return whether the name is in `names`, where a `*` stands for anything."""
    return name in names or any("*" in one and is_like(name, one) for one in names)


def is_in_hidden(folder: str, name: str) -> bool:
    """Return whether a file of this name, in lower case, is protected in the folder because that is hidden. `folder`:
    a name, or the path of one."""
    return name in IN_HIDDEN and folder.rpartition("/")[2].startswith(".")


def is_like_protected(name: str) -> bool:
    """Return whether a file's name, in lower case, is protected in every folder by a pattern."""
    return _PATTERNS.has_one_for(name)


def names_beneath(path: str) -> tuple[str, ...]:
    """Return the trusted names below the symlink at `path`; only "" if everything that it leads to is trusted."""
    parts = folded(path).split("/")
    for start, part in enumerate(parts):
        names = IN_GIT if part == ".git" else IN_OTHERS.get(part, ())
        way = "".join(f"{one}/" for one in parts[start + 1 :])
        if found := tuple(name.removeprefix(way) for name in names if name.startswith(way) and "*" not in name):
            return found
    return ("",)


def is_seen_from(folder: str, path: str) -> bool:
    """Return whether a scan of the parent of `folder` has seen `path`, which is below `folder`, even if it got no
    further."""
    names = IN_OTHERS.get(folded(folder.rpartition("/")[2]), ())
    beneath = folded(path[len(folder) + 1 :])
    return is_protected(folder) or any(f"{beneath}/".startswith(f"{name}/") for name in names)


def is_git_settings(path: str) -> bool:
    """Return whether a protected path is a git config file."""
    parts = folded(path).split("/")
    of_others = (_begins_protected(parts[start:]) for start, part in enumerate(parts) if part != ".git")
    return parts[-1] == "config" and not any(of_others)


def ties_repository(path: str) -> bool:
    """Return whether a protected path is a git config file, or the `.git` file of a work tree or submodule, by which
    its remotes are found."""
    return is_git_settings(path) or folded(f"/{path}").endswith("/.git")


def new_folders(paths: Iterable[str], others: Iterable[str]) -> dict[str, list[str]]:
    """Return the outermost folders that are protected with everything in them and contain none of the `others`, each
    with those of the paths that are in it."""
    not_new = {"", *others}
    for path in list(not_new):
        while (path := path.rpartition("/")[0]) not in not_new:
            not_new.add(path)
    tops: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for path in paths:
        folder = path.rpartition("/")[0]
        if folder not in tops:
            above = folder.split("/")
            way = ("/".join(above[:end]) for end in range(1, len(above) + 1))
            top = next((one for one in way if one not in not_new and _is_believed(folded(one).split("/"))), "")
            tops[folder] = top if may_be_read_only(top) else ""
        if tops[folder]:
            found.setdefault(tops[folder], []).append(path)
    return found


def may_be_read_only(path: str) -> bool:
    """Return whether ordinary work never changes a protected path: some folders hold data of git beside settings."""
    holds_data = folded(path).endswith((".git/modules", ".git/worktrees", "/refs/replace"))  # which git packs
    return not (holds_data or is_written_in_work(path))


def is_attributes(path: str) -> bool:
    """Return whether a file at the path says which filters git uses for the files around it."""
    return f"/{folded(path)}".endswith(f"/{ATTRIBUTES}")


def is_written_in_work(path: str) -> bool:
    """Return whether ordinary work writes the file: it belongs to interrupted work, has attributes, is judged by
    its content, or is an id that jj replaces with the same id when it does not find the settings in the home, as in a
    sandbox."""
    if is_unfinished_work(path) or is_requirements(path) or is_attributes(path) or is_judged_by_content(path):
        return True
    return folded(f"/{path}").endswith(tuple(f"/{name}" for name in _IDS_OF_JJ))


def is_of_linked_work_tree(path: str) -> bool:
    """Return whether the file ties a work tree or submodule to its data: git removes it with these."""
    lower = folded(path)
    return lower.endswith("/.git") or ("/worktrees/" in f"/{lower}" and lower.endswith(("/gitdir", "/commondir")))


def is_made_in_steps(path: str) -> bool:
    """Return whether git makes the file, or the folder it is in, in several steps, and it counts as complete only after
    the last one: data of a repository, or what ties a work tree or submodule to its data."""
    lower = f"/{path.casefold()}"
    _, git, inside = lower.rpartition("/.git/")
    is_data = git and (inside.startswith(("modules/", "worktrees/")) or not is_protected(path))
    return bool(is_data) or is_of_linked_work_tree(lower) or lower.endswith(("/objects/info/alternates", "/head"))


def folders_that_lead_to(path: str) -> list[str]:
    """Return the parents of a protected path that are part of the protected name (`.git` of `.git/hooks`), outermost
    first.

    Other parents are left out: ordinary work renames them.
    """
    *above, name = path.split("/")
    if folded(name) in WHOLE or not above:
        return []
    if is_in_hidden(above[-1], folded(name)):
        return ["/".join(above)]
    begins = [at for at, folder in enumerate(above) if folded(folder) in (".git", *IN_OTHERS)]
    first = begins[-1] if begins else len(above) - 1
    return ["/".join(above[: at + 1]) for at in range(first, len(above))]


class Entry(msgspec.Struct, frozen=True):
    """A protected file, symlink or special file. `content`: the target of a symlink; None if there was too much to
    keep.

    `identity`: device, inode, size, and the times (ns) of the last change of the content and of the last change at all,
    which cannot be forged; on file systems that hide changes, also a digest of the content. `names`: number of hard
    links.
    """

    mode: int
    identity: tuple[int, ...]
    content: bytes | None
    names: int = 1


class Reach:
    """The limits of a scan, and how far it got. `seconds`: for all folders; `skipped`: whether to scan package folders,
    too.

    `visited`: the folders scanned. `is_complete`: there are no others. `closed`: unreadable folders. `repositories`:
    those with a `.git`; `bare`: those that look like its content; `others`: the data of other version control systems.
    `last`: package folders, with their inodes. `links`: symlinks in the folders that were listed again, not in package
    folders.
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
        self.links: list[str] = []
        self.is_complete = True


def look_at(
    root: Path,
    paths: Iterable[str],
    known: Mapping[str, Entry] | None = None,
    tops: list[str] | None = None,
    reach: Reach | None = None,
) -> dict[str, Entry]:
    """Read the protected entries at or below certain paths, as `look` does for the whole project.

    Where there are very many, only some are read: `reach` is then incomplete, and git's hooks come first.
    """
    reach = reach or Reach()
    leaves: list[str] = []
    folders: list[str] = []
    is_plain = cache(_is_plain)  # of a hundred names in one folder
    for path in paths:
        if not is_plain(os.path.dirname(f"{root}/{path}")):  # noqa: PTH120 - strings
            continue  # the target of a symlink may be anyone's: it is neither read nor restored
        try:
            is_folder = stat.S_ISDIR((root / path).lstat().st_mode)
        except OSError:
            continue  # there is none
        (folders if is_folder else leaves).append(path)
        if tops is not None:
            tops.append(path)
    return entries_at(root, leaves + _nearest_beneath(root, folders, reach), known, reach.closed)


def _is_plain(folder: str) -> bool:
    return os.path.realpath(folder) == folder


def _nearest_beneath(root: Path, folders: list[str], reach: Reach) -> list[str]:
    """Return the files in the folders, then those deeper; each once, even if the folders contain one another."""
    hooks: list[str] = []
    others: list[str] = []
    pending = list(folders)
    seen = set(folders)
    for at, folder in enumerate(pending):
        if at >= len(folders) and len(hooks) + len(others) > _MOST_BENEATH:
            reach.is_complete = False
            break
        for inner in list_folder(root, folder, reach.closed):
            path = joined(folder, inner.name)
            if not inner.is_dir(follow_symlinks=False):
                (hooks if inner.name in _HOOKS else others).append(path)
            elif path not in seen:
                seen.add(path)
                pending.append(path)
    found = list(islice(filter(matters, [*hooks, *others]), _MOST_BENEATH + 1))
    reach.is_complete &= len(found) <= _MOST_BENEATH
    return found[:_MOST_BENEATH]


def entries_at(root: Path, paths: list[str], known: Mapping[str, Entry] | None, closed: set[str]) -> dict[str, Entry]:
    """Read the entries at the paths below `root`; see `look_at`."""
    there: list[tuple[str, os.stat_result]] = []
    for path in paths:
        try:
            there.append((path, (root / path).lstat()))
        except PermissionError:
            closed.add(path.rpartition("/")[0])
        except OSError:
            continue  # deleted meanwhile
    found: dict[str, Entry] = {}
    room, is_hidden = _MOST_CONTENT, hides_changes(root)
    for path, about in sorted(there, key=lambda one: one[1].st_size):  # so that large files leave room for the rest
        try:
            identity = identity_of(about)
            if is_hidden and not is_output(path):
                identity = (*identity, *_digest(root / path, about))
            entry = _entry(root / path, about, identity, (known or {}).get(path), 0 if is_output(path) else room)
        except FileNotFoundError:
            continue
        except OSError:  # not permitted, or a lease: it can be run all the same
            entry = entry_of(about)
        room -= len(entry.content or b"")
        found[path] = entry
    return found


def _entry(path: Path, about: os.stat_result, identity: tuple[int, ...], known: Entry | None, room: int) -> Entry:
    if known and known.identity == identity:
        return known
    if stat.S_ISLNK(about.st_mode):
        return Entry(about.st_mode, identity, os.fsencode(path.readlink()))
    if not stat.S_ISREG(about.st_mode):
        return Entry(about.st_mode, identity, b"")
    return Entry(about.st_mode, identity, _read(path) if about.st_size <= room else None, about.st_nlink)


def entry_of(about: os.stat_result) -> Entry:
    """Return the entry of a file without its content."""
    return Entry(about.st_mode, identity_of(about), None, about.st_nlink)


def identity_of(about: os.stat_result) -> tuple[int, ...]:
    """Return what changes whenever a file does (see `Entry`)."""
    return about.st_dev, about.st_ino, about.st_size, content_time(about), about.st_ctime_ns


def _digest(path: Path, about: os.stat_result) -> tuple[int, ...]:
    """Return a digest of a regular file's content, as two numbers of 63 bits."""
    if not stat.S_ISREG(about.st_mode):
        return ()
    with open_regular(path) as file:
        first, second = struct.unpack("=QQ", hashlib.file_digest(file, "sha256").digest()[:16])
    return first >> 1, second >> 1


def _read(path: Path) -> bytes:
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor has no path
        return file.read(_MOST_CONTENT)


def is_output(path: str) -> bool:
    """Return whether this is stored long output: its changes are detected, but its content is not kept a second
    time."""
    return folded(path).startswith(".localllm/tool-output/")


def matters(path: str) -> bool:
    """Return whether a file below a protected folder matters. Most data in a repository's own folder does not: it
    changes with every commit, also in submodules. To git, `.GIT` is a folder like any other."""
    lower = "".join(f"/{part if folded(part) == '.git' else folded(part)}" for part in path.split("/"))
    if "/site-packages/" in lower and _is_shipped_module(lower[1:].split("/")):
        return False  # tracing tools ship these, and an environment in the project is the project's own
    if "/hooks/" in lower and lower.endswith(".sample"):
        return False
    _, worktree, its_data = lower.partition("/.git/worktrees/")
    if worktree and "/modules/" not in its_data:
        return its_data.endswith(("/commondir", "/config.worktree", "/gitdir")) or is_unfinished_work(lower)
    _, inside, rest = lower.partition("/modules/" if worktree else "/.git/modules/")
    rest = f"/{rest}"
    is_whole = "/hooks/" in rest or "/refs/replace/" in rest
    return not inside or is_whole or rest.endswith(_SETTINGS_OF_MODULES) or is_unfinished_work(lower)


def _is_shipped_module(parts: list[str]) -> bool:
    """Return whether a path in packages is protected as a module that Python loads at each start, and by nothing
    else."""
    below = len(parts) - parts[::-1].index("site-packages")
    rest = [part for at, part in enumerate(parts) if at < below or not _is_loaded_at_start(part)]
    return len(rest) < len(parts) and not is_protected("/".join(rest))


def _is_loaded_at_start(name: str) -> bool:
    is_named = name.startswith(("sitecustomize", "usercustomize"))
    return is_named and (name in WHOLE or is_like_protected(name))


def list_folder(root: Path, folder: str, closed: set[str]) -> list[os.DirEntry[str]]:
    """Return the entries of a folder below `root`; add it to `closed` if it cannot be read."""
    try:
        with os.scandir(f"{root}/{folder}") as entries:
            return list(entries)
    except PermissionError:
        closed.add(folder)
        return []
    except OSError:
        return []  # deleted meanwhile


def inode(path: Path) -> int:
    """Return the inode number; 0 if nothing is there."""
    try:
        return path.lstat().st_ino
    except OSError:
        return 0


def joined(folder: str, name: str) -> str:
    """Return the path of an entry of a folder below the project; "" is the project itself."""
    return f"{folder}/{name}" if folder else name


def lies_in(whole: set[str], folder: str, known: dict[str, bool]) -> bool:
    """Return whether the folder or one above is among `whole`. `known`: the answers so far."""
    asked: list[str] = []
    while folder and folder not in whole and folder not in known:
        asked.append(folder)
        folder = folder.rpartition("/")[0]
    answer = folder in whole or known.get(folder, False)
    known.update(dict.fromkeys(asked, answer))
    return answer


def by_depth(path: str) -> tuple[int, str]:
    """Return a key by which paths of fewer folders come first."""
    return path.count("/"), path


def importance(first: Collection[str], path: str) -> tuple[bool, bool, bool, tuple[int, str]]:
    """Sort what was there before any command first, and what a command may make in any number last: the settings and
    alternates of other repositories."""
    is_own = path.startswith(".git/") and not path.startswith((".git/modules/", ".git/worktrees/"))
    may_be_new = is_git_settings(path) or path.endswith("/alternates")
    return path not in first, not is_own, may_be_new, by_depth(path)
