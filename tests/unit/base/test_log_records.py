"""The log read back: records of several lines, by level, category and time; and what is added."""

from datetime import datetime
from pathlib import Path

from localllm.base.log_records import Follower, LogRecord, Wanted, read_log, records, stamp

FIRST = "2026-11-23T10:00:00.000000Z [INFO] [WEB] 2026-0001 query: herring\n"
FAILED = (
    "2026-11-24T10:00:00.000000Z [ERROR] [APP] a run failed\n"
    "Traceback (most recent call last):\n"
    "ValueError: 2026-11-24T10:00:00.000000Z [nothing] like a record\n"
)
LAST = "2026-11-24T11:00:00.000000Z [DEBUG] [LLM] reader: 300 tokens\n"


def log(folder: Path) -> Path:
    (folder / "localllm.2026-11-23.log").write_text("the end of something\n" + FIRST)
    (folder / "localllm.2026-11-24.1.log").write_text(FAILED)
    (folder / "localllm.2026-11-24.log").write_text(LAST)
    (folder / "other.2026-11-24.log").write_text(FIRST)
    return folder


def texts(folder: Path, wanted: Wanted, most: int = 0) -> list[str]:
    return [record.text for record in read_log(folder, wanted, most)]


def test_records_have_the_lines_that_follow() -> None:
    assert list(records((FIRST + FAILED).splitlines(keepends=True))) == [
        LogRecord("2026-11-23T10:00:00.000000Z", "INFO", "WEB", FIRST),
        LogRecord("2026-11-24T10:00:00.000000Z", "ERROR", "APP", FAILED),
    ]


def test_what_is_wanted_the_oldest_first(tmp_path: Path) -> None:
    folder = log(tmp_path)
    assert texts(folder, Wanted()) == [FIRST, FAILED, LAST]
    assert texts(folder, Wanted(level="INFO")) == [FIRST, FAILED]
    assert texts(folder, Wanted(categories=frozenset({"LLM", "WEB"}))) == [FIRST, LAST]
    assert texts(folder, Wanted(), 2) == [FAILED, LAST]
    since = stamp(datetime.fromisoformat("2026-11-24T19:30:00+09:00"))
    assert texts(folder, Wanted(since=since)) == [LAST]
    assert texts(tmp_path / "nowhere", Wanted()) == []


def test_only_what_is_added_is_followed_also_into_a_new_file(tmp_path: Path) -> None:
    follower = Follower(log(tmp_path))
    assert follower.new_lines() == []
    today = tmp_path / "localllm.2026-11-24.log"
    with today.open("a") as opened:
        opened.write(FIRST + "half a li")
    assert follower.new_lines() == [FIRST]
    with today.open("a") as opened:
        opened.write("ne\n")
    today.rename(tmp_path / "localllm.2026-11-24.2.log")
    today.write_text(LAST)
    (tmp_path / "localllm.2026-11-25.log").write_text(FIRST)
    assert follower.new_lines() == ["half a line\n", LAST, FIRST]
