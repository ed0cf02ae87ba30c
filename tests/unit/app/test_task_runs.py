"""Where the run of a task is begun."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from localllm.app.research_setup import ResearchSetup
from localllm.app.stored_options import remember_task
from localllm.app.task_runs import local_now, run_task
from localllm.base.errors import ResearchUsageError
from localllm.base.paths import state_folder
from localllm.config.schema import Settings
from localllm.research.records import ResearchState
from localllm.research.run_context import OnEvent
from localllm.research.run_store import HISTORY, run_folder
from localllm.research.schedules import Schedule
from localllm.research.tasks import TaskStore


async def elsewhere(run: str, _on_event: OnEvent) -> ResearchState:
    return ResearchState(id=run, question="Why?", today="2026-11-24")


def test_a_link_in_place_of_its_folder_leads_the_run_nowhere(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "private"
    outside.mkdir()
    task = TaskStore(work).add("Why?", {}, None, local_now())
    folder = work / HISTORY / task.id
    folder.rmdir()
    folder.symlink_to(outside)
    setup = ResearchSetup(settings=Settings(), root=tmp_path, environ={}, work_folder=work)
    state = asyncio.run(run_task(setup, task.id, elsewhere=elsewhere))
    assert state is not None
    assert state.id != task.id
    assert run_folder(work, state.id).is_dir()
    assert not list(outside.iterdir())


def test_a_task_that_a_command_wrote_or_changed_is_not_run_because_it_is_due(tmp_path: Path) -> None:
    setup = ResearchSetup(settings=Settings(), root=tmp_path, environ={}, work_folder=tmp_path / "work")
    store = TaskStore(setup.work_folder)
    schedule = Schedule(every="1d", at="2026-11-24T09:30+09:00")
    task = store.add("Why? はい", {"sites": ["a.example"], "min_search": 3, "use_web": True}, schedule, local_now())
    store.write(task := msgspec.structs.replace(task, next_run="2026-11-24T09:30+09:00"))

    def run(*, named: bool = False) -> ResearchState | None:
        found = None if named else store.read(task.id)
        return asyncio.run(run_task(setup, task.id, elsewhere=elsewhere, found=found))

    with pytest.raises(ResearchUsageError) as caught:
        run()
    assert caught.value.key == "task_unnamed"
    assert str(state_folder()) in str(caught.value), "cron may have another XDG_STATE_HOME than the shell"
    remember_task(setup, task)
    for changed in (msgspec.structs.replace(task, prompt="What?"), msgspec.structs.replace(task, options={})):
        store.write(changed)
        with pytest.raises(ResearchUsageError):
            run()
    store.write(task)
    assert run() is not None
    store.write(msgspec.structs.replace(task, prompt="What?"))
    assert run(named=True) is not None
    store.write(msgspec.structs.replace(task, prompt="What?"))
    assert run() is not None
