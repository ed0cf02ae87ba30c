"""Check the objects that a command has stored in repositories: git reads them without a look at whether they are what
their names say.

The name of an object is the hash of its content. With two files that have changed places, or an index of a pack with
other offsets, `git log` and `git diff` show something else than what a push sends. Objects in a pack are named by its
index only: that is made anew by git, away from the project, and compared.
"""

import hashlib
import os
import re
import subprocess
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from localllm.base.paths import find_program
from localllm.base.regular_files import NO_LINK, READ, open_regular, read_regular
from localllm.sandbox.protect.folder_listings import FolderListings
from localllm.sandbox.protect.protected_paths import Entry, identity_of
from localllm.sandbox.protect.repositories.index_entries import hash_size
from localllm.sandbox.scratch import Scratch

_FOLDER = re.compile(r"[0-9a-f]{2}", re.IGNORECASE)
_FILE = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}", re.IGNORECASE)
_PACK, _INDEX = ".pack", ".idx"
_PACK_OF_SHA256 = re.compile(r"pack-[0-9a-f]{64}\.pack")
_SHA1 = 40  # letters of a name
_LONGEST_SUM = 32  # bytes
_PIECE = 1 << 18
_MOST_INDEX = 200_000_000  # bytes of the index of a pack
_MOST_SOUND = 300_000
_MOST_MEMORY = "1g"  # that git may take at one time for an object

_MOST_ADDRESSES = 4_000_000  # KB of them that git may take in all: packs are a command's
_BOUNDED = ("/bin/sh", "-c", 'ulimit -v "$0" 2>/dev/null; exec "$@"')
_THREADS = "--threads=2"  # each of them takes memory

_NO_REVERSE = ("-c", "pack.writeReverseIndex=false")
_OF_MACHINE = re.compile(rb"(?i)open|read|creat|writ|alloc|memory|no space")
"""What git says where the machine, not the pack, is the cause."""
_BROKEN, _FATAL = 128, b"fatal: "
"""How git ends at a pack that is broken; another status is that of a shell, of a loader or of something around git."""

_Identity = tuple[int, ...]
_Pack = tuple[str, os.stat_result, os.stat_result]
"""The path of the index of a pack, and what is said of that file and of the pack."""


def is_index_of_pack(path: str) -> bool:
    """Return whether the path is that of the index of a pack."""
    return path.endswith(_INDEX) and f"/{path}".rpartition("/")[0].endswith("/objects/pack")


class StoredObjects:
    """The objects of the repositories in the project at `root`. `is_cut`: not all new ones could be read; loose
    ones are tried again after the next command."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders = FolderListings(_may_be_stored)
        self._sound: set[tuple[_Identity, _Identity | str]] = set()
        self._known: dict[str, int] = {}
        self._ends: dict[str, tuple[bytes, bytes]] = {}
        self._unread: set[str] = set()
        self._has_believed = False
        self.is_cut = False

    def believe(self, folders: Iterable[str]) -> None:
        """Note the current folders of objects: in one that is moved there later, all counts as new; and the check sums
        at the ends of packs and their indexes."""
        self._has_believed = True
        inside = [inner for objects in folders for inner in self._folders.of(objects)]
        self._known = {inner.path: inner.inode() for inner in inside}
        self._ends = {}
        stored = [entry.path for inner in inside if inner.name == "pack" for entry in self._folders.of(inner.path)]
        for index in stored:
            with suppress(OSError):
                if index.endswith(_INDEX):
                    self._ends[index] = _end_of(index), _end_of(_pack_of(index))

    def wrong(self, folders: Iterable[str], since: int, seconds: float, *, is_held: bool) -> dict[str, Entry]:
        """Return the files stored since a time (ns) that are not what their names say, by path below the root: of the
        index of a pack, what it should contain. `is_held`: another command may change them without changing their
        times, by a mapping; they are read again at its end. Nor does what is incomplete count then: it may be copying
        them."""
        deadline = time.monotonic() + seconds
        if len(self._sound) > _MOST_SOUND:
            self._sound.clear()
        start = len(str(self._root)) + 1
        found: dict[str, Entry] = {}
        loose: list[tuple[str, os.stat_result]] = []
        packs: list[_Pack] = []
        for objects in folders:
            for folder in self._folders.of(objects):
                since_when = 0 if self._is_moved(folder, since) else since
                if folder.name == "pack":
                    packs += self._new_packs(folder.path, since_when)
                else:
                    loose += self._new(folder.path, since_when)
        self._unread = set()
        for path, about in sorted(loose, key=lambda one: one[1].st_size):
            is_sound = _is_sound(_name(path), path, deadline, may_grow=is_held)
            if is_sound is None:
                self._unread.add(path)
            elif is_sound:
                self._sound.add((identity_of(about), _name(path)))
            else:
                found[path[start:]] = Entry(about.st_mode, identity_of(about), None)
        for path, about, of_pack in sorted(packs, key=lambda one: one[2].st_size):
            try:
                now = read_regular(Path(path), _MOST_INDEX)
                content = now if self._is_as_before(path, deadline) else self._index_of(_pack_of(path), now, deadline)
            except (OSError, subprocess.SubprocessError, ValueError):
                self.is_cut = True  # not tried again: that of a large clone would take its time after each command
                continue
            if content == now or (is_held and content is None and not _is_whole(now, path)):
                self._sound.add((identity_of(about), identity_of(of_pack)))
            else:
                found[path[start:]] = Entry(about.st_mode, identity_of(about), content)
        self.is_cut |= bool(self._unread)
        if is_held:
            self._sound.clear()
        return found

    def _is_moved(self, folder: os.DirEntry[str], since: int) -> bool:
        if self._has_believed:
            return self._known.get(folder.path) != folder.inode()
        return _changed(folder.path) >= since  # after a kill: of a move the folder tells, not the files in it

    def _new(self, folder: str, since: int) -> Iterator[tuple[str, os.stat_result]]:
        stat_of = os.lstat
        for entry in self._folders.of(folder):  # often thousands, after every command
            try:
                about = stat_of(entry.path)
            except OSError:
                continue  # deleted meanwhile
            is_new = about.st_ctime_ns >= since or entry.path in self._unread
            if is_new and (identity_of(about), _name(entry.path)) not in self._sound:
                yield entry.path, about

    def _new_packs(self, folder: str, since: int) -> Iterator[_Pack]:
        """Yield the indexes of packs that are new, or whose packs are."""
        for entry in self._folders.of(folder):
            if not entry.name.endswith(_INDEX):
                continue
            with suppress(OSError):  # git passes over an index without its pack
                both = about, of_pack = os.lstat(entry.path), os.lstat(_pack_of(entry.path))
                is_new = max(one.st_ctime_ns for one in both) >= since
                if is_new and (identity_of(about), identity_of(of_pack)) not in self._sound:
                    yield entry.path, about, of_pack

    def _is_as_before(self, index: str, deadline: float) -> bool:
        """Return whether an index and its pack still have the content of the check sums that they ended with. Git sets
        the times of a pack where it would store again what is in it. Raises OSError or ValueError."""
        if not (ends := self._ends.get(index)):
            return False
        files = index, _pack_of(index)
        size = _hash_size(files[1])
        return all(_has_sum(file, end[-size:], deadline) for file, end in zip(files, ends, strict=True))

    def _index_of(self, pack: str, now: bytes, deadline: float) -> bytes | None:
        """Return the index that git makes of a pack, of the same version as the one it has `now`; None if the pack is
        broken. Raises OSError, SubprocessError or ValueError if git cannot be asked."""
        git = find_program("git", self._root)
        seconds = deadline - time.monotonic()
        if git is None or seconds <= 0:
            raise ValueError(pack)
        options = [] if now.startswith(b"\xfftOc") else ["--index-version=1"]
        if _hash_size(pack) == 32:
            options.append("--object-format=sha256")
        with Scratch({}, self._root) as scratch, open_regular(Path(pack)) as file:
            made = scratch.temporary / "index"
            make = [git, *_NO_REVERSE, "index-pack", _THREADS, *options, "-o", str(made), f"/dev/fd/{file.fileno()}"]
            done = subprocess.run(
                [*_BOUNDED, str(_MOST_ADDRESSES), *make],
                cwd=scratch.temporary,
                env=_environment(scratch),
                pass_fds=[file.fileno()],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
            if done.returncode == 0:
                return read_regular(made, _MOST_INDEX)
            if done.returncode == _BROKEN and _FATAL in done.stderr and not _OF_MACHINE.search(done.stderr):
                return None
            raise ValueError(pack)


def _pack_of(index: str) -> str:
    return index.removesuffix(_INDEX) + _PACK


def _hash_size(pack: str) -> int:
    """Return the bytes of a hash in a pack: of another one, git takes no index. The settings of a clone may have been
    put back; then its name tells. Raises OSError or ValueError."""
    return 32 if _PACK_OF_SHA256.fullmatch(pack.rpartition("/")[2]) else hash_size(Path(pack).parents[2] / "config")


def _end_of(file: str) -> bytes:
    """Return the last bytes of a file, of a check sum or more."""
    fd = os.open(file, READ | NO_LINK)  # of all packs, before every command
    try:
        return os.pread(fd, _LONGEST_SUM, max(os.fstat(fd).st_size - _LONGEST_SUM, 0))
    finally:
        os.close(fd)


def _has_sum(file: str, check_sum: bytes, deadline: float) -> bool:
    """Return whether a file ends with this check sum, and it is that of the content before; False if there is no time
    to find out."""
    content = hashlib.new("sha1" if len(check_sum) == 20 else "sha256", usedforsecurity=False)
    with open_regular(Path(file)) as source:
        left = os.fstat(source.fileno()).st_size - len(check_sum)
        while left > 0 and time.monotonic() < deadline and (piece := source.read(min(left, _PIECE))):
            content.update(piece)
            left -= len(piece)
        return left == 0 and source.read() == check_sum == content.digest()


def _environment(scratch: Scratch) -> dict[str, str]:
    """Return the variables for a git that finds no repository and no settings."""
    return {
        "PATH": os.defpath,
        **scratch.variables,
        "GIT_CEILING_DIRECTORIES": str(scratch.folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ALLOC_LIMIT": _MOST_MEMORY,
        "LC_ALL": "C",
    }


def _changed(folder: str) -> int:
    try:
        return os.lstat(folder).st_ctime_ns
    except OSError:
        return 0  # deleted meanwhile


def _name(path: str) -> str:
    """Return the name of the object in this file."""
    return "".join(path.rsplit("/", 2)[1:]).lower()


def _is_whole(content: bytes, index: str) -> bool:
    """Return whether a pack ends with the check sum that its index names; git uses no other."""
    size = _hash_size(_pack_of(index))
    return content[-2 * size : -size] == _end_of(_pack_of(index))[-size:]


def _is_sound(name: str, file: str, deadline: float, *, may_grow: bool) -> bool | None:
    """Return whether a file of one object has the content that its name stands for, or begins so and `may_grow`: git
    reads it only whole. None if there is no time left to read it."""
    content = (hashlib.sha1 if len(name) == _SHA1 else hashlib.sha256)(usedforsecurity=False)
    unpack = zlib.decompressobj()
    try:
        fd = os.open(file, READ | NO_LINK)  # thousands of small ones: nothing is made around it
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        packed = os.read(fd, _PIECE)
        while packed and not unpack.eof:
            if time.monotonic() > deadline:
                return None
            content.update(unpack.decompress(packed, _PIECE))
            packed = unpack.unconsumed_tail or os.read(fd, _PIECE)
    except (OSError, zlib.error):
        return False
    finally:
        os.close(fd)
    return content.hexdigest() == name if unpack.eof else may_grow


def _may_be_stored(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry of the objects is an object, the index of a pack, or a folder of them."""
    if entry.is_dir(follow_symlinks=False):
        return entry.name == "pack" or bool(_FOLDER.fullmatch(entry.name))
    return entry.name.endswith(_INDEX) or bool(_FILE.fullmatch(entry.name))
