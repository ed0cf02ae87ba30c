"""Runs as the server has them run: with the turns before, logged, counted, and remembered."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from uuid import uuid4

import msgspec
from starlette.types import Scope

from localllm.base import logs
from localllm.base.lazy_patterns import late_pattern
from localllm.ensemble.conversations import Conversations
from localllm.ensemble.metrics import EnsembleMetrics
from localllm.ensemble.records import HOPS_HEADER, Ensemble, EnsembleResult, Question, RunEvent, RunFinished, RunStarted
from localllm.ensemble.server.limits import header
from localllm.ensemble.server.paper_bodies import Turns
from localllm.ensemble.server.refusals import RefusalError

OnFinished = Callable[[Question, EnsembleResult], None]
"""Told of each run that has come to its end; must not block."""

_log = logs.of("ENSEMBLE")
_MOST_HOPS = 8
_HOPS = HOPS_HEADER.lower().encode()
_HOP = late_pattern(r"[0-9A-Za-z]{1,32}")
"""An id in it; what is none is not sent on."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question. `turns`: the conversation it is part of, None where it is part of none."""

    question: Question
    turns: Turns | None = None


class EnsembleRuns:
    """Asks the ensemble. What is said in conversations, and the metrics, are the server's."""

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
        """The ensembles a request has passed, this one last. Raises RefusalError where it has passed this one before,
        or too many."""
        passed = tuple(_HOP.findall(header(scope, _HOPS)))
        if self._id in passed or len(passed) >= _MOST_HOPS:
            raise RefusalError("api_loop", status=508, passed=", ".join(passed))
        return (*passed, self._id)

    async def events(self, asked: Asked) -> AsyncGenerator[RunEvent]:
        """The events of a run; closing it cancels every request to an agent."""
        strategy, has_finished = "", False
        try:
            async with aclosing(self._ensemble.run(asked.question)) as run:
                async for event in run:
                    match event:
                        case RunStarted():
                            strategy = event.strategy
                        case RunFinished(result):
                            has_finished = True
                            self._finish(asked, result)
                        case _:
                            pass
                    self._metrics.note(event, strategy)
                    yield event
        finally:
            if not has_finished:
                self._metrics.note_broken_off(strategy)

    async def result(self, asked: Asked) -> EnsembleResult:
        """The outcome of a run."""
        async with aclosing(self.events(asked)) as events:
            async for event in events:
                if isinstance(event, RunFinished):
                    return event.result
        raise RuntimeError("the run has ended without a result")

    def _finish(self, asked: Asked, result: EnsembleResult) -> None:
        if asked.turns and result.final_answer:
            self.conversations.add(asked.turns.conversation_id, asked.question.prompt, result.final_answer)
        if self._on_finished is None:
            return
        try:
            self._on_finished(asked.question, result)
        except Exception as error:  # noqa: BLE001 - no answer is lost for what only looks on
            _log.error("run %s could not be taken down", result.run_id, exc_info=error)
