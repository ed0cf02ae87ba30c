"""Where the run of a task is begun."""

import asyncio
from pathlib import Path

from localllm.app.research_setup import ResearchSetup
from localllm.app.task_runs import local_now, run_task
from localllm.config.schema import Settings
from localllm.research.records import ResearchState
from localllm.research.run_context import OnEvent
from localllm.research.run_store import HISTORY, run_folder
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
