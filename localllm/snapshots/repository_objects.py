"""Parse a repository's files and objects, for the backup and undo."""

import hashlib
import os
import re
import stat
import time
import zlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Protocol

from localllm.base.file_watch import Watcher
from localllm.snapshots.project_scan import Sign, sign_of

MOST_FILES = 20_000
"""Files of one repository; with more it `is_too_large`, and of the rest only previously known ones are scanned."""

_FIRST = ("objects", "pack")  # folders required to detect losses
_SETTLED = 3_000_000_000  # ns: a folder changed this recently may change again with equal times
_PASSED_OVER = re.compile(
    r"(?:^|.*/)[^/]*\.lock$"
    r"|(?!(?:.*/)?(?:refs|logs)/)(?:.*/)?(?:gc\.pid|fsmonitor--daemon[^/]*|objects/(?:.*/)?(?:tmp_|\.tmp-)[^/]*)$",
    re.DOTALL,
)
_OBJECT = re.compile(
    r"(?:^|/)(?:objects/(?:[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?"
    r"|pack/pack-[0-9a-f]{40,64}\.(?:pack|idx|rev|bitmap|mtimes|keep|promisor))"
    r"|lfs/objects/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{64})$"
)


_Listed = tuple[int, list[str], list[str]]
"""The time of a folder, its files, and its subfolders."""

_UNLISTED: _Listed = (0, [], [])


def is_object(path: str) -> bool:
    """Whether it is in git's (or git-lfs's) object store, where the name identifies the content."""
    return _OBJECT.search(path) is not None


class RepositoryFiles:
    """The regular files below `folder` by relative path, without locks and temporary files; links are not followed.
    `folders` are the existing ones, with a `/` at the end, "" for the root."""

    def __init__(self, folder: Path, files: dict[str, Sign], *, watch: bool = True) -> None:
        """Start from the `files` of an earlier scan."""
        self.files: dict[str, Sign] = files
        self.is_too_large = False
        self._top = f"{folder}/"
        self._watch = watch
        self._watcher: Watcher | None = None
        self._identity = (0, 0)
        self._listed: dict[str, _Listed] = {}

    @property
    def folders(self) -> set[str]:
        """The existing folders."""
        return set(self._listed)

    def refresh(self) -> set[str]:
        """Rescan; return the files that appeared, disappeared or changed."""
        try:
            facts = os.lstat(self._top.rstrip("/"))
            identity = (facts.st_dev, facts.st_ino) if stat.S_ISDIR(facts.st_mode) else (-1, -1)
        except OSError:
            identity = (-1, -1)
        touched = self._touched_folders() if identity == self._identity else None
        if touched is not None and (changed := self._look_into(touched)) is not None:
            return changed
        before = self.files
        if identity != self._identity:
            self._forget()
        self._identity = identity
        self.files = dict[str, Sign]()
        if identity != (-1, -1):
            self._start_watching()
            self._look(before)
        else:
            self._listed = {}
        now = self.files
        return {path for path, sign in now.items() if before.get(path) != sign} | (before.keys() - now.keys())

    def _touched_folders(self) -> set[str] | None:
        """Return the folders with changed files; None if any may have."""
        touched = self._watcher.touched() if self._watcher else None
        if (
            touched is None
            or touched.lost
            or any(not _PASSED_OVER.match(folder + name) for folder, name in touched.passing)
        ):
            return None  # a temporary entry may have been a link to any file; git's own temporary files are no links
        for folder, name in touched.entries:
            if f"{folder}{name}/" in self._listed:
                return None
        return {folder for folder, _ in touched.entries}

    def _look_into(self, folders: set[str]) -> set[str] | None:
        """Scan only these folders; return the changed files, None if their subfolders changed."""
        try:
            listed = {prefix: self._list(prefix) for prefix in folders if prefix in self._listed}
        except OSError:
            return None
        if any(set(inner) != set(self._listed[prefix][2]) for prefix, (_, _, inner) in listed.items()):
            return None
        changed: set[str] = set()
        for prefix, (_, names, _) in listed.items():
            gone = set(self._listed[prefix][1]) - set(names)
            for path in (prefix + name for name in (*gone, *names)):
                sign = self._sign(path)
                if sign != self.files.get(path):
                    changed.add(path)
                if sign:
                    self.files[path] = sign
                else:
                    self.files.pop(path, None)
        self._listed |= listed
        return changed

    def _sign(self, path: str) -> Sign | None:
        try:
            facts = os.lstat(self._top + path)
        except OSError:
            return None
        return sign_of(facts) if stat.S_ISREG(facts.st_mode) else None

    def _forget(self) -> None:
        if self._watcher:
            self._watcher.close()
        self._watcher = None
        self._listed = {}

    def _start_watching(self) -> None:
        if self._watch and self._watcher is None and not self.is_too_large:
            try:
                self._watcher = Watcher(Path(self._top))
            except (OSError, ValueError):
                self._watch = False

    def _look(self, before: Iterable[str]) -> None:
        """Scan every file; folders with unchanged times are not listed again. `before` are the files of an earlier
        scan."""
        listed: dict[str, _Listed] = {}
        waiting = [""]
        self.is_too_large = False
        while waiting:
            prefix = waiting.pop()
            try:
                self._add_watch(prefix)
                listed[prefix] = self._list(prefix)
            except OSError:
                continue
            _, names, inner = listed[prefix]
            waiting += [f"{prefix}{name}/" for name in sorted(inner, key=lambda name: name in _FIRST)]
            for name in names[: MOST_FILES + 1 - len(self.files)]:
                if sign := self._sign(prefix + name):
                    self.files[prefix + name] = sign
            if len(self.files) > MOST_FILES:
                self.is_too_large = True
                self._forget()
                self.files |= {path: sign for path in before if (sign := self._sign(path))}
                listed |= dict.fromkeys(waiting, _UNLISTED)
                break
        self._listed = listed

    def _list(self, prefix: str) -> _Listed:
        facts = os.lstat((self._top + prefix).rstrip("/"))
        if not stat.S_ISDIR(facts.st_mode):
            raise NotADirectoryError(prefix)
        moment = facts.st_ctime_ns
        known = self._listed.get(prefix)
        if known and known[0] == moment:
            return known
        names: list[str] = []
        inner: list[str] = []
        with os.scandir(self._top + prefix) as entries:
            for entry in entries:
                if not _PASSED_OVER.match(prefix + entry.name):
                    (inner if entry.is_dir(follow_symlinks=False) else names).append(entry.name)
        return moment if moment + _SETTLED < time.time_ns() else 0, names, inner

    def _add_watch(self, prefix: str) -> None:
        if self._watcher:
            try:
                self._watcher.add(self._top + prefix, prefix)
            except (FileNotFoundError, NotADirectoryError):
                raise
            except OSError:
                self._watch = False
                self._watcher.close()
                self._watcher = None


_ID = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_REF = re.compile(rf"\s*(?:ref: *\S+|({_ID}))\s*".encode())
_PACKED = re.compile(rf"({_ID}) (refs/(?!.*(?:\.\.|//|/\.|@\{{|\.lock(?:/|$)))[^\x00-\x20\x7f~^:?*\[\\]+)".encode())
_PEELED = re.compile(rf"\^{_ID}".encode())
_IDS = re.compile(rf"\b{_ID}\b".encode())
_LOOSE = re.compile(r"objects/([0-9a-f]{2})/([0-9a-f]{38}(?:[0-9a-f]{24})?)$")
_MODE_OF_COMMIT = b"160000"  # in a tree: a submodule, whose commit is elsewhere
_MOST_INFLATED = 50_000_000  # bytes of trees, commits and tags that are decompressed
_HEAD_OF_INDEX = 8 + 256 * 4
_CHUNK = 1 << 20
_ALWAYS_INFLATED = 1 << 20  # bytes
_MOST_GROWTH = 300  # bytes of each that is stored; zeros alone give 1,032


class Read(Protocol):
    """Reads a file by its path in the repository, or its `last` bytes. Raises OSError."""

    def __call__(self, path: str, last: int = 0) -> bytes: ...


def is_ref(data: bytes) -> bool:
    """Whether it is the content of a ref, or of HEAD."""
    return _REF.fullmatch(data) is not None


def id_in(data: bytes) -> str:
    """Return the object a ref names; "" for a symbolic or invalid ref."""
    found = _REF.fullmatch(data)
    return (found[1] or b"").decode() if found else ""


def packed_refs(data: bytes) -> dict[str, str] | None:
    """Parse `packed-refs` to the objects of its refs; None if it is invalid."""
    refs: dict[str, str] = {}
    for line in data.splitlines():
        if found := _PACKED.fullmatch(line):
            refs[found[2].decode("utf-8", "surrogateescape")] = found[1].decode()
        elif not (line.startswith(b"#") or _PEELED.fullmatch(line)):
            return None
    return refs if data else None


def is_index(data: bytes) -> bool:
    """Whether it is a complete index."""
    return data[:4] == b"DIRC" and len(data) >= 32 and (not any(data[-20:]) or has_checksum(data))  # zeros: no checksum


def is_whole_object(name: str, data: bytes) -> bool:
    """Whether it is the content of a loose object of this name. One that inflates to hundreds of times its size counts
    as none, unless it is small: a command may have made many of them."""
    digest = hashlib.new("sha1" if len(name) == 40 else "sha256", usedforsecurity=False)
    inflating = zlib.decompressobj()
    room = max(_ALWAYS_INFLATED, _MOST_GROWTH * len(data))
    try:
        while data:
            piece = inflating.decompress(data, _CHUNK)
            room -= len(piece)
            if room < 0:
                return False
            digest.update(piece)
            data = inflating.unconsumed_tail
    except zlib.error:
        return False
    return inflating.eof and digest.hexdigest() == name


def has_checksum(data: bytes) -> bool:
    """Whether it ends with its own checksum, as most of git's binary files do."""
    return any(len(data) > size and _digest(data, size) == data[-size:] for size in (20, 32))


def ids_in_log(data: bytes) -> set[str]:
    """Return the objects named in a reflog."""
    return {found.decode() for line in data.splitlines() for found in _IDS.findall(line[:130])} - {"0" * 40, "0" * 64}


def ids_in(path: str, data: bytes) -> set[str]:
    """Return the objects that a ref, a log, the index or `packed-refs` names."""
    name = path.rpartition("/")[2]
    if "/logs/" in path:
        return ids_in_log(data)
    if name == "index":
        return ids_in_index(data, 20)
    if name == "packed-refs":
        return set((packed_refs(data) or {}).values())
    return {id_in(data)} - {""}


class PackIndex:
    """The index of a pack (version 2)."""

    def __init__(self, data: bytes, size: int = 0) -> None:
        """Parse an index; `size` is the size of a name, for an index that needs no check. Raises ValueError if it is
        invalid."""
        if data[:8] != b"\xfftOc\0\0\0\2" or len(data) < _HEAD_OF_INDEX + 40:
            raise ValueError("not an index of a pack")
        self.count = int.from_bytes(data[_HEAD_OF_INDEX - 4 : _HEAD_OF_INDEX], "big")
        self._data = data
        self._size = size or next((size for size in (20, 32) if _digest(data, size) == data[-size:]), 0)
        if not self._size or len(data) < _HEAD_OF_INDEX + self.count * self._size:
            raise ValueError("not a whole index of a pack")

    @property
    def checksum(self) -> bytes:
        """The checksum of the pack."""
        return self._data[-2 * self._size : -self._size]

    def has(self, name: str) -> bool:
        """Whether the object is in the pack."""
        wanted = bytes.fromhex(name)
        first = wanted[0]
        at = int.from_bytes(self._data[4 + 4 * first : 8 + 4 * first], "big") if first else 0
        end = int.from_bytes(self._data[8 + 4 * first : 12 + 4 * first], "big")
        at = bisect_left(range(self.count), wanted, at, min(end, self.count), key=self._name)
        return at < self.count and self._name(at) == wanted

    def names(self) -> set[bytes]:
        """Return all object names."""
        return {self._name(at) for at in range(self.count)}

    def _name(self, at: int) -> bytes:
        start = _HEAD_OF_INDEX + at * self._size
        return self._data[start : start + self._size]


def _digest(data: bytes, size: int) -> bytes:
    name = "sha1" if size == 20 else "sha256"
    return hashlib.new(name, memoryview(data)[:-size], usedforsecurity=False).digest()


class Objects:
    """The objects in these files of a repository, without the `ruined` ones; `read` reads a file. `is_known` returns
    which need no check."""

    def __init__(
        self, paths: Collection[str], read: Read, ruined: Collection[str], is_known: Callable[[str], bool]
    ) -> None:
        self._paths = paths
        self._read = read
        self._ruined = ruined
        self._is_known = is_known

    @cached_property
    def _packs(self) -> list[PackIndex]:
        paths = [path for path in self._paths if path.endswith(".idx") and self._is_whole(_pack_of(path))]
        return [index for path in paths if (index := self._index_at(path))]

    def _index_at(self, path: str) -> PackIndex | None:
        is_checked = self._is_whole(path) and self._is_known(path) and self._is_known(_pack_of(path))
        try:
            index = PackIndex(self._read(path), (len(path.rpartition("pack-")[2]) - 4) // 2 if is_checked else 0)
            whole = is_checked or self._read(_pack_of(path), 32).endswith(index.checksum)
        except (OSError, ValueError):
            return None
        return index if whole else None

    def has(self, name: str) -> bool:
        """Whether the object exists."""
        path = f"objects/{name[:2]}/{name[2:]}"
        return self._is_whole(path) or self.is_packed(name) or self._is_unlisted(path)

    def _is_unlisted(self, path: str) -> bool:
        """Whether a file that is not listed exists, since not all are listed in a large repository."""
        try:
            return path not in self._ruined and bool(self._read(path, 1))
        except OSError:
            return False

    def _is_whole(self, path: str) -> bool:
        return path in self._paths and path not in self._ruined

    def is_packed(self, name: str) -> bool:
        """Whether the object is in a pack."""
        return any(pack.has(name) for pack in self._packs)

    def without(self, names: set[bytes]) -> set[str]:
        """Return the objects of `names` that do not exist."""
        for pack in self._packs:
            names = names - pack.names()
        return {name for name in (raw.hex() for raw in names) if not self.has(name)}


def _pack_of(path: str) -> str:
    return path.removesuffix(".idx") + ".pack"


def loose_name(path: str) -> str:
    """Return the object in the file at this path; "" if it is no loose object."""
    found = _LOOSE.search(path)
    return found[1] + found[2] if found else ""


def reached(names: Iterable[str], read_loose: Callable[[str], bytes | None]) -> set[str] | None:
    """Return the objects reachable from these, themselves included, through loose ones; None if there are too many.
    `read_loose` returns the file of an object, None if it is not loose: what a packed one references is older than the
    pack."""
    seen: set[str] = set()
    room = _MOST_INFLATED
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        data = read_loose(name)
        if data is None:
            continue
        inflated = _inflated(data, room)
        room -= len(inflated)
        if room <= 0:
            return None
        waiting += _leads_to(inflated, len(name) // 2)
    return seen


def _inflated(data: bytes, most: int) -> bytes:
    """Decompress a commit, tag or tree."""
    try:
        if zlib.decompressobj().decompress(data, 32).startswith(b"blob"):
            return b""
        return zlib.decompressobj().decompress(data, most)
    except zlib.error:
        return b""


def _leads_to(data: bytes, size: int) -> list[str]:
    """Return the objects that a commit, tag or tree references."""
    kind, _, body = data.partition(b"\0")
    if not kind.startswith(b"tree"):
        lines = body.partition(b"\n\n")[0].splitlines()
        named = (line.split(b" ")[1] for line in lines if line.startswith((b"tree ", b"parent ", b"object ")))
        return [name.decode("ascii", "replace") for name in named]
    names: list[str] = []
    at = 0
    while (end := body.find(b"\0", at)) >= 0:
        if not body.startswith(_MODE_OF_COMMIT, at):
            names.append(body[end + 1 : end + 1 + size].hex())
        at = end + 1 + size
    return names


def ids_in_index(data: bytes, size: int) -> set[str]:
    """Return the objects an index (version 2 or 3) names, `size` bytes each; empty for another format."""
    return {name for _, name in entries_in_index(data, size)}


def entries_in_index(data: bytes, size: int) -> Iterator[tuple[str, str]]:
    """Yield the files in an index with the objects it names for them; as `ids_in_index`."""
    for name, at, _ in _entries(data, size):
        if data[at + 26 : at + 27] != b"\xe0":  # a submodule's commit is elsewhere
            yield name, data[at + 40 : at + 40 + size].hex()


def unmerged_in_index(data: bytes, size: int) -> list[str]:
    """Return the files in an index that are in conflict: a side of it has a stage other than 0."""
    return list(dict.fromkeys(name for name, _, flags in _entries(data, size) if flags & 0x3000))


def _entries(data: bytes, size: int) -> Iterator[tuple[str, int, int]]:
    """Yield the file of each entry, where the entry begins, and its flags."""
    if data[:4] != b"DIRC" or int.from_bytes(data[4:8], "big") not in (2, 3):
        return
    at = 12
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = int.from_bytes(data[at + 40 + size : at + 42 + size], "big")
        start = at + 42 + size + (2 if flags & 0x4000 else 0)
        end = data.find(b"\0", start)
        yield os.fsdecode(data[start : max(end, start)]), at, flags
        if end < 0:
            return
        at += (end - at + 8) // 8 * 8
