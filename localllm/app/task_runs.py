"""Run a research task: lock it, start or resume its run, record the result."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime

import msgspec

from localllm.app.research_setup import ResearchSetup, open_researcher, report_language
from localllm.app.stored_options import check_named, check_task, remember_task, stored_options
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
    | {"research_docs_unnamed", "research_collection_unnamed", "task_unnamed"}
)
"""Errors after which a run can be resumed, besides those of the model."""


def local_now() -> datetime:
    """Return the current time, with the local time zone."""
    return datetime.now().astimezone()


async def run_task(
    setup: ResearchSetup,
    name: str,
    on_event: OnEvent = nobody,
    *,
    found: Task | None = None,
    options: ResearchOptions | None = None,
    tracer: Tracer | None = None,
    elsewhere: Callable[[str, OnEvent], Awaitable[ResearchState]] | None = None,
    showing: Callable[[Task, ResearchOptions], AbstractAsyncContextManager[None]] = lambda _task, _options: (
        nullcontext()
    ),
) -> ResearchState | None:
    """Run the task `name`; return the state of its finished run. None if another process works on it, or has
    done so since it was `found`.

    Args:
        setup: The research setup.
        name: The task's id.
        on_event: Called with each event of the run.
        found: The task as it was found to be waiting, if it was not named: one that is not the user's is refused.
        options: Options of the run, replacing the task's own.
        tracer: Traces the run.
        elsewhere: Executes a run, by its id, outside this process.
        showing: A context opened during the run.

    Raises:
        LLMConnectionError: There is no model; the task stays due.
        LocalLLMError: The run failed, which is recorded. If cancelled, it is resumed when the task is run again.
    """
    store = TaskStore(setup.work_folder)
    with store.taken(name, local_now(), found) as taken:
        if taken is None:
            return None
        try:
            (check_task if found else remember_task)(setup, taken.task)
            chosen = options or task_options(setup, taken.task)
            if (unfinished := _unfinished_run(setup, taken.task)) is not None:
                stored_options(setup, unfinished)
            if elsewhere is not None:
                run = _begun(setup, taken, chosen)
                async with showing(taken.task, chosen):
                    return _ended(taken, await elsewhere(run, on_event))
            async with open_researcher(setup, chosen, on_event, tracer=tracer) as researcher:
                run = _begun(setup, taken, chosen)
                async with showing(taken.task, chosen):
                    return await _run(researcher, taken, run)
        except asyncio.CancelledError:
            taken.put_back(local_now())
            raise
        except LocalLLMError as error:
            if taken.task.status == "running":
                _note_failure(taken, error)
            raise


def task_options(setup: ResearchSetup, task: Task, **given: object) -> ResearchOptions:
    """Return the options of a task's runs; `given` overrides its file. Raises ResearchError for invalid options in the
    file."""
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
    """Return the id of the task's unfinished run, if it exists."""
    run = task.unfinished
    return run.id if run and (setup.work_folder / HISTORY / run.id / STORE).is_file() else None


async def _run(researcher: Researcher, taken: TakenTask, run: str) -> ResearchState:
    logs.of("RUN").info("task %s: run %s", taken.task.id, run)
    return _ended(taken, await researcher.run(resume=run))


def _ended(taken: TakenTask, state: ResearchState) -> ResearchState:
    taken.succeed(local_now(), partial=state.partial)
    logs.of("RUN").info("task %s: run %s has ended", taken.task.id, state.id)
    return state


def _begun(setup: ResearchSetup, taken: TakenTask, options: ResearchOptions) -> str:
    """Return the id of the task's run: the unfinished one, else a new one. Raises ResearchError."""
    now = local_now()
    if (unfinished := _unfinished_run(setup, taken.task)) is not None:
        taken.begin(unfinished, now)
        return unfinished
    folder = setup.work_folder / HISTORY / taken.task.id
    if folder.is_symlink() or (folder / STORE).exists():
        _name, folder = reserve_run(setup.work_folder, now.year)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    question = taken.task.prompt
    language = report_language(options, setup.settings, question)
    state = new_state(folder.name, question, options, language=language, today=now.date(), task=taken.task.id)
    with RunLock(folder), RunStore(folder) as store:
        store.save_state(state)
    taken.begin(folder.name, now)
    return folder.name


def _note_failure(taken: TakenTask, error: LocalLLMError) -> None:
    """Record why a run failed; a task whose run could not start for lack of a model stays due."""
    logs.of("RUN").error("task %s: %s %s", taken.task.id, error.code, error.english)
    if isinstance(error, LLMConnectionError):  # before the run started
        taken.put_back(local_now())
        return
    can_go_on = isinstance(error, ResearchModelError) or error.key in _PASSING
    taken.fail(local_now(), f"{error.code} {error.english}", can_go_on=can_go_on)
