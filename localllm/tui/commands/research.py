"""The command /research: run research with live progress, and show its report."""

import asyncio
import re
from typing import TYPE_CHECKING

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import N_, _
from localllm.base.lazy_patterns import late_pattern
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import Choice, Outcome, SlashCall, slash
from localllm.tui.render.report import wrapped
from localllm.tui.render.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from localllm.research.options import ResearchOptions
    from localllm.research.run_events import ResearchEvent
    from localllm.tui.commands.long_runs import FinishedRun
    from localllm.tui.render.research_progress import ResearchProgress

_REPAINT_SECONDS = 0.25
_WORD = late_pattern(r"""("([^"]*)"|'([^']*)'|(\S+))(.*)""", re.DOTALL)
_PRESETS = ("fast", "standard", "high")


def _choices(_chat: ChatContext) -> "Iterable[Choice]":
    return ("--preset fast", "--preset standard", "--preset high", "--docs", "--resume")


@slash(
    "research",
    usage=N_("QUESTION"),
    choices=_choices,
    forms=N_(
        "/research QUESTION | a report in which each claim links to its source\n"
        "/research --preset fast QUESTION | with fewer queries and rounds; also standard, high\n"
        "/research --docs FOLDER QUESTION | search the documents in this folder as well\n"
        "/research --resume ID | continue a stopped run"
    ),
)
async def research(call: SlashCall) -> Outcome:
    """Research a question; the report has its sources."""
    asked = _Asked(call.arguments.strip())
    if not asked.question and not asked.resume:
        _dim(call, _("/research QUESTION: what to find out. /help research shows every way to write it."))
        return
    desk = call.chat.research
    options = desk.stored_options(asked.resume) if asked.resume else desk.options(asked.preset, tuple(asked.docs))
    await _carry_out(call, asked, options)


class _Asked:
    """The parsed arguments of /research. Raises ConfigurationError for an unknown option."""

    def __init__(self, words: str) -> None:
        self.preset = ""
        self.docs: list[str] = []
        self.resume = ""
        while words.startswith("--"):
            name, _blank, words = words.partition(" ")
            name, equals, value = name.partition("=")
            if not equals:
                value, words = _first_word(words)
            self._take(name, value)
            words = words.lstrip()
        self.question = words

    def _take(self, name: str, value: str) -> None:
        match name:
            case "--preset" if value in _PRESETS:
                self.preset = value
            case "--docs" if value:
                self.docs.append(value)
            case "--resume" if value:
                self.resume = value
            case _:
                raise ConfigurationError("research_chat_option", option=f"{name} {value}".strip()[:60])


def _first_word(words: str) -> tuple[str, str]:
    """Split off the first word, or quoted text."""
    found = _WORD.match(words.lstrip())
    return (found[2] or found[3] or found[4] or "", found[5]) if found else ("", "")


async def _carry_out(call: SlashCall, asked: _Asked, options: "ResearchOptions") -> None:
    """Execute the run with live progress; always show how to resume it."""
    from localllm.tui.render.research_progress import ResearchProgress, forecast_said

    screen, desk = call.screen, call.chat.research
    if not asked.resume:
        expected = forecast_said(await desk.forecast(options))
        _dim(call, _("Expected: {forecast}. Ctrl+C stops; what was found is saved.", forecast=expected))
    progress = ResearchProgress(screen, most_rounds=options.max_validation)
    run = asked.resume

    def show(event: "ResearchEvent") -> None:
        nonlocal run
        run = event.run
        progress.handle(event)

    painter = asyncio.create_task(_keep_painting(screen, progress))
    try:
        if asked.resume:
            found = await desk.resume(asked.resume, show)
        else:
            found = await desk.run(asked.question, options, show)
    except BaseException:
        progress.erase()
        if run:
            _dim(call, _("Run {id} is saved. To continue it: /research --resume {id}", id=run))
        raise
    finally:
        painter.cancel()
        progress.erase()
    await _show_report(call, found)
    words = await asyncio.to_thread(desk.findings, found.state, found.report)
    call.chat.offer_passages(found.state.question, words, is_research=True)


async def _keep_painting(screen: Screen, progress: "ResearchProgress") -> None:
    """Refresh the progress; below it, show what the user types meanwhile."""
    while not screen.plain:
        lines = [*progress.lines(screen.width), *screen.below(screen.width)]
        screen.draw([screen.format(line) for line in lines])
        await asyncio.sleep(_REPAINT_SECONDS)


async def _show_report(call: SlashCall, found: "FinishedRun") -> None:
    """Show the report like an answer, and its path."""
    from localllm.tui.render.answer import AnswerView

    text = await asyncio.to_thread(found.report.read_text, "utf-8")
    view = AnswerView(call.screen)
    view.feed(text)
    view.finish()
    if found.state.partial:
        call.screen.print_lines(wrapped("! ", _("The report is partial; it says why."), "warning", call.screen.width))
    _dim(call, _("Report {id}: {file}", id=found.state.id, file=str(found.report)))


def _dim(call: SlashCall, text: str) -> None:
    call.screen.print_lines(wrapped("  ", text, "dim", call.screen.width))
