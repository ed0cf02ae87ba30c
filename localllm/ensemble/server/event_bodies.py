"""The events of /generate/stream, one for each event of a run, and their schemas."""

from msgspec import UNSET, Struct, UnsetType

from localllm.base.events import Json
from localllm.ensemble.answer_stream import AnswerStream
from localllm.ensemble.records import (
    ReviewStarted,
    ReviewText,
    RunEvent,
    RunFinished,
    RunStarted,
    StrategyName,
    WorkerAnswer,
    WorkerFinished,
    WorkerRetried,
    WorkerText,
)
from localllm.ensemble.server.event_stream import event_frame
from localllm.ensemble.server.paper_bodies import (
    ErrorDetail,
    GenerateAnswer,
    GenerateFailure,
    Turns,
    detail,
    generate_body,
    shown,
    status_of,
)


class StartEvent(Struct, frozen=True, kw_only=True):
    """A run has begun. `workers`: their names, in the order of their numbers."""

    run_id: str
    strategy: StrategyName
    workers: tuple[str, ...]
    reviewer: str
    conversation_id: str | UnsetType = UNSET
    conversation_turns: int | UnsetType = UNSET


class WorkerTextEvent(Struct, frozen=True):
    """The next piece of the answer of a worker, by its number."""

    worker: int
    text: str


class WorkerEndEvent(Struct, frozen=True, kw_only=True):
    """A worker has answered; `response` is all it wrote."""

    worker: int
    agent_name: str
    seconds: float
    response: str


class WorkerErrorEvent(WorkerEndEvent, frozen=True, kw_only=True):
    """A worker has failed; `response` says so."""

    error: ErrorDetail


class WorkerRetryEvent(Struct, frozen=True, kw_only=True):
    """A worker is asked again: what came of its answer so far is void."""

    worker: int
    agent_name: str
    error: ErrorDetail


class ReviewStartEvent(Struct, frozen=True):
    """The reviewer is asked."""

    reviewer: str


class ReviewTextEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The next piece of what the reviewer writes, its headings and all; and what can be told apart with it: the next
    pieces of its evaluation and of the final answer. The result has both as they are read from the whole."""

    text: str
    comment: str = ""
    answer: str = ""


EVENTS: dict[str, tuple[type, ...]] = {
    "start": (StartEvent,),
    "worker_text": (WorkerTextEvent,),
    "worker_end": (WorkerEndEvent,),
    "worker_error": (WorkerErrorEvent,),
    "worker_retry": (WorkerRetryEvent,),
    "review_start": (ReviewStartEvent,),
    "review_text": (ReviewTextEvent,),
    "result": (GenerateAnswer, GenerateFailure),
    "error": (ErrorDetail,),
}
"""The names of the events, with the types of their data."""


class EventWriter:
    """Format the events of one run. `turns`: its conversation."""

    def __init__(self, turns: Turns | None) -> None:
        self._turns = turns
        self._names: tuple[str, ...] = ()
        self._answer = AnswerStream()

    def frame(self, event: RunEvent) -> bytes:
        """Format an event as a frame."""
        match event:
            case WorkerText(worker, text):
                return event_frame("worker_text", WorkerTextEvent(worker, text))
            case ReviewText(text):
                return event_frame("review_text", self._review(text))
            case RunStarted():
                self._names = event.workers
                return event_frame("start", self._start(event))
            case WorkerRetried(worker, error):
                body = WorkerRetryEvent(worker=worker, agent_name=self._names[worker], error=detail(error))
                return event_frame("worker_retry", body)
            case WorkerFinished(worker, answer):
                return self._end_of(worker, answer)
            case ReviewStarted(reviewer):
                self._answer = AnswerStream()
                return event_frame("review_start", ReviewStartEvent(reviewer))
            case RunFinished(result):
                more: dict[str, Json] = {"status": status_of(result)}
                return event_frame("result", generate_body(result, self._turns, more))

    def _start(self, event: RunStarted) -> StartEvent:
        return StartEvent(
            run_id=event.run_id,
            strategy=event.strategy,
            workers=event.workers,
            reviewer=event.reviewer,
            conversation_id=self._turns.conversation_id if self._turns else UNSET,
            conversation_turns=self._turns.before if self._turns else UNSET,
        )

    def _review(self, text: str) -> ReviewTextEvent:
        pieces = self._answer.feed(text)
        comment, answer = ("".join(one.text for one in pieces if one.part == part) for part in ("comment", "answer"))
        return ReviewTextEvent(text=text, comment=comment, answer=answer)

    def _end_of(self, worker: int, answer: WorkerAnswer) -> bytes:
        name, seconds, response = self._names[worker], round(answer.seconds, 3), shown(answer)
        if answer.error is None:
            body = WorkerEndEvent(worker=worker, agent_name=name, seconds=seconds, response=response)
            return event_frame("worker_end", body)
        error = detail(answer.error)
        return event_frame(
            "worker_error",
            WorkerErrorEvent(worker=worker, agent_name=name, seconds=seconds, response=response, error=error),
        )
