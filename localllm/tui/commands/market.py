"""The command /market: run a market scan with live progress, and show its report."""

from typing import TYPE_CHECKING

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import N_, _
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import Choice, Outcome, SlashCall, slash
from localllm.tui.render.report import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from localllm.research.run_events import ResearchEvent


def _choices(_chat: ChatContext) -> "Iterable[Choice]":
    return ("--regions jp", "--regions global", "--pages 0")


@slash(
    "market",
    usage=N_("THEME"),
    choices=_choices,
    forms=N_(
        "/market THEME | a market in Japan and abroad, from eight sides\n"
        "/market --regions jp THEME | only Japan; also global\n"
        "/market --pages 0 THEME | from the result lists alone"
    ),
)
async def market(call: SlashCall) -> Outcome:
    """Scan a market, in Japan and abroad; each insight has its source."""
    theme, regions, pages = parse(call.arguments.strip())
    if not theme:
        _dim(call, _("/market THEME: the market to look at. /help market shows every way to write it."))
        return
    from localllm.tui.render.answer import AnswerView
    from localllm.tui.render.market_progress import MarketProgress

    progress, run = MarketProgress(call.screen), ""

    def show(event: "ResearchEvent") -> None:
        nonlocal run
        run = event.run
        progress.handle(event)

    try:
        found = await call.chat.market.scan(theme, regions, pages, show)
    except BaseException:
        if run:
            _dim(call, _("What was done is in your history: localllm history show {id}", id=run))
        raise
    view = AnswerView(call.screen)
    view.feed(found.report)
    view.finish()
    if found.partial:
        call.screen.print_lines(wrapped("! ", _("The report is partial; it says why."), "warning", call.screen.width))
    _dim(call, _("Saved: localllm history show {id}", id=found.id))


def parse(words: str) -> tuple[str, tuple[str, ...], int | None]:
    """Parse the theme, regions and pages. Raises ConfigurationError for an unknown option."""
    regions: tuple[str, ...] = ()
    pages: int | None = None
    while words.startswith("--"):
        name, _blank, rest = words.replace("=", " ", 1).partition(" ")
        value, _blank, rest = rest.lstrip().partition(" ")
        match name:
            case "--regions" if value:
                regions = tuple(one.strip().lower() for one in value.split(","))
            case "--pages" if value.isdecimal():
                pages = int(value)
            case _:
                raise ConfigurationError("market_chat_option", option=f"{name} {value}".strip()[:60])
        words = rest.lstrip()
    return words, regions, pages


def _dim(call: SlashCall, text: str) -> None:
    call.screen.print_lines(wrapped("  ", text, "dim", call.screen.width))
