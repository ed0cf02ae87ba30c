"""The log's file is bounded by age, number and size; it can be read wherever it is."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from localllm.base.errors import RequestLogError
from localllm.ensemble.log_database import LogDatabase, LoggedAnswer, LoggedRun, LogLimits, find_run, read_runs
from tests.support.deadly_database import deadly_database

DAY = 86_400.0


def run(number: int, *, at: float = 0.0, text: str = "text") -> LoggedRun:
    answer = LoggedAnswer(worker=0, agent="a", model="m", text=text, characters=len(text), seconds=1.0)
    return LoggedRun(
        run_id=f"r{number}",
        at=at,
        outcome="answered",
        strategy="review",
        reviewer="R",
        seconds=1.0,
        prompt="p",
        final_answer="f",
        review_comment="c",
        answers=(answer,),
    )


def kept(file: Path) -> list[str]:
    return [one.run_id for one in read_runs(file, 10_000)]


def test_more_runs_than_are_kept_go_the_oldest_first(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlite"
    database = LogDatabase(file, LogLimits(runs=3), clock=lambda: 0.0)
    for number in range(10):
        database.add([run(number)])
    database.close()
    assert kept(file) == ["r9", "r8", "r7"]
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT count(*) FROM answers").fetchone() == (3,)


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlite"
    now = 100 * DAY
    database = LogDatabase(file, LogLimits(days=30), clock=lambda: now)
    database.add([run(number, at=number * 10 * DAY) for number in range(11)])
    database.close()
    assert kept(file) == ["r10", "r9", "r8", "r7"]


def test_much_that_is_too_old_goes_in_parts(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlite"
    day = 0.0
    database = LogDatabase(file, LogLimits(days=30), clock=lambda: day)
    database.add([run(number, at=0.0) for number in range(450)])
    day = 100 * DAY
    left: list[int] = []
    for number in range(1_000, 1_003):
        database.add([run(number, at=day)])
        left.append(len(kept(file)))
    database.close()
    assert left == [251, 52, 3]


def test_the_file_stays_below_its_size(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlite"
    database = LogDatabase(file, LogLimits(bytes=1_000_000), clock=lambda: 0.0)
    sizes: list[int] = []
    for number in range(400):
        database.add([run(number, text="x" * 20_000)])
        sizes.append(file.stat().st_size)
    database.close()
    assert max(sizes) < 1_500_000
    assert kept(file)[0] == "r399"
    assert len(kept(file)) > 20


def test_room_that_is_free_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localllm.ensemble.log_database._FREED_AT_ONCE", 50)
    file = tmp_path / "x.sqlite"
    database = LogDatabase(file, clock=lambda: 0.0)
    database.add([run(number, text="x" * 20_000) for number in range(200)])
    database.close()
    before = file.stat().st_size
    database = LogDatabase(file, LogLimits(runs=10), clock=lambda: 0.0)
    for number in range(1_000, 1_050):
        database.add([run(number)])
    database.close()
    assert file.stat().st_size < before / 4


def test_a_run_is_logged_once(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlite"
    database = LogDatabase(file, clock=lambda: 0.0)
    database.add([run(1), run(1)])
    database.add([run(1)])
    database.close()
    assert [len(one.answers) for one in read_runs(file, 10)] == [1]


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlite"
    assert read_runs(file, 5) == []
    assert not file.exists()
    with pytest.raises(RequestLogError) as caught:
        find_run(file, "r1")
    assert caught.value.key == "request_log_no_run"
    file.touch()
    assert read_runs(file, 5) == []


@pytest.mark.parametrize("content", [b"no database" * 1_000, b"SQLite format 3\0" + b"\xff" * 5_000])
def test_reading_a_damaged_file_is_an_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.sqlite"
    file.write_bytes(content)
    with pytest.raises(RequestLogError) as caught:
        read_runs(file, 5)
    assert caught.value.key == "request_log_damaged"
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("change", "key"),
    [("PRAGMA application_id=7", "request_log_unusable"), ("PRAGMA user_version=99", "request_log_newer")],
)
def test_reading_a_file_that_is_not_ours_is_an_error(tmp_path: Path, change: str, key: str) -> None:
    file = tmp_path / "x.sqlite"
    LogDatabase(file, clock=lambda: 0.0).close()
    with closing(sqlite3.connect(file)) as db:
        db.execute(change)
    with pytest.raises(RequestLogError) as caught:
        read_runs(file, 5)
    assert caught.value.key == key


def test_the_limits_are_those_that_are_documented() -> None:
    limits = LogLimits()
    assert (limits.days, limits.runs, limits.bytes) == (30, 10_000, 200_000_000)


def test_what_a_journal_beside_it_names_is_not_deleted(tmp_path: Path) -> None:
    precious = tmp_path / "thesis"
    precious.touch()
    LogDatabase(tmp_path / "requests.sqlite").close()
    deadly_database(tmp_path / "requests.sqlite", precious)
    with pytest.raises(RequestLogError):
        LogDatabase(tmp_path / "requests.sqlite")
    assert precious.exists()
