"""Show the progress of a market scan: a line for each finished step."""

from collections.abc import Iterator

from localllm.base.i18n import _, ngettext
from localllm.research.market.market_records import PURPOSE_NAMES
from localllm.research.market.scan_events import (
    ApplicabilityDone,
    PurposeDone,
    QueriesMade,
    ScanFinished,
    ScanStarted,
    SearchesDone,
)
from localllm.research.remark_texts import in_words
from localllm.research.run_events import PageRead, RemarkMade, ResearchEvent
from localllm.text.sanitising import clean, shorten
from localllm.tui.render.report import notice_lines, wrapped
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Line


class MarketProgress:
    """Print the events of a scan on `screen`."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def handle(self, event: ResearchEvent) -> None:
        """Print an event, if it is of interest."""
        self._screen.print_lines(self._lines(event, self._screen.width))

    def _lines(self, event: ResearchEvent, width: int) -> Iterator[Line]:
        match event:
            case ScanStarted(theme=theme):
                yield from wrapped("▪ ", clean(theme, keep_newlines=False), "bold", width)
            case QueriesMade(queries=queries):
                for one in queries:
                    said = f"{clean(one.query, keep_newlines=False)} ({_(PURPOSE_NAMES[one.purpose])})"
                    yield from wrapped("? ", said, "accent", width)
            case SearchesDone():
                yield from _searches(event, width)
            case PageRead(problem=None):
                title = clean(event.title or event.url, keep_newlines=False)
                yield (("dim", shorten(f"  {event.source} {title}", width)),)
            case PageRead(problem=problem) if problem is not None:
                yield from wrapped("✗ ", f"{event.url}: {in_words(problem)}", "dim", width)
            case PurposeDone(insights=count, supported=good):
                name = _(PURPOSE_NAMES[event.purpose])
                said = _("{name}: insights supported: {good} of {count}", name=name, good=good, count=count)
                yield from wrapped("✓ " if good else "✗ ", said, "good" if good else "dim", width)
            case ApplicabilityDone(findings=count):
                said = ngettext(
                    "Applicability to Japan: {count} finding", "Applicability to Japan: {count} findings", count
                )
                yield from wrapped("✓ ", said, "good", width)
            case RemarkMade(remark=said, level=level):
                yield from notice_lines(in_words(said), level, width)
            case ScanFinished() | _:
                pass


def _searches(event: SearchesDone, width: int) -> Iterator[Line]:
    said = _("Results: {found}, used: {kept}", found=event.found, kept=event.kept)
    if event.left_out:
        said += _("; left out as sensitive: {count}", count=event.left_out)
    yield (("dim", shorten(f"  {said}", width)),)
    for failure in event.failures:
        name = f"{_(PURPOSE_NAMES[failure.purpose])}: " if failure.purpose else ""
        yield from wrapped("✗ ", f"{name}{failure.what}", "warning", width)
