"""The log of scans: a SQLite record per execution, with a JSON lines file as fallback."""

import os
import re
import shutil
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import ResearchError, ResearchUsageError
from localllm.base.files import open_own, write_own
from localllm.base.jsontext import decode_json, encode_json
from localllm.base.sqlite_files import check_companions, check_schema
from localllm.research.market.market_records import MarketResult
from localllm.text.bm25 import Bm25
from localllm.text.tokenising import terms

if TYPE_CHECKING:
    import sqlite3

MARKET = "market"
"""The folder of scans in the work folder: their log, and a folder per scan with its pages and answers."""

DATABASE = "agent_logs.sqlite"
SPARE = "agent_logs.jsonl"
EXECUTION_ID = re.compile(r"m-[0-9a-f]{12}")

_SECONDS = 5.0
_LARGEST_SPARE = 100_000_000  # bytes read of the fallback file
_TABLE = """
CREATE TABLE IF NOT EXISTS agent_logs (
    id TEXT PRIMARY KEY, theme TEXT NOT NULL, queries TEXT NOT NULL, results TEXT NOT NULL, metrics TEXT NOT NULL,
    started TEXT NOT NULL, finished TEXT NOT NULL)
"""


class AgentLog:
    """The log in a work folder, which several processes may share."""

    def __init__(self, work_folder: Path) -> None:
        self.folder = work_folder / MARKET

    def add(self, result: MarketResult) -> ResearchError | None:
        """Add a record; return the error if it is only in the fallback file, or nowhere."""
        try:
            self._insert(result)
        except ResearchError as error:
            return self._added_to_spare(result, error)
        return None

    def all(self) -> list[MarketResult]:
        """Return all records, newest first. Raises ResearchError for an unreadable log."""
        records = {one.execution_id: one for one in (*self._in_spare(), *self._in_database())}
        return sorted(records.values(), key=lambda one: (one.started_at, one.execution_id), reverse=True)

    def find(self, name: str) -> MarketResult:
        """Return the record with this id. Raises ResearchUsageError if there is none."""
        found = next((one for one in self.all() if one.execution_id == name), None)
        if found is None:
            raise ResearchUsageError("market_no_scan", id=name, folder=self.folder)
        return found

    def delete(self, name: str) -> None:
        """Delete a record with all data of its scan. Raises ResearchError."""
        self.find(name)
        try:
            if (self.folder / DATABASE).exists():
                with self._opened() as db:
                    db.execute("DELETE FROM agent_logs WHERE id = ?", (name,))
            self._delete_from_spare(name)
            if (folder := self.folder / name).is_dir():
                shutil.rmtree(folder)
        except OSError as error:
            raise self._unusable(error) from error

    def _insert(self, result: MarketResult) -> None:
        queries = result.data.queries if result.data else None
        row = (
            result.execution_id,
            result.theme,
            encode_json(queries).decode(),
            encode_json(result).decode(),
            encode_json(result.metrics).decode(),
            result.started_at,
            result.finished_at,
        )
        with self._opened() as db:
            db.execute("INSERT OR REPLACE INTO agent_logs VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def _added_to_spare(self, result: MarketResult, why: ResearchError) -> ResearchError:
        """Write the record to the fallback file; return the error of the database, or of both."""
        file = self.folder / SPARE
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(open_own(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as spare:
                spare.write(encode_json(result) + b"\n")
        except OSError as error:
            return self._unusable(error)
        return ResearchError("market_log_spare", file=file, reason=why.params["reason"])

    def _in_database(self) -> Sequence[MarketResult]:
        if not (self.folder / DATABASE).exists():
            return []
        with self._opened() as db:
            rows = db.execute("SELECT results FROM agent_logs").fetchall()
        return [one for (text,) in rows if (one := _record(text))]

    def _in_spare(self) -> Sequence[MarketResult]:
        """Read the fallback file; an incomplete line is skipped."""
        file = self.folder / SPARE
        try:
            with os.fdopen(open_own(file, os.O_RDONLY), "rb") as spare:
                lines = spare.read(_LARGEST_SPARE).splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._unusable(error) from error
        return [one for line in lines if (one := _record(line))]

    def _delete_from_spare(self, name: str) -> None:
        file = self.folder / SPARE
        if not file.exists():
            return
        kept = [one for one in self._in_spare() if one.execution_id != name]
        write_own(file, b"".join(encode_json(one) + b"\n" for one in kept))

    @contextmanager
    def _opened(self) -> "Generator[sqlite3.Connection]":
        import sqlite3

        file = self.folder / DATABASE
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_companions(file)
            file.touch(mode=0o600)
            with closing(sqlite3.connect(file, timeout=_SECONDS)) as db, db:
                check_schema(db, _TABLE)
                db.execute(_TABLE)
                yield db
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> ResearchError:
        return ResearchError("market_log", folder=self.folder, reason=str(error).rstrip("."))


def matching(records: Sequence[MarketResult], words: str) -> list[MarketResult]:
    """Return the records whose theme or summary matches the words, best first."""
    by_id = {one.execution_id: one for one in records}
    index = Bm25({one.execution_id: terms(f"{one.theme}\n{one.data.summary if one.data else ''}") for one in records})
    return [by_id[name] for name, _score in index.best(terms(words), len(records))]


def _record(text: str | bytes) -> MarketResult | None:
    try:
        return decode_json(text, MarketResult)
    except msgspec.DecodeError:
        return None
