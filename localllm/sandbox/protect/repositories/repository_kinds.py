"""Recognise what may be in the data folder of a repository: a closed list of kinds, see gitrepository-layout(5).

Only real folders and regular files: git would read and write through a symlink. The names that git trusts (hooks,
config, lists of alternates) are checked elsewhere, by `protected_names`.
"""

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from localllm.base.folded_names import folded
from localllm.base.regular_files import open_regular
from localllm.sandbox.protect.folder_listings import FolderListings
from localllm.sandbox.protect.protected_paths import IN_OTHERS, WHOLE, is_protected

_FULL = re.compile(
    r"objects|refs|logs|reftable|hooks|NOTES_MERGE_WORKTREE|lfs/(?:objects|tmp|incomplete|cache|logs)"
    r"|annex/[^/]+"
)
"""Folders that may contain many others, and files of any name."""

_FOLDERS = re.compile(
    r"lfs|annex|info|sequencer|rebase-apply|rebase-merge(?:/(?:rewritten|dropped))?|fsmonitor--daemon(?:/cookies)?"
    r"|branches|remotes|worktrees|modules(?:/.*)?|rr-cache(?:/[0-9a-f]+)?"
)
_FILES = re.compile(
    r"(?:(?:[A-Z_]+_)?HEAD|[A-Z_]+_(?:MSG|EDITMSG|DESCRIPTION)|AUTO_MERGE|MERGE_MODE|BISECT_[A-Z_]+|NOTES_MERGE_(?:PARTIAL|REF)|GITGUI_BCK"
    r"|index|packed-refs|shallow|config|config\.worktree|commondir|gitdir|locked|description"
    r"|info/(?:exclude|sparse-checkout|attributes|refs)|lfs/lockcache\.db)(?:\.lock|\.new|~)?"
    r"|(?:next-)?index[.-][\w.-]+|sharedindex[._]\w+(?:\.lock)?|shallow_\w+|gc\.(?:pid|log)(?:\.lock)?"
    r"|info/(?:refs|sparse-checkout)_\w+|rr-cache/[0-9a-f]+/(?:pre|this)image(?:\.\d+)?|fsmonitor--daemon/cookies/[\w-]+"
    r"|(?:rebase-apply|rebase-merge|sequencer)/(?!(?:commondir|config|objects|refs)$)(?:\w+/)?[a-z\d_-]+(?:\.lock|\.backup|~)?"
    r"|annex/(?!(?i:head|commondir)$).*"
    r"|ADD_EDIT\.patch|addp-hunk-edit\.diff|gitk\.cache|git-daemon-export-ok|fast_import_crash_\d+"
    r"|\.[A-Z_-]+\.sw[a-z]"
)
"""Of names in capitals those that git and its tools have: of a name that a branch has as well, git takes the file.
Not MERGE_RR unless it is empty: a commit copies each file it names into the repository. Not MERGE_AUTOSTASH: a
commit applies the stash it names, whatever is in it. No `postimage` of a conflict: the next merge with that conflict
writes it to the file, whichever that is."""
_FREE = re.compile(
    r"logs/(?:[A-Z_]+(?:\.lock)?|refs/.*)|(?!logs/|objects/).*"
    r"|objects/(?:(?:[0-9a-f]{2}|pack|info|(?:tmp_objdir|incoming)-[\w-]+)/.*|[\w-]+\.lock|tmp_\w+)",
    re.DOTALL,
)
"""Files in the folders that may contain many. The names are those of branches and keys, so they may be any."""
_OBJECT = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}|[0-9a-f]{64}")
_KEY = re.compile(r"[A-Z][A-Z0-9_]*(?:-[a-zA-Z][\d.]+)*--.+")
"""A file of git-annex: the ending is that of the file in the tree."""
_ID = rb"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_OF_GIT = re.compile(rb"ref: refs/[^\n]*\n?|%b\n?|(?s:%b %b [^\n]*\n.*)" % (_ID, _ID, _ID))
"""A branch, and a log that is one from its first line on: no program takes such a file for its settings."""
_LONGEST = 1 << 16  # bytes of a branch or log with a name that something trusts
_COMMON = "commondir"
_DEPTH_OF_KEYS = 4  # annex/objects/5z/vv/KEY
_RESOLUTIONS = "MERGE_RR"
_OBJECTS = "objects"
_TRUSTED = WHOLE | {".git", *IN_OTHERS}
_OF_ANNEX = "/annex/objects"  # large: up to three folders for each file; git-annex writes there, git never reads it
_MOST_OF_LFS = 2_000  # folders; each object may have its own, and each costs some microseconds
_SECONDS = 3.0  # for folders with many subfolders
_MARKS = frozenset({"HEAD", "config", "objects", "refs"})
_LOCKS = frozenset({"lock", "wlock"})
_MONITOR = "fsmonitor--daemon.ipc"  # the socket of git's file system monitor


class Data(NamedTuple):
    """A folder with the data of a repository. `is_whole`: contains nothing else; a bare one may have work trees in it,
    and be part of anything. `is_of_git`: not of another version control system, of which only symlinks and the like are
    reported."""

    folder: str
    is_whole: bool = True
    is_of_git: bool = True


class Found(NamedTuple):
    """The entries of no known kind, and the object folders of further repositories. `is_complete`: whether these are
    all."""

    strange: list[os.DirEntry[str]]
    objects: list[os.DirEntry[str]]
    is_complete: bool


class RepositoryKinds:
    """Scans the data of repositories; folders that have not changed are not read again. `is_for_git`: leaves out what
    git itself never reads."""

    def __init__(self, *, is_for_git: bool = False) -> None:
        self._is_for_git = is_for_git
        self._of_full = FolderListings(_may_be_told)
        self._of_foreign = FolderListings(_is_odd_or_folder)
        self._of_others = FolderListings(_always)

    def look(
        self,
        tops: Iterable[Data],
        most: int,
        if_closed: Callable[[str], object] = id,
        known: Collection[str] = (),
    ) -> Found:
        """Scan at most `most` folders, the objects of git-annex after the rest. Folders of no known kind are scanned
        last, and only those in `known`; everything in them counts as of no known kind, too."""
        found = Found([], [], is_complete=True)
        pending = [(top.folder, top) for top in tops]
        large: list[tuple[str, Data]] = []
        looked = 0
        for folder, top in chain(pending, large):
            inside = folder[len(top.folder) + 1 :]
            if not top.is_of_git or _FULL.fullmatch(inside):
                looked += self._look_everywhere(folder, found, most - looked, if_closed, inside, top)
            else:
                looked += 1
                entries = self._of_others.of(folder, if_closed)
                data = top
                if inside.startswith("modules/") and not _MARKS.isdisjoint(one.name for one in entries):
                    data, inside = Data(folder), ""
                for inner, of in _sorted(entries, data, f"{inside}/" if inside else "", found):
                    if not inner.endswith(_OF_ANNEX):
                        pending.append((inner, of))
                    elif not self._is_for_git:
                        large.append((inner, of))
            if looked > most:
                return found._replace(is_complete=False)
        others = [entry.path for entry in found.strange if entry.path in known]
        for number, folder in enumerate(others, looked):
            if number >= most:
                return found._replace(is_complete=False)
            entries = self._of_others.of(folder, if_closed)
            found.strange.extend(entries)
            others += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        return found

    def _look_everywhere(
        self,
        top: str,
        found: Found,
        most: int,
        if_closed: Callable[[str], object],
        inside: str,
        data: Data,
    ) -> int:
        """Search a folder and everything below it for what is told; return how many folders there are, at least."""
        is_told = partial(_is_told_in_git, data) if data.is_of_git else _is_told
        deadline = time.monotonic() + _SECONDS
        listings = self._of_full if data.is_of_git else self._of_foreign
        bound = min(most, _MOST_OF_LFS) if inside == "lfs/objects" else most
        folders, is_complete = listings.search(top, is_told, deadline, if_closed, max(bound, 1))
        for folder in folders:
            told = filter(is_told, listings.of(folder))
            for entry in (one for one in told if not (data.is_of_git and _is_written_by_git(one, data.folder))):
                is_objects = _is_plain(entry) and folded(entry.name) == _OBJECTS
                (found.objects if is_objects else found.strange).append(entry)
        return listings.size_of(top) if is_complete or bound < most else most + 1


def _sorted(entries: Iterable[os.DirEntry[str]], top: Data, inside: str, found: Found) -> Iterator[tuple[str, Data]]:
    """Yield the folders to be scanned, among the entries of a folder at `inside` in the data; add the rest to
    `found`."""
    for entry in entries:
        path = f"{inside}{entry.name}"
        is_known = bool(_FOLDERS.fullmatch(path) or _FULL.fullmatch(path))
        if not entry.is_dir(follow_symlinks=False):
            is_part = top.is_whole or inside or is_known or _FILES.fullmatch(path)
            if is_part and _is_strange(entry, path):
                found.strange.append(entry)
        elif inside == "worktrees/":
            yield entry.path, Data(entry.path)
        elif is_known:
            yield entry.path, top
        elif inside or top.is_whole:
            found.strange.append(entry)


def _is_strange(entry: os.DirEntry[str], path: str) -> bool:
    if entry.is_symlink() or not entry.is_file(follow_symlinks=False):
        return entry.is_symlink() or path != _MONITOR
    return (not _FILES.fullmatch(path) or _is_trusted(path)) and not (path == _RESOLUTIONS and _is_empty(entry.path))


def _is_empty(path: str) -> bool:
    try:
        return os.lstat(path).st_size == 0
    except OSError:  # deleted meanwhile
        return True


def _is_told(entry: os.DirEntry[str]) -> bool:
    """Return whether the entry is neither a file nor a folder, or is the object folder of another repository."""
    if entry.is_dir(follow_symlinks=False):
        return folded(entry.name) == _OBJECTS
    return not entry.is_file(follow_symlinks=False) and not _is_lock(entry)


def _is_told_in_git(data: Data, entry: os.DirEntry[str]) -> bool:
    """Return whether the entry is told, or has the name of nothing that git has there: what something trusts by its
    name, and what makes a folder a repository. Nothing looks for these in the data."""
    inside = entry.path[len(data.folder) + 1 :]
    if _is_told(entry):
        return True
    if entry.is_dir(follow_symlinks=False):
        return (entry.name.startswith(".") and folded(entry.name) in _TRUSTED) or _is_beneath_a_key(inside)
    if folded(entry.name) in (_COMMON, _OBJECTS) or (data.is_whole and not _FREE.fullmatch(inside)):
        return True
    return _is_trusted(inside)


def _is_beneath_a_key(folder: str) -> bool:
    """Return whether a folder is where git-annex has files, to which links lead in the tree."""
    return folder.startswith("annex/objects/") and folder.count("/") > _DEPTH_OF_KEYS


def _is_trusted(path: str) -> bool:
    """Return whether something trusts a file with the path's last names, where it finds it."""
    return is_protected(path) and not _KEY.fullmatch(path.rpartition("/")[2])


def _is_written_by_git(entry: os.DirEntry[str], data: str) -> bool:
    """Return whether it is a branch, or the log of one, with a name that something trusts, such as `rust-toolchain`."""
    is_ref = entry.path.startswith((f"{data}/refs/", f"{data}/logs/refs/"))
    if not is_ref or entry.name.startswith(".") or folded(entry.name) in (_COMMON, _OBJECTS):
        return False
    try:
        with open_regular(Path(entry.path)) as file:
            content = file.read(_LONGEST + 1)
    except OSError:
        return False
    return len(content) <= _LONGEST and bool(_OF_GIT.fullmatch(content))


def _is_lock(entry: os.DirEntry[str]) -> bool:
    """Return whether this is a lock of Mercurial: a symlink to no file, but to a text such as `host:1234`."""
    try:
        return entry.name in _LOCKS and "/" not in (text := os.readlink(entry.path)) and ":" in text  # noqa: PTH115
    except OSError:
        return False  # deleted meanwhile


def _always(entry: os.DirEntry[str]) -> bool:
    del entry
    return True


def _may_be_told(entry: os.DirEntry[str]) -> bool:
    is_usual = _OBJECT.fullmatch(entry.name) or _KEY.fullmatch(entry.name)
    return not (is_usual and entry.is_file(follow_symlinks=False))


def _is_plain(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)


def _is_odd_or_folder(entry: os.DirEntry[str]) -> bool:
    return not entry.is_file(follow_symlinks=False) or entry.name.startswith(".")
