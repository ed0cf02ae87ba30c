"""Run a request once the model is resolved."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from localllm.app.model_session import Answerer
from localllm.app.session import Conversation
from localllm.base import logs
from localllm.base.errors import InternalError, LocalLLMError
from localllm.base.events import AgentEvent, Notice, RunFinished, RunStarted


class Requests:
    """Run one request at a time. `current` returns the current conversation."""

    def __init__(self, answerer: Answerer, current: Callable[[], Conversation]) -> None:
        self._answerer = answerer
        self._current = current
        self._waiting: asyncio.Future[None] | None = None
        self.is_running = False
        """Whether a request is in progress."""

    async def events(self, query: str, piped: str = "", typed: str | None = None) -> AsyncGenerator[AgentEvent]:
        """Stream the events of the agent's run, once the model is selected. An internal error ends the run, not the
        program: it is logged and shown."""
        self.is_running = True
        try:
            if finished := await self._connect():
                for event in self._told(self._started(query), finished):
                    yield event
                return
            for event in self._told(*self._answerer.news()):
                yield event
            self._current().checkpoints.add(query, by_hand=False)
            async with aclosing(self._current().agent.run(query, piped=piped, typed=typed)) as events:
                async for event in events:
                    for text in self._current().take_failures():
                        yield Notice(text=text, level="warning")
                    yield event
        except Exception as error:  # noqa: BLE001 - the app boundary
            logs.of("APP").exception("a run failed")
            for event in self._told(_failed(InternalError("internal", reason=repr(error), log=logs.file()))):
                yield event
        finally:
            self.is_running = False

    def interrupt(self) -> None:
        """Interrupt the current request, or the wait for its model."""
        if self._waiting is not None:
            self._waiting.cancel()
        else:
            self._current().agent.interrupt()

    async def _connect(self) -> RunFinished | None:
        """Wait for the model; return the end of the run if there is none, or the user interrupted the wait."""
        waiting = self._waiting = asyncio.ensure_future(self._meet())
        try:
            await asyncio.wait({waiting})
            waiting.result()
        except LocalLLMError as error:
            return _failed(error)
        except asyncio.CancelledError:
            if not waiting.cancelled():
                raise
            return RunFinished(status="interrupted", answer="")
        finally:
            waiting.cancel()
            self._waiting = None

    async def _meet(self) -> None:
        """Wait for the model and, before a conversation's first answer, for its description, which decides the
        prompt."""
        await self._answerer.ready()
        await self._current().prepare()

    def _started(self, query: str) -> RunStarted:
        answerer = self._answerer
        return RunStarted(
            session_id=self._current().id, query=query, provider=answerer.provider_name, model=answerer.model
        )

    def _told(self, *events: AgentEvent) -> Sequence[AgentEvent]:
        """Log the events and return them."""
        for event in events:
            self._current().tell(event)
        return events


def _failed(error: LocalLLMError) -> RunFinished:
    return RunFinished(status="error", answer="", error_code=error.code, error=error.lines())
