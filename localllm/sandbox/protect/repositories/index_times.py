"""Have git read again what an index that a command has written says wrongly of files and folders.

Git compares a file with what is committed only if its size or times differ from those in the index. Where a command has
forged these, `git status` and `git diff` do not show what it has changed. For what it has cached see `index_caches`.
"""

import hashlib
import os
import stat
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from localllm.base.files import atomic_write_at
from localllm.base.regular_files import NO_LINK, READ, open_folder_linkless, opened
from localllm.sandbox.protect.protected_paths import identity_of
from localllm.sandbox.protect.repositories.index_caches import caches_of_files, without_wrong_caches
from localllm.sandbox.protect.repositories.index_entries import (
    MOST_BYTES,
    content_of,
    entries_of,
    hash_size,
    settings_of,
)

_SECONDS = 1.0  # to read files in; git reads the others again itself
_TIMES = 16  # bytes of the times, with which an entry begins
_FIXED = 40  # bytes before the hash
_FLAGS = 2
_NOT_COMPARED = 0xB000  # in the flags: assumed to be unchanged, which `git ls-files -v` shows, or in conflict
_OLD = 1_000_000_000  # nanoseconds: git reads files that have changed later than the index
_LINK, _FILE = 0o120000, 0o100000
_BITS = 0xFFFFFFFF  # of a number in an index


class _Believed(NamedTuple):
    """An index, with those of its entries of which git sees each later change, and what it has cached of files."""

    identity: tuple[int, ...]
    entries: frozenset[int]


class IndexTimes:
    """The indexes of work trees before commands and since."""

    def __init__(self) -> None:
        self._believed: dict[Path, _Believed] = {}

    def believe(self, indexes: Mapping[Path, Path]) -> None:
        """Accept the current entries of each index, given with the folder of its work tree."""
        known, self._believed = self._believed, {}
        for index in indexes:
            with suppress(OSError, ValueError, IndexError, struct.error):  # git cannot read it either
                about = index.lstat()
                identity = identity_of(about)
                before = known.get(index)
                self._believed[index] = (
                    before if before and before.identity == identity else _Believed(identity, _entries(index, about))
                )

    def check(self, indexes: Mapping[Path, Path], *, is_held: bool = False) -> None:
        """Compare files with the entries that are not accepted. Where one says wrongly that its file is the same, or
        there is no time to find out, its times are removed. `is_held`: another command may change an index without
        changing its times, by a mapping; it is read again at that one's end."""
        deadline = time.monotonic() + _SECONDS
        for index, top in indexes.items():
            with suppress(OSError, ValueError, IndexError, struct.error):
                about = index.lstat()
                before = self._believed.get(index)
                if before is None or before.identity != identity_of(about):
                    known = before.entries if before else frozenset[int]()
                    entries = _check(index, about, top, known, deadline, is_held=is_held)
                    if entries is not None and not is_held:
                        self._believed[index] = _Believed(identity_of(about), entries)


def _check(
    index: Path, about: os.stat_result, top: Path, known: frozenset[int], deadline: float, *, is_held: bool
) -> frozenset[int] | None:
    """Remove the times of entries that say wrongly that their file is the same, or may say so after the last command,
    and wrong caches; if there is none of all, return what is to be accepted."""
    size = hash_size(settings_of(index))
    content = content_of(index, MOST_BYTES)
    entries = list(entries_of(content, size))
    places = {_key(content, at, path, size): (at, path) for at, path in entries}
    new = (places[key] for key in places.keys() - known)
    forged = {
        at
        for at, path in new
        if (not is_held and _may_hide(content, at, about))
        or _is_forged(content, at, about, os.path.join(os.fsencode(top), path), size, deadline)  # noqa: PTH118
    }
    is_split = any(index.parent.glob("sharedindex.*"))
    other = without_wrong_caches(content, size, entries, known)
    if not (forged or is_split or other):
        settled = (key for key, (at, _) in places.items() if _is_settled(content, at, about))
        return caches_of_files(content, size, entries).union(settled)
    changed = bytearray(other or content)
    of_now = (at for at, _ in entries if _is_read_again(content, at, about))  # not by the times of a new index
    for at in forged.union(of_now):
        changed[at : at + _TIMES] = bytes(_TIMES)
    if any(content[-size:]):  # else it is written without a check sum
        changed[-size:] = hashlib.new(_kind(size), changed[:-size], usedforsecurity=False).digest()
    _write(index, bytes(changed), content, is_split=is_split)
    return None


def _write(index: Path, content: bytes, over: bytes, *, is_split: bool) -> None:
    """Replace an index. `is_split`: the other part cannot be changed, as the index has its hash, so let git read all
    files again."""
    folder = open_folder_linkless(index.parent)
    try:
        mode = stat.S_IMODE(index.lstat().st_mode)
        atomic_write_at(folder, index.name, content, mode=mode, over=over, even_read_only=True)
        if is_split:
            os.utime(index.name, ns=(_OLD, _OLD), dir_fd=folder, follow_symlinks=False)
    finally:
        os.close(folder)


def _is_settled(content: bytes, at: int, about: os.stat_result) -> bool:
    """Return whether the index, with this stat result, is from a later second than the last change of the file that
    the entry names. Within the same one the file may change once more and look the same to git, which takes no note of
    less than a second. The time of the last change is the only one that nobody can set."""
    (changed,) = struct.unpack_from(">L", content, at)
    return changed < int(about.st_ctime) & _BITS


def _may_hide(content: bytes, at: int, about: os.stat_result) -> bool:
    """Return whether git would not see a change within that second: it reads what was modified since the index was, and
    a command may have set the times of both."""
    return not (_is_settled(content, at, about) or _is_read_again(content, at, about))


def _is_read_again(content: bytes, at: int, about: os.stat_result) -> bool:
    """Return whether git compares the content of the file, since it was modified in the second of the index or
    later."""
    (modified,) = struct.unpack_from(">L", content, at + _TIMES // 2)
    return 0 < int(about.st_mtime) & _BITS <= modified


def _is_forged(content: bytes, at: int, of_index: os.stat_result, file: bytes, size: int, deadline: float) -> bool:
    """Return whether an entry has the size and times of its file, and another content, and git does not compare it."""
    _, _, seconds, rest, _, _, mode, _, _, length = struct.unpack_from(">10L", content, at)
    name = content[at + _FIXED : at + _FIXED + size]
    (flags,) = struct.unpack_from(">H", content, at + _FIXED + size)
    if flags & _NOT_COMPARED or mode & 0o170000 not in (_LINK, _FILE):
        return False
    try:
        about = os.lstat(file)
        if int(about.st_mtime) & _BITS != seconds or about.st_size & _BITS != length:
            return False
        if about.st_mtime_ns % 1_000_000_000 != rest and _is_read_again(content, at, of_index):
            return False  # a git that takes note of less than a second sees that
        if time.monotonic() > deadline:
            return True
        return _hash_of(file, about, size, deadline) != name
    except OSError:
        return False  # git sees for itself that it cannot be read


def _hash_of(file: bytes, about: os.stat_result, size: int, deadline: float) -> bytes:
    """Return the hash by which git names the content of a file; nothing if there is no time for it."""
    content = hashlib.new(_kind(size), b"blob %d\0" % about.st_size, usedforsecurity=False)
    if stat.S_ISLNK(about.st_mode):
        content.update(os.readlink(file))  # noqa: PTH115 - bytes
        return content.digest()
    with opened(os.open(file, READ | NO_LINK)) as source:
        while piece := source.read(1 << 20):
            if time.monotonic() > deadline:
                return b""
            content.update(piece)
    return content.digest()


def _kind(size: int) -> str:
    return "sha1" if size == 20 else "sha256"


def _entries(index: Path, about: os.stat_result) -> frozenset[int]:
    size = hash_size(settings_of(index))
    content = content_of(index, MOST_BYTES)
    entries = list(entries_of(content, size))
    caches = caches_of_files(content, size, entries)
    settled = (one for one in entries if _is_settled(content, one[0], about))
    return caches.union(_key(content, at, path, size) for at, path in settled)


def _key(content: bytes, at: int, path: bytes, size: int) -> int:
    """Return a number for an entry with all that git compares; a command cannot know which, as Python's hash differs in
    each run."""
    return hash(content[at : at + _FIXED + size + _FLAGS] + path)
