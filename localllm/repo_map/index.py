"""Index the symbols of a project's source files; only changed files are parsed again."""

import os
import re
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import msgspec

from localllm.base.directory_walk import walk
from localllm.base.files import write_own
from localllm.base.jsontext import decode_msgpack, storable
from localllm.base.regular_files import UNKNOWN, Stamp, is_settled, read_beneath, read_regular, stamp_of
from localllm.code.grammars import language_of
from localllm.code.outline import NotParsedError
from localllm.code.symbols import Symbol, symbols
from localllm.text.decoding import NotTextError, decode

MOST_FILES = 20_000
LARGEST_FILE = 400_000
"""Size limit in bytes; larger files are generated or data, and would block longer than a key press."""

_VERSION = 1  # of the cache; increased with every change to what is stored or how it is found
_LARGEST_CACHE = 200_000_000
_LONGEST_LINE = 400  # on average; longer lines are minified
_MOST_DEFINITIONS = 2_000
_SAVE_EVERY_SECONDS = 10.0
_MOST_WORDS = 50
_SUFFIX = re.compile(r"\.(?:[cm]?[jt]sx?|h|hh|hpp|hxx|php|rb|css|json)$")
_NAME_WHAT_IS_IN_A_FILE = frozenset({"java", "rust"})
"""Languages whose imports may end with a name defined in the file."""


class FileRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One file. `stamp` and `digest` detect changes.

    `names` are those it uses, joined by spaces, each `counts` times (at most 255), and `imports` the files or packages
    it imports, as `folder.name`: this form takes a tenth of the memory. A file that is no readable source has
    no `language`.
    """

    stamp: Stamp
    digest: bytes
    language: str = ""
    definitions: tuple[Symbol, ...] = ()
    names: str = ""
    counts: bytes = b""
    imports: str = ""
    lines: int = 0
    code_lines: int = 0
    functions: int = 0
    error_lines: tuple[int, ...] = ()


class _Cache(msgspec.Struct, frozen=True, array_like=True):
    version: int
    files: dict[str, FileRecord]


class Refreshed(msgspec.Struct, frozen=True):
    """Result of a refresh: how many files it parsed, and how many it left out for lack of time or room."""

    parsed: int = 0
    changed: bool = False
    left_out: int = 0


class _Done(msgspec.Struct):
    """Counts of files that a refresh read, parsed, and found unchanged, whose times can be trusted now."""

    looked_at: int = 0
    parsed: int = 0
    dated: int = 0


class RepoIndex:
    """The records of a project's source files by path. `refresh` may run in a thread; one at a time."""

    def __init__(self, root: Path, cache: Path | None, exclude: Sequence[str] = ()) -> None:
        """Create it; `cache` is the file that keeps the records between runs, None for no cache."""
        self.files: dict[str, FileRecord] = {}
        self._root = root
        self._cache = cache
        self._exclude = tuple(exclude)
        self._loaded = False

    def refresh(self, seconds: float, stop: threading.Event) -> Refreshed:
        """Update `files` to the state of the project, within `seconds` and until `stop` is set.

        Files left out follow in the next refresh. Raises OSError if the project cannot be opened.
        """
        deadline = time.monotonic() + seconds
        loaded = not self._loaded and self._load()
        root_fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            stamps, too_many = self._stamps(root_fd)
            gone = [path for path in self.files if path not in stamps]
            for path in gone:
                del self.files[path]
            waiting = [path for path, stamp in stamps.items() if not self._is_current(path, stamp)]
            waiting.sort(key=lambda path: path.count("/"))  # the files nearest the top matter most
            done = self._read_all(root_fd, waiting, stamps, deadline, stop)
        finally:
            os.close(root_fd)
        if done.parsed or done.dated or gone:
            self._save()
        return Refreshed(done.parsed, loaded or bool(done.parsed or gone), too_many + len(waiting) - done.looked_at)

    def _stamps(self, root_fd: int) -> tuple[dict[str, Stamp], int]:
        """Return the current source files, and the number of those beyond the limit."""
        stamps: dict[str, Stamp] = {}
        too_many = 0
        for entry in walk(self._root, exclude=self._exclude):
            if entry.is_dir or entry.is_link or language_of(entry.path) is None:
                continue
            if len(stamps) == MOST_FILES:
                too_many += 1
                continue
            with suppress(OSError):
                stamps[entry.path] = stamp_of(os.stat(entry.path, dir_fd=root_fd, follow_symlinks=False))
        return stamps, too_many

    def _is_current(self, path: str, stamp: Stamp) -> bool:
        known = self.files.get(path)
        return known is not None and known.stamp == stamp

    def _read_all(
        self, root_fd: int, waiting: list[str], stamps: dict[str, Stamp], deadline: float, stop: threading.Event
    ) -> "_Done":
        """Read the given files until the deadline, saving at intervals."""
        done = _Done()
        saved = time.monotonic()
        for path in waiting:
            if stop.is_set() or time.monotonic() > deadline:
                break
            known = self.files.get(path)
            self.files[path] = record = _record(root_fd, path, stamps[path], known)
            done.looked_at += 1
            done.parsed += known is None or known.digest != record.digest
            done.dated += known is not None and known.stamp != record.stamp != UNKNOWN
            if time.monotonic() - saved > _SAVE_EVERY_SECONDS:
                self._save()
                saved = time.monotonic()
        return done

    def _load(self) -> bool:
        """Load the cache, if there is one and it is intact."""
        self._loaded = True
        if self._cache is None:
            return False
        try:
            kept = decode_msgpack(read_regular(self._cache, _LARGEST_CACHE), _Cache)
        except (OSError, msgspec.DecodeError):
            return False
        if kept.version == _VERSION:
            self.files = kept.files
        return bool(self.files)

    def _save(self) -> None:
        """Save the records; a concurrent save by another process is harmless."""
        if self._cache is None:
            return
        data = msgspec.msgpack.encode(_Cache(_VERSION, storable(self.files)))
        if len(data) <= _LARGEST_CACHE:
            with suppress(OSError):  # without the cache, only the next start is slower
                write_own(self._cache, data)


def _record(root_fd: int, path: str, stamp: Stamp, known: FileRecord | None) -> FileRecord:
    """Return the record of a file; if only its stamp has changed, the known one with the new stamp."""
    if stamp[2] > LARGEST_FILE:
        return FileRecord(stamp, b"")
    if not is_settled(stamp):
        stamp = UNKNOWN  # it may change again within the resolution of its times: check it next time
    try:
        data = read_beneath(root_fd, path, LARGEST_FILE)
    except OSError:
        return FileRecord(stamp, b"")
    digest = blake2b(data, digest_size=16).digest()
    if known is not None and known.digest == digest:
        return msgspec.structs.replace(known, stamp=stamp)
    return _parsed(path, data, stamp, digest)


def _parsed(path: str, data: bytes, stamp: Stamp, digest: bytes) -> FileRecord:
    empty = FileRecord(stamp, digest)
    if len(data) > _LONGEST_LINE * (data.count(b"\n") + 10):
        return empty
    try:
        text = data if data.isascii() else decode(data).text.encode()
        language = language_of(path, text) or ""
        found = symbols(text, language)
    except (NotTextError, NotParsedError):
        return empty
    return FileRecord(
        stamp=stamp,
        digest=digest,
        language=language,
        definitions=tuple(_worth_showing(found.definitions)),
        names=" ".join(found.references),
        counts=bytes(min(count, 255) for count in found.references.values()),
        imports=" ".join(dict.fromkeys(_modules(found.outline.imports, language))),
        lines=found.outline.lines,
        code_lines=found.outline.code_lines,
        functions=len(found.outline.functions),
        error_lines=found.outline.error_lines,
    )


def _worth_showing(definitions: tuple[Symbol, ...]) -> Iterator[Symbol]:
    """Yield all definitions except those inside a function, which nothing else can call."""
    hidden: set[str] = set()
    for definition in definitions[:_MOST_DEFINITIONS]:
        if definition.kind in {"function", "method"} or definition.parent in hidden:
            hidden.add(definition.full_name)
        if definition.parent not in hidden:
            yield definition


def _modules(imports: Iterable[str], language: str) -> Iterator[str]:
    """Yield imports as the last two words of their path, or one if there are no two: `core.index` for
    `../core/index.js`, `localllm.core.index` and `crate::core::index`."""
    for written in imports:
        words = [word.replace("-", "_") for word in re.findall(r"[\w-]+", _SUFFIX.sub("", written))][:_MOST_WORDS]
        pairs = [f"{first}.{second}" for first, second in pairwise(words)] or words
        last = len(pairs) if "{" in written else 2 if language in _NAME_WHAT_IS_IN_A_FILE else 1
        yield from pairs[-last:]
