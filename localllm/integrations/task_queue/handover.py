"""Hand runs over to workers, follow them, and store the results in the asker's history."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from localllm.base.errors import ResearchError
from localllm.base.files import write_own
from localllm.base.jsontext import decode_json, encode_json
from localllm.base.regular_files import read_regular
from localllm.config.research_settings import QueueSettings
from localllm.integrations.task_queue.job_board import JobBoard
from localllm.integrations.task_queue.research_worker import enqueue, open_broker
from localllm.research.options import ResearchOptions
from localllm.research.records import ResearchState
from localllm.research.remark_texts import in_words
from localllm.research.report.report_files import write_report
from localllm.research.researcher import new_state
from localllm.research.run_context import OnEvent, nobody
from localllm.research.run_store import HISTORY, RunLock, RunStore, StoredRow, reserve_run, run_folder

TICKET = "queue.json"
"""File in the folder of a run: the id under which it was handed over."""

_LARGEST_TICKET = 10_000  # bytes
_LONGEST_REASON = 1_000  # characters
_SECONDS = 1.0
_ASKERS = ("id", "question", "today", "language", "task", "started", "options")
"""Fields of the state that workers never change."""
_FOUND = ("searches", "pages", "texts")
"""Tables of a run that is not done which are taken back. Its state, and the answers of a model, would decide what is
searched for when it is resumed here."""


class Ticket(msgspec.Struct, frozen=True):
    """The job and the server of a run that was handed over."""

    job: str
    where: str
    """The server, without user and password."""


class Handover:
    """Runs of the history in `data_folder`, and the workers behind `board`."""

    def __init__(self, board: JobBoard, settings: QueueSettings, data_folder: Path) -> None:
        self._board = board
        self._broker = open_broker(board, settings)
        self._data_folder = data_folder

    def begin(self, question: str, options: ResearchOptions, *, language: str, today: date) -> str:
        """Start a run and hand it over; return its id in the history. Raises ResearchError."""
        name, folder = reserve_run(self._data_folder, today.year)
        with RunLock(folder), RunStore(folder) as store:
            store.save_state(new_state(name, question, options, language=language, today=today))
        self.hand_over(name)
        return name

    def hand_over(self, name: str) -> None:
        """Hand over an unfinished run, with everything it has saved; only once, however often this is called. Raises
        ResearchError."""
        folder = run_folder(self._data_folder, name)
        with RunLock(folder):
            if _ticket(folder):
                return
            with RunStore(folder) as store:
                job = self._board.post(name, store.rows())
            with self._board.server.failing():
                enqueue(self._broker, job.id)
            try:
                write_own(folder / TICKET, encode_json(Ticket(job.id, self._board.server.shown)))
            except OSError as error:
                reason = error.strerror or str(error)
                raise ResearchError("research_disk", id=name, folder=folder, reason=reason) from error

    async def follow(
        self, name: str, on_event: OnEvent = nobody, on_trouble: Callable[[ResearchError], None] = lambda _error: None
    ) -> ResearchState:
        """Wait until the run is done, and store its results in the history; return its state.

        `on_event` receives its events, `on_trouble` is called once if the server is unreachable, which is waited for.
        Raises ResearchError if the run failed (what it found is in the history then), is damaged or no longer exists.
        If cancelled, the workers continue.
        """
        folder = run_folder(self._data_folder, name)
        ticket = _ticket(folder)
        if ticket is None:
            raise ResearchError("queue_gone", id=name, where=self._board.server.shown)
        position, is_in_trouble = "0", False
        while True:
            try:
                job = await asyncio.to_thread(self._board.job, ticket.job)
                patience = 0.0 if job is None or job.status in ("done", "failed") else _SECONDS
                watched = await asyncio.to_thread(self._board.watch, ticket.job, position, patience)
            except ResearchError as error:
                if error.key != "queue_server":
                    raise
                if not is_in_trouble:
                    on_trouble(error)
                is_in_trouble = True
                await asyncio.sleep(_SECONDS)
                continue
            is_in_trouble = False
            position = watched.position
            for event in watched.events:
                on_event(event)
            if job is None:
                with suppress(OSError):
                    (folder / TICKET).unlink()
                raise ResearchError("queue_gone", id=name, where=self._board.server.shown)
            if job.status in ("done", "failed") and not watched.events:
                break
        state = await asyncio.to_thread(self._take_back, folder, ticket.job)
        if job.failure:
            what = in_words(job.failure.what)[:_LONGEST_REASON]
            raise ResearchError("queue_failed", id=name, worker=job.worker, code=job.failure.code, what=what)
        return state

    def _take_back(self, folder: Path, job: str) -> ResearchState:
        with RunLock(folder), RunStore(folder) as store:
            asked = store.load_state()
            if asked is not None:
                store.add_rows(self._believed(self._board.rows(job), asked))
            state = store.load_state()
            if state is None:
                raise ResearchError("queue_gone", id=folder.name, where=self._board.server.shown)
            if state.next == "done":
                write_report(state, folder)
            (folder / TICKET).unlink(missing_ok=True)
        self._board.forget(job)
        return state

    def _believed(self, rows: Sequence[StoredRow], asked: ResearchState) -> Iterator[StoredRow]:
        """Yield what is believed of the rows that a worker saved for the run that was `asked`: whoever can write to the
        queue must not make this machine search for other things, or other folders, when it is resumed here."""
        states = [self._as_asked(row, asked) for row in rows if row.table == "state"]
        if len(states) > 1:  # the last one is kept, so that another one must not vouch for it
            raise ResearchError("queue_damaged", where=self._board.server.shown, reason=f"{len(states)} states")
        if states and states[0][1].next == "done":
            key, state = states[0]
            yield StoredRow("state", (key, encode_json(state)))
            yield from (row for row in rows if row.table != "state")
        else:
            yield from (row for row in rows if row.table in _FOUND)

    def _as_asked(self, row: StoredRow, asked: ResearchState) -> tuple[str | int | bytes, ResearchState]:
        """Return a row's key and state, with question and options of the hand-over."""
        try:
            key, value = row.values
            state = decode_json(value.encode() if isinstance(value, str) else bytes(value), ResearchState)
        except (msgspec.DecodeError, ValueError, TypeError) as error:
            raise ResearchError("queue_damaged", where=self._board.server.shown, reason=str(error)) from error
        kept: dict[str, Any] = {name: getattr(asked, name) for name in _ASKERS}
        if state.brief:
            kept["brief"] = msgspec.structs.replace(state.brief, question=asked.question)
        return key, msgspec.structs.replace(state, **kept)


def place_of(data_folder: Path, name: str) -> str:
    """Return the server whose workers have the run `name`; "" if none."""
    ticket = _ticket(data_folder / HISTORY / name)
    return ticket.where if ticket else ""


def _ticket(folder: Path) -> Ticket | None:
    try:
        return decode_json(read_regular(folder / TICKET, _LARGEST_TICKET), Ticket)
    except (OSError, msgspec.DecodeError):
        return None
