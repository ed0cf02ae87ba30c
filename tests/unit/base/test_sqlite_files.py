"""Databases in a folder that somebody else may write to, as SQLite itself would open them."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from localllm.base.sqlite_files import check_companions, check_schema
from tests.support.deadly_database import deadly_database


def test_a_journal_that_names_another_file_is_refused(tmp_path: Path) -> None:
    file, precious = tmp_path / "run.sqlite", tmp_path / "precious.txt"
    precious.write_text("the only copy")
    deadly_database(file, precious)
    with pytest.raises(sqlite3.DatabaseError, match="names another file"):
        check_companions(file)
    with closing(sqlite3.connect(file)) as database:
        database.execute("SELECT * FROM sqlite_master").fetchall()
    assert not precious.exists(), "the attack works where nobody looks"


def test_a_journal_of_our_own_that_a_killed_program_left_is_played_back(tmp_path: Path) -> None:
    file = tmp_path / "run.sqlite"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE one (x)")
        database.execute("INSERT INTO one VALUES (1)")
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA cache_size=1")
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO one VALUES (?)", [("x" * 4_000,)] * 50)
        kept = file.read_bytes(), file.with_name("run.sqlite-journal").read_bytes()
        database.execute("ROLLBACK")
    file.write_bytes(kept[0])
    file.with_name("run.sqlite-journal").write_bytes(kept[1])
    check_companions(file)
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT x FROM one").fetchall() == [(1,)]


@pytest.mark.parametrize("ending", ["", "-journal", "-wal", "-shm"])
def test_a_link_is_not_followed(tmp_path: Path, ending: str) -> None:
    file = tmp_path / "run.sqlite"
    sqlite3.connect(file).close()
    (tmp_path / f"run.sqlite{ending}").unlink(missing_ok=True)
    (tmp_path / f"run.sqlite{ending}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(sqlite3.DatabaseError):
        check_companions(file)


def test_looking_takes_no_lock_from_those_who_write(tmp_path: Path) -> None:
    file = tmp_path / "run.sqlite"
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("CREATE TABLE one (x)")
        database.execute("BEGIN EXCLUSIVE")
        check_companions(file)
        other = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
        tried = subprocess.run([sys.executable, "-c", other, file], capture_output=True, text=True, check=False)
    assert "database is locked" in tried.stderr


def test_files_that_cannot_be_looked_at_are_not_called_damaged(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(sqlite3.OperationalError):
        check_companions(tmp_path / "folder" / "run.sqlite")


def test_what_sqlite_itself_adds_is_accepted(tmp_path: Path) -> None:
    table = "CREATE TABLE IF NOT EXISTS one (number INTEGER PRIMARY KEY AUTOINCREMENT, x UNIQUE)"
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as database:
        database.execute(table)
        database.executemany("INSERT INTO one (x) VALUES (?)", [(number,) for number in range(9)])
        database.execute("ANALYZE")
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        assert {"sqlite_sequence", "sqlite_stat1"} < names
        check_schema(database, table)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE sqlite_stat1(tbl,idx,stat AS (hex(zeroblob(450000000))))",
        "CREATE TABLE sqlite_stat1(tbl,idx,stat CHECK (stat < hex(zeroblob(450000000))))",
        "CREATE TABLE sqlite_stat5(tbl,idx,stat)",
        "CREATE VIEW sqlite_stat1 AS SELECT 1 AS tbl, 2 AS idx, 3 AS stat",
    ],
)
def test_other_tables_by_the_names_of_sqlites_own_are_not(tmp_path: Path, sql: str) -> None:
    table = "CREATE TABLE IF NOT EXISTS one (x UNIQUE)"
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as database:
        database.execute(table)
        database.execute("INSERT INTO one VALUES (1)")
        database.execute("ANALYZE")
        database.execute("PRAGMA writable_schema=ON")
        database.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'sqlite_stat1'", (sql,))
        database.commit()
        with pytest.raises(sqlite3.DatabaseError, match="view"):
            check_schema(database, table)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW files AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c",
        "CREATE TRIGGER t AFTER INSERT ON one BEGIN DELETE FROM one; END",
        "CREATE TABLE files (x, y AS (hex(zeroblob(450000000))))",
        "CREATE TABLE files (x CHECK (x < hex(zeroblob(450000000))))",
        "CREATE VIRTUAL TABLE files USING fts5 (x)",
        "CREATE INDEX i ON one (hex(x))",
        "ALTER TABLE one ADD COLUMN z AS (hex(zeroblob(450000000)))",
    ],
)
def test_nothing_but_the_own_tables_is_accepted(tmp_path: Path, statement: str) -> None:
    tables = "CREATE TABLE IF NOT EXISTS one (\n  x UNIQUE)", "CREATE TABLE IF NOT EXISTS two (x)"
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as database:
        check_schema(database, *tables)
        database.execute(tables[0])
        check_schema(database, *tables)
        database.execute(statement)
        with pytest.raises(sqlite3.DatabaseError, match="view"):
            check_schema(database, *tables)
