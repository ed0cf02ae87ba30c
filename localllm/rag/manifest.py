"""The files of a collection in a SQLite file: content hashes, why files were skipped, and the ingested roots."""

from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import KnowledgeBaseError
from localllm.base.regular_files import UNKNOWN, Stamp
from localllm.base.sqlite_files import check_companions, check_schema
from localllm.rag.records import FileRecord

if TYPE_CHECKING:
    import sqlite3

_SECONDS = 5.0
_TABLES = (
    """
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, file TEXT NOT NULL, hash TEXT NOT NULL, stamp TEXT NOT NULL, chunks INTEGER NOT NULL,
    terms INTEGER NOT NULL, reason TEXT, detail TEXT NOT NULL, finished INTEGER NOT NULL) WITHOUT ROWID
""",
    "CREATE TABLE IF NOT EXISTS roots (path TEXT PRIMARY KEY) WITHOUT ROWID",
)


class KnownFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as recorded in the collection."""

    record: FileRecord
    stamp: Stamp = UNKNOWN
    """Identifies an unchanged file without reading it."""
    terms: int = 0
    """Terms of all its chunks together."""
    finished: bool = True
    """False: an ingest was interrupted before the file was known to be on disk."""


class Manifest:
    """The manifest of one collection in `file`, which is created if missing. Raises KnowledgeBaseError."""

    def __init__(self, file: Path, collection: str) -> None:
        self._file = file
        self._collection = collection

    def files(self) -> dict[str, KnownFile]:
        """Return all files by path."""
        with self._open() as database:
            rows = database.execute("SELECT * FROM files ORDER BY path").fetchall()
        return {row[0]: _known(row) for row in rows}

    def file(self, path: str) -> KnownFile | None:
        """Return the file of this path; None if it is not recorded."""
        with self._open() as database:
            row = database.execute("SELECT * FROM files WHERE path = ?", (path,)).fetchone()
        return _known(row) if row else None

    def begin(self, files: Iterable[KnownFile]) -> None:
        """Record that files are about to be written; `chunks` is the most of them the collection may have."""
        self._put(msgspec.structs.replace(file, finished=False, stamp=UNKNOWN) for file in files)

    def finish(self, files: Iterable[KnownFile]) -> None:
        """Record that files are written or skipped."""
        self._put(msgspec.structs.replace(file, finished=True) for file in files)

    def remove(self, paths: Iterable[str]) -> None:
        """Delete the records of files whose chunks are deleted."""
        with self._open() as database:
            database.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in paths))

    def clear(self) -> None:
        """Delete all file records; the roots are kept."""
        with self._open() as database:
            database.execute("DELETE FROM files")

    def add_roots(self, paths: Iterable[str]) -> None:
        """Record files and folders the user named on this machine."""
        with self._open() as database:
            database.executemany("INSERT OR IGNORE INTO roots VALUES (?)", ((path,) for path in paths))

    def roots(self) -> list[str]:
        """Return the recorded roots."""
        with self._open() as database:
            return [path for (path,) in database.execute("SELECT path FROM roots ORDER BY path")]

    def totals(self) -> tuple[int, int, int, int]:
        """Return the numbers of files, chunks, terms and skipped files."""
        with self._open() as database:
            row = database.execute(
                "SELECT COUNT(*) FILTER (WHERE reason IS NULL), SUM(chunks) FILTER (WHERE reason IS NULL), SUM(terms),"
                " COUNT(*) FILTER (WHERE reason IS NOT NULL) FROM files"
            ).fetchone()
        files, chunks, terms, skipped = (value or 0 for value in row)
        return files, chunks, terms, skipped

    def _put(self, files: Iterable[KnownFile]) -> None:
        rows = [_row(file) for file in files]
        with self._open() as database:
            database.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    @contextmanager
    def _open(self) -> "Generator[sqlite3.Connection]":
        import sqlite3

        try:
            check_companions(self._file)
            with closing(sqlite3.connect(self._file, timeout=_SECONDS)) as database, database:
                check_schema(database, *_TABLES)
                for table in _TABLES:
                    database.execute(table)
                yield database
        except sqlite3.Error as error:
            raise _meaning(error, self._collection, self._file) from error


def _meaning(error: "sqlite3.Error", collection: str, file: Path) -> KnowledgeBaseError:
    import sqlite3

    if isinstance(error, sqlite3.OperationalError):  # disk full, locked, cannot be opened
        return KnowledgeBaseError("rag_store_failed", name=collection, reason=str(error))
    return KnowledgeBaseError("rag_damaged", name=collection, reason=str(error), path=file)


def _row(file: KnownFile) -> tuple[object, ...]:
    record = file.record
    stamp = " ".join(map(str, file.stamp))
    names = (record.path, record.file, record.hash, stamp)
    return (*names, record.chunks, file.terms, record.reason, record.detail, file.finished)


def _known(row: tuple[str, str, str, str, int, int, str | None, str, int]) -> KnownFile:
    path, name, digest, stamp, chunks, terms, reason, detail, finished = row
    record = msgspec.convert(
        {"path": path, "file": name, "hash": digest, "chunks": chunks, "reason": reason, "detail": detail}, FileRecord
    )
    modified, changed, size = map(int, stamp.split())
    return KnownFile(record=record, stamp=(modified, changed, size), terms=terms, finished=bool(finished))
