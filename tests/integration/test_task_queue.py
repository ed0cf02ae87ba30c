"""Research handed to workers through a real Redis: workers in processes of their own, some killed in the middle."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from localllm.app.research_setup import ResearchParts, ResearchSetup
from localllm.app.stored_options import stored_options
from localllm.base.errors import ResearchError
from localllm.config.research_settings import QueueSettings, ResearchSettings
from localllm.config.schema import LLMSettings, ServerSettings, Settings
from localllm.integrations.task_queue import research_worker
from localllm.integrations.task_queue.handover import TICKET, Handover
from localllm.integrations.task_queue.job_board import PREFIX, Failure, JobBoard
from localllm.integrations.task_queue.redis_server import QueueServer
from localllm.integrations.task_queue.research_worker import enqueue, open_broker
from localllm.research.options import ResearchOptions
from localllm.research.records import Remark, ResearchState
from localllm.research.run_events import Finished, ResearchEvent, StageBegun
from localllm.research.run_store import HISTORY, RunStore, StoredRow, run_folder
from tests.research_web.played_models import role_of
from tests.research_web.served_model import ServedModel
from tests.support.redis_server import free_port, redis_server
from tests.support.research_parts import FakeReader

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux" and shutil.which("redis-server") is None, reason="needs redis-server"),
]

QUESTION = "When did the Kita tower open?"
TODAY = date(2026, 11, 24)
HEARTBEAT = 3.0
DOCUMENTS = {
    "tower.txt": "The Kita tower opened in May 1998. It is 120 metres tall. Visitors like the view.",
    "kita.txt": "Opened in 1998, the Kita tower stands 120 metres high. It was closed for a year.",
    "news.txt": "The mayor spoke about the Kita tower bridge. It will open next year.",
}


def played(messages: Sequence[dict[str, Any]], _schema: dict[str, Any] | None) -> str:
    """A model that quotes the first sentence of each page, and writes what the evidence says."""
    asked = str(messages[-1]["content"])
    match role_of(messages):
        case "brief":
            return json.dumps({"language": "en", "period": "", "entities": ["Kita tower"], "needs": ["opening"]})
        case "queries":
            return json.dumps({"queries": ["Kita tower opening", "Kita tower open"]})
        case "reader":
            page = next(text for text in DOCUMENTS.values() if text[:30] in asked)
            return json.dumps({"relevant": True, "quotes": [page.partition(".")[0] + "."]})
        case "outline":
            return json.dumps({"heading": "Tower", "sections": [{"heading": "Opening", "evidence": ["E1", "E2"]}]})
        case _:
            return "The Kita tower opened in 1998 [E1]."


class HeldModel(ServedModel):
    """A model that stops at the request number `hold_at` until `release` is set; `reached` says that it is there. With
    `dead` it refuses all."""

    def __init__(self, hold_at: int = 0) -> None:
        super().__init__(self._held)
        self.hold_at = hold_at
        self.reached = threading.Event()
        self.release = threading.Event()
        self.dead = False
        self._count = 0

    def answered(self, body: dict[str, Any]) -> tuple[int, dict[str, Any] | list[dict[str, Any]]]:
        self._count += 1
        if self._count == self.hold_at:
            self.reached.set()
            self.release.wait(30)
        if self.dead:
            return 500, {"error": {"message": "out of order"}}
        return super().answered(body)

    def _held(self, messages: Sequence[dict[str, Any]], schema: dict[str, Any] | None) -> str:
        return played(messages, schema)


class World:
    """A queue, a model, documents, and whoever asks."""

    def __init__(self, folder: Path, url: str, model: ServedModel) -> None:
        self.folder = folder
        self.url = url
        self.model = model
        self.docs = folder / "docs"
        self.docs.mkdir()
        for name, text in DOCUMENTS.items():
            (self.docs / name).write_text(text)
        self.asker = folder / "asker"
        self.board = JobBoard(QueueServer(url, {}))
        self.handover = Handover(self.board, QueueSettings(heartbeat=HEARTBEAT), self.asker)
        self.events: list[ResearchEvent] = []

    def begin(self, **given: Any) -> str:
        options = ResearchOptions(
            query_count=2, min_validation=0, max_validation=0, use_web=False, docs=(str(self.docs),), **given
        )
        return self.handover.begin(QUESTION, options, language="en", today=TODAY)

    async def follow(self, run: str) -> ResearchState:
        async with asyncio.timeout(40):
            return await self.handover.follow(run, self.events.append)

    @contextmanager
    def worker(self, name: str, docs: Path | None = None) -> Generator["Worker"]:
        worker = Worker(self, name, docs or self.docs)
        try:
            yield worker
        finally:
            worker.end()


class Worker:
    """A worker; `said` has the lines it has written."""

    def __init__(self, world: World, name: str, docs: Path) -> None:
        command = [sys.executable, "-m", "tests.support.queue_worker", world.url, world.model.url]
        self._process = subprocess.Popen(
            [*command, str(world.folder / name), str(docs), str(HEARTBEAT)], stdout=subprocess.PIPE, text=True
        )
        self._lines = self._process.stdout
        self.said: list[str] = []

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_for(self, line: str) -> None:
        assert self._lines
        while line not in self.said:
            self.said.append(self._lines.readline().strip())
            assert self.said[-1], f"the worker has ended after {self.said}"

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._lines:
            self._lines.close()


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[[HeldModel], World]]:
    with ExitStack() as stack:
        url = stack.enter_context(redis_server(tmp_path))

        def make(model: HeldModel) -> World:
            stack.callback(model.release.set)
            return World(tmp_path, url, stack.enter_context(model))

        yield make


async def test_a_killed_workers_run_is_completed_by_another_once(make_world: Callable[[HeldModel], World]) -> None:
    model = HeldModel(hold_at=4)
    world = make_world(model)
    run = world.begin()
    with world.worker("one") as one, world.worker("two") as two:
        assert await asyncio.to_thread(model.reached.wait, 30)
        job = world.board.job(job_of(world, run))
        assert job
        holder, other = (one, two) if job.worker.endswith(f":{one.pid}") else (two, one)
        holder.kill()
        model.release.set()
        state = await world.follow(run)
        other.wait_for(f"{run} done")
    assert state.next == "done"
    assert {one.source for one in state.evidence} == {"S1", "S2", "S3"}
    asked = Counter(model.prompts)
    assert [count for count in asked.values() if count > 1] == [2], "only what was under way is asked again"
    assert [event for event in world.events if isinstance(event, Finished)]


def job_of(world: World, run: str) -> str:
    ticket = json.loads((run_folder(world.asker, run) / "queue.json").read_text())
    return str(ticket["job"])


async def test_a_worker_that_ends_in_good_order_gives_its_run_back(make_world: Callable[[HeldModel], World]) -> None:
    model = HeldModel(hold_at=4)
    world = make_world(model)
    run = world.begin()
    with world.worker("one") as one:
        assert await asyncio.to_thread(model.reached.wait, 30)
        one.stop()
        one.wait_for(f"{run} waiting")
        model.release.set()
    job = world.board.job(job_of(world, run))
    assert job
    assert (job.status, job.attempts) == ("waiting", 0)
    with world.worker("two"):
        state = await world.follow(run)
    assert state.next == "done"
    assert max(Counter(model.prompts).values()) == 2


@pytest.mark.long
async def test_a_worker_that_wakes_up_late_disturbs_nobody(make_world: Callable[[HeldModel], World]) -> None:
    model = HeldModel(hold_at=4)
    world = make_world(model)
    run = world.begin()
    with world.worker("one") as one:
        assert await asyncio.to_thread(model.reached.wait, 30)
        os.kill(one.pid, signal.SIGSTOP)
        model.hold_at = 0
        with world.worker("two") as two:
            two.wait_for(f"{run} done")
            asked = len(model.prompts)
            state = await world.follow(run)
            os.kill(one.pid, signal.SIGCONT)
            model.release.set()
            again = world.begin()  # the one that slept takes part again
            two.stop()
            assert (await world.follow(again)).next == "done"
    assert state.next == "done"
    assert len(model.prompts) <= 2 * asked + 2, "the one that slept asks once more at most, until it notices"
    assert world.board.client.keys(f"{PREFIX}:job:*") == []


async def test_a_task_that_is_delivered_twice_is_done_once(make_world: Callable[[HeldModel], World]) -> None:
    model = HeldModel(hold_at=2)
    world = make_world(model)
    run = world.begin()
    with world.worker("one"), world.worker("two"):
        assert await asyncio.to_thread(model.reached.wait, 30)
        for _time in range(3):
            enqueue(world.handover._broker, job_of(world, run))
        model.hold_at = 0
        model.release.set()
        state = await world.follow(run)
    assert state.next == "done"
    assert max(Counter(model.prompts).values()) == 1


async def test_what_comes_of_it_is_in_the_history_and_nothing_stays_behind(
    make_world: Callable[[HeldModel], World],
) -> None:
    world = make_world(HeldModel())
    run = world.begin()
    world.handover.hand_over(run)  # again: it stays one task
    assert list((world.asker / HISTORY).glob(f"*/{TICKET}")) == [run_folder(world.asker, run) / TICKET]
    with world.worker("one") as one:
        one.wait_for(f"{run} done")
        state = await world.follow(run)
        folder = world.folder / "one" / "worker"
        assert list(folder.iterdir()) == []
    with RunStore(run_folder(world.asker, run)) as store:
        assert store.load_state() == state
        assert store.spent().requests == state.numbers.requests == len(world.model.prompts)
        assert all(store.text(source.text_hash) for source in state.sources)
    assert "Kita tower" in (run_folder(world.asker, run) / f"report-{run}.md").read_text()
    assert not list((world.asker / HISTORY).glob(f"*/{TICKET}"))
    assert [key for key in world.board.client.keys(f"{PREFIX}:*") if b":forgotten:" not in key] == []
    assert next(event.stage for event in world.events if isinstance(event, StageBegun)) == "normalise"


async def test_whoever_asked_may_leave_and_come_back(make_world: Callable[[HeldModel], World]) -> None:
    model = HeldModel(hold_at=3)
    world = make_world(model)
    run = world.begin()
    with world.worker("one") as one:
        following = asyncio.create_task(world.follow(run))
        assert await asyncio.to_thread(model.reached.wait, 30)
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
        model.hold_at = 0
        model.release.set()
        one.wait_for(f"{run} done")
    assert (await world.follow(run)).next == "done"


async def test_a_queue_that_loses_everything_loses_no_result(tmp_path: Path) -> None:
    model, port = HeldModel(hold_at=4), free_port()
    with model:
        with redis_server(tmp_path, port) as url:
            world = World(tmp_path, url, model)
            run = world.begin()
            worker = Worker(world, "one", world.docs)
            try:
                assert await asyncio.to_thread(model.reached.wait, 30)
            except BaseException:
                worker.end()
                raise
        troubles: list[ResearchError] = []
        following = asyncio.create_task(world.handover.follow(run, on_trouble=troubles.append))
        try:
            while not troubles:
                await asyncio.sleep(0.05)
            with redis_server(tmp_path, port):
                model.hold_at = 0
                model.release.set()
                worker.wait_for(f"{run} done")
                async with asyncio.timeout(30):
                    state = await following
        finally:
            following.cancel()
            worker.end()
    assert state.next == "done"
    assert [error.key for error in troubles] == ["queue_server"]


async def test_no_folder_is_searched_that_the_worker_was_not_given(make_world: Callable[[HeldModel], World]) -> None:
    world = make_world(HeldModel())
    run = world.begin()
    (world.folder / "other").mkdir()
    with world.worker("one", world.folder / "other"), pytest.raises(ResearchError) as caught:
        await world.follow(run)
    assert caught.value.key == "queue_failed"
    assert str(world.docs) in caught.value.what
    assert not world.model.prompts


@pytest.mark.parametrize("name", ["~/docs", "~nobody-of-this-name/docs"])
async def test_no_home_is_searched_in_the_name_of_the_folder_one_stands_in(
    make_world: Callable[[HeldModel], World], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    world = make_world(HeldModel())
    (world.folder / "given").mkdir()
    monkeypatch.setenv("HOME", str(world.folder))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.chdir(world.folder / "given")
    options = ResearchOptions(min_validation=0, max_validation=0, use_web=False, docs=(name,))
    run = world.handover.begin(QUESTION, options, language="en", today=TODAY)
    with world.worker("one", Path()), pytest.raises(ResearchError) as caught:
        await world.follow(run)
    assert name in caught.value.what
    assert not world.model.prompts


@pytest.mark.parametrize("is_done", [False, True])
async def test_what_comes_back_is_the_run_that_was_handed_over(
    make_world: Callable[[HeldModel], World], is_done: bool
) -> None:
    """Whoever can write to the queue must not have other things, or other folders of the asker's, searched when he
    resumes the run."""
    world = make_world(HeldModel())
    run = world.begin()
    brief = {"question": "Another?", "language": "en", "needs": ["another need"]}
    queries = [{"text": "another query"}]
    forged = {"options": {"docs": ["/home"], "use_web": True}, "question": "Another?", "id": "../1", "brief": brief}
    rows = [StoredRow("answers", ("a", "queries", 1, b"{}")), StoredRow("searches", ("s", b"{}"))]
    forge(world, run, {**forged, "queries": queries, "next": "done" if is_done else "search"}, rows)
    with pytest.raises(ResearchError) as caught:
        await world.follow(run)
    assert caught.value.key == "queue_failed"
    setup = ResearchSetup(
        settings=Settings(),
        root=world.folder / "project",
        environ={"LOCALLLM_CACHE_DIR": str(world.folder)},
        work_folder=world.asker,
    )
    options = stored_options(setup, run)
    assert (options.docs, options.use_web) == ((str(world.docs),), False)
    with RunStore(run_folder(world.asker, run)) as store:
        state, kept = store.load_state(), {row.table for row in store.rows()}
    assert state is not None
    assert (state.id, state.question) == (run, QUESTION)
    if is_done:
        assert state.brief is not None
        assert (state.brief.question, state.title) == (QUESTION, "of the worker")
    else:
        assert (state.brief, state.queries, state.title) == (None, [], "")
        assert kept == {"state", "searches"}


async def test_a_state_that_is_none_is_not_taken_back(make_world: Callable[[HeldModel], World]) -> None:
    world = make_world(HeldModel())
    run = world.begin()
    forge(world, run, {"options": 1})
    with pytest.raises(ResearchError) as caught:
        await world.follow(run)
    assert caught.value.key == "queue_damaged"
    with RunStore(run_folder(world.asker, run)) as store:
        assert store.load_state() is not None


async def test_no_state_vouches_for_another_one(make_world: Callable[[HeldModel], World]) -> None:
    """Rows are the server's: one that is done must not bring along one that is not, which would be resumed."""
    world = make_world(HeldModel())
    run = world.begin()
    rows, client = f"{PREFIX}:rows:{job_of(world, run)}", world.board.client
    forge(world, run, {"next": "done"})
    client.hset(rows, "state:0", client.hget(rows, "state:1"))
    forge(world, run, {"next": "search", "queries": [{"text": "another query"}]})
    with pytest.raises(ResearchError) as caught:
        await world.follow(run)
    assert caught.value.key == "queue_damaged"
    with RunStore(run_folder(world.asker, run)) as store:
        state = store.load_state()
    assert state is not None
    assert (state.queries, state.title) == ([], "")


def forge(world: World, run: str, fields: dict[str, Any], more: Sequence[StoredRow] = ()) -> None:
    """Have the server hold another state of a run, that has failed, and `more`."""
    name = job_of(world, run)
    job = world.board.job(name)
    assert job
    rows = [
        StoredRow(table, (key, json.dumps({**json.loads(value), **fields, "title": "of the worker"}).encode()))
        for table, (key, value, *_) in world.board.rows(name)
        if table == "state"
    ]
    world.board.keep_rows(name, [*rows, *more])
    world.board.finish(job, Failure("E7006", Remark("The model did not answer.")))


async def test_a_run_that_fails_again_and_again_is_given_up(
    make_world: Callable[[HeldModel], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = HeldModel()
    world = make_world(model)
    model.dead = True
    run = world.begin()
    said: list[str] = []
    monkeypatch.setattr(research_worker, "_FIRST_PAUSE", 0.01)
    with worker_here(world, said), pytest.raises(ResearchError) as caught:
        await world.follow(run)
    assert said == ["running", "waiting", "running", "waiting", "running", "failed"]
    assert caught.value.key == "queue_failed"
    assert "E7007" in caught.value.what
    with RunStore(run_folder(world.asker, run)) as store:
        state = store.load_state()
    assert state is not None
    assert state.next == "normalise", "it can be gone on with"


async def test_a_task_whose_workers_die_each_time_is_given_up(make_world: Callable[[HeldModel], World]) -> None:
    world = make_world(HeldModel())
    run = world.begin()
    job = world.board.job(job_of(world, run))
    assert job
    for _death in range(3):
        world.board.begin(job, "one that died")
    with worker_here(world, []), pytest.raises(ResearchError) as caught:
        await world.follow(run)
    assert "E6046" in caught.value.what
    assert not world.model.prompts


async def test_a_fault_of_the_program_lets_nobody_wait_for_ever(
    make_world: Callable[[HeldModel], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(HeldModel())
    run = world.begin()

    def fail(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(research_worker, "open_researcher", fail)
    with worker_here(world, []), pytest.raises(ResearchError) as caught:
        await world.follow(run)
    assert "E1090" in caught.value.what


async def test_a_job_whose_id_is_a_path_has_no_folder_deleted(make_world: Callable[[HeldModel], World]) -> None:
    world = make_world(HeldModel())
    kept = world.folder / "valuable" / "kept.txt"
    kept.parent.mkdir()
    kept.write_text("kept")
    for name in (str(kept.parent), "../../valuable"):
        world.board.client.hset(f"{PREFIX}:job:{name}", mapping={"run": "no id", "status": "waiting", "attempts": 0})
        enqueue(open_broker(world.board, QueueSettings()), name)
    said: list[str] = []
    with worker_here(world, said):
        await world.follow(world.begin())
    assert said == ["running", "done"]
    assert kept.read_text() == "kept"


@contextmanager
def worker_here(world: World, said: list[str]) -> Generator[None]:
    """A worker in a thread of this process."""
    settings = Settings(
        llm=LLMSettings(provider="openai", openai=ServerSettings(base_url=world.model.url), max_retries=0),
        research=ResearchSettings(retry=0),
        queue=QueueSettings(heartbeat=HEARTBEAT, maintenance=0.2, retries=2),
    )
    folder = world.folder / "here"
    worker = research_worker.ResearchWorker(
        ResearchSetup(settings=settings, root=folder, environ={"LOCALLLM_CACHE_DIR": str(folder)}, work_folder=folder),
        JobBoard(QueueServer(world.url, {})),
        folders=(world.docs,),
        parts=ResearchParts(FakeReader),
        on_job=lambda job: said.append(job.status),
    )
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()


async def test_a_password_opens_the_queue_and_is_never_shown(tmp_path: Path) -> None:
    with redis_server(tmp_path, 0, "--requirepass", "sesame") as url:
        JobBoard(QueueServer(url, {"REDIS_PASSWORD": "sesame"})).forget("none")
        inside = url.replace("//", "//default:sesame@")
        JobBoard(QueueServer(inside, {})).forget("none")
        for server in (QueueServer(url, {}), QueueServer(url.replace("//", "//default:abcxyz@"), {})):
            with pytest.raises(ResearchError) as caught:
                JobBoard(server).forget("none")
            assert caught.value.key == "queue_server"
            assert "127.0.0.1" in str(caught.value)
            assert "abcxyz" not in str(caught.value)
        assert "sesame" not in QueueServer(inside, {}).shown
