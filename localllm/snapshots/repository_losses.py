"""Detect what a repository lost, as opposed to what git moved, packed or removed itself."""

import re
from collections.abc import Callable, Collection, Mapping
from functools import cached_property, partial

from localllm.snapshots.project_scan import Sign
from localllm.snapshots.repository_objects import (
    Objects,
    PackIndex,
    Read,
    has_checksum,
    id_in,
    ids_in_index,
    ids_in_log,
    is_index,
    is_object,
    is_ref,
    is_whole_object,
    loose_name,
    packed_refs,
    reached,
)

_PASSING_REFS = ("refs/rewritten/", "refs/bisect/", "refs/worktree/")
_INNER = re.compile(r"(?:modules/(?!.*/(?:logs|refs)/).+|worktrees/[^/]+)/")
_OF_INNER = re.compile(r"(.*/)(?:HEAD|(?<!lfs/)objects/(?:[0-9a-f]{2}|pack)/[^/]+)", re.DOTALL)
_DERIVED = re.compile(r"objects/(?:info/commit-graph.*|pack/multi-pack-index.*)|shallow")
_CHECKSUMMED = re.compile(r"objects/(?:info/(?:commit-graph|commit-graphs/.*\.graph)|pack/multi-pack-index)$")
_STASHES = "logs/refs/stash"  # git keeps everything it names
_FOLDERS = ("objects/", "refs/")
_MOST_GONE = 0.5  # of the objects of a pack: a repack drops unreachable ones, not more than it keeps


class Side:
    """A repository before or after a command: files with signs, folders, and a function that reads a file."""

    def __init__(self, files: Mapping[str, Sign], folders: Collection[str], read: Read) -> None:
        self.files = files
        self.folders = folders
        self.read = read

    def content(self, path: str) -> bytes:
        """Return a file's content; empty if it cannot be read."""
        if path not in self.files:
            return b""
        try:
            return self.read(path)
        except OSError:
            return b""

    def below(self, prefix: str, others: Collection[str]) -> "Side":
        """Return the repository in the folder `prefix`, without those in `others`."""

        def inside(path: str) -> bool:
            deeper = (other for other in others if other != prefix and other.startswith(prefix))
            return path.startswith(prefix) and not any(path.startswith(other) for other in deeper)

        files = {path.removeprefix(prefix): sign for path, sign in self.files.items() if inside(path)}
        folders = {path.removeprefix(prefix) for path in self.folders if path.startswith(prefix)}
        return Side(files, folders, lambda path, last=0: self.read(prefix + path, last))


class Lost:
    """Files to restore; small files to write, with their content; folders to create."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.written: dict[str, bytes] = {}
        self.folders: set[str] = set()


def is_sound(path: str, data: bytes) -> bool:
    """Whether a file of a repository has the format git expects."""
    name = path.rpartition("/")[2]
    if loose := loose_name(path):
        return is_whole_object(loose, data)
    if is_object(path) and name.endswith((".pack", ".idx")):
        return has_checksum(data)
    if not re.search(r"(?:^|/)logs/", path):
        if name == "HEAD" or re.search(r"(?:^|/)refs/", path):
            return is_ref(data)
        if name == "index":
            return is_index(data)
        if name == "packed-refs":
            return packed_refs(data) is not None
    if _CHECKSUMMED.search(path):
        return has_checksum(data)
    return bool(data.strip(b"\0"))


def lost_in(
    before: Side, now: Side, changed: set[str], is_altered: Callable[[str], bool], named: Collection[str] = ()
) -> Lost:
    """Return what `before` had and `now` has lost, among the `changed` files. `is_altered`: whether an object's file
    has other content now. `named`: objects that earlier losses name."""
    lost = Lost()
    tops = {found[1] for path in before.files if (found := _OF_INNER.fullmatch(path))}
    prefixes = {"", *filter(_INNER.fullmatch, tops)}
    for prefix in prefixes:
        if len(prefixes) == 1:
            part = _Comparison(before, now, changed, is_altered, named).lost()
        else:
            one, other = (side.below(prefix, prefixes) for side in (before, now))
            inner = {path.removeprefix(prefix) for path in changed if path.startswith(prefix)}
            part = _Comparison(one, other, inner, partial(_of_inner, is_altered, prefix), named).lost()
        lost.paths |= {prefix + path for path in part.paths}
        lost.written |= {prefix + path: data for path, data in part.written.items()}
        lost.folders |= {prefix + path for path in part.folders}
    return lost


def _of_inner(is_altered: Callable[[str], bool], prefix: str, path: str) -> bool:
    return is_altered(prefix + path)


class _Comparison:
    def __init__(
        self,
        before: Side,
        now: Side,
        changed: set[str],
        is_altered: Callable[[str], bool],
        named: Collection[str],
    ) -> None:
        self._before = before
        self._also_named = named
        self._now = now
        self._lost = Lost()
        self._changed = {path for path in changed if before.files.get(path) not in (None, now.files.get(path))}
        self._gone = self._changed - now.files.keys()
        self._altered = {
            path
            for path in self._changed - self._gone
            if is_object(path) and is_altered(path) and not is_sound(path, now.content(path))
        }

    def lost(self) -> Lost:
        self._lost.paths |= self._altered
        if self._is_broken():
            self._lose_all()
            return self._lost
        for path in self._changed:
            if path in ("index", "config") and not is_sound(path, self._now.content(path)):
                self._lost.paths.add(path)
            if _DERIVED.fullmatch(path) and path in self._now.files and not is_sound(path, self._now.content(path)):
                self._lost.paths.add(path)
        self._compare_refs()
        self._compare_objects()
        return self._lost

    def _is_broken(self) -> bool:
        """Whether git would not recognise it as a repository any more."""
        had_objects = any(map(is_object, self._before.files))
        no_folder = had_objects and not all(name in self._now.folders for name in _FOLDERS)
        if no_folder or not is_sound("HEAD", self._now.content("HEAD")):
            return True
        return bool(self._gone and had_objects and self._tips) and not any(map(self._objects.has, self._tips))

    def _lose_all(self) -> None:
        is_another = not any(map(self._objects.has, self._tips))
        for path in self._changed:
            sign, left = self._before.files[path], self._now.files.get(path)
            if left is None or (sign.size and not left.size):
                self._lost.paths.add(path)
            elif is_object(path):
                continue
            elif is_another or not is_sound(path, self._now.content(path)):
                self._lost.paths.add(path)
        if any(map(is_object, self._before.files)):
            self._lost.folders |= {name for name in _FOLDERS if name not in self._now.folders}

    def _compare_refs(self) -> None:
        """Find refs that are gone, invalid, or name a missing object."""
        loose = {path for path in self._changed if path.startswith("refs/") and not path.startswith(_PASSING_REFS)}
        for path in loose:
            data = self._now.content(path)
            if path not in self._now.files and path in self._packed_now and not self._is_set_back(path):
                continue
            name = id_in(data)
            if not is_ref(data) or (name and not self._objects.has(name)):
                self._lose_ref(path)
                if path not in self._lost.paths and is_ref(self._before.content(path)):
                    self._lost.paths.add(path)
        if "packed-refs" in self._changed:
            for path, name in self._packed_before.items():
                if path not in self._packed_now and path not in self._now.files and path not in self._before.files:
                    self._lose_ref(path)
                    self._lost.written[path] = f"{name}\n".encode()

        if _STASHES in self._changed and ids_in_log(self._before.content(_STASHES)) - ids_in_log(
            self._now.content(_STASHES)
        ):
            self._lost.paths |= {_STASHES, *({"refs/stash"} & self._changed)}

    def _is_set_back(self, path: str) -> bool:
        """Whether a missing ref falls back to an outdated entry of packed-refs, and not by git's own work."""
        name = self._packed_now[path]
        if name != self._packed_before.get(path) or name == id_in(self._before.content(path)):
            return False
        lines = self._now.content(f"logs/{path}").splitlines()
        return not lines or name.encode() not in lines[-1].split(b" ", 2)[1:2]

    def _lose_ref(self, path: str) -> None:
        log = f"logs/{path}"
        if log in self._before.files and not self._now.files.get(log, Sign(0, 0, 0, 0, 0)).size:
            self._lost.paths.add(log)

    def _compare_objects(self) -> None:
        gone = {path for path in self._gone if is_object(path)}
        for path in gone:
            if path.startswith("lfs/"):  # removed only by git-lfs's own prune
                self._lost.paths.add(path)
        packs = {path for path in gone if path.endswith((".idx", ".pack"))}
        for stem in {path.rpartition(".")[0] for path in packs}:
            if self._is_pack_lost(f"{stem}.idx"):
                self._lost.paths |= {path for path in gone if path.startswith(f"{stem}.")}
        loose = {name: path for path in gone if (name := loose_name(path)) and not self._objects.has(name)}
        if loose:
            needed = reached(self._named, self._loose)
            self._lost.paths |= {path for name, path in loose.items() if needed is None or name in needed}

    def _is_pack_lost(self, path: str) -> bool:
        """Whether objects of the pack that git would have kept exist nowhere else."""
        try:
            held = PackIndex(self._before.read(path))
        except (OSError, ValueError):
            return True
        missing = self._objects.without(held.names())
        return len(missing) > _MOST_GONE * held.count or not missing.isdisjoint(self._named)

    def _loose(self, name: str) -> bytes | None:
        path = f"objects/{name[:2]}/{name[2:]}"
        return self._before.content(path) or self._now.content(path) or None

    @cached_property
    def _objects(self) -> Objects:
        before, now = self._before.files, self._now.files
        return Objects(now.keys(), self._now.read, self._altered, lambda path: before.get(path) == now[path])

    @cached_property
    def _packed_before(self) -> dict[str, str]:
        return packed_refs(self._before.content("packed-refs")) or {}

    @cached_property
    def _packed_now(self) -> dict[str, str]:
        return packed_refs(self._now.content("packed-refs")) or {}

    @cached_property
    def _tips(self) -> set[str]:
        """Return the objects that refs and HEAD named."""
        loose = {path for path in self._before.files if path.startswith("refs/") or path == "HEAD"}
        return {*self._packed_before.values(), *(id_in(self._before.content(path)) for path in loose)} - {""}

    @cached_property
    def _named(self) -> set[str]:
        """Return the objects that refs, logs and the index name: git keeps everything reachable from them."""
        names = {*self._tips, *self._also_named}
        for path in self._before.files:
            if path.startswith("logs/"):
                ids = ids_in_log(self._before.content(path))
                names |= ids if path == _STASHES else ids & ids_in_log(self._now.content(path))
        size = len(next(iter(names), "0" * 40)) // 2
        return names | ids_in_index(self._before.content("index"), size)
