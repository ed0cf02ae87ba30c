"""Render a run's events on the terminal."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Literal

from localllm.base.errors import LocalLLMError
from localllm.base.events import (
    BROKEN_OFF,
    AgentEvent,
    CommandOutput,
    ConfirmationAnswered,
    ConfirmationRequested,
    Consulted,
    Consulting,
    Delegated,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    Steered,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
)
from localllm.tui.render.activity import Activity
from localllm.tui.render.agents import delegated_lines, plan_lines, role_names
from localllm.tui.render.answer import AnswerView
from localllm.tui.render.report import failure_lines, notice_lines, said_lines, status_lines
from localllm.tui.render.screen import Screen
from localllm.tui.render.tool_lines import finished_lines, started_line
from localllm.tui.theme import Line

FRAME_SECONDS = 1 / 30
"""The shortest time between two repaints."""

_PAUSE_PER_PAINT = 4
"""Pause after a repaint, as a multiple of its duration: a slow terminal must not delay the stream."""


class Renderer:
    """Write events to a screen. Finished output is permanent; what is in progress is a live part below."""

    def __init__(
        self,
        screen: Screen,
        *,
        below: Callable[[int], Sequence[Line]] = lambda _: (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`below` returns the bottom lines for a width in cells: what the user types meanwhile."""
        self._screen = screen
        self._below = below
        self._clock = clock
        self._answer = AnswerView(screen)
        self._activity = Activity(clock)
        self._last: Literal["", "text", "tool", "note"] = ""
        self._open_call = ""
        self._seen_diffs: set[str] = set()
        self._said = ""
        self._streamed = False
        self._next_paint = 0.0
        self._above: list[str] = []
        """The live lines above the bottom lines."""
        self._consuming = False
        self._held: list[AgentEvent] | None = None
        self._asked: dict[str, asyncio.Event] = {}

    @property
    def is_live(self) -> bool:
        """Whether the live part is on the screen now."""
        return self._consuming and not self._screen.plain and self._held is None

    async def consume(self, events: AsyncGenerator[AgentEvent]) -> RunFinished | None:
        """Show all `events` and return how the run ended. An exception is shown as its end, and returns None."""
        painter = asyncio.create_task(self._keep_painting())
        self._consuming, finished = True, None
        try:
            async with aclosing(events):
                async for event in events:
                    self.handle(event)
                    finished = event if isinstance(event, RunFinished) else finished
        except LocalLLMError as error:
            self._interpose("note")
            self._screen.print_lines(failure_lines(error.code, error.what, error.why, error.fix, self._screen.width))
        finally:
            painter.cancel()
            self._consuming = False
            self._end_answer()
            self._activity.stop()
            self._screen.erase()
        return finished

    def handle(self, event: AgentEvent) -> None:
        """Show one event; while suspended, buffer it."""
        if isinstance(event, ConfirmationRequested):
            self._asked.setdefault(event.request_id, asyncio.Event()).set()
        if self._held is not None:
            self._held.append(event)
            return
        self._show(event)
        if not self._screen.plain and self._clock() >= self._next_paint:
            self.paint()

    async def reached(self, request_id: str) -> None:
        """Wait until the question `request_id` was processed, so that everything before it is on the screen."""
        await self._asked.setdefault(request_id, asyncio.Event()).wait()

    def suspend(self) -> None:
        """Release the screen: erase the live part, and buffer events."""
        self._end_answer()
        self._held = []
        self._screen.erase()

    def resume(self, *, shown_diff_of: str = "") -> None:
        """Resume; `shown_diff_of` is a call whose diff the user has just seen."""
        self._seen_diffs.add(shown_diff_of)
        held, self._held = self._held or [], None
        for event in held:
            self._show(event)

    def paint(self) -> None:
        """Draw the live part now."""
        if self._screen.plain or self._held is not None:
            return
        begun = self._clock()
        columns, rows = self._screen.size()
        below = self._below(columns)
        finished, lines = self._answer.frame(len(below))
        lines += map(self._screen.format, self._activity.output(columns, rows - 3 - len(lines) - len(below)))
        if activity := self._activity.line(columns):
            lines.append(self._screen.format(activity))
        self._above = lines
        self._screen.draw([*lines, *map(self._screen.format, below)], finished)
        now = self._clock()
        self._next_paint = now + max(FRAME_SECONDS, (now - begun) * _PAUSE_PER_PAINT)

    def echo(self) -> None:
        """Redraw only the bottom lines now, so that typed keys do not wait for a frame."""
        if self.is_live and self._screen.is_drawn:
            columns, rows = self._screen.size()
            below = [self._screen.format(line) for line in self._below(columns)]
            self._screen.draw([*self._above[-max(1, rows - 2 - len(below)) :], *below])

    async def _keep_painting(self) -> None:
        while True:
            await asyncio.sleep(max(FRAME_SECONDS, self._next_paint - self._clock()))
            self.paint()

    def _show(self, event: AgentEvent) -> None:
        match event:
            case RunStarted():
                self._begin()
            case ThinkingDelta(text=text):
                self._activity.think(text)
            case TextDelta(text=text):
                self._say(text)
            case MessageCompleted():
                self._complete(event)
            case ToolStarted():
                self._start_tool(event)
            case ConfirmationRequested():
                self._activity.stop()
            case ConfirmationAnswered():  # the answer is on the screen already
                self._activity.resume_tool()
            case CommandOutput(lines=lines):
                self._activity.show_output(lines)
            case ToolFinished():
                self._finish_tool(event)
            case RunFinished():
                self._finish(event)
            case _:
                self._show_beside(event)

    def _show_beside(self, event: AgentEvent) -> None:
        """Show a notice, a steering message or similar."""
        match event:
            case Notice(text=text, level=level):
                self._interpose("note")
                self._screen.print_lines(notice_lines(text, level, self._screen.width))
            case Delegated():
                if lines := delegated_lines(event, self._screen.width):
                    self._interpose("tool")
                    self._screen.print_lines(lines)
            case Consulting(roles=roles):
                self._activity.wait(role_names(roles))
            case Consulted():
                self._interpose("note")
                self._screen.print_lines(plan_lines(event, self._screen.width))
            case Steered(text=text):
                self._interpose("note")
                self._screen.print_lines(said_lines(text, self._screen.width))
            case _:  # a rewind is reported by its command
                pass

    def _begin(self) -> None:
        self._last, self._open_call, self._said, self._streamed = "", "", "", False
        self._activity.start_run()
        self._next_paint = 0.0

    def _say(self, text: str) -> None:
        if not self._answer.begun and not text.strip():
            return
        self._collapse_thinking()
        if not self._answer.begun:
            self._interpose("text")
            self._next_paint = 0.0
        if self._answer.feed(text):
            self._next_paint = 0.0
        self._activity.write()
        self._streamed = True

    def _complete(self, event: MessageCompleted) -> None:
        """Show the text of a provider that does not stream."""
        if not self._streamed:
            self._say(event.text.removesuffix(BROKEN_OFF))  # a notice says so
        self._end_answer()
        self._collapse_thinking()
        self._said, self._streamed = event.text, False
        self._activity.wait()

    def _start_tool(self, event: ToolStarted) -> None:
        self._interpose("tool")
        self._screen.print(*started_line(event, self._screen.width))
        self._open_call = event.call_id
        self._activity.run_tool(event.name)

    def _finish_tool(self, event: ToolFinished) -> None:
        self._interpose("tool")
        lines = finished_lines(
            event,
            self._screen.width,
            named=event.call_id != self._open_call,
            with_diff=event.call_id not in self._seen_diffs,
        )
        self._screen.print_lines(lines)
        self._seen_diffs.discard(event.call_id)  # some servers reuse their ids
        self._open_call = ""
        self._activity.wait()

    def _finish(self, event: RunFinished) -> None:
        """Show the end: an answer not shown yet, the error, and the cost."""
        unseen = event.answer.removeprefix(self._said.rstrip()).strip()
        self._end_answer()
        if unseen:
            self._say(unseen)
        self._end_answer()
        self._collapse_thinking()
        seconds = self._activity.stop()
        self._interpose("note")
        self._screen.print_lines(status_lines(event, seconds, self._screen.width))

    def _collapse_thinking(self) -> None:
        if thought := self._activity.end_thinking():
            self._interpose("tool")
            self._screen.print(("dim", "  " + thought))

    def _end_answer(self) -> None:
        if self._answer.begun:
            self._answer.finish()

    def _interpose(self, kind: Literal["text", "tool", "note"]) -> None:
        """Before output of `kind`: end the answer, and separate different kinds by a blank line."""
        if kind != "text" or not self._answer.begun:
            self._end_answer()
        if kind == "text" or self._last != kind:
            self._screen.print()
        self._last = kind
