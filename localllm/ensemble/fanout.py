"""Ask many agents concurrently, each with its own timeout; cancel those the run does not wait for."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from localllm.base import logs
from localllm.base.errors import EnsembleError, InternalError, LocalLLMError
from localllm.ensemble.agents import explained
from localllm.ensemble.answers import Ask, answer_to
from localllm.ensemble.config import SystemSettings
from localllm.ensemble.records import RunEvent, WorkerAnswer, WorkerFinished, WorkerRetried, WorkerText

Emit = Callable[[RunEvent], None]

_log = logs.of("ENSEMBLE")


class WorkerAsk(msgspec.Struct, frozen=True):
    """The request to a worker, and the name of its answer."""

    name: str
    ask: Ask


class FanOut:
    """Ask workers, identified by their index in `asked` in the events passed to `emit`.

    `stream`: emit each piece of their answers; `run_id` is for the log. Ends when all have answered or failed, or when
    enough have (`quorum`, `hedge_after`); the others are then cancelled.
    """

    def __init__(
        self, asked: Sequence[WorkerAsk], settings: SystemSettings, emit: Emit, *, stream: bool, run_id: str
    ) -> None:
        self._asked = asked
        self._run_id = run_id
        self._settings = settings
        self._emit = emit
        self._stream = stream
        self._answers: list[WorkerAnswer | None] = [None] * len(asked)
        self._left = len(asked)
        self._successes = 0
        self._is_late = False
        self._began = 0.0

    async def answers(self) -> tuple[WorkerAnswer, ...]:
        """Return the result of each worker, in order. Cancelling cancels them all."""
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        self._enough: asyncio.Future[None] = loop.create_future()
        late = loop.call_later(self._settings.hedge_after, self._note_late) if self._settings.hedge_after else None
        tasks = [loop.create_task(self._ask(index)) for index in range(len(self._asked))]
        try:
            if tasks:
                await self._enough
        finally:
            if late is not None:
                late.cancel()
            if self._left:
                await _cancelled(tasks)
        return tuple(self._finished(index) for index in range(len(self._asked)))

    async def _ask(self, index: int) -> None:
        worker = self._asked[index]
        error: LocalLLMError
        try:
            answer = await answer_to(
                worker.ask,
                deadline=self._began + worker.ask.agent.timeout,
                retries=self._settings.max_retries,
                on_text=(lambda text: self._emit(WorkerText(index, text))) if self._stream else None,
                on_retry=lambda error: self._note_retry(index, error),
            )
        except LocalLLMError as failure:
            error = explained(failure, worker.ask.agent)
        except Exception as failure:  # noqa: BLE001 - one worker's fault must not end the others
            _log.exception("%s: %s: %s", self._run_id, worker.name, failure)
            error = InternalError("internal", reason=repr(failure), log=logs.file())
        else:
            self._successes += 1
            self._note(
                index,
                WorkerAnswer(
                    agent=worker.name,
                    model=worker.ask.agent.config.model,
                    text=answer.text,
                    seconds=self._seconds(),
                    usage=answer.usage,
                    finish_reason=answer.finish_reason,
                    retries=answer.retries,
                ),
            )
            return
        _log.warning("%s: %s: %s", self._run_id, worker.name, error.english)
        self._note(index, self._failed(index, error))

    def _note(self, index: int, answer: WorkerAnswer) -> None:
        self._answers[index] = answer
        self._left -= 1
        self._emit(WorkerFinished(index, answer))
        self._look_whether_enough()

    def _note_retry(self, index: int, error: LocalLLMError) -> None:
        worker = self._asked[index]
        error = explained(error, worker.ask.agent)
        _log.warning("%s: %s is asked again: %s", self._run_id, worker.name, error.english)
        self._emit(WorkerRetried(index, error))

    def _note_late(self) -> None:
        self._is_late = True
        self._look_whether_enough()

    def _look_whether_enough(self) -> None:
        quorum = self._settings.quorum
        is_enough = (quorum and self._successes >= quorum) or (self._is_late and self._successes)
        if (is_enough or not self._left) and not self._enough.done():
            self._enough.set_result(None)

    def _finished(self, index: int) -> WorkerAnswer:
        """Return the result of a worker, with the reason if it was cancelled."""
        if answer := self._answers[index]:
            return answer
        settings = self._settings
        if settings.quorum and self._successes >= settings.quorum:
            error = EnsembleError("ensemble_quorum", answers=self._successes)
        else:
            error = EnsembleError("ensemble_hedge", seconds=settings.hedge_after)
        answer = self._failed(index, error, is_cancelled=True)
        self._emit(WorkerFinished(index, answer))
        return answer

    def _failed(self, index: int, error: LocalLLMError, *, is_cancelled: bool = False) -> WorkerAnswer:
        worker = self._asked[index]
        return WorkerAnswer(
            agent=worker.name,
            model=worker.ask.agent.config.model,
            error=error,
            seconds=self._seconds(),
            is_cancelled=is_cancelled,
        )

    def _seconds(self) -> float:
        return asyncio.get_running_loop().time() - self._began


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel the tasks and wait until their connections are closed."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
