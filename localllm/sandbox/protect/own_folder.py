"""Give commands a copy of the program's own folder in the project; what they change in it is lost.

So nothing of ours is in the way of a command that processes all files, and no change is trusted later.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from localllm.base.files import open_beneath, open_folder
from localllm.base.regular_files import read_beneath
from localllm.sandbox.scratch import Scratch

NAME = ".localllm"
_OUTPUTS = "tool-output/"
_MOST_FILES, _MOST_BYTES = 500, 16_000_000
_NEW_FILES, _NEW_BYTES = 100, 4_000_000  # of a new copy, which leaves room for later output
_MOST_LOOKED_AT = 10_000  # entries; a command may have created any number
_KINDS = (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR)

_Listing = dict[str, os.stat_result]
"""The entries of a folder, by path below it."""


class OwnFolder:
    """The folder of the project at `root`. An unchanged copy is used for the next command as well."""

    def __init__(self, root: Path) -> None:
        self.path = root / NAME
        self._free: list[OwnCopy] = []
        self._is_closed = False

    def take(self) -> "OwnCopy | None":
        """Return a copy of the current folder for one command, with as much long output as there is room for, the
        newest first.

        Returns None if there is no such folder, if it cannot be copied, or if it has too much else in it. Follows no
        symlink.
        """
        copy: OwnCopy | None = None
        with suppress(OSError):
            source = open_folder(self.path)
            try:
                listing = _listing(source)
                copy = self._free.pop() if self._free else None
                if copy and copy.follow(source, listing):
                    return copy
                if copy:
                    copy.remove()
                copy = OwnCopy(self.path)
                if copy.fill(source, listing):
                    return copy
            finally:
                os.close(source)
        if copy:
            copy.remove()
        return None

    def give_back(self, copy: "OwnCopy") -> None:
        """Take back the copy of a command that has ended; delete it if it is changed."""
        if copy.is_intact and not self._is_closed:
            self._free.append(copy)
        else:
            copy.remove()

    def close(self) -> None:
        """Delete the copies, and from now on each that is given back."""
        self._is_closed = True
        while self._free:
            self._free.pop().remove()


class OwnCopy:
    """A copy, in `folder`, of the folder at `original`."""

    def __init__(self, original: Path) -> None:
        self._original = original
        self._scratch = Scratch({}, original.parent)
        self.folder = self._scratch.folder / "own"
        self._source: _Listing = {}
        self._made: _Listing = {}
        self._bytes = 0

    def fill(self, source: int, listing: _Listing) -> bool:
        """Copy the content of the open folder `source`; return whether everything but long output had room."""
        self.folder.mkdir()
        for path in sorted(listing, key=lambda path: (_is_output(path), -listing[path].st_mtime_ns)):
            if not self._has_room(listing[path], _NEW_FILES, _NEW_BYTES):
                if not _is_output(path):
                    return False
                break
            self._copy(source, path, listing[path])
        self._source, self._made = listing, self._now()
        return True

    def follow(self, source: int, listing: _Listing) -> bool:
        """Copy the long output added since; return whether nothing else has changed, and there was room for it."""
        new = [path for path in listing if path not in self._source]
        if len(self._source) + len(new) != len(listing) or any(
            _identity(facts) != _identity(listing[path]) for path, facts in self._source.items()
        ):
            return False
        for path in new:
            if not (_is_output(path) and self._has_room(listing[path], _MOST_FILES, _MOST_BYTES)):
                return False
            self._copy(source, path, listing[path])
        if new:
            self._source, self._made = listing, self._now()
        return True

    def _has_room(self, facts: os.stat_result, most_files: int, most_bytes: int) -> bool:
        self._bytes += facts.st_size if stat.S_ISREG(facts.st_mode) else 0
        return self._bytes <= most_bytes and len(self._made) < most_files

    def _copy(self, source: int, path: str, facts: os.stat_result) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if stat.S_ISDIR(facts.st_mode):
            target.mkdir(exist_ok=True)
        elif stat.S_ISLNK(facts.st_mode):
            target.symlink_to(os.readlink(path, dir_fd=source))
        else:
            target.write_bytes(read_beneath(source, path, facts.st_size))
            target.chmod(stat.S_IMODE(facts.st_mode))
            os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        self._made[path] = facts

    def _now(self) -> _Listing:
        opened = open_folder(self.folder)
        try:
            return _listing(opened)
        finally:
            os.close(opened)

    @property
    def is_intact(self) -> bool:
        """Whether the copy is unchanged."""
        return not self._different()

    def changed(self) -> tuple[str, ...]:
        """Return what a command has changed except long output, as paths in the project. A file rewritten with the same
        content is not changed."""
        return tuple(
            f"{NAME}/{path}"
            for path in self._different()
            if not _is_output(path) and not _is_same(self.folder / path, self._original / path)
        )

    def _different(self) -> list[str]:
        try:
            now = self._now()
        except OSError:  # the command has made a folder unreadable
            now = {}
        paths = sorted(self._made.keys() | now.keys())
        return [path for path in paths if _identity(self._made.get(path)) != _identity(now.get(path))]

    def remove(self) -> None:
        """Delete the copy."""
        self._scratch.remove()


def _is_output(path: str) -> bool:
    return path.startswith(_OUTPUTS)


def _identity(facts: os.stat_result | None) -> tuple[int, ...]:
    """Return what changes whenever an entry does; only the mode for a folder, as its entries are compared
    themselves."""
    if facts is None:
        return ()
    if stat.S_ISDIR(facts.st_mode):
        return (facts.st_mode,)
    return facts.st_ino, facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _listing(folder: int) -> _Listing:
    """Return the entries below an open folder, however deeply a command has nested them."""
    return dict(islice(_below(folder), _MOST_LOOKED_AT))


def _below(top: int) -> Iterator[tuple[str, os.stat_result]]:
    pending = [""]
    for above in pending:
        opened = open_beneath(top, above or ".", os.O_RDONLY | os.O_DIRECTORY, links=False)
        try:
            with os.scandir(opened) as entries:
                for entry in entries:
                    facts = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(facts.st_mode):
                        pending.append(f"{above}{entry.name}/")
                    if stat.S_IFMT(facts.st_mode) in _KINDS:
                        yield above + entry.name, facts
        finally:
            os.close(opened)


def _is_same(path: Path, other: Path) -> bool:
    """Return whether two entries are of the same type and have the same content."""
    try:
        one, two = path.lstat(), other.lstat()
        if stat.S_ISLNK(one.st_mode) and stat.S_ISLNK(two.st_mode):
            return path.readlink() == other.readlink()
        if stat.S_ISREG(one.st_mode) and (one.st_mode, one.st_size) == (two.st_mode, two.st_size):
            return path.read_bytes() == other.read_bytes()
    except OSError:
        return False
    return stat.S_ISDIR(one.st_mode) and stat.S_ISDIR(two.st_mode)
