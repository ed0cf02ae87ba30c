"""A run as a stream of events: for whoever iterates, and for listeners."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from localllm.base.events import AgentEvent, Emit, RunFinished


class EventStream:
    """Runs one piece of work at a time and hands out the events it emits.

    `listeners` are shown every event at once, also those after an interrupt, when nobody iterates any more.
    """

    def __init__(self, listeners: Sequence[Emit]) -> None:
        self._listeners = tuple(listeners)
        self._running: asyncio.Task[None] | None = None

    async def of(self, work: Callable[[Emit], Awaitable[None]]) -> AsyncGenerator[AgentEvent]:
        """The events of `work`, as they happen, the last of them RunFinished. Closing the generator interrupts it."""
        events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        ended = False

        def emit(event: AgentEvent) -> None:
            nonlocal ended
            ended = ended or isinstance(event, RunFinished)
            for listener in self._listeners:
                listener(event)
            events.put_nowait(event)

        def close(task: asyncio.Task[None]) -> None:
            if task.cancelled() and not ended:  # before it had begun
                emit(RunFinished(status="interrupted", answer=""))
            events.put_nowait(None)

        async def run() -> None:
            await work(emit)

        task = self._running = asyncio.create_task(run())
        task.add_done_callback(close)
        try:
            while (event := await events.get()) is not None:
                yield event
            if not task.cancelled():
                task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def interrupt(self) -> None:
        """Break off what is going on; its events still end with RunFinished."""
        if self._running is not None:
            self._running.cancel()
