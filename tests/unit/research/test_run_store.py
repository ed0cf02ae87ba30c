"""What a run has found stays, and nobody else works on it."""

import multiprocessing
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.base.errors import ResearchError, ResearchUsageError
from localllm.research.records import Evidence, Query, ResearchState, Source
from localllm.research.run_store import (
    STORE,
    RunLock,
    RunStore,
    StoredAnswer,
    StoredPage,
    StoredRow,
    reserve_run,
    run_folder,
    text_hash,
)
from tests.support.deadly_database import deadly_database


def _reserve(data: Path, names: "multiprocessing.Queue[str]") -> None:
    names.put(reserve_run(data, 2026)[0])


def test_ids_are_given_once(tmp_path: Path) -> None:
    names: multiprocessing.Queue[str] = multiprocessing.get_context("spawn").Queue()
    runners = [multiprocessing.get_context("spawn").Process(target=_reserve, args=(tmp_path, names)) for _ in range(4)]
    for runner in runners:
        runner.start()
    given = sorted(names.get(timeout=30) for _ in runners)
    for runner in runners:
        runner.join()
    assert given == ["2026-0001", "2026-0002", "2026-0003", "2026-0004"]
    assert reserve_run(tmp_path, 2027)[0] == "2027-0001"


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    state = ResearchState(id="2026-0001", question="何?", today="2026-11-24", round=2, next="process")
    state.queries.append(Query("a", "gap", 1, "C1"))
    state.sources.append(Source(id=state.new_id("S"), url="https://a.example/"))
    state.evidence.append(Evidence(state.new_id("E"), "S1", 0, 3, "abc"))
    with RunStore(tmp_path) as store:
        assert store.load_state() is None
        store.save_state(state)
    with RunStore(tmp_path) as store:
        assert store.load_state() == state


def test_answers_and_pages_are_kept(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        store.keep_answer("k", "brief", StoredAnswer("text", tokens=7))
        store.keep_answer("l", "brief", StoredAnswer("", cut=True, tokens=5))
        kept = store.keep_page("https://a.example/", StoredPage("https://a.example/b", "T"), "whole \ud800 text")
    with RunStore(tmp_path) as store:
        assert store.answer("k") == StoredAnswer("text", tokens=7)
        assert store.answer("none") is None
        assert (store.spent().requests, store.spent().tokens) == (2, 12)
        assert store.page("https://a.example/") == kept
        assert store.text(kept.text_hash) == "whole ? text"
        assert kept.text_hash == text_hash("whole ? text")
        with pytest.raises(ResearchError) as told:
            store.text("nothing")
    assert told.value.key == "research_damaged"


KILLED = """
import os, sys
from pathlib import Path
from localllm.research.records import ResearchState
from localllm.research.run_store import RunStore, StoredAnswer
store = RunStore(Path(sys.argv[1]))
store.save_state(ResearchState(id="2026-0001", question="q", today="t", round=5))
store.keep_answer("k", "brief", StoredAnswer("kept"))
store._db.execute("BEGIN")
store._db.execute("DELETE FROM answers")
os.kill(os.getpid(), 9)
"""


def test_what_was_kept_outlives_a_kill(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False).returncode == -9
    with RunStore(tmp_path) as store:
        state = store.load_state()
        assert state
        assert state.round == 5
        assert store.answer("k") == StoredAnswer("kept")


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store:
        store.keep_answer("k", "brief", StoredAnswer("kept"))
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(ResearchError) as told:
            store.keep_page("https://a.example/", StoredPage("https://a.example/"), "long " * 100_000)
        assert told.value.key == "research_disk"
        assert store.page("https://a.example/") is None
        assert store.answer("k") == StoredAnswer("kept")


@pytest.mark.parametrize(
    "data", [b"no database at all, but long enough to be looked at" * 40, b"SQLite format 3\0junk" * 99]
)
def test_a_damaged_file_is_told(tmp_path: Path, data: bytes) -> None:
    (tmp_path / STORE).write_bytes(data)
    with pytest.raises(ResearchError) as told:
        RunStore(tmp_path)
    assert told.value.key == "research_damaged"


def test_a_damaged_state_is_told(tmp_path: Path) -> None:
    with RunStore(tmp_path):
        pass
    db = sqlite3.connect(tmp_path / STORE)
    with db:
        db.execute("INSERT INTO state VALUES (1, ?)", (b'{"id": 3}',))
    db.close()
    with RunStore(tmp_path) as store, pytest.raises(ResearchError) as told:
        store.load_state()
    assert told.value.key == "research_damaged"


HOLDER = """
import sys
from pathlib import Path
from localllm.research.run_store import RunLock
with RunLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_process_at_a_time_has_a_run(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ResearchError) as told, RunLock(tmp_path):
            pass
        assert told.value.key == "research_busy"
        assert str(holder.pid) in str(told.value)
        holder.kill()
        holder.wait()
    with RunLock(tmp_path):
        pass


def test_a_row_with_a_number_too_large_is_told(tmp_path: Path) -> None:
    with RunStore(tmp_path) as store, pytest.raises(ResearchError) as told:
        store.add_rows([StoredRow("state", (2**63, b"x"))])
    assert told.value.key == "research_damaged"


@pytest.mark.parametrize("name", ["2026-0009", "../x", "", "2026-1"])
def test_a_run_that_is_not_there_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(ResearchUsageError) as told:
        run_folder(tmp_path, name)
    assert told.value.key == "research_no_run"


def test_a_run_that_somebody_laid_there_deletes_nothing(tmp_path: Path) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text("the only copy")
    (tmp_path / "run").mkdir()
    deadly_database(tmp_path / "run" / STORE, precious)
    with pytest.raises(ResearchError) as caught:
        RunStore(tmp_path / "run")
    assert caught.value.key == "research_damaged"
    assert precious.exists()


def test_a_run_whose_folder_is_a_link_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    folder = tmp_path / "2026-0001"
    folder.symlink_to("outside")
    for opened in (RunLock, RunStore):
        with pytest.raises(ResearchError), opened(folder):
            pass
    assert not list((tmp_path / "outside").iterdir())
