"""A run's event stream, its statistics, and its result."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

import msgspec

from localllm.base.events import (
    AgentEvent,
    Compacted,
    Consulted,
    Delegated,
    Emit,
    Json,
    MessageCompleted,
    RunFinished,
    Usage,
)
from localllm.llm.messages import in_few_words
from localllm.safety.rules import COMMAND_TOOL
from localllm.tools.results import ToolResult

_NOT_PERMITTED = {
    "denied_unattended",
    "denied_unattended_command",
    "denied_dangerous",
    "denied_address",
    "command_no_sandbox",
    "command_root_too_wide",
    "command_state_exposed",
    "command_own_folder",
}
"""Errors of calls that a user, or a flag, could have permitted."""


class EventStream:
    """Runs one task at a time and distributes its events.

    `listeners` are called with every event at once, even after an interrupt, when nothing iterates any more.
    """

    def __init__(self, listeners: Sequence[Emit]) -> None:
        self._listeners = tuple(listeners)
        self._running: asyncio.Task[None] | None = None

    async def of(self, work: Callable[[Emit], Awaitable[None]]) -> AsyncGenerator[AgentEvent]:
        """Yield the events of `work` as they happen, up to RunFinished. Closing the generator interrupts it."""
        events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        ended = False

        def emit(event: AgentEvent) -> None:
            nonlocal ended
            ended = ended or isinstance(event, RunFinished)
            for listener in self._listeners:
                listener(event)
            events.put_nowait(event)

        def close(task: asyncio.Task[None]) -> None:
            if task.cancelled() and not ended:  # before it had started
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
        """Interrupt the current task; its events still end with RunFinished."""
        if self._running is not None:
            self._running.cancel()


class AgentResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run; str() is the answer. `data` has the fields of the tools' payloads, the newest of each."""

    success: bool
    answer: str
    data: dict[str, Json] = {}
    status: str = "done"
    usage: Usage = Usage()
    steps: int = 0
    refused: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    error_code: str = ""
    error: str = ""

    def __str__(self) -> str:
        return self.answer


def _is_command(result: ToolResult) -> bool:
    return result.call.name == COMMAND_TOOL


class Tally:
    """Statistics of the current or last run: steps, tokens, refusals, and the tools' payloads."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Reset for a new run."""
        self.steps = 0
        self.usage = Usage()
        self.refused: list[str] = []
        self.missing: list[str] = []
        self._commands: set[str] = set()
        self._data: dict[str, Json] = {}

    def counting(self, emit: Emit) -> Emit:
        """Return an `emit` that adds the usage of sub-agents and advisers to this run's."""

        def counted(event: AgentEvent) -> None:
            match event:
                case Consulted(usage=usage) | Delegated(event=MessageCompleted(usage=usage) | Compacted(usage=usage)):
                    self.usage += usage
                case _:
                    pass
            emit(event)

        return counted

    def note(self, result: ToolResult) -> None:
        """Record a call's payload, or that it lacked permission.
        A refused call is no longer `missing` once another of its kind, a command or a change, has succeeded."""
        if result.success:
            self._data |= result.payload
            if result.acted:
                self.missing = [one for one in self.missing if (one in self._commands) != _is_command(result)]
        elif result.error and result.error.key in _NOT_PERMITTED:
            self.refused.append(in_few_words(result.call.name, result.call.arguments))
            self.missing.append(self.refused[-1])
            if _is_command(result):
                self._commands.add(self.refused[-1])

    def finished(
        self, status: Any, answer: str, *, unverified: Sequence[str] = (), error_code: str = "", error: str = ""
    ) -> RunFinished:
        """Create the event for the end of the run."""
        return RunFinished(
            status=status,
            answer=answer,
            steps=self.steps,
            usage=self.usage,
            error_code=error_code,
            error=error,
            refused=tuple(self.refused),
            unverified=tuple(unverified),
        )

    def result(self, finished: RunFinished) -> AgentResult:
        """Create the result of the run that ended with `finished`."""
        return AgentResult(
            success=finished.status == "done",
            answer=finished.answer,
            data=self._data,
            status=finished.status,
            usage=finished.usage,
            steps=finished.steps,
            refused=finished.refused,
            unverified=finished.unverified,
            error_code=finished.error_code,
            error=finished.error,
        )
