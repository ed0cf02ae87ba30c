"""Past runs: those finished, failed and unfinished, and what is left of a deleted one."""

from pathlib import Path

import pytest

from localllm.base.errors import ResearchError, ResearchUsageError
from localllm.research.records import ResearchState
from localllm.research.report.report_files import write_report
from localllm.research.run_history import delete_run, matching, past_run, past_runs
from localllm.research.run_store import HISTORY, RunLock, RunStore, reserve_run
from tests.support.research_states import told_state


def run_of(work: Path, question: str, *, done: bool) -> str:
    name, folder = reserve_run(work, 2026)
    state = told_state()
    state.id, state.question, state.title = name, question, question
    state.next = "done" if done else "process"
    with RunStore(folder) as store:
        store.save_state(state)
    if done:
        write_report(state, folder)
    return name


def test_the_newest_first_with_what_came_of_them(tmp_path: Path) -> None:
    first = run_of(tmp_path, "How high is the tower?", done=True)
    second = run_of(tmp_path, "ニシンの漁獲枠は？", done=False)
    reserve_run(tmp_path, 2026)  # for a task
    damaged, folder = reserve_run(tmp_path, 2026)
    (folder / "run.sqlite").write_text("no database")
    runs, faults = past_runs(tmp_path)
    assert [(run.id, run.status, run.report is not None) for run in runs] == [
        (second, "unfinished", False),
        (first, "success", True),
    ]
    assert [fault.params["id"] for fault in faults] == [damaged]
    assert [run.id for run in matching(runs, "tower height")] == [first]
    assert [run.id for run in matching(runs, "ニシン")] == [second]


def test_changed_metadata_does_not_hide_a_run(tmp_path: Path) -> None:
    name = run_of(tmp_path, "Why?", done=True)
    next((tmp_path / HISTORY / name).glob("*.meta.yaml")).write_text("status: [")
    run = past_run(tmp_path, name)
    assert (run.status, run.facts.question) == ("success", "Why?")


def test_metadata_without_end_do_not_take_the_memory(tmp_path: Path) -> None:
    name = run_of(tmp_path, "Why?", done=True)
    with next((tmp_path / HISTORY / name).glob("*.meta.yaml")).open("r+b") as file:
        file.truncate(1 << 40)  # a hole
    assert past_run(tmp_path, name).facts.question == "Why?"


def test_a_deleted_run_is_gone_and_its_id_stays_taken(tmp_path: Path) -> None:
    name = run_of(tmp_path, "Why?", done=True)
    delete_run(tmp_path, name)
    assert past_runs(tmp_path) == ([], [])
    assert list((tmp_path / HISTORY / name).iterdir()) == []
    with pytest.raises(ResearchUsageError):
        past_run(tmp_path, name)
    assert run_of(tmp_path, "Why?", done=True) != name


def test_a_run_that_is_worked_on_stays(tmp_path: Path) -> None:
    name = run_of(tmp_path, "Why?", done=False)
    with RunLock(tmp_path / HISTORY / name), pytest.raises(ResearchError) as caught:
        delete_run(tmp_path, name)
    assert caught.value.key == "research_busy"
    with RunStore(tmp_path / HISTORY / name) as store:
        assert isinstance(store.load_state(), ResearchState)
