"""Run the ensemble for the server: with conversation history, logging and metrics."""

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from uuid import uuid4

import msgspec
from starlette.types import Scope

from localllm.base import logs
from localllm.base.errors import EnsembleError, LocalLLMError
from localllm.base.events import Usage
from localllm.base.lazy_patterns import late_pattern
from localllm.ensemble.conversations import Conversations
from localllm.ensemble.metrics import EnsembleMetrics
from localllm.ensemble.records import (
    HOPS_HEADER,
    Ensemble,
    EnsembleResult,
    Question,
    RunEvent,
    RunFinished,
    RunStarted,
    WorkerAnswer,
    WorkerFinished,
)
from localllm.ensemble.server.limits import header
from localllm.ensemble.server.paper_bodies import Turns
from localllm.ensemble.server.refusals import RefusalError, internal_error

OnFinished = Callable[[Question, EnsembleResult], None]
"""Called with each finished or aborted run; must not block."""

_log = logs.of("ENSEMBLE")
_MOST_HOPS = 8
_HOPS = HOPS_HEADER.lower().encode()
_HOP = late_pattern(r"[0-9A-Za-z]{1,32}")
"""An ensemble's id in it; others are not forwarded."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question. `turns`: its conversation, None without one."""

    question: Question
    turns: Turns | None = None


class EnsembleRuns:
    """Run questions. The conversations and metrics are the server's."""

    def __init__(
        self,
        ensemble: Ensemble,
        metrics: EnsembleMetrics,
        *,
        conversations: Conversations | None = None,
        on_finished: OnFinished | None = None,
    ) -> None:
        self._ensemble = ensemble
        self._metrics = metrics
        self._on_finished = on_finished
        self._id = uuid4().hex[:12]
        self.conversations = conversations or Conversations()

    def hops(self, scope: Scope) -> tuple[str, ...]:
        """Return the ensembles a request has passed, with this one last. Raises RefusalError for a loop or too many
        hops."""
        passed = tuple(_HOP.findall(header(scope, _HOPS)))
        if self._id in passed or len(passed) >= _MOST_HOPS:
            raise RefusalError("api_loop", status=508, passed=", ".join(passed))
        return (*passed, self._id)

    async def events(self, asked: Asked) -> AsyncGenerator[RunEvent]:
        """Stream the events of a run; closing the stream cancels every request to an agent."""
        started: RunStarted | None = None
        answers: dict[int, WorkerAnswer] = {}
        strategy, began, has_finished = "", time.monotonic(), False
        reason: LocalLLMError = EnsembleError("ensemble_broken_off")
        try:
            async with aclosing(self._ensemble.run(asked.question)) as run:
                async for event in run:
                    match event:
                        case RunStarted():
                            started, strategy = event, event.strategy
                        case WorkerFinished(worker, answer):
                            answers[worker] = answer
                        case RunFinished(result):
                            has_finished = True
                            self._finish(asked, result)
                        case _:
                            pass
                    self._metrics.note(event, strategy)
                    yield event
        except LocalLLMError as error:
            reason = error
            raise
        except Exception as error:
            reason = internal_error(error)
            raise
        finally:
            if not has_finished:
                self._metrics.note_broken_off(strategy)
                if started is not None:
                    self._take_down(asked.question, _broken_off(started, answers, time.monotonic() - began, reason))

    async def result(self, asked: Asked) -> EnsembleResult:
        """Run a question and return its result."""
        async with aclosing(self.events(asked)) as events:
            async for event in events:
                if isinstance(event, RunFinished):
                    return event.result
        raise RuntimeError("the run has ended without a result")

    def _finish(self, asked: Asked, result: EnsembleResult) -> None:
        if asked.turns and result.final_answer:
            self.conversations.add(asked.turns.conversation_id, asked.question.prompt, result.final_answer)
        self._take_down(asked.question, result)

    def _take_down(self, question: Question, result: EnsembleResult) -> None:
        if self._on_finished is None:
            return
        try:
            self._on_finished(question, result)
        except Exception as error:  # noqa: BLE001 - no answer is lost for what only looks on
            _log.error("run %s could not be taken down", result.run_id, exc_info=error)


def _broken_off(
    started: RunStarted, answers: Mapping[int, WorkerAnswer], seconds: float, error: LocalLLMError
) -> EnsembleResult:
    """Build the result of a run aborted after `seconds` because of `error`."""
    models = started.models or ("",) * len(started.workers)
    known = tuple(
        answers.get(worker) or WorkerAnswer(agent=name, model=model, error=error, seconds=seconds, is_cancelled=True)
        for worker, (name, model) in enumerate(zip(started.workers, models, strict=True))
    )
    return EnsembleResult(
        run_id=started.run_id,
        final_answer="",
        review_comment="",
        answers=known,
        seconds=seconds,
        runtime={"strategy": started.strategy},
        usage=sum((answer.usage for answer in known if answer.usage), Usage()),
        is_broken_off=True,
    )
