"""Tasks in their files: ids, what is due, who may work on one, and files that people have changed."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from localllm.base.errors import ResearchError, ResearchUsageError
from localllm.research.run_store import reserve_run
from localllm.research.schedules import Schedule
from localllm.research.tasks import Task, TaskRun, TaskStore, written
from tests.support.each import each

NOW = datetime.fromisoformat("2026-11-24T12:00:00+00:00")
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def store(tmp_path: Path) -> TaskStore:
    return TaskStore(tmp_path)


def add(store: TaskStore, prompt: str = "Why?", schedule: Schedule | None = None) -> Task:
    return store.add(prompt, {"max_validation": 1, "sites": ["example.org"]}, schedule, NOW)


def at(hours: int, every: str = "") -> Schedule:
    return Schedule(every, (NOW + timedelta(hours=hours)).isoformat())


def test_the_file_has_the_fields_of_the_paper(store: TaskStore) -> None:
    task = add(store, "量子コンピュータの影響は？")
    written = yaml.safe_load(store.file(task.id).read_text("utf-8"))
    assert written == {
        "id": "2026-0001",
        "prompt": "量子コンピュータの影響は？",
        "status": "scheduled",
        "created_at": "2026-11-24T12:00:00+00:00",
        "updated_at": None,
        "options": {"max_validation": 1, "sites": ["example.org"]},
    }
    assert "量子" in store.file(task.id).read_text("utf-8")
    assert store.read(task.id) == task


def test_a_task_of_the_paper_is_read(store: TaskStore) -> None:
    store.folder.mkdir()
    (store.folder / "2025-0001.yaml").write_text(
        "created_at: 2025-01-15T10:00:00\nid: 2025-0001\noptions:\n  language: ja\n  query_count: null\n"
        "  min_validation: 1\nprompt: 調査\nstatus: scheduled\nupdated_at: null\n",
        "utf-8",
    )
    task = store.read("2025-0001")
    assert (task.prompt, task.options, task.created_at) == (
        "調査",
        {"language": "ja", "min_validation": 1},
        "2025-01-15T10:00:00",
    )
    assert task.is_due(NOW)


def test_ids_are_given_once_also_to_many_at_a_time_and_to_runs(store: TaskStore, tmp_path: Path) -> None:
    store.folder.mkdir()
    (store.folder / "2026-0003.yaml").write_text("by hand")
    runs: list[str] = []

    def one(number: int) -> None:
        if number % 2:
            runs.append(reserve_run(tmp_path, 2026)[0])
        else:
            add(store)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(24)))
    tasks = [task.id for task in store.all()[0]]
    assert (len(tasks), len(runs), len({*tasks, *runs})) == (12, 12, 24)
    assert (store.folder / "2026-0003.yaml").read_text() == "by hand"


def test_what_is_due_the_longest_first(store: TaskStore) -> None:
    plain, late, early, future = (add(store, schedule=one) for one in (None, at(-1), at(-5), at(1)))
    assert [task.id for task in store.due(NOW)] == [early.id, late.id, plain.id]
    assert future.id in [task.id for task in store.due(LATER)]


def test_one_at_a_time_works_on_a_task(store: TaskStore) -> None:
    task = add(store)
    with store.taken(task.id, NOW) as first, store.taken(task.id, NOW) as second:
        assert first is not None
        assert second is None
        assert store.read(task.id).status == "running"
        with pytest.raises(ResearchUsageError) as caught:
            store.delete(task.id)
        assert caught.value.key == "task_running"
        first.begin("2026-0001", NOW)
        first.succeed(LATER, partial=True)
    ended = store.read(task.id)
    assert (ended.status, ended.runner, ended.updated_at) == ("completed", None, LATER.isoformat())
    assert [(run.id, run.status, run.partial) for run in ended.runs] == [("2026-0001", "success", True)]
    with store.taken(task.id, NOW, task) as again:
        assert again is None, "somebody has done it since it was found to be due"
    with store.taken(task.id, NOW) as again:
        assert again is not None, "who names it wants it run again"


def test_a_task_whose_runner_is_dead_is_due_and_its_run_gone_on_with(store: TaskStore) -> None:
    task = add(store)
    with store.taken(task.id, NOW) as taken:
        assert taken
        taken.begin("2026-0001", NOW)
    assert store.read(task.id).status == "running", "it ended without a word"
    with store.taken(task.id, LATER, store.read(task.id)) as taken:
        assert taken
        assert taken.task.unfinished is not None
        assert taken.task.unfinished.id == "2026-0001"


@each(
    "end, status, unfinished, waits",
    [
        (lambda taken: taken.succeed(LATER, partial=False), ("completed", "scheduled"), False, True),
        (lambda taken: taken.fail(LATER, "E1", can_go_on=False), ("failed", "scheduled"), False, True),
        (lambda taken: taken.fail(LATER, "E1", can_go_on=True), ("failed", "scheduled"), True, True),
        (lambda taken: taken.put_back(LATER), ("scheduled", "scheduled"), True, False),
    ],
)
def test_how_a_run_ends(
    tmp_path: Path, end: Callable[[object], None], status: tuple[str, str], unfinished: bool, waits: bool
) -> None:
    store = TaskStore(tmp_path)
    for schedule, expected in zip((None, at(-30, "1d")), status, strict=True):
        task = add(store, schedule=schedule)
        with store.taken(task.id, NOW) as taken:
            assert taken
            taken.begin(task.id, NOW)
            end(taken)
        ended = store.read(task.id)
        assert (ended.status, bool(ended.unfinished)) == (expected, unfinished)
        if schedule and waits:
            assert ended.next_run is not None
            assert datetime.fromisoformat(ended.next_run) == NOW + timedelta(hours=18), (
                "missed times are not made up for"
            )
            assert not ended.is_due(LATER)


ODD_VALUES = ["!!int ''", "!!float ''", "!!bool maybe", "1:" * 300 + "1.5", "1:" * 90_000 + "1", "9" * 5_000]
ODD_TIMES = [
    "next_run: abc",
    "next_run: 9999-12-31T23:59:59-23:59",
    "next_run: 0001-01-01T00:00:00+23:59",
    "next_run: ''",
    "schedule: {every: 1d}",
    "schedule: {every: often, at: '2026-01-01'}",
]


@each(
    "text",
    [
        "",
        "- a list",
        "id: 2026-0001\nprompt: x\n",
        "id: 2026-0002\nprompt: x\ncreated_at: '2026-01-01'\n",
        "id: 2026-0001\nprompt: x\ncreated_at: '2026-01-01'\nstatus: done\n",
        "id: 2026-0001\nprompt: x\ncreated_at: '2026-01-01'\nunknown: 1\n",
        "id: 2026-0001\nprompt: [x\n",
        "id: 2026-0001\nprompt: x\noptions: 3\ncreated_at: '2026-01-01'\n",
        "!!python/object/apply:os.system ['touch /tmp/owned']",
        "a: &a [x, x]\nb: &b [*a, *a]\nid: *b\n",
        f"id: 2026-0001\nprompt: x\ncreated_at: '2026'\noptions:\n  a: &a {'x' * 9}\n  b: *a\n",
        f"id: 2026-0001\nprompt: {'x' * 200_000}\ncreated_at: '2026'\n",
        "[" * 199_000,
        "{a: " * 49_000,
        *(f"id: 2026-0001\nprompt: x\ncreated_at: '2026'\noptions: {{x: {value}}}\n" for value in ODD_VALUES),
        *(f"id: 2026-0001\nprompt: x\ncreated_at: '2026'\n{line}\n" for line in ODD_TIMES),
    ],
)
def test_a_file_that_is_no_task_is_told_and_the_others_are_there(tmp_path_factory: Any, text: str) -> None:
    store = TaskStore(tmp_path_factory.mktemp("work"))
    first, second = add(store), add(store)
    store.file(first.id).write_text(text)
    tasks, faults = store.all()
    assert [task.id for task in tasks] == [second.id]
    assert [(fault.key, fault.code) for fault in faults] == [("task_damaged", "E6004")]
    with pytest.raises(ResearchError):
        store.read(first.id)


@each("next_run", ["2026-01-01", "2026-01-01T00:00:00", "2026-01-01 09:30"])
def test_a_time_that_was_written_by_hand_is_local(tmp_path_factory: Any, next_run: str) -> None:
    store = TaskStore(tmp_path_factory.mktemp("work"))
    first, second = add(store), add(store)
    store.file(first.id).write_text(f"id: {first.id}\nprompt: x\ncreated_at: '2026'\nnext_run: {next_run}\n")
    assert {task.id for task in store.due(NOW)} == {first.id, second.id}
    assert [task.id for task in store.due(NOW - timedelta(days=365))] == [second.id]


def test_a_failure_before_a_run_has_begun_is_none_of_the_run_before(store: TaskStore) -> None:
    task = add(store, schedule=at(0, "1h"))
    with store.taken(task.id, NOW) as taken:
        assert taken
        taken.begin("2026-0002", NOW)
        taken.succeed(NOW, partial=False)
    with store.taken(task.id, LATER) as taken:
        assert taken
        taken.fail(LATER, "E7072", can_go_on=True)
    assert [run.status for run in store.read(task.id).runs] == ["success"]


def test_a_task_that_runs_for_years_stays_readable(store: TaskStore) -> None:
    task = add(store, schedule=at(0, "1h"))
    with store.taken(task.id, NOW) as taken:
        assert taken
        years = tuple(TaskRun(f"2026-{number:04}", written(NOW), status="failed") for number in range(99))
        taken.task = msgspec.structs.replace(taken.task, runs=years)
        for number in range(99, 105):
            taken.begin(f"2026-{number:04}", NOW)
            taken.fail(NOW, "E1 " + "x" * 100_000, can_go_on=False)
    runs = store.read(task.id).runs
    assert [run.id for run in runs] == [f"2026-{number:04}" for number in range(5, 105)]
    assert len(runs[-1].error) < 1_000


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_what_is_no_file_is_not_waited_for_nor_followed(tmp_path: Path, kind: str) -> None:
    store = TaskStore(tmp_path)
    task = add(store)
    file = store.file(task.id)
    other = file.rename(tmp_path / "elsewhere.yaml")
    os.mkfifo(file) if kind == "pipe" else file.symlink_to(other)
    assert [fault.key for fault in store.all()[1]] == ["task_damaged"]


@each("name", ["2026-0009", "nonsense", "../2026-0001", "2026-0001.yaml", ""])
def test_there_is_no_such_task(tmp_path: Path, name: str) -> None:
    store = TaskStore(tmp_path)
    add(store)
    with pytest.raises(ResearchUsageError) as caught:
        store.read(name)
    assert (caught.value.code, caught.value.exit_code) == ("E6001", 2)


def test_a_deleted_task_is_gone_and_its_id_not_given_again(store: TaskStore) -> None:
    task = add(store)
    store.delete(task.id)
    assert store.all() == ([], [])
    assert add(store).id == "2026-0002"
    assert {path.name for path in store.folder.iterdir()} == {"2026-0002.yaml"}
