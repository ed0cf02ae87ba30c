"""Run without a screen: text, one JSON object, or JSON lines; piped standard input."""

import asyncio
import contextlib
import os
import sys
import threading
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Literal, TextIO

from localllm.base import events
from localllm.base.errors import LocalLLMError
from localllm.base.events import (
    AgentEvent,
    ConfirmationAnswered,
    ConfirmationRequested,
    Consulted,
    Delegated,
    Json,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
)
from localllm.base.jsontext import encode_json
from localllm.safety.confirmation import Answers
from localllm.text.sanitising import clean, escape_json
from localllm.tui.render.activity import Activity
from localllm.tui.render.report import failure_lines, notice_lines, split_error, unverified_lines
from localllm.tui.render.screen import Screen
from localllm.tui.render.tool_lines import finished_lines, result_lines, started_line
from localllm.tui.theme import choose_theme

if TYPE_CHECKING:
    from localllm.tui.commands.context import ChatContext


async def read_lines(stream: TextIO) -> AsyncGenerator[str]:
    """Yield the lines of `stream` without line ends, as they arrive.

    Reads in a daemon thread, since a pipe may never close.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def put(line: str | None) -> None:
        loop.call_soon_threadsafe(lines.put_nowait, line)

    def read() -> None:
        try:
            for line in stream:
                put(line.rstrip("\r\n"))
            put(None)
        except RuntimeError:  # the loop is closed
            return

    threading.Thread(target=read, name="standard-input", daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line


OutputFormat = Literal["text", "json", "stream-json"]

_REPAINT_SECONDS = 0.25


def exit_code(event: RunFinished) -> int:
    """The program's exit code: 0 done, 1 error, 2 usage, 3 not finished, 4 refused, 5 no model, 130 interrupted."""
    match event.status:
        case "done":
            return 0
        case "limit" | "stuck" | "incomplete":
            return 3
        case "refused":
            return 4
        case "interrupted":
            return 130
        case "error":
            return {"E1": 2, "E2": 5, "E9": 4}.get(event.error_code[:2], 1)


class HeadlessConfirmer:
    """A confirmer without a user: approves everything that needs no user (`--yes`), or nothing."""

    def __init__(self, *, approve_all: bool) -> None:
        self._approve_all = approve_all
        self.answers: Answers = "yes" if approve_all else "no"

    async def confirm(self, request: ConfirmationRequested) -> ConfirmationAnswered:
        """Return the answer, at once."""
        from localllm.tui.dialogs.approval import DANGEROUS

        approved = self._approve_all and request.risk != DANGEROUS and not request.needs_person
        by = "flag" if approved else "unattended"
        return ConfirmationAnswered(request_id=request.request_id, approved=approved, by=by)


class HeadlessPrinter:
    """Print a run's events: the answer to stdout, everything else to stderr."""

    def __init__(self, output: OutputFormat, *, stdout: TextIO, stderr: TextIO) -> None:
        self._output = output
        self._stdout = stdout
        self._progress = Screen(stderr, choose_theme(stderr))
        self._activity = Activity(time.monotonic)
        self._started = RunStarted(session_id="", query="", provider="", model="")
        self._model = self._provider = ""
        self._tools: list[dict[str, Json]] = []
        self.said = ""
        self._finished: RunFinished | None = None
        self._open_call = ""

    async def consume(self, stream: AsyncGenerator[AgentEvent]) -> RunFinished:
        """Show a run and return how it ended; “interrupted” if the reader of stdout is gone."""
        painter = asyncio.create_task(self._keep_painting())
        try:
            async with contextlib.aclosing(stream):
                async for event in stream:
                    self.handle(event)
        except LocalLLMError as error:
            self.handle(RunFinished(status="error", answer="", error_code=error.code, error=error.lines()))
        except asyncio.CancelledError:
            if self._finished is None:
                self.handle(RunFinished(status="interrupted", answer=self.said))
            raise
        except BrokenPipeError:
            self._drop_stdout()
        finally:
            painter.cancel()
            self._progress.erase()
        return self._finished or RunFinished(status="interrupted", answer="")

    def handle(self, event: AgentEvent) -> None:
        """Show one event. Raises BrokenPipeError if the reader of stdout is gone."""
        self._note(event)
        self._show_progress(event)
        if isinstance(event, events.CommandOutput | events.Consulting):
            return
        if self._output == "stream-json":
            self._write(escape_json(events.encode(event).decode()) + "\n")
        elif isinstance(event, RunFinished):
            self._write(self._answer(event) if self._output == "text" else self._report(event))

    def _note(self, event: AgentEvent) -> None:
        """Collect data for the report at the end."""
        match event:
            case RunStarted():
                self._started, self._model, self._provider = event, event.model, event.provider
                self._activity.start_run()
            case MessageCompleted(text=text):
                self.said = text
                self._model = event.model or self._model
                self._provider = event.provider or self._provider
                self._activity.wait()
            case ToolFinished():
                self._tools.append({"name": event.name, "success": event.success, "summary": event.summary})
                self._activity.wait()
            case RunFinished():
                self._finished = event
            case _:
                pass

    def _show_progress(self, event: AgentEvent) -> None:
        screen, width = self._progress, self._progress.width
        match event:
            case ThinkingDelta(text=text):
                self._activity.think(text)
            case ToolStarted():
                self._open_call = event.call_id
                self._activity.run_tool(event.name)
                screen.print(*started_line(event, width))
            case ToolFinished():
                lines = result_lines if event.success else finished_lines
                screen.print_lines(lines(event, width, named=event.call_id != self._open_call))
            case Notice(text=text, level=level):
                screen.print_lines(notice_lines(text, level, width))
            case Delegated():
                from localllm.tui.render.agents import delegated_lines

                screen.print_lines(delegated_lines(event, width))
            case events.Consulting(roles=roles):
                from localllm.tui.render.agents import role_names

                self._activity.wait(role_names(roles))
            case Consulted():
                from localllm.tui.render.agents import short_plan_lines

                screen.print_lines(short_plan_lines(event, width))
            case RunFinished():
                self._show_end(event)
            case _:
                pass

    def _show_end(self, event: RunFinished) -> None:
        self._activity.stop()
        self._progress.erase()
        if event.status == "error":
            what, why, fix = split_error(event.error)
            self._progress.print_lines(failure_lines(event.error_code, what, why, fix, self._progress.width))
        self._progress.print_lines(unverified_lines(event, self._progress.width))

    async def _keep_painting(self) -> None:
        while not self._progress.plain:
            line = self._activity.line(self._progress.width)
            self._progress.draw([self._progress.format(line)] if line else [])
            await asyncio.sleep(_REPAINT_SECONDS)

    def _answer(self, event: RunFinished) -> str:
        """Return the answer verbatim with one final newline; for a terminal, control characters are removed."""
        answer = clean(event.answer) if self._stdout.isatty() else event.answer
        return answer.rstrip("\n") + "\n" if answer.strip() else ""

    def _report(self, event: RunFinished) -> str:
        usage = event.usage
        report: dict[str, Json] = {
            "success": event.status == "done",
            "status": event.status,
            "verified": event.status == "done" and not event.unverified,
            "unverified": list(event.unverified),
            "answer": event.answer,
            "session_id": self._started.session_id,
            "provider": self._provider,
            "model": self._model,
            "steps": event.steps,
            "usage": {
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "cached_tokens": usage.cached_tokens,
                "tokens_per_second": round(usage.tokens_per_second, 1),
                "first_token_seconds": round(usage.first_token_seconds, 3),
            },
            "tools": self._tools,
            "refused": list(event.refused),
            "error": _error(event),
        }
        return escape_json(encode_json(report).decode()) + "\n"

    def _write(self, text: str) -> None:
        if not text:
            return
        self._progress.erase()
        try:
            self._stdout.write(text)
        except UnicodeEncodeError:
            encoding = self._stdout.encoding or "ascii"
            self._stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self._stdout.flush()

    def _drop_stdout(self) -> None:
        """Redirect stdout to the null device, so that the interpreter's last flush does not fail."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stdout.fileno())
            os.close(nowhere)


class Headless:
    """The front end of a one-shot run. `finished` is how the last run ended."""

    def __init__(self, output: OutputFormat, *, approve_all: bool = False) -> None:
        self.confirmer = HeadlessConfirmer(approve_all=approve_all)
        self.shows_pieces = output == "stream-json"
        self.finished: RunFinished | None = None
        self._output: OutputFormat = output

    async def consume(self, events: AsyncGenerator[AgentEvent]) -> None:
        """Print one run to the standard streams."""
        printer = HeadlessPrinter(self._output, stdout=sys.stdout, stderr=sys.stderr)
        self.finished = await printer.consume(events)

    async def notify(self, text: str) -> None:
        """Print a notice to standard error."""
        screen = Screen(sys.stderr, choose_theme(sys.stderr))
        screen.print_lines(notice_lines(text, "info", screen.width))

    async def interact(self, chat: "ChatContext") -> int:
        """Run each line of standard input as a request; return the exit code of the last one."""

        async for line in read_lines(sys.stdin):
            if line.strip():
                await self.consume(chat.run(line))
        return 0 if self.finished is None else exit_code(self.finished)


def _error(event: RunFinished) -> dict[str, str] | None:
    if not event.error_code and not event.error:
        return None
    what, why, fix = split_error(event.error)
    return {"code": event.error_code, "what": what, "why": why, "fix": fix}
