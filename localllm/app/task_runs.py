"""Run a research task: taken so that nobody else works on it, its run begun or gone on with, its end noted."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime

import msgspec

from localllm.app.research_setup import ResearchSetup, open_researcher, report_language
from localllm.app.stored_options import check_named, stored_options
from localllm.base import logs
from localllm.base.errors import LLMConnectionError, LocalLLMError, ResearchModelError, ResearchUsageError
from localllm.research.options import ResearchOptions, options_for
from localllm.research.records import ResearchState
from localllm.research.researcher import Researcher, new_state
from localllm.research.run_context import OnEvent, nobody
from localllm.research.run_store import HISTORY, STORE, RunLock, RunStore, reserve_run
from localllm.research.tasks import TakenTask, Task, TaskStore
from localllm.research.tracing import Tracer

_PASSING = frozenset(
    {"research_disk", "research_search_dead", "research_no_answer", "queue_failed", "queue_gone", "queue_server"}
    | {"research_docs_unnamed", "research_collection_unnamed"}
)
"""Failures after which a run can be gone on with, besides those of the model."""


def local_now() -> datetime:
    """The time now, with this machine's time zone."""
    return datetime.now().astimezone()


async def run_task(
    setup: ResearchSetup,
    name: str,
    on_event: OnEvent = nobody,
    *,
    due_only: bool = False,
    options: ResearchOptions | None = None,
    tracer: Tracer | None = None,
    elsewhere: Callable[[str, OnEvent], Awaitable[ResearchState]] | None = None,
    showing: Callable[[Task, ResearchOptions], AbstractAsyncContextManager[None]] = lambda _task, _options: (
        nullcontext()
    ),
    now: Callable[[], datetime] = local_now,
) -> ResearchState | None:
    """Run the task `name`; the state of its finished run. None where somebody works on it, or, with `due_only`, has
    done so in the meantime.

    Args:
        setup: What research is set up from.
        name: The task's id.
        on_event: Who is told what happens in the run.
        due_only: Leave a task alone that is not due.
        options: How its run is done, in place of the task's own options.
        tracer: Who traces the run.
        elsewhere: Carries out a run, by its id, in place of this process.
        showing: Opened while the run goes on.
        now: The time.

    Raises:
        LLMConnectionError: There is no model; the task stays due.
        LocalLLMError: The run failed, which is noted. Cancelled, it is gone on with when the task is run again.
    """
    store = TaskStore(setup.work_folder)
    with store.taken(name, now(), due_only=due_only) as taken:
        if taken is None:
            return None
        try:
            chosen = options or task_options(setup, taken.task)
            if (unfinished := _unfinished_run(setup, taken.task)) is not None:
                stored_options(setup, unfinished)
            if elsewhere is not None:
                run = _begun(setup, taken, chosen, now())
                async with showing(taken.task, chosen):
                    return _ended(taken, await elsewhere(run, on_event), now)
            async with open_researcher(setup, chosen, on_event, tracer=tracer) as researcher:
                run = _begun(setup, taken, chosen, now())
                async with showing(taken.task, chosen):
                    return await _run(researcher, taken, run, now)
        except asyncio.CancelledError:
            taken.put_back(now())
            raise
        except LocalLLMError as error:
            if taken.task.status == "running":
                _note_failure(taken, error, now())
            raise


def task_options(setup: ResearchSetup, task: Task, **given: object) -> ResearchOptions:
    """How the runs of a task are done; `given` comes before what its file says. Raises ResearchError where that says
    what cannot be."""
    told = {**task.options, **given}
    preset = str(told.pop("preset", ""))
    try:
        options = options_for(setup.settings.research, preset, **told)
    except (msgspec.ValidationError, TypeError) as error:
        file = TaskStore(setup.work_folder).file(task.id)
        raise ResearchUsageError("task_damaged", file=file, reason=str(error).rstrip(".")) from error
    unnamed = {kind: getattr(options, kind) for kind in ("docs", "collections") if kind not in given}
    check_named(setup, task.id, **unnamed)
    return options


def _unfinished_run(setup: ResearchSetup, task: Task) -> str | None:
    """The run of a task that was stopped, and is there."""
    run = task.unfinished
    return run.id if run and (setup.work_folder / HISTORY / run.id / STORE).is_file() else None


async def _run(researcher: Researcher, taken: TakenTask, run: str, now: Callable[[], datetime]) -> ResearchState:
    logs.of("RUN").info("task %s: run %s", taken.task.id, run)
    return _ended(taken, await researcher.run(resume=run), now)


def _ended(taken: TakenTask, state: ResearchState, now: Callable[[], datetime]) -> ResearchState:
    taken.succeed(now(), partial=state.partial)
    logs.of("RUN").info("task %s: run %s has ended", taken.task.id, state.id)
    return state


def _begun(setup: ResearchSetup, taken: TakenTask, options: ResearchOptions, now: datetime) -> str:
    """The id of the task's run: the one that was stopped, else a new one. Raises ResearchError."""
    if (unfinished := _unfinished_run(setup, taken.task)) is not None:
        taken.begin(unfinished, now)
        return unfinished
    folder = setup.work_folder / HISTORY / taken.task.id
    if (folder / STORE).exists():
        _name, folder = reserve_run(setup.work_folder, now.year)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    language, question = report_language(options), taken.task.prompt
    state = new_state(folder.name, question, options, language=language, today=now.date(), task=taken.task.id)
    with RunLock(folder), RunStore(folder) as store:
        store.save_state(state)
    taken.begin(folder.name, now)
    return folder.name


def _note_failure(taken: TakenTask, error: LocalLLMError, now: datetime) -> None:
    """Note why a run has stopped; a task whose run was not begun for want of a model stays due."""
    logs.of("RUN").error("task %s: %s %s", taken.task.id, error.code, error.english)
    if isinstance(error, LLMConnectionError):  # before anything was begun
        taken.put_back(now)
        return
    can_go_on = isinstance(error, ResearchModelError) or error.key in _PASSING
    taken.fail(now, f"{error.code} {error.english}", can_go_on=can_go_on)
