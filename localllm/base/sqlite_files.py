"""Check SQLite databases in folders others may have written to: their companion files and schemas."""

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
"""Ends a journal that names a super-journal: https://www.sqlite.org/fileformat2.html#the_rollback_journal."""


_OF_SQLITE = frozenset(
    {
        "CREATE TABLE sqlite_sequence(name,seq)",
        "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
        "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
    }
)
"""The tables that SQLite itself adds, for AUTOINCREMENT and by ANALYZE, as it writes them: plain columns, no code."""


def check_companions(file: Path) -> None:
    """Raise sqlite3.DatabaseError if opening the database would reach another file: a link in its place or beside it,
    or a journal that names a super-journal, which SQLite deletes after the rollback. Ours never have one, as they are
    never attached. Raises sqlite3.OperationalError if the files cannot be examined.

    Only the journal is opened: closing any descriptor of a database releases all the process's locks on it
    (https://www.sqlite.org/howtocorrupt.html, 2.2).
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


def check_schema(database: "sqlite3.Connection", *tables: str) -> None:
    """Raise sqlite3.DatabaseError if the database holds anything but the `tables` (CREATE TABLE IF NOT EXISTS …) and
    SQLite's own: with views, triggers, generated columns, constraints and indexes, our queries would run foreign
    code."""
    import sqlite3

    database.execute("PRAGMA trusted_schema=OFF")
    own = {_normalised(table.replace(" IF NOT EXISTS", "", 1)) for table in tables}  # as SQLite keeps it
    for (sql,) in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"):
        if _normalised(str(sql)) not in own and sql not in _OF_SQLITE:
            raise sqlite3.DatabaseError("it holds a table, view, trigger or index of another form")


def _normalised(sql: str) -> str:
    return " ".join(sql.split())
