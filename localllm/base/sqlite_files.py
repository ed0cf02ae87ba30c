"""SQLite databases in folders that somebody else may have written to: what lies beside one, and what is in it."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.base.regular_files import open_regular

if TYPE_CHECKING:
    import sqlite3

_COMPANIONS = ("-journal", "-wal", "-shm")
_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""With these a journal ends that names a super-journal: https://www.sqlite.org/fileformat2.html#the_rollback_journal."""


def check_companions(file: Path) -> None:
    """Raise sqlite3.DatabaseError where opening the database would reach another file: a link in its place or beside
    it, or a journal that names a super-journal, which SQLite deletes once it has played the journal back. Ours never
    have one, for they are never attached. sqlite3.OperationalError where the files cannot be looked at.

    Only the journal is opened: with the first descriptor of a database that a process closes, all its locks on it are
    gone (https://www.sqlite.org/howtocorrupt.html, 2.2).
    """
    import sqlite3

    try:
        for name in (file.name, *(file.name + ending for ending in _COMPANIONS)):
            with suppress(FileNotFoundError):
                if not stat.S_ISREG(file.with_name(name).lstat().st_mode):
                    raise sqlite3.DatabaseError(f"{name} is no regular file")
        with suppress(FileNotFoundError), open_regular(file.with_name(f"{file.name}-journal")) as journal:
            journal.seek(max(0, journal.seek(0, os.SEEK_END) - len(_MAGIC)))
            if journal.read() == _MAGIC:
                raise sqlite3.DatabaseError(f"{file.name}-journal names another file")
    except OSError as error:
        raise sqlite3.OperationalError(error.strerror or str(error)) from error


def check_schema(database: "sqlite3.Connection") -> None:
    """Raise sqlite3.DatabaseError for a view or a trigger: a query of ours would run what somebody else wrote."""
    import sqlite3

    database.execute("PRAGMA trusted_schema=OFF")
    if database.execute("SELECT 1 FROM sqlite_master WHERE type NOT IN ('table', 'index') LIMIT 1").fetchone():
        raise sqlite3.DatabaseError("it holds a view or a trigger")
