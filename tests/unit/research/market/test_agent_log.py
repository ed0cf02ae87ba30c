"""The log of scans: in a database, beside it where that cannot be written, and deleted with all that belongs to it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localllm.base.errors import ResearchUsageError
from localllm.research.market.agent_log import DATABASE, MARKET, SPARE, AgentLog, matching
from localllm.research.market.market_records import MarketResult


def record(name: str, theme: str = "ferries", started: str = "2026-11-24T10:00:00+00:00") -> MarketResult:
    return MarketResult(session_id="s", execution_id=name, theme=theme, success=True, started_at=started)


def test_records_are_rows_and_are_listed_the_newest_first(tmp_path: Path) -> None:
    log = AgentLog(tmp_path)
    old, new = record("m-1", started="2026-11-23T10:00:00+00:00"), record("m-2", "towers")
    assert log.add(old) is None
    assert log.add(new) is None
    assert log.all() == [new, old]
    with closing(sqlite3.connect(tmp_path / MARKET / DATABASE)) as db, db:
        rows = db.execute("SELECT id, theme, started FROM agent_logs ORDER BY id").fetchall()
    assert rows == [("m-1", "ferries", old.started_at), ("m-2", "towers", new.started_at)]
    assert matching(log.all(), "ferries") == [old]


def test_where_the_database_cannot_be_written_a_file_beside_it_has_the_record(tmp_path: Path) -> None:
    (tmp_path / MARKET / DATABASE).mkdir(parents=True)
    log = AgentLog(tmp_path)
    trouble = log.add(record("m-1"))
    assert trouble is not None
    assert trouble.code == "E7068"
    assert (tmp_path / MARKET / SPARE).read_bytes().count(b"\n") == 1
    (tmp_path / MARKET / DATABASE).rmdir()
    assert log.find("m-1") == record("m-1")


def test_a_line_that_was_not_written_to_its_end_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / MARKET / DATABASE).mkdir(parents=True)
    log = AgentLog(tmp_path)
    log.add(record("m-1"))
    (tmp_path / MARKET / DATABASE).rmdir()
    with (tmp_path / MARKET / SPARE).open("ab") as spare:
        spare.write(b'{"executionId": "m-2", "the')
    assert [one.execution_id for one in log.all()] == ["m-1"]


def test_what_is_deleted_is_gone_with_its_pages(tmp_path: Path) -> None:
    log = AgentLog(tmp_path)
    log.add(record("m-1"))
    folder = tmp_path / MARKET / "m-1"
    folder.mkdir()
    (folder / "run.sqlite").write_bytes(b"x")
    log.delete("m-1")
    assert log.all() == []
    assert not folder.exists()
    with pytest.raises(ResearchUsageError):
        log.delete("m-1")


def test_an_empty_log_is_not_made_by_looking(tmp_path: Path) -> None:
    assert AgentLog(tmp_path).all() == []
    assert not (tmp_path / MARKET).exists()


def test_no_record_goes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / MARKET / DATABASE).mkdir(parents=True)
    (tmp_path / "bashrc").write_text("mine")
    (tmp_path / MARKET / SPARE).symlink_to(tmp_path / "bashrc")
    trouble = AgentLog(tmp_path).add(record("m-1", "$(touch PWNED)"))
    assert trouble is not None
    assert (tmp_path / "bashrc").read_text() == "mine"
