"""Execute research runs for the command line, with live progress and a graceful end on Ctrl+C."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TextIO

from localllm.app.research_log import log_event
from localllm.app.research_setup import ResearchSetup, open_researcher
from localllm.base.events import Json
from localllm.base.i18n import _
from localllm.base.jsontext import encode_json
from localllm.cli.settings import say
from localllm.research.options import ResearchOptions
from localllm.research.records import ResearchState
from localllm.research.researcher import Researcher
from localllm.research.run_events import Forecast, QueryMade, ResearchEvent
from localllm.research.tracing import Tracer
from localllm.text.sanitising import escape_json
from localllm.tui.headless import OutputFormat
from localllm.tui.render.report import wrapped
from localllm.tui.render.research_progress import ResearchProgress, forecast_said, masked_said
from localllm.tui.render.screen import Screen
from localllm.tui.theme import choose_theme

EXIT_PARTIAL = 3
_REPAINT_SECONDS = 0.25

EditQueries = Callable[[ResearchState], Awaitable[tuple[str, ...]]]


class RunDisplay:
    """Show runs: on a terminal as live progress on standard error; with `stream-json` each event as a line on standard
    output. If piped, only masked data is reported. `run` is the id of the last run shown."""

    def __init__(self, output: OutputFormat, stdout: TextIO, stderr: TextIO) -> None:
        self._stdout = stdout
        self._screen = Screen(stderr, choose_theme(stderr))
        self._streams = output == "stream-json"
        self._is_quiet = not stderr.isatty() or (self._streams and self._stdout.isatty())
        self._progress: ResearchProgress | None = None
        self.run = ""
        self.queries_are_known = False
        """Queries are shown elsewhere."""

    @contextlib.asynccontextmanager
    async def showing(self, options: ResearchOptions, title: str = "") -> AsyncGenerator[None]:
        """Refresh the display during a run with these options."""
        if title and not self._is_quiet:
            self._screen.print_lines(wrapped("▪ ", title, "bold", self._screen.width))
        progress = ResearchProgress(self._screen, most_rounds=options.max_validation)
        self._progress = None if self._is_quiet else progress
        painter = asyncio.create_task(self._keep_painting())
        try:
            yield
        finally:
            painter.cancel()
            if self._progress is not None:
                self._progress.erase()
            self._progress = None

    def handle(self, event: ResearchEvent) -> None:
        """Show an event, and log it."""
        self.run = event.run
        log_event(event)
        if self._streams:
            self.write(escape_json(encode_json(event).decode()) + "\n")
        if self.queries_are_known and isinstance(event, QueryMade) and not event.masked:
            return
        if self._progress is not None:
            self._progress.handle(event)
        elif isinstance(event, QueryMade) and event.masked:
            say(f"{event.query}: {masked_said(event.masked)}")

    def announce(self, expected: Forecast) -> None:
        """Show the estimate of a run."""
        if self._streams:
            self.write(escape_json(encode_json({"type": "Forecast", **_forecast_json(expected)}).decode()) + "\n")
        if self._is_quiet:
            return
        said = forecast_said(expected)
        if expected.most_seconds:
            said = _("Expected: {forecast} (at the speed of the latest run with this model).", forecast=said)
        else:
            said = _("Expected: {forecast}. The time it takes is known after the first answers.", forecast=said)
        self._screen.print_lines(wrapped("  ", said, "", self._screen.width))

    def write(self, text: str) -> None:
        """Write to standard output."""
        if self._progress is not None:
            self._progress.erase()
        self._stdout.write(text)
        self._stdout.flush()

    async def _keep_painting(self) -> None:
        while self._progress is not None:
            self._progress.paint()
            await asyncio.sleep(_REPAINT_SECONDS)


def _forecast_json(expected: Forecast) -> dict[str, Json]:
    return {
        "least_requests": expected.least_requests,
        "most_requests": expected.most_requests,
        "least_seconds": round(expected.least_seconds, 1),
        "most_seconds": round(expected.most_seconds, 1),
        "tokens_per_second": round(expected.tokens_per_second, 1),
    }


async def carry_out(
    setup: ResearchSetup,
    options: ResearchOptions,
    display: RunDisplay,
    *,
    question: str = "",
    resume: str = "",
    edit: EditQueries | None = None,
    tracer: Tracer | None = None,
) -> ResearchState:
    """Answer a question, or resume the run `resume`; return the state of the finished run.

    `edit` is called with the queries before the search, and returns those to use. Raises LocalLLMError.
    """
    async with open_researcher(setup, options, display.handle, tracer=tracer) as researcher:
        if not resume:
            display.announce(await researcher.forecast())
        queries: tuple[str, ...] = ()
        if edit is not None:
            display.queries_are_known = True  # the editor shows them
            planned = await _planned(researcher, display, options, question, resume)
            resume = planned.id
            queries = await edit(planned)
            display.queries_are_known = False
        async with display.showing(options):
            return await researcher.run(question, resume=resume, queries=queries)


async def plan_only(
    setup: ResearchSetup, options: ResearchOptions, display: RunDisplay, question: str
) -> ResearchState:
    """Start a run, up to its queries. Raises LocalLLMError."""
    async with open_researcher(setup, options, display.handle) as researcher:
        return await _planned(researcher, display, options, question, "")


async def _planned(
    researcher: Researcher, display: RunDisplay, options: ResearchOptions, question: str, resume: str
) -> ResearchState:
    async with display.showing(options):
        return await researcher.plan(question, resume=resume)


def say_how_to_resume(run: str) -> None:
    """Print that a run is saved, and how to resume it."""
    if run:
        say(_("Run {id} is saved. To continue it: localllm research --resume {id}", id=run))
