"""The cached word and symbol index of a project: a SQLite database, updated as files change."""

import os
import re
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from localllm.base.directory_walk import walk
from localllm.base.regular_files import UNKNOWN, Stamp, is_settled, read_beneath, stamp_of
from localllm.lookup import vocabulary
from localllm.lookup.code_units import types_of, units
from localllm.lookup.file_kinds import is_secret
from localllm.text.decoding import NotTextError, decode

MOST_FILES = 100_000
LARGEST_FILE = 400_000
"""Bytes; larger files are generated or data, and only their names are indexed."""

_SMALL = 500
_START_OF_DATA = 2_000
_LARGEST_DATA = 20_000  # bytes of a data file
_SECONDS = 20.0
_PATIENCE = 5.0  # seconds to wait for another process that writes the index
_BATCH = 200
_KEPT_TEXTS = 200
_LONGEST_BODY = 2_400
_LONGEST_LINE = 1_000  # matching time may grow with the square of the length
_LARGE_PROJECT = 40_000_000  # bytes to read, from which less is stored of each definition
_LONGEST_MEAN_LINE = 400
_VERSION = 1
_UNITS = "units(rowid, name, path, doc, body)"
_TABLES = (
    "CREATE TABLE files (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT UNIQUE, changed INTEGER, entered INTEGER, size"
    " INTEGER, lines INTEGER, digest BLOB)",
    "CREATE TABLE places (id INTEGER PRIMARY KEY, file INTEGER, line INTEGER, kind TEXT, name TEXT, parent TEXT)",
    "CREATE INDEX places_name ON places (name COLLATE NOCASE)",
    "CREATE INDEX places_file ON places (file)",
    "CREATE VIRTUAL TABLE units USING fts5 (name, path, doc, body, tokenize='porter unicode61')",
    "CREATE VIRTUAL TABLE words USING fts5 (word, content='', detail=none, tokenize=\"unicode61 tokenchars '_$'\")",
)
_HUMP = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|(?<=[A-Z].)(?=[a-z]))")
_WIDE = re.compile(r"[ぁ-ゖァ-ヺー]+|[一-鿿々]+")


class Place(NamedTuple):
    """A unit of a file: path, line, kind, name, and parent."""

    id: int
    path: str
    line: int
    kind: str
    name: str
    parent: str

    @property
    def full_name(self) -> str:
        """The name qualified by its parent."""
        return f"{self.parent}.{self.name}" if self.parent else self.name


class Words(NamedTuple):
    """A place and its indexed words: of the name, path, documentation, and body."""

    place: Place
    name: str
    path: str
    doc: str
    body: str


def _is_text(path: str) -> bool:
    try:
        return path.isascii() or bool(path.encode())
    except UnicodeEncodeError:
        return False


class ProjectIndex:
    """The index of the project at `root`, opened for one question. `left_out`: files not indexed for lack of time;
    `unnamed`: those whose names are not UTF-8, which are not."""

    def __init__(self, root: Path, cache: Path | None, exclude: Sequence[str] = (), closed: Sequence[str] = ()) -> None:
        """Open the index. `cache`: the file that stores it; `closed`: paths that must not be read."""
        self.root = root
        self.left_out = self.unnamed = 0
        self.exclude = tuple(exclude)
        self._closed = tuple(f"{path.rstrip('/')}/" for path in closed)
        self._root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._texts: dict[str, list[str]] = {}
        self._digests: set[bytes] = set()
        self._next_file = self._next_place = 0
        self._longest_body = _LONGEST_BODY
        self._db = _opened(cache)

    def close(self) -> None:
        """Close the database."""
        self._db.close()
        os.close(self._root_fd)

    def refresh(self, seconds: float = _SECONDS) -> None:
        """Index changes within the time limit, files near the root first. If another process holds the cached index for
        long, an index is built in memory."""
        deadline = time.process_time() + seconds
        there = self._files_there()
        try:
            self._follow(there, deadline)
        except sqlite3.Error:
            self._db.close()
            self._db = _in_memory()
            self._follow(there, deadline)

    def _files_there(self) -> dict[str, Stamp]:
        there: dict[str, Stamp] = {}
        self.unnamed = 0
        for entry in walk(self.root, exclude=self.exclude):
            if entry.is_dir or entry.is_link or self.is_closed(entry.path) or len(there) == MOST_FILES:
                continue
            if not _is_text(entry.path):
                self.unnamed += 1
                continue
            with suppress(OSError):
                there[entry.path] = stamp_of(os.stat(entry.path, dir_fd=self._root_fd, follow_symlinks=False))
        return there

    def _follow(self, there: dict[str, Stamp], deadline: float) -> None:
        if not any(self._differing(there)):
            return
        self._db.execute("BEGIN IMMEDIATE")
        gone, waiting = self._differing(there)  # what another process has not indexed meanwhile
        read = sum(stamp[2] for path, stamp in waiting if _is_worth_reading(path, stamp[2]))
        self._longest_body = _LONGEST_BODY if read < _LARGE_PROJECT else _LONGEST_BODY // 4
        self._forget(gone)
        self._digests = {digest for (digest,) in self._rows("SELECT digest FROM files")}
        self._next_file = self._number("SELECT coalesce(max(seq), 0) FROM sqlite_sequence")
        self._next_place = self._number("SELECT coalesce(max(id), 0) FROM places")
        done = 0
        for at in range(0, len(waiting), _BATCH):
            done += self._take_in(waiting[at : at + _BATCH], deadline)
            if done < min(len(waiting), at + _BATCH):
                break
        self.left_out = len(waiting) - done
        self._db.execute("COMMIT")

    def _differing(self, there: dict[str, Stamp]) -> tuple[list[int], list[tuple[str, Stamp]]]:
        """Return the ids of indexed files that are gone or have changed, and the files to index, in order."""
        files = self._rows("SELECT id, path, changed, entered, size FROM files")
        known = {path: (number, tuple(stamp)) for number, path, *stamp in files}
        changed = [path for path, stamp in there.items() if known.get(path, (0, UNKNOWN))[1] != stamp]
        changed.sort(key=lambda path: (path.count("/"), path))
        gone = [number for path, (number, _) in known.items() if path not in there]
        gone += [known[path][0] for path in changed if path in known]
        return gone, [(path, there[path] if is_settled(there[path]) else UNKNOWN) for path in changed]

    def paths(self) -> list[str]:
        """Return all files, sorted."""
        return [path for (path,) in self._rows("SELECT path FROM files ORDER BY path")]

    def size(self) -> int:
        """Return the number of units."""
        return self._number("SELECT count(*) FROM places")

    def named(self, name: str) -> list[Place]:
        """Return the units called `name` in any case; the same case first."""
        found = self._places("places.name = ? COLLATE NOCASE AND kind != 'file' LIMIT 500", name)
        return sorted(found, key=lambda place: place.name != name)

    def count_of(self, kind: str) -> int:
        """Return the number of definitions of a kind."""
        return self._number("SELECT count(*) FROM places WHERE kind = ?", kind)

    def units_in(self, path: str) -> list[Place]:
        """Return the units of a file, in order."""
        return self._places("files.path = ? AND kind != 'file' ORDER BY line", path)

    def frequency(self, match: str) -> int:
        """Return the number of units that match an FTS5 expression."""
        return self._number("SELECT count(*) FROM units WHERE units MATCH ?", match)

    def best(self, match: str, most: int) -> list[Words]:
        """Return the units that match, best by BM25 first; none for an empty `match`."""
        query = (
            "SELECT places.id, files.path, line, kind, places.name, parent, u.name, u.path, doc, body FROM units AS u"
            " JOIN places ON places.id = u.rowid JOIN files ON files.id = places.file"
            " WHERE units MATCH ? AND rank MATCH 'bm25(6.0, 3.0, 3.0, 1.0)' ORDER BY rank LIMIT ?"
        )
        found = self._rows(query, match, most) if match else ()
        return [Words(Place(*row[:6]), *row[6:]) for row in found]

    def files_with(self, names: Iterable[str], most: int = 3_000) -> list[str]:
        """Return the files that contain all these identifiers or words."""
        wanted = " ".join(f'"{name}"' for name in dict.fromkeys(names))
        query = "SELECT path FROM words JOIN files ON files.id = words.rowid WHERE words MATCH ? LIMIT ?"
        return sorted(path for (path,) in self._rows(query, wanted, most)) if wanted else []

    def lines(self, path: str) -> list[str]:
        """Return the current lines of a file, long ones truncated; empty if it cannot or must not be read."""
        if path not in self._texts:
            if len(self._texts) > _KEPT_TEXTS:
                self._texts.clear()
            lines = [] if is_secret(path) or self.is_closed(path) else self._read(path).split("\n")
            self._texts[path] = [line[:_LONGEST_LINE] for line in lines]
        return self._texts[path]

    def _number(self, query: str, *values: object) -> int:
        return next(self._rows(query, *values))[0]

    def _rows(self, query: str, *values: object) -> sqlite3.Cursor:
        return self._db.execute(query, values)

    def _places(self, where: str, value: str) -> list[Place]:
        query = "SELECT places.id, path, line, kind, name, parent FROM places JOIN files ON files.id = file WHERE "
        return [Place(*row) for row in self._rows(query + where, value)]

    @property
    def closed(self) -> tuple[str, ...]:
        """The paths that rules close."""
        return tuple(path.removesuffix("/") for path in self._closed)

    def is_closed(self, path: str) -> bool:
        """Return whether a rule closes the path below the root."""
        return any(f"{path}/".startswith(folder) or folder == "./" for folder in self._closed)

    def _forget(self, files: Sequence[int]) -> None:
        for number in files:
            self._db.execute("DELETE FROM units WHERE rowid IN (SELECT id FROM places WHERE file = ?)", (number,))
            self._db.execute("DELETE FROM places WHERE file = ?", (number,))
            self._db.execute("DELETE FROM files WHERE id = ?", (number,))

    def _take_in(self, paths: Sequence[tuple[str, Stamp]], deadline: float) -> int:
        """Index these files; return how many there was time for.

        A duplicate file is indexed by its name alone.
        """
        files, words, places, said = (list[tuple[object, ...]]() for _ in range(4))
        for path, stamp in paths:
            if time.process_time() > deadline:
                break
            text = "" if is_secret(path) or not _is_worth_reading(path, stamp[2]) else self._read(path)
            lines = text.count("\n") + 1 if text else 0
            if lines and len(text) / lines > _LONGEST_MEAN_LINE:
                text = text[:_START_OF_DATA]  # minified
            digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest() if len(text) > _SMALL else b""
            if digest and digest in self._digests:
                text = ""
            self._digests.add(digest)
            self._next_file += 1
            files.append((self._next_file, path, *stamp, lines, digest if text else b""))
            if text and "text" not in types_of(path):
                words.append((self._next_file, text))
            folder, _, name = path.rpartition("/")
            beside = f"{spoken(folder)} {_name_words(name.partition('.')[0])}"
            for unit in units(path, text, self._longest_body):
                self._next_place += 1
                places.append((self._next_place, self._next_file, unit.line, unit.kind, unit.name, unit.parent))
                above = f"{beside} {spoken(unit.parent)}" if unit.parent else beside
                said.append((self._next_place, _name_words(unit.name), above, spoken(unit.doc), spoken(unit.body)))
        for table, rows in (("files", files), ("words(rowid, word)", words), ("places", places), (_UNITS, said)):
            if rows:
                self._db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)  # noqa: S608
        return len(files)

    def _read(self, path: str) -> str:
        try:
            data = read_beneath(self._root_fd, path, LARGEST_FILE)
        except OSError:
            return ""
        try:
            return data.decode().replace("\r\n", "\n") if b"\0" not in data[:4_000] else ""
        except UnicodeDecodeError:
            with suppress(NotTextError):
                return decode(data).text
        return ""


def _opened(cache_file: Path | None) -> sqlite3.Connection:
    """Open the database at `cache_file`; recreated if it is not a valid index, in memory if it cannot be stored."""
    for cache in (cache_file,) * 2 if cache_file else ():
        try:
            if cache.is_symlink():
                cache.unlink()
            return _made(sqlite3.connect(cache, timeout=_PATIENCE, isolation_level=None))
        except (sqlite3.DatabaseError, OSError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:  # another process writes it
                break
            with suppress(OSError):  # of an older version, or corrupt
                cache.unlink()
    return _in_memory()


def _in_memory() -> sqlite3.Connection:
    return _made(sqlite3.connect(":memory:", isolation_level=None))


def _made(db: sqlite3.Connection) -> sqlite3.Connection:
    try:
        for pragma in ("trusted_schema=OFF", "synchronous=OFF", "temp_store=MEMORY", "cache_size=-40000"):
            db.execute(f"PRAGMA {pragma}")
        if not _is_ours(db):
            db.execute("BEGIN IMMEDIATE")
            if not _is_ours(db):  # another process may have created it meanwhile
                for table in _TABLES:
                    db.execute(table)
                db.execute("INSERT INTO units(units, rank) VALUES ('hashsize', 16000000)")
                db.execute(f"PRAGMA user_version = {_VERSION}")
            db.execute("COMMIT")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _is_ours(db: sqlite3.Connection) -> bool:
    """Whether the tables exist; False if there are none. Raises sqlite3.DatabaseError for other tables."""
    ours = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND (type != 'table' OR name NOT GLOB '*_*')"
    own = {sql for (sql,) in db.execute(ours)}
    (version,) = next(db.execute("PRAGMA user_version"))
    if own and (version != _VERSION or own != set(_TABLES)):
        raise sqlite3.DatabaseError("not ours")
    return bool(own)


def _is_worth_reading(path: str, size: int) -> bool:
    types = types_of(path)
    is_data = "keys" in types or (path.endswith(".json") and path.count("/") <= 1)
    return size <= _LARGEST_DATA if is_data else bool(types) and not path.endswith(".json")


def spoken(text: str) -> str:
    """Split a text into words: identifiers at case changes, Japanese into character bigrams."""
    text = _HUMP.sub(r" \g<0>", text)
    return text if text.isascii() else _WIDE.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    text = run[0]
    return " " + " ".join(text[at : at + 2] for at in range(max(1, len(text) - 1))) + " "


@lru_cache(maxsize=50_000)
def _name_words(name: str) -> str:
    """Return the words of a name, the name itself, and the words of unseparated compounds (textwrap, isprime)."""
    words = spoken(name)
    parts = [cut for part in re.findall(r"[a-z]{5,}", words.lower()) for cut in _cut(part)]
    return " ".join([words, *([name] if words != name else []), *parts])


def _cut(word: str) -> tuple[str, ...]:
    known = vocabulary.code_words()
    if word in known:
        return ()
    for at in range(2, len(word) - 2):
        left, right = word[:at], word[at:]
        if left in known and (right in known or right.removesuffix("s") in known):
            return left, right
    return ()
