"""Work on runs that were handed over, one at a time, through dramatiq on Redis.

dramatiq delivers at least once: the task of a worker without a sign of life goes to another one. That is safe,
since a run continues from what it saved, which is at the board; and since only one worker has it at a time. Temporary
failures are retried as often as the settings say; a worker that is stopped in an orderly way gives its task
back, which does not count.
"""

import asyncio
import logging
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from localllm.app.research_setup import ResearchParts, ResearchSetup, open_researcher
from localllm.base import logs
from localllm.base.errors import InternalError, LLMConnectionError, LocalLLMError, ResearchError, ResearchModelError
from localllm.config.research_settings import QueueSettings
from localllm.integrations.task_queue.job_board import KEPT_SECONDS, Failure, Job, JobBoard, JobTakenError, RowMirror
from localllm.research.options import ResearchOptions, options_for
from localllm.research.records import ResearchState
from localllm.research.run_context import OnEvent, nobody, remark_of
from localllm.research.run_events import ResearchEvent
from localllm.research.run_store import HISTORY, RUN_ID, RunStore

T = TypeVar("T")

NAMESPACE = "localllm:queue:1"
QUEUE = "research"
ACTOR = "research"
FOLDER = "worker"
"""Subfolder of the work folder for the runs a worker has; reports are with their askers."""

_TRIED_AGAIN = frozenset({"research_search_dead", "research_disk", "queue_server"})
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 600.0
_PATIENCE = 3.0
"""Seconds between attempts to reach a server."""

_MS_TO_STOP = 20_000
_LEASE = 0.8
"""Share of the time after which a worker counts as dead: its lock ends before its task is reassigned."""


def open_broker(board: JobBoard, settings: QueueSettings) -> Any:
    """Create the dramatiq broker, without its limits of time and age, its retries, and its check for dead
    workers, which is timed here. Its log goes to ours."""
    from dramatiq.brokers.redis import RedisBroker

    _log_quietly()
    return RedisBroker(
        client=board.client,
        middleware=[],
        namespace=NAMESPACE,
        maintenance_chance=0,
        heartbeat_timeout=int(settings.heartbeat * 1_000),
    )


def enqueue(broker: Any, job: str, *, seconds: float = 0.0) -> None:
    """Enqueue a job, to be started in `seconds` at the earliest. Raises what redis raises."""
    from dramatiq import Message

    message = Message[None](queue_name=QUEUE, actor_name=ACTOR, args=(job,), kwargs={}, options={})
    broker.enqueue(message, delay=int(seconds * 1_000) if seconds else None)


class ResearchWorker:
    """Works on the jobs of `board` until it is stopped.

    Args:
        setup: What its runs are made from: its own model, searches and work folder.
        setup: What its runs are made from: its own model, searches and work folder.
        folders: The only folders of documents that its runs may search.
        parts: What writes, reads and keeps; None takes the `standard_parts`.
        on_event: Receives the events of the runs.
        on_job: Receives a job when it begins, is given back, and ends.
    """

    def __init__(
        self,
        setup: ResearchSetup,
        board: JobBoard,
        *,
        folders: tuple[Path, ...] = (),
        parts: ResearchParts | None = None,
        on_event: OnEvent = nobody,
        on_job: Callable[[Job], None] = lambda _job: None,
    ) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self._setup = setup
        self._settings = setup.settings.queue
        self._board = board
        self._folders = tuple(folder.expanduser().resolve() for folder in folders)
        self._parts = parts
        self._on_event = on_event
        self._on_job = on_job
        self._broker = open_broker(board, self._settings)
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._cancel: Callable[[], object] | None = None
        self._has_lost = False
        """The run was cancelled because another worker has it."""

    def check(self) -> None:
        """Check that a server and a model are available. Raises ResearchError, LLMConnectionError."""
        self._board.check()
        asyncio.run(self._check_model())

    async def _check_model(self) -> None:
        options = options_for(self._setup.settings.research, use_web=False)
        async with open_researcher(self._setup, options, parts=self._parts):
            pass

    def run(self) -> None:
        """Work until `stop` is called. Raises ResearchError if the server is unreachable at the start."""
        import dramatiq

        self._board.check()
        self._tidy_up()
        self._broker.add_middleware(self._middleware())
        dramatiq.Actor(self._work, broker=self._broker, actor_name=ACTOR, queue_name=QUEUE, priority=0, options={})
        poll = int(min(1_000.0, self._settings.heartbeat * 1_000 / 3))
        worker = dramatiq.Worker(self._broker, worker_threads=1, worker_timeout=poll)
        worker.queue_prefetch = 1  # tasks that wait behind a run are for other workers
        worker.start()
        try:
            while not self._stopped.wait(self._settings.maintenance):
                with suppress(ResearchError):
                    self._revive()
        finally:
            worker.stop(timeout=_MS_TO_STOP)

    def stop(self) -> None:
        """Stop the current run in an orderly way, then `run`."""
        self._stopped.set()
        self._interrupt()

    def _tidy_up(self) -> None:
        """Delete what killed workers left here, once nobody can need it any more."""
        with suppress(OSError):
            for folder in (self._setup.work_folder / FOLDER).iterdir():
                if time.time() - folder.stat().st_mtime > KEPT_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)

    def _middleware(self) -> Any:
        """Return middleware that fails the runs ended by a program fault, so that nobody waits for ever."""
        from dramatiq import Middleware

        fail = self._fail_by_fault

        class Faults(Middleware):
            def after_process_message(
                self, broker: Any, message: Any, *, result: Any = None, exception: BaseException | None = None
            ) -> None:
                if exception is not None and not isinstance(exception, ResearchError):
                    fail(message.args[0], exception)

        return Faults()

    def _fail_by_fault(self, name: str, fault: BaseException) -> None:
        job = self._surely(lambda: self._board.job(name))
        if job:
            self._fail(job, InternalError("internal", reason=repr(fault), log=logs.file()))

    def _revive(self) -> None:
        """Requeue the tasks of workers without a sign of life."""
        from dramatiq.brokers.redis import RedisBroker
        from dramatiq.common import dq_name

        looking: Any = RedisBroker(
            client=self._board.client,
            middleware=[],
            namespace=NAMESPACE,
            maintenance_chance=1_000_000,
            heartbeat_timeout=self._broker.heartbeat_timeout,
        )
        looking.broker_id = self._broker.broker_id  # it has tasks of its own, and is alive
        with self._board.server.failing():
            for name in (QUEUE, dq_name(QUEUE)):
                looking.do_qsize(name)

    def _work(self, name: str) -> None:
        """Work on a job, or leave it to the worker that has it."""
        job = self._surely(lambda: self._board.job(name))
        if job is None or job.status in ("done", "failed"):
            return
        try:
            lease = self._settings.heartbeat * _LEASE
            with self._board.held(name, self.name, lease, partial(self._let_go, name)):
                self._begin(job)
        except JobTakenError:
            self._again(name, self._settings.heartbeat / 2)

    def _begin(self, job: Job) -> None:
        attempt = self._surely(lambda: self._board.begin(job, self.name))
        if attempt > self._settings.retries + 1:
            self._fail(job, ResearchError("queue_given_up", id=job.run, count=attempt - 1))
            return
        self._on_job(msgspec.structs.replace(job, status="running", worker=self.name, attempts=attempt))
        mirror = RowMirror(self._board, job.id)
        self._has_lost = False
        try:
            asyncio.run(self._research(job, mirror))
        except asyncio.CancelledError:
            if not self._has_lost:
                self._give_back(job, mirror)
        except LocalLLMError as error:
            logs.of("QUEUE").warning("run %s, attempt %d: %s", job.run, attempt, error.english)
            self._surely(mirror.flush)
            if attempt <= self._settings.retries and _may_pass(error):
                self._surely(lambda: self._board.give_back(job, counts=True))
                self._again(job.id, min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** (attempt - 1)))
                self._on_job(msgspec.structs.replace(job, status="waiting", worker=self.name))
            else:
                self._fail(job, error)
        else:
            self._finish(job)

    def _finish(self, job: Job) -> None:
        """Save the whole run at the board once more, in case that has lost something meanwhile."""
        with RunStore(self._folder(job) / HISTORY / job.run) as store:
            rows = store.rows()
        self._surely(lambda: self._board.keep_rows(job.id, rows))
        self._surely(lambda: self._board.finish(job))
        self._tidy(job)
        self._on_job(msgspec.structs.replace(job, status="done", worker=self.name))

    def _give_back(self, job: Job, mirror: RowMirror) -> None:
        self._surely(mirror.flush)
        self._surely(lambda: self._board.give_back(job, counts=False))
        self._again(job.id)
        self._tidy(job)
        self._on_job(msgspec.structs.replace(job, status="waiting", worker=self.name))

    def _fail(self, job: Job, error: LocalLLMError) -> None:
        failure = Failure(error.code, remark_of(error))
        self._surely(lambda: self._board.finish(job, failure))
        self._tidy(job)
        self._on_job(msgspec.structs.replace(job, status="failed", worker=self.name, failure=failure))

    def _tidy(self, job: Job) -> None:
        """Delete this worker's copy of a run, which is at the board."""
        shutil.rmtree(self._folder(job), ignore_errors=True)

    def _again(self, name: str, seconds: float = 0.0) -> None:
        def enqueue_again() -> None:
            with self._board.server.failing():
                enqueue(self._broker, name, seconds=seconds)

        self._surely(enqueue_again)

    def _surely(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, waiting while the server is unreachable. Raises ResearchError only if
        this worker is stopped: its task then goes to another one."""
        while True:
            try:
                return work()
            except ResearchError as error:
                if error.key != "queue_server" or self._stopped.wait(_PATIENCE):
                    raise

    async def _research(self, job: Job, mirror: RowMirror) -> None:
        task = asyncio.ensure_future(self._go_on(job, mirror))
        loop = asyncio.get_running_loop()
        with self._lock:
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            if self._stopped.is_set():
                task.cancel()
        try:
            await task
        finally:
            with self._lock:
                self._cancel = None

    async def _go_on(self, job: Job, mirror: RowMirror) -> None:
        self._setup.check_links()
        folder = self._folder(job)
        state = self._fetched(job, folder)
        options = msgspec.convert(state.options, ResearchOptions)
        self._check_folders(job, options)
        setup = msgspec.structs.replace(self._setup, work_folder=folder, settings=self._shared_cache())
        async with open_researcher(
            setup,
            options,
            partial(self._tell, job),
            parts=self._parts,
            open_store=lambda run: RunStore(run, mirror.add),
        ) as researcher:
            await researcher.run(resume=job.run)

    def _fetched(self, job: Job, folder: Path) -> ResearchState:
        """Return the state of the run, after everything it saved was put into a store of this worker."""
        if not RUN_ID.fullmatch(job.run):
            raise ResearchError("queue_damaged", where=self._board.server.shown, reason=job.run[:20])
        run = folder / HISTORY / job.run
        try:
            run.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ResearchError("research_disk", id=job.run, folder=run, reason=reason) from error
        with RunStore(run) as store:
            store.add_rows(self._board.rows(job.id))
            state = store.load_state()
        if state is None:
            raise ResearchError("queue_damaged", where=self._board.server.shown, reason=job.run)
        return state

    def _check_folders(self, job: Job, options: ResearchOptions) -> None:
        """Refuse other folders and collections, which whoever can write to the queue must not have searched."""
        for name in options.collections:
            if name not in self._setup.settings.research.collections:
                raise ResearchError("queue_collection", id=job.run, name=name)
        for name in options.docs:
            if not self._may_search(name):
                raise ResearchError("queue_folder", id=job.run, folder=name)

    def _may_search(self, name: str) -> bool:
        """Return whether a folder, with `~` and links resolved as in the search, is in one of this worker's."""
        try:
            real = Path(name).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):  # circular links; an unknown home; a NUL
            return False
        return any(real.is_relative_to(folder) for folder in self._folders)

    def _shared_cache(self) -> Any:
        """Return the settings, with a cache shared by all workers instead of one on this machine's disk."""
        web = self._setup.settings.web
        if web.cache != "disk":
            return self._setup.settings
        return msgspec.structs.replace(
            self._setup.settings, web=msgspec.structs.replace(web, cache=self._board.server.url)
        )

    def _folder(self, job: Job) -> Path:
        return self._setup.work_folder / FOLDER / job.id

    def _let_go(self, name: str) -> None:
        logs.of("QUEUE").warning("job %s is another worker's now", name)
        self._has_lost = True
        self._interrupt()

    def _interrupt(self) -> None:
        with self._lock:
            if self._cancel:
                self._cancel()

    def _tell(self, job: Job, event: ResearchEvent) -> None:
        self._on_event(event)
        with suppress(ResearchError):
            self._board.tell(job.id, event)


def _may_pass(error: LocalLLMError) -> bool:
    """Return whether the failure may be temporary, here or at another worker."""
    return isinstance(error, ResearchModelError | LLMConnectionError) or error.key in _TRIED_AGAIN


class _OwnLog(logging.Handler):
    """Sends dramatiq's log records to the program's log, never to the screen."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record."""
        logs.of("QUEUE").log(min(record.levelno, logging.WARNING), "%s", record.getMessage(), exc_info=record.exc_info)


def _log_quietly() -> None:
    logger = logging.getLogger("dramatiq")
    if not any(isinstance(handler, _OwnLog) for handler in logger.handlers):
        logger.addHandler(_OwnLog())
        logger.setLevel(logging.WARNING)
    logger.propagate = False
