"""The store of a run: its state, and cached answers, searches and pages, so that no request is repeated.

One SQLite file per run, in `history/YYYY-NNNN` of the user's data folder. Committed data survives a killed process;
partial writes are rolled back.
"""

import errno
import hashlib
import os
import re
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from localllm.base.errors import ResearchError, ResearchUsageError
from localllm.base.file_lock import try_lock
from localllm.base.files import open_own
from localllm.base.i18n import Phrase
from localllm.base.jsontext import decode_json, encode_json
from localllm.base.sqlite_files import check_companions, check_schema
from localllm.research.records import Remark, ResearchState

if TYPE_CHECKING:
    import sqlite3

HISTORY = "history"
STORE = "run.sqlite"
LOCK = "run.lock"

RUN_ID = re.compile(r"\d{4}-\d{4}")
_MOST_RUNS = 9_999
_SECONDS = 5.0
_TABLES = """
CREATE TABLE IF NOT EXISTS state (one INTEGER PRIMARY KEY CHECK (one = 1), value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS answers
    (key TEXT PRIMARY KEY, role TEXT NOT NULL, tokens INTEGER NOT NULL, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS searches (key TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS pages (url TEXT PRIMARY KEY, value BLOB NOT NULL);
"""

_COLUMNS = {"state": 2, "answers": 4, "searches": 2, "texts": 2, "pages": 2}

Value = TypeVar("Value")


class StoredRow(NamedTuple):
    """A stored row: its table, and its values, of which the first is the key."""

    table: str
    values: tuple[str | int | bytes, ...]


def _nobody(_row: StoredRow) -> None:
    """Ignore a row."""


class StoredAnswer(msgspec.Struct, frozen=True):
    """A model's raw answer, usable or not."""

    text: str
    cut: bool = False
    """It was truncated at its limit."""
    tokens: int = 0
    """Of request and answer together."""


class StoredPage(msgspec.Struct, frozen=True):
    """The result of reading a page: its full text is stored under `text_hash`; or the error."""

    url: str
    """The final address."""
    title: str = ""
    kind: str = ""
    accessed: str = ""
    text_hash: str = ""
    characters: int = 0
    problem: Remark | None = None


class Spent(msgspec.Struct, frozen=True):
    """The model requests of a run so far."""

    requests: int
    tokens: int


def reserve_run(data_folder: Path, year: int) -> tuple[str, Path]:
    """Reserve a new unique id with its folder. Raises ResearchError if the folder cannot be created."""
    history = data_folder / HISTORY
    try:
        history.mkdir(mode=0o700, parents=True, exist_ok=True)
        names = [folder.name for folder in history.iterdir() if RUN_ID.fullmatch(folder.name)]
        taken = [int(name[5:]) for name in names if int(name[:4]) == year]
        for number in range(max(taken, default=0) + 1, _MOST_RUNS + 1):
            with suppress(FileExistsError):  # another process was faster
                folder = history / f"{year:04}-{number:04}"
                folder.mkdir(mode=0o700)
                return folder.name, folder
    except OSError as error:
        reason = error.strerror or str(error)
        raise ResearchError("research_disk", id=f"{year:04}-…", folder=history, reason=reason) from error
    reason = Phrase("No id is left for this year")
    raise ResearchError("research_disk", id=f"{year:04}-…", folder=history, reason=reason)


def run_folder(data_folder: Path, name: str) -> Path:
    """Return the folder of the run `name`. Raises ResearchUsageError if there is none."""
    folder = data_folder / HISTORY / name
    if not RUN_ID.fullmatch(name) or folder.is_symlink() or not (folder / STORE).is_file():
        raise ResearchUsageError("research_no_run", id=name, folder=data_folder / HISTORY)
    return folder


def text_hash(text: str) -> str:
    """Return the key of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


class RunLock:
    """Lock a run for a `with` block against other processes. Raises ResearchError (research_busy)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fd = -1

    def __enter__(self) -> "RunLock":
        file = self._folder / LOCK
        try:
            fd = open_own(file, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ResearchError("research_disk", id=self._folder.name, folder=self._folder, reason=reason) from error
        if not try_lock(fd):
            who = os.read(fd, 100).decode("ascii", "replace").strip()
            os.close(fd)
            raise ResearchError("research_busy", id=self._folder.name, who=Phrase("Process {pid}", pid=who or "?"))
        with suppress(OSError):  # on a full disk: the holder's name is only informative
            os.ftruncate(fd, 0)
            os.write(fd, str(os.getpid()).encode())
        self._fd = fd
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)  # closing releases the lock


class RunStore:
    """The store of one run in `folder`, which must exist. Close it, or use it in a `with` block. `on_kept` is called
    with each row after it was stored.

    Raises ResearchError: research_disk if a write fails, research_damaged if stored data is unreadable.
    """

    def __init__(self, folder: Path, on_kept: Callable[[StoredRow], None] = _nobody) -> None:
        import sqlite3

        self.folder = folder
        self._on_kept = on_kept
        self._file = folder / STORE
        with self._failing():
            if folder.is_symlink():
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            check_companions(self._file)
            if not self._file.exists():
                os.close(open_own(self._file, os.O_CREAT | os.O_RDWR))
            self._db: sqlite3.Connection = sqlite3.connect(self._file, timeout=_SECONDS)
        try:
            with self._writing() as db:
                tables = [table for table in map(str.strip, _TABLES.split(";")) if table]
                check_schema(db, *tables)
                db.execute("PRAGMA synchronous=FULL")
                for table in tables:
                    db.execute(table)
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def save_state(self, state: ResearchState) -> None:
        """Save the state, replacing the previous one."""
        self._keep(StoredRow("state", (1, encode_json(state))))

    def load_state(self) -> ResearchState | None:
        """Return the saved state; None if there is none."""
        return self._read("SELECT value FROM state", "", ResearchState)

    def answer(self, key: str) -> StoredAnswer | None:
        """Return the stored answer to the request with this key."""
        return self._read("SELECT value FROM answers WHERE key = ?", key, StoredAnswer)

    def keep_answer(self, key: str, role: str, answer: StoredAnswer) -> None:
        """Store an answer."""
        self._keep(StoredRow("answers", (key, role, answer.tokens, encode_json(answer))))

    def forget_answers(self) -> None:
        """Delete the model's answers."""
        with self._writing() as db:
            db.execute("DELETE FROM answers")

    def spent(self) -> Spent:
        """Return the answered requests and their tokens, without answers cached from other runs."""
        with self._failing():
            requests, tokens = self._db.execute(
                "SELECT count(nullif(tokens, 0)), coalesce(sum(tokens), 0) FROM answers"
            ).fetchone()
        return Spent(requests, tokens)

    def search(self, key: str, kind: type[Value]) -> Value | None:
        """Return the stored result of a search."""
        return self._read("SELECT value FROM searches WHERE key = ?", key, kind)

    def keep_search(self, key: str, found: msgspec.Struct) -> None:
        """Store the result of a search."""
        self._keep(StoredRow("searches", (key, encode_json(found))))

    def page(self, url: str) -> StoredPage | None:
        """Return the stored result of reading the page at `url`."""
        return self._read("SELECT value FROM pages WHERE url = ?", url, StoredPage)

    def keep_page(self, url: str, page: StoredPage, text: str = "") -> StoredPage:
        """Store the result of reading the page at `url`, with its full text."""
        text = text.encode("utf-8", "replace").decode()  # lone surrogates cannot be written
        kept = msgspec.structs.replace(page, text_hash=text_hash(text) if text else "", characters=len(text))
        texts = [StoredRow("texts", (kept.text_hash, text))] if text else []
        self._keep(*texts, StoredRow("pages", (url, encode_json(kept))))
        return kept

    def text(self, name: str) -> str:
        """Return the text with the hash `name`. Raises ResearchError if it is missing."""
        with self._failing():
            row = self._db.execute("SELECT text FROM texts WHERE hash = ?", (name,)).fetchone()
        if row is None:
            raise self._damaged(Phrase("The text of a page is missing"))
        return row[0]

    def rows(self) -> list[StoredRow]:
        """Return all rows, for replication."""
        with self._failing():
            return [StoredRow(table, row) for table in _COLUMNS for row in self._db.execute(f"SELECT * FROM {table}")]  # noqa: S608 - names of ours

    def add_rows(self, rows: Iterable[StoredRow]) -> None:
        """Add rows of a replicated store of the same run. Raises ResearchError for an invalid row."""
        rows = list(rows)
        if any(len(row.values) != _COLUMNS.get(row.table) for row in rows):
            raise self._damaged(Phrase("It is not saved data of a run"))
        self._insert(rows)

    def _keep(self, *rows: StoredRow) -> None:
        self._insert(rows)
        for row in rows:
            self._on_kept(row)

    def _insert(self, rows: Iterable[StoredRow]) -> None:
        with self._writing() as db:
            for table, values in rows:
                marks = ", ".join("?" * len(values))
                db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", values)  # noqa: S608 - names of ours

    def _read(self, query: str, key: str, kind: type[Value]) -> Value | None:
        with self._failing():
            row = self._db.execute(query, (key,) if key else ()).fetchone()
        try:
            return decode_json(row[0], kind) if row else None
        except msgspec.DecodeError as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, reason: object) -> ResearchError:
        return ResearchError("research_damaged", id=self.folder.name, file=self._file, reason=reason)

    @contextmanager
    def _writing(self) -> "Generator[sqlite3.Connection]":
        with self._failing(), self._db:
            yield self._db

    @contextmanager
    def _failing(self) -> Generator[None]:
        """Convert errors of the file."""
        import sqlite3

        try:
            yield
        except (sqlite3.OperationalError, OSError) as error:
            raise ResearchError(
                "research_disk", id=self.folder.name, folder=self.folder, reason=str(error).rstrip(".")
            ) from error
        except (sqlite3.DatabaseError, OverflowError) as error:  # a number of a queue's row that is too large
            raise self._damaged(str(error).rstrip(".")) from error
