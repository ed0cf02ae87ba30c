"""Shared state of runs that were handed over, kept in Redis for asker and workers.

Each job has its task and status, everything the run has saved (so that another worker repeats no
request), the newest events for followers, and a lock, which only one worker holds at a time.
"""

import re
import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, Literal, NamedTuple

import msgspec

from localllm.base.errors import ResearchError
from localllm.base.jsontext import decode_json, encode_json
from localllm.integrations.task_queue.redis_server import QueueServer
from localllm.research.records import Remark
from localllm.research.run_events import (
    ClaimChecked,
    Finished,
    ModelAnswered,
    NotesTaken,
    PageRead,
    QueryMade,
    RemarkMade,
    ResearchEvent,
    RoundDone,
    SearchDone,
    StageBegun,
)
from localllm.research.run_store import StoredRow
from localllm.text.sanitising import clean

PREFIX = "localllm:research:1"
KEPT_SECONDS = 7 * 86_400
"""How long an untouched job is kept."""

_FORGOTTEN_SECONDS = 86_400
_EVENTS = 1_000
_LONGEST_NAME = 200
_AnyEvent = (
    StageBegun
    | QueryMade
    | SearchDone
    | PageRead
    | NotesTaken
    | ClaimChecked
    | ModelAnswered
    | RoundDone
    | RemarkMade
    | Finished
)

_EVENT_DECODER: msgspec.json.Decoder[_AnyEvent] = msgspec.json.Decoder(_AnyEvent)

_JOB_ID = re.compile(r"[0-9a-f]{32}")
"""A worker names a folder after it, which nobody who can write to the queue may choose."""

JobStatus = Literal["waiting", "running", "done", "failed"]

_RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'
_RENEW = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0'


class Failure(msgspec.Struct, frozen=True):
    """Why a job failed: error code and message."""

    code: str
    what: Remark


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was handed over. `run`: its id in the asker's history; `worker`: who has or last had it;
    `attempts`: how often it was started, except those that were stopped in an orderly way."""

    id: str
    run: str
    status: JobStatus = "waiting"
    attempts: int = 0
    worker: str = ""
    failure: Failure | None = None


class JobTakenError(Exception):
    """Another worker has the job."""


class Watched(NamedTuple):
    """New events, and the position to continue from."""

    events: list[ResearchEvent]
    position: str


class JobBoard:
    """The jobs at `server`. All methods raise ResearchError (queue_server) if it is unreachable."""

    def __init__(self, server: QueueServer) -> None:
        self.server = server
        self._redis = server.connect()

    @property
    def client(self) -> Any:
        """The Redis connection."""
        return self._redis

    def check(self) -> None:
        """Check that the server answers."""
        with self.server.failing():
            self._redis.ping()

    def post(self, run: str, rows: Iterable[StoredRow]) -> Job:
        """Create a job for a run, with everything it has saved so far."""
        job = Job(id=secrets.token_hex(16), run=run)
        with self.server.failing():
            self._redis.hset(_key(job.id, "job"), mapping={"run": run, "status": "waiting", "attempts": 0})
        self.keep_rows(job.id, list(rows))
        return job

    def job(self, name: str) -> Job | None:
        """Return the job with this id; None if there is none, or the id is invalid. Raises ResearchError for a damaged
        one."""
        if not _JOB_ID.fullmatch(str(name)):
            return None
        with self._decoding():
            found: dict[bytes, bytes] = self._redis.hgetall(_key(name, "job"))
            if b"run" not in found:
                return None
            fields = {key.decode(): value.decode() for key, value in found.items()}
            failure = decode_json(fields["failure"].encode(), Failure) if fields.get("failure") else None
            job = msgspec.convert({**fields, "id": name, "failure": failure}, Job, strict=False)
        failure = failure and Failure(_shown(failure.code), failure.what)
        return msgspec.structs.replace(job, run=_shown(job.run), worker=_shown(job.worker), failure=failure)

    def begin(self, job: Job, worker: str) -> int:
        """Record that a worker has started; return the number of the attempt."""
        fields = {"run": job.run, "status": "running", "worker": worker}
        with self.server.failing(), self._redis.pipeline() as pipe:
            pipe.hset(_key(job.id, "job"), mapping=fields)
            pipe.hincrby(_key(job.id, "job"), "attempts", 1)
            return int(pipe.execute()[1])

    def give_back(self, job: Job, *, counts: bool) -> None:
        """Record that the job is waiting again; the attempt `counts` if something had failed."""
        with self.server.failing(), self._redis.pipeline() as pipe:
            pipe.hset(_key(job.id, "job"), mapping={"run": job.run, "status": "waiting"})
            if not counts:
                pipe.hincrby(_key(job.id, "job"), "attempts", -1)
            pipe.execute()

    def finish(self, job: Job, failure: Failure | None = None) -> None:
        """Record that the job is done, or has failed for good."""
        fields = {"run": job.run, "status": "failed" if failure else "done"}
        with self.server.failing():
            self._redis.hset(
                _key(job.id, "job"), mapping={**fields, "failure": encode_json(failure) if failure else b""}
            )
        self.keep_rows(job.id, [])

    def keep_rows(self, name: str, rows: Iterable[StoredRow]) -> None:
        """Save rows of the run."""
        fields: dict[str, bytes] = {f"{row.table}:{row.values[0]}": msgspec.msgpack.encode(row) for row in rows}
        with self.server.failing(), self._redis.pipeline(transaction=False) as pipe:
            if fields:
                pipe.hset(_key(name, "rows"), mapping=fields)
            for kind in ("job", "rows", "events"):
                pipe.expire(_key(name, kind), KEPT_SECONDS)
            pipe.execute()

    def rows(self, name: str) -> list[StoredRow]:
        """Return all rows of the run. Raises ResearchError for damaged rows."""
        with self._decoding():
            return [_row_of(data) for data in self._redis.hvals(_key(name, "rows"))]

    def tell(self, name: str, event: ResearchEvent) -> None:
        """Publish an event to followers."""
        with self.server.failing():
            self._redis.xadd(_key(name, "events"), {"event": encode_json(event)}, maxlen=_EVENTS, approximate=True)

    def watch(self, name: str, position: str, seconds: float) -> Watched:
        """Return the events after `position` ("0": all), waiting up to `seconds` for them."""
        with self.server.failing():
            answer = self._redis.xread({_key(name, "events"): position}, count=100, block=max(1, int(seconds * 1_000)))
            found: list[ResearchEvent] = []
            for at, fields in answer[0][1] if answer else ():
                position = at.decode()
                with suppress(msgspec.DecodeError):  # of another version, or none
                    found.append(_EVENT_DECODER.decode(fields.get(b"event", b"")))
            return Watched(found, position)

    def forget(self, name: str) -> None:
        """Delete a job, and record this for a day: a worker may still assume that it has it."""
        with self.server.failing(), self._redis.pipeline() as pipe:
            pipe.delete(*(_key(name, kind) for kind in ("job", "rows", "events", "lock")))
            pipe.set(_key(name, "forgotten"), 1, ex=_FORGOTTEN_SECONDS)
            pipe.execute()

    @contextmanager
    def held(self, name: str, worker: str, lease: float, on_lost: Callable[[], None]) -> Generator[None]:
        """Lock the job for `worker` within a block, while this process lives and `lease` seconds more.
        `on_lost` is called, in its own thread, if another worker got it meanwhile, or it is over. Raises JobTakenError.
        """
        key, token = _key(name, "lock"), secrets.token_hex(16)
        milliseconds = int(lease * 1_000)
        with self.server.failing():
            if not self._redis.set(key, token, nx=True, px=milliseconds):
                raise JobTakenError(name)
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(lease / 3):
                with suppress(ResearchError), self.server.failing():
                    if self._redis.eval(_RENEW, 1, key, token, str(milliseconds)):
                        continue
                    if self._is_over(name, worker) or not self._redis.set(key, token, nx=True, px=milliseconds):
                        on_lost()
                        return

        renewal = threading.Thread(target=renew, name="job lock", daemon=True)
        renewal.start()
        try:
            yield
        finally:
            ended.set()
            renewal.join()
            with suppress(ResearchError), self.server.failing():
                self._redis.eval(_RELEASE, 1, key, token)

    @contextmanager
    def _decoding(self) -> Generator[None]:
        """Convert errors of the server, and of what it holds."""
        with self.server.failing():
            try:
                yield
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise ResearchError("queue_damaged", where=self.server.shown, reason=str(error).rstrip(".")) from error

    def _is_over(self, name: str, worker: str) -> bool:
        """Return whether `worker` no longer has the job it started; False if the server lost its data."""
        if self._redis.exists(_key(name, "forgotten")):
            return True
        job = self.job(name)
        return job is not None and (job.worker != worker or job.status in ("done", "failed"))


class RowMirror:
    """Copies rows that a run saves to the board. While that is unreachable the rows wait here: no result
    is lost, and the run goes on."""

    def __init__(self, board: JobBoard, name: str, *, rest: float = 5.0) -> None:
        self._board = board
        self._name = name
        self._waiting: list[StoredRow] = []
        self._rest = rest
        self._not_before = 0.0

    def add(self, row: StoredRow) -> None:
        """Save a row, and those waiting."""
        self._waiting.append(row)
        if time.monotonic() >= self._not_before:
            with suppress(ResearchError):
                self.flush()

    def flush(self) -> None:
        """Save the waiting rows. Raises ResearchError if they have to wait longer."""
        try:
            self._board.keep_rows(self._name, self._waiting)
        except ResearchError:
            self._not_before = time.monotonic() + self._rest
            raise
        self._waiting.clear()


def _row_of(data: bytes) -> StoredRow:
    """Decode a saved row. Raises msgspec.DecodeError."""
    table, values = msgspec.msgpack.decode(data, type=tuple[str, list[Any]])
    if not all(isinstance(value, str | int | bytes) for value in values):
        raise msgspec.DecodeError(f"a value in {table[:20]}")
    return StoredRow(table, tuple(values))


def _shown(name: str) -> str:
    """Return a name of the server's in one line of plain text, in which it cannot pass for ours."""
    return clean(name, keep_newlines=False)[:_LONGEST_NAME]


def _key(job: str, kind: str) -> str:
    return f"{PREFIX}:{kind}:{job}"
