"""Work on runs that others have handed over, one at a time, through dramatiq on Redis.

dramatiq delivers at least once: a task whose worker gives no sign of life any more goes to another one. That is safe,
since a run goes on from what it has kept, which is at the board; and since only one worker has it at a time. What
fails for a while is tried again so many times as the settings say; a worker that is ended in good order gives its task
back, which counts for nothing.
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
"""In the work folder: what a worker has of the runs it works on; the report is with whoever asked for it."""

_TRIED_AGAIN = frozenset({"research_search_dead", "research_disk", "queue_server"})
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 600.0
_PATIENCE = 3.0
"""Seconds between tries of a server that is away."""

_MS_TO_STOP = 20_000
_LEASE = 0.8
"""Of the time after which a worker counts as dead, so that its lock ends before its task is given to another."""


def open_broker(board: JobBoard, settings: QueueSettings) -> Any:
    """The broker of dramatiq, without its limits of time and age, its retries, and its look at who is dead: that is
    taken by the clock. Its log goes where ours goes."""
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
    """Put a job into the queue, to be begun not before so many `seconds`. Raises what redis raises."""
    from dramatiq import Message

    message = Message[None](queue_name=QUEUE, actor_name=ACTOR, args=(job,), kwargs={}, options={})
    broker.enqueue(message, delay=int(seconds * 1_000) if seconds else None)


class ResearchWorker:
    """Works on the jobs of `board` until it is stopped.

    Args:
        setup: What its runs are made from: its own model, searches and work folder.
        board: The jobs.
        folders: The only folders of documents that its runs may search.
        parts: What writes, reads and keeps; None takes the `standard_parts`.
        on_event: Who is told what happens in the runs.
        on_job: Who is told of a job: when it begins, is given back, and ends.
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
        """The run is cancelled because another worker has it."""

    def check(self) -> None:
        """See that there are a server and a model. Raises ResearchError, LLMConnectionError."""
        self._board.check()
        asyncio.run(self._check_model())

    async def _check_model(self) -> None:
        options = options_for(self._setup.settings.research, use_web=False)
        async with open_researcher(self._setup, options, parts=self._parts):
            pass

    def run(self) -> None:
        """Work until `stop` is called. Raises ResearchError where the server cannot be reached at the beginning."""
        import dramatiq

        self._board.check()
        self._tidy_up()
        self._broker.add_middleware(self._middleware())
        dramatiq.Actor(self._work, broker=self._broker, actor_name=ACTOR, queue_name=QUEUE, priority=0, options={})
        poll = int(min(1_000.0, self._settings.heartbeat * 1_000 / 3))
        worker = dramatiq.Worker(self._broker, worker_threads=1, worker_timeout=poll)
        worker.queue_prefetch = 1  # what waits behind a run is for other workers
        worker.start()
        try:
            while not self._stopped.wait(self._settings.maintenance):
                with suppress(ResearchError):
                    self._revive()
        finally:
            worker.stop(timeout=_MS_TO_STOP)

    def stop(self) -> None:
        """End the run that is worked on in good order, then `run`."""
        self._stopped.set()
        self._interrupt()

    def _tidy_up(self) -> None:
        """Delete what workers that were killed have left here, once nobody can want it any more."""
        with suppress(OSError):
            for folder in (self._setup.work_folder / FOLDER).iterdir():
                if time.time() - folder.stat().st_mtime > KEPT_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)

    def _middleware(self) -> Any:
        """What sees to it that nobody waits for a run for ever that a fault of the program has ended."""
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
        """Put the tasks of workers that give no sign of life back into the queue."""
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
        """Work on a job, or leave it to whoever has it."""
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
        """Have all of the run at the board once more, in case that has lost something meanwhile."""
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
        """Delete what this worker has of a run: it is at the board."""
        shutil.rmtree(self._folder(job), ignore_errors=True)

    def _again(self, name: str, seconds: float = 0.0) -> None:
        def enqueue_again() -> None:
            with self._board.server.failing():
                enqueue(self._broker, name, seconds=seconds)

        self._surely(enqueue_again)

    def _surely(self, work: Callable[[], T]) -> T:
        """What `work` gives, waited for as long as the server is away. Raises ResearchError only where this worker is
        to end: the task it has then goes to another one."""
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
        """The state of the run, after all it has kept was put into a store of this worker's."""
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
        """Whoever can write to the queue must not have any folder or collection of this machine searched."""
        for name in options.collections:
            if name not in self._setup.settings.research.collections:
                raise ResearchError("queue_collection", id=job.run, name=name)
        for name in options.docs:
            if not self._may_search(name):
                raise ResearchError("queue_folder", id=job.run, folder=name)

    def _may_search(self, name: str) -> bool:
        """Whether a folder, with `~` and links where the search would have them lead, is in one of this worker's."""
        try:
            real = Path(name).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):  # links in a circle; a home that nobody has; a NUL
            return False
        return any(real.is_relative_to(folder) for folder in self._folders)

    def _shared_cache(self) -> Any:
        """The settings; where searches would be kept on this machine alone, kept where all workers find them."""
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
    """Whether what has failed may go well later, here or at another worker."""
    return isinstance(error, ResearchModelError | LLMConnectionError) or error.key in _TRIED_AGAIN


class _OwnLog(logging.Handler):
    """Puts what dramatiq says into the program's log: never on the screen."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log it."""
        logs.of("QUEUE").log(min(record.levelno, logging.WARNING), "%s", record.getMessage(), exc_info=record.exc_info)


def _log_quietly() -> None:
    logger = logging.getLogger("dramatiq")
    if not any(isinstance(handler, _OwnLog) for handler in logger.handlers):
        logger.addHandler(_OwnLog())
        logger.setLevel(logging.WARNING)
    logger.propagate = False
