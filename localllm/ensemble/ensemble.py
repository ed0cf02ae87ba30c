"""Run the ensemble on a question and stream its events."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from uuid import uuid4

from localllm.base import logs
from localllm.ensemble.agents import AgentPool, Agents
from localllm.ensemble.answer_checks import AnswerChecks
from localllm.ensemble.config_watch import ConfigSource
from localllm.ensemble.hosts import HostReport
from localllm.ensemble.pattern_search import PatternSearch
from localllm.ensemble.records import EnsembleResult, Question, RunEvent, RunFinished, WorkerAnswer
from localllm.ensemble.run import Outcome, Run
from localllm.ensemble.selection import select_workers
from localllm.ensemble.strategies import STRATEGIES

_log = logs.of("ENSEMBLE")


class ModelEnsemble:
    """An ensemble of the agents in `source`; a run keeps the configuration it started with.

    `environ` has the API keys; paths of model files are relative to `root`. `pool` has the agents and their
    connections; `checks` are on answers. Both are closed at the end.
    """

    def __init__(
        self, source: ConfigSource, environ: Mapping[str, str], checks: AnswerChecks, root: Path = Path()
    ) -> None:
        self._source = source
        self.pool = AgentPool(environ, root)
        self._patterns = PatternSearch()
        self._checks = checks

    async def run(self, question: Question) -> AsyncGenerator[RunEvent]:
        """See Ensemble."""
        agents = await self.pool.take(self._source.current)
        events = _Events()
        work = asyncio.get_running_loop().create_task(_result(question, agents, events, self._patterns, self._checks))
        work.add_done_callback(events.end)
        try:
            async for event in events:
                yield event
            yield RunFinished(work.result())
        finally:
            if not work.done():
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
            await self.pool.give_back(agents)

    async def report(self) -> tuple[HostReport, ...]:
        """Report the models on the agents' hosts: which are loaded, with which window."""
        return await self.pool.report(self._source.current)

    async def aclose(self) -> None:
        """Close connections and helper processes."""
        await self.pool.aclose()
        await self._patterns.aclose()
        await asyncio.to_thread(self._checks.close)


class _Events:
    """Buffered events of a run; reading ends when the producing task ends."""

    def __init__(self) -> None:
        self._events: deque[RunEvent] = deque()
        self._has_ended = False
        self._reader: asyncio.Future[None] | None = None

    def tell(self, event: RunEvent) -> None:
        self._events.append(event)
        self._wake()

    def end(self, _work: object) -> None:
        self._has_ended = True
        self._wake()

    def __aiter__(self) -> "_Events":
        return self

    async def __anext__(self) -> RunEvent:
        while not self._events:
            if self._has_ended:
                raise StopAsyncIteration
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        return self._events.popleft()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


async def _result(
    question: Question, agents: Agents, events: _Events, patterns: PatternSearch, checks: AnswerChecks
) -> EnsembleResult:
    """Run a strategy on a question and return the result."""
    loop = asyncio.get_running_loop()
    began, run_id = loop.time(), uuid4().hex
    strategy = question.strategy or agents.settings.strategy
    configs = [agent.config for agent in agents.workers]
    selection = await select_workers(question.prompt, configs, agents.settings.select, patterns)
    chosen = [agents.workers[index] for index in selection.workers]
    run = Run(run_id, question, strategy, agents, chosen, events.tell, checks)
    run.runtime["strategy"] = strategy
    if skipped := [agent.name for agent in agents.workers if agent not in chosen]:
        run.runtime["skipped"] = skipped
    if told := selection.told():
        run.runtime["selection"] = told
    outcome = await STRATEGIES[strategy](run)
    seconds = loop.time() - began
    _note(run, outcome, seconds)
    return EnsembleResult(
        run_id=run_id,
        final_answer=outcome.final_answer,
        review_comment=outcome.review_comment,
        answers=run.answers,
        seconds=seconds,
        runtime=run.runtime,
        usage=run.usage,
        reviewer_error=outcome.reviewer_error,
        finish_reason=outcome.finish_reason,
    )


def _note(run: Run, outcome: Outcome, seconds: float) -> None:
    """Log the outcome of a run."""
    failed = sum(answer.has_failed for answer in run.answers)
    if outcome.reviewer_error is not None:
        _log.error("%s: %s: %s", run.run_id, run.reviewer.name, outcome.reviewer_error.english)
    elif failed == len(run.answers):
        _log.error("%s: no worker has answered", run.run_id)
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug("%s: asked: %r", run.run_id, run.question.prompt)  # on one line: a text cannot forge a record
        for answer in run.answers:
            _log.debug("%s: %s: %r", run.run_id, answer.agent, answer.text)
        _log.debug("%s: %s: %r %r", run.run_id, run.reviewer.name, outcome.review_comment, outcome.final_answer)
    if _log.isEnabledFor(logging.INFO):
        times = ", ".join(f"{answer.agent} {_ended(answer)}" for answer in run.answers)
        _log.info("%s: done in %.2f s (%s)", run.run_id, seconds, times)


def _ended(answer: WorkerAnswer) -> str:
    error = answer.error
    return f"{answer.seconds:.2f} s" if error is None else f"{error.code} after {answer.seconds:.2f} s"
