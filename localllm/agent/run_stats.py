"""A run: its events while it goes on, what it has used and produced, its result."""

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
}
"""Errors of calls that a person, or a flag, would have permitted."""


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


class AgentResult(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run; str() is the answer. `data` has the fields of the tools' payloads, the newest of each name."""

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
    """Of the run that goes on, or the last one: how many steps, what tokens, what was refused, what the tools gave."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """A new run begins."""
        self.steps = 0
        self.usage = Usage()
        self.refused: list[str] = []
        self.missing: list[str] = []
        self._commands: set[str] = set()
        self._data: dict[str, Json] = {}

    def counting(self, emit: Emit) -> Emit:
        """`emit`, which also counts what sub-agents and advisers use as used by this run."""

        def counted(event: AgentEvent) -> None:
            match event:
                case Consulted(usage=usage) | Delegated(event=MessageCompleted(usage=usage) | Compacted(usage=usage)):
                    self.usage += usage
                case _:
                    pass
            emit(event)

        return counted

    def note(self, result: ToolResult) -> None:
        """Take down what a call gave, or that a person would have had to permit it. What was refused is not `missing`
        any more once another call of its kind, a command or a change, has done something."""
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
        """The end of the run."""
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
        """The whole run, which ended so."""
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
