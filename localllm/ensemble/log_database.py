"""The request log's SQLite file: private to its owner, limited by age, number and size.

Several servers may write it while others read: it is in WAL mode, where readers never block and not every run is
synchronised to the disk. A killed program loses nothing that was committed, a power failure perhaps the latest runs;
neither damages the file.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.errors import RequestLogError
from localllm.base.file_lock import FileLock
from localllm.base.i18n import Phrase
from localllm.base.paths import data_folder
from localllm.base.sqlite_files import check_companions

_FILE = "ensemble/requests.sqlite"

VERSION = 1
_APPLICATION = 0x6C6C6D65  # "llme": other SQLite files are not ours
_SECONDS = 10.0  # timeout for another writer's lock
_PRUNED_AT_ONCE = 200  # runs; more than are ever added at once
_FREED_AT_ONCE = 2_000  # pages
_DAY = 86_400.0
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

# What is long stands last: SQLite reads the columns before it without it.
_TABLES = (
    """CREATE TABLE IF NOT EXISTS runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL UNIQUE, at REAL NOT NULL, outcome TEXT NOT NULL,
        strategy TEXT NOT NULL, reviewer TEXT NOT NULL, seconds REAL NOT NULL, best INTEGER, turns INTEGER NOT NULL,
        prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, error_code TEXT NOT NULL,
        characters TEXT NOT NULL, error TEXT NOT NULL, prompt TEXT NOT NULL, final_answer TEXT NOT NULL,
        review_comment TEXT NOT NULL, runtime TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS answers (
        run INTEGER NOT NULL REFERENCES runs (id), worker INTEGER NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL,
        seconds REAL NOT NULL, is_cancelled INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL, error_code TEXT NOT NULL, characters INTEGER NOT NULL, error TEXT NOT NULL,
        text TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS answers_of_run ON answers (run)",
)

Outcome = Literal["answered", "reviewer_failed", "all_failed", "broken_off"]


class LogLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on the age, the number of runs and the file size. The oldest runs are deleted first."""

    days: float = 30.0
    runs: int = 10_000
    bytes: int = 200_000_000


class LoggedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's logged answer. `characters`: its length before truncation. `error`: empty if it has none."""

    worker: int
    agent: str
    model: str
    text: str
    characters: int
    seconds: float
    is_cancelled: bool = False
    error_code: str = ""
    error: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class LoggedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A logged run.

    `at`: when it ended, in seconds of the epoch. `best`: the worker whose answer the reviewer rated best, if it said
    so. `turns`: turns before the prompt. `characters`: the original lengths of truncated texts. `runtime`: JSON.
    """

    run_id: str
    at: float
    outcome: Outcome
    strategy: str
    reviewer: str
    seconds: float
    prompt: str
    final_answer: str
    review_comment: str
    answers: tuple[LoggedAnswer, ...] = ()
    best: int | None = None
    turns: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    error_code: str = ""
    error: str = ""
    characters: dict[str, int] = {}
    runtime: str = "{}"


_RUN = tuple(name for name in LoggedRun.__struct_fields__ if name != "answers")
_ANSWER = LoggedAnswer.__struct_fields__
_INSERT_RUN = f"INSERT OR IGNORE INTO runs ({', '.join(_RUN)}) VALUES ({', '.join('?' * len(_RUN))})"  # noqa: S608 - names of ours
_INSERT_ANSWER = f"INSERT INTO answers (run, {', '.join(_ANSWER)}) VALUES (?, {', '.join('?' * len(_ANSWER))})"  # noqa: S608 - as well


def log_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of this user's request log, which need not exist."""
    return data_folder(environ) / _FILE


class LogDatabase:
    """The file, opened for writing and created if missing; it belongs to the thread that opens it.

    Raises RequestLogError: request_log_unusable (disk full, read-only, locked, another program's file),
    request_log_newer (a later version's), request_log_damaged.
    """

    def __init__(self, file: Path, limits: LogLimits | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self.file = file
        self._limits = limits or LogLimits()
        self._clock = clock
        try:
            self._db = self._opened()
        except (sqlite3.Error, OSError) as error:
            raise unusable(file, error) from error

    def add(self, runs: Iterable[LoggedRun]) -> None:
        """Add runs in one transaction, then prune old or excess ones. Raises RequestLogError."""
        try:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                for run in runs:
                    self._insert(run)
                self._prune()
            if self._db.execute("PRAGMA freelist_count").fetchone()[0] > _FREED_AT_ONCE:
                self._db.executescript(f"PRAGMA incremental_vacuum({_FREED_AT_ONCE})")  # execute would free one page
        except (sqlite3.Error, OSError) as error:
            raise unusable(self.file, error) from error

    @property
    def is_in_place(self) -> bool:
        """Whether the open file is still the one at its path."""
        try:
            return os.path.samestat(self.file.stat(), self._stat)
        except OSError:
            return False

    def close(self) -> None:
        """Close the file; the last connection removes its WAL file."""
        with suppress(sqlite3.Error):
            self._db.close()

    def _opened(self) -> sqlite3.Connection:
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_companions(self.file)  # with its folder in a project (~/.local), a command may have laid them there
        os.close(os.open(self.file, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600))
        db = sqlite3.connect(self.file, timeout=_SECONDS, isolation_level=None)
        try:
            with _lock_of(self.file):  # SQLite has no timeout for a change of the journal mode
                self._prepare(db)
            self._stat = self.file.stat()
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA trusted_schema=OFF")
        _check_owner(db, self.file)
        db.execute("PRAGMA auto_vacuum=INCREMENTAL")  # takes effect only in an empty file
        db.execute("PRAGMA journal_mode=WAL")  # SQLite keeps another mode if the file system does not support it
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute("PRAGMA journal_size_limit=4000000")
        with db:
            db.execute("BEGIN IMMEDIATE")
            for statement in _TABLES:
                db.execute(statement)
            db.execute(f"PRAGMA application_id={_APPLICATION}")
            db.execute(f"PRAGMA user_version={VERSION}")

    def _insert(self, run: LoggedRun) -> None:
        values = [getattr(run, name) for name in _RUN]
        values[_RUN.index("characters")] = msgspec.json.encode(run.characters).decode()
        added = self._db.execute(_INSERT_RUN, values)
        if added.rowcount:
            rows = [(added.lastrowid, *(getattr(one, name) for name in _ANSWER)) for one in run.answers]
            self._db.executemany(_INSERT_ANSWER, rows)

    def _prune(self) -> None:
        """Delete a batch of the oldest runs over the limits, so that adding never waits for all of it."""
        oldest, newest = self._db.execute("SELECT min(id), max(id) FROM runs").fetchone()
        if oldest is None:
            return
        doomed = max(0, newest - oldest + 1 - self._limits.runs)
        if self._size() > self._limits.bytes:
            doomed = max(doomed, (newest - oldest) // 10)
        before = self._clock() - self._limits.days * _DAY
        query = "SELECT count(*) FROM (SELECT at FROM runs ORDER BY id LIMIT ?) WHERE at < ?"
        doomed = max(doomed, self._db.execute(query, (_PRUNED_AT_ONCE, before)).fetchone()[0])
        if doomed:
            last = oldest + min(doomed, _PRUNED_AT_ONCE) - 1
            self._db.execute("DELETE FROM answers WHERE run <= ?", (last,))
            self._db.execute("DELETE FROM runs WHERE id <= ?", (last,))

    def _size(self) -> int:
        """Return the bytes in use."""
        return _pragma(self._db, "page_size") * (_pragma(self._db, "page_count") - _pragma(self._db, "freelist_count"))


def read_runs(file: Path, most: int) -> list[LoggedRun]:
    """Read the `most` newest runs with their answers, newest first. Raises RequestLogError."""
    with reading(file) as db:
        return [] if db is None else _runs(db, "ORDER BY id DESC LIMIT ?", most)


def find_run(file: Path, run_id: str) -> LoggedRun:
    """Return the newest run with this id prefix. Raises RequestLogError (request_log_no_run)."""
    with reading(file) as db:
        found = (
            [] if db is None else _runs(db, "WHERE substr(run_id, 1, length(?1)) = ?1 ORDER BY id DESC LIMIT 1", run_id)
        )
    if not found:
        raise RequestLogError("request_log_no_run", id=run_id, file=file)
    return found[0]


@contextmanager
def reading(file: Path) -> Generator[sqlite3.Connection | None]:
    """Open the file read-only; None if it does not exist. Raises RequestLogError."""
    if not file.exists():
        yield None
        return
    # On a medium that cannot be written SQLite has no place for its shared memory; then nobody else writes, either.
    fixed = not os.access(file.parent, os.W_OK) and not Path(f"{file}-wal").exists()
    address = f"{file.absolute().as_uri()}?mode=ro{'&immutable=1' if fixed else ''}"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_SECONDS)) as db:
            _check_owner(db, file)
            yield db if _pragma(db, "user_version") else None
    except (sqlite3.Error, OSError) as error:
        raise unusable(file, error) from error


def put_aside(file: Path) -> Path | None:
    """Rename a damaged file to `requests.damaged.sqlite`, replacing an older one, to make room for a new file. Returns
    None if the file is intact, since another server may have replaced it. Raises RequestLogError."""
    aside = file.with_suffix(f".damaged{file.suffix}")
    try:
        with _lock_of(file):
            if not _is_damaged(file):
                return None
            file.replace(aside)
            for ending in ("-wal", "-shm"):
                with suppress(FileNotFoundError):
                    Path(f"{file}{ending}").unlink()
    except (sqlite3.Error, OSError) as error:
        raise unusable(file, error) from error
    return aside


def is_corrupt(error: BaseException | None) -> bool:
    """Whether the error means a corrupt database file."""
    return isinstance(error, sqlite3.DatabaseError) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _CORRUPT


def unusable(file: Path, error: Exception) -> RequestLogError:
    """Convert an error of the file to RequestLogError."""
    if isinstance(error, RequestLogError):
        return error
    if isinstance(error, OSError):
        return RequestLogError("request_log_unusable", file=file, reason=os.strerror(error.errno or 0))
    key = "request_log_damaged" if is_corrupt(error) else "request_log_unusable"
    return RequestLogError(key, file=file, reason=str(error).rstrip("."))


def _runs(db: sqlite3.Connection, which: str, value: str | int) -> list[LoggedRun]:
    names = ", ".join(_RUN)
    found: list[LoggedRun] = []
    for number, *values in db.execute(f"SELECT id, {names} FROM runs {which}", (value,)).fetchall():  # noqa: S608 - names of ours
        fields = dict(zip(_RUN, values, strict=True))
        fields["characters"] = msgspec.json.decode(fields["characters"])
        found.append(msgspec.convert({**fields, "answers": _answers(db, number)}, LoggedRun))
    return found


def _answers(db: sqlite3.Connection, run: int) -> Sequence[LoggedAnswer]:
    query = f"SELECT {', '.join(_ANSWER)} FROM answers WHERE run = ? ORDER BY worker"  # noqa: S608 - names of ours
    rows = [dict(zip(_ANSWER, row, strict=True)) for row in db.execute(query, (run,))]
    return msgspec.convert(rows, list[LoggedAnswer], strict=False)


def _check_owner(db: sqlite3.Connection, file: Path) -> None:
    """Check that the file is a request log or empty. Raises RequestLogError, sqlite3.DatabaseError."""
    has_tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]  # first: it may be created now
    application, version = _pragma(db, "application_id"), _pragma(db, "user_version")
    if application == _APPLICATION and version > VERSION:
        raise RequestLogError("request_log_newer", file=file)
    if application != _APPLICATION and has_tables:
        raise RequestLogError("request_log_unusable", file=file, reason=Phrase("It belongs to another program"))


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return db.execute(f"PRAGMA {name}").fetchone()[0]


def _is_damaged(file: Path) -> bool:
    """Whether a full check finds the file damaged. Raises sqlite3.Error if it cannot be checked."""
    try:
        with closing(sqlite3.connect(file, timeout=_SECONDS)) as db:
            return db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok"
    except sqlite3.DatabaseError as error:
        if is_corrupt(error):
            return True
        raise


def _lock_of(file: Path) -> FileLock:
    return FileLock(file.with_suffix(".lock"), _SECONDS)
