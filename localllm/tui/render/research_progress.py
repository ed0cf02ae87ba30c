"""Show the progress of a research run: findings stay above, stages, numbers and times change below."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from localllm.base.i18n import N_, _, ngettext
from localllm.research.records import STAGES, Label, Numbers, Stage
from localllm.research.remark_texts import in_words
from localllm.research.run_events import (
    ClaimChecked,
    Finished,
    Forecast,
    ModelAnswered,
    NotesTaken,
    PageRead,
    QueryMade,
    RemarkMade,
    ResearchEvent,
    RoundDone,
    SearchDone,
    StageBegun,
)
from localllm.text.sanitising import clean, display_width, shorten
from localllm.tui.render.activity import duration
from localllm.tui.render.report import notice_lines, wrapped
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Line, Span

_STAGES: dict[Stage, str] = {
    "normalise": N_("question"),
    "queries": N_("queries"),
    "search": N_("search"),
    "process": N_("reading"),
    "draft": N_("writing"),
    "validate": N_("checking"),
    "control": N_("decision"),
    "finalise": N_("report"),
}
_KINDS: dict[str, str] = {
    "secret": N_("a key or password"),
    "email": N_("an e-mail address"),
    "private_ip": N_("a private network address"),
    "card": N_("a card number"),
    "my_number": N_("a My Number"),
    "phone": N_("a telephone number"),
}
"""Names of the kinds of data the mask removes."""

_PURPOSES: dict[str, str] = {
    "viewpoint": "",
    "more_sources": N_("in other words"),
    "primary_source": N_("for the primary source"),
    "counter_evidence": N_("for counter-evidence"),
    "second_source": N_("for a second source"),
    "gap": N_("for what is missing"),
}
_LABELS: dict[Label, str] = {
    "supported": N_("supported"),
    "partial": N_("partly supported"),
    "contradicted": N_("contradicted"),
    "not_found": N_("not found"),
    "not_verified": N_("not checked"),
}
_LEAST_FOR_STAGES = 60
"""Cells; a narrower screen names only the current stage."""


class ResearchProgress:
    """Show the events of a run on `screen`. `most_rounds` limits the rounds of validation."""

    def __init__(self, screen: Screen, *, most_rounds: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._screen = screen
        self._most_rounds = most_rounds
        self._clock = clock
        self._now = clock()
        self._stage: Stage | None = None
        self._stage_began = self._now
        self._queries = 0
        self._notes = 0
        self._labels: dict[str, Label] = {}
        """The latest verdict, by claim."""
        self._numbers = Numbers()
        self._forecast: Forecast | None = None

    def handle(self, event: ResearchEvent) -> None:
        """Process an event, and print it permanently if it is of interest."""
        self._numbers, self._now = event.numbers, self._clock()
        match event:
            case StageBegun(stage=stage):
                self._stage, self._stage_began = stage, self._now
                self._forecast = event.forecast or self._forecast
            case ModelAnswered(forecast=forecast):
                self._forecast = forecast or self._forecast
            case QueryMade():
                self._queries += 1
            case NotesTaken(evidence=evidence):
                self._notes += evidence
            case ClaimChecked(claim=claim, label=label):
                self._labels[claim] = label
            case _:
                pass
        self._screen.print_lines(self._lasting(event))

    def paint(self) -> None:
        """Draw the live part."""
        if not self._screen.plain:
            width = self._screen.width - len("^C ")  # which the terminal may print after the last line
            self._screen.draw([self._screen.format(line) for line in self.lines(width)])

    def erase(self) -> None:
        """Erase the live part."""
        self._screen.erase()

    def lines(self, width: int) -> list[Line]:
        """Return the live lines, each at most `width` cells."""
        if self._stage is None:
            return []
        seconds = self._numbers.seconds + self._clock() - self._now
        return [
            self._stages(width),
            *_fitted(self._counts(), width),
            *_fitted(self._cost(seconds), width),
        ]

    def _lasting(self, event: ResearchEvent) -> Iterator[Line]:
        width = self._screen.width
        match event:
            case QueryMade():
                yield from query_lines(event, width)
            case SearchDone(found=found, new=new):
                said = ngettext("{count} page found, {new} new", "{count} pages found, {new} new", found, new=new)
                yield (("dim", shorten(f"  {said}", width)),)
            case PageRead(problem=None):
                yield (
                    ("dim", shorten(f"  {event.source} {clean(event.title or event.url, keep_newlines=False)}", width)),
                )
            case PageRead(problem=problem) if problem is not None:
                reason = in_words(problem)
                said = reason if event.url in reason else f"{event.url}: {reason}"
                yield from wrapped("✗ ", f"{event.source} {said}", "dim", width)
            case RemarkMade(remark=said, level=level):
                yield from notice_lines(in_words(said), level, width)
            case RoundDone(round=number, goes_on=goes_on):
                yield (("bold", shorten(_round_said(number, event.open, goes_on=goes_on), width)),)
            case StageBegun() | ModelAnswered() | NotesTaken() | ClaimChecked() | Finished():
                pass
            case _:
                pass

    def _stages(self, width: int) -> Line:
        """List all stages, with marks on finished ones and the time of the current one."""
        stage = self._stage or "normalise"
        took = duration(self._clock() - self._stage_began)
        name = f"{_(_STAGES[stage])} {took}"
        spans: list[Span] = [("accent", f"▸ {name}")]
        shown: list[Stage] = [one for one in STAGES if one != "control" or one == stage]  # deciding takes no time
        place = shown.index(stage)
        if width >= _LEAST_FOR_STAGES:
            done: list[Span] = [("good", f"✓ {_(_STAGES[one])} ") for one in shown[:place]]
            to_come: list[Span] = [("dim", f" {_(_STAGES[one])}") for one in shown[place + 1 :]]
            spans = [*done, *spans, *to_come]
        if sum(display_width(text) for _style, text in spans) > width:
            spans = [("accent", f"▸ {place + 1}/{len(shown)} {name}")]
        return tuple((style, shorten(text, width)) for style, text in spans)

    def _counts(self) -> list[str]:
        numbers, counted = self._numbers, Counter(self._labels.values())
        claims = [_("{count} {label}", count=counted[one], label=_(_LABELS[one])) for one in _LABELS if counted[one]]
        return [
            _("queries {count}", count=self._queries),
            _("searches {count}", count=numbers.searches),
            _("pages {count}", count=numbers.pages),
            _("notes {count}", count=self._notes),
            _("claims {count}", count=len(self._labels)) + (f" ({', '.join(claims)})" if claims else ""),
            _("round {round}/{most}", round=numbers.loops, most=self._most_rounds),
        ]

    def _cost(self, seconds: float) -> list[str]:
        numbers = self._numbers
        parts = [
            duration(seconds),
            _("model calls {count}", count=f"{numbers.requests:,}"),
            _("tokens {count}", count=f"{numbers.tokens:,}"),
        ]
        return parts + ([_("left: {forecast}", forecast=forecast_said(self._forecast))] if self._forecast else [])


def stage_name(stage: Stage) -> str:
    """Return the name of a stage."""
    return _(_STAGES[stage])


def query_lines(event: QueryMade, width: int) -> Iterator[Line]:
    """Format a query, its purpose, and what was masked in it."""
    why = _(_PURPOSES[event.purpose]) if _PURPOSES[event.purpose] else ""
    yield from wrapped("? ", f"{event.query} ({why})" if why else event.query, "accent", width)
    if event.masked:
        yield from wrapped("! ", masked_said(event.masked), "warning", width)


def masked_said(kinds: Sequence[str]) -> str:
    """Describe in a sentence what was masked."""
    names = ", ".join(_(_KINDS[kind]) if kind in _KINDS else kind for kind in dict.fromkeys(kinds))
    return _("Masked before sending: {kinds}.", kinds=names)


def forecast_said(expected: Forecast) -> str:
    """Format the estimated model calls, and the time at the measured speed."""
    calls = _span(f"{expected.least_requests:,}", f"{expected.most_requests:,}")
    said = _("{count} model calls", count=calls)
    if expected.most_seconds:
        said += ", " + _span(duration(expected.least_seconds), duration(expected.most_seconds))
    if expected.tokens_per_second:
        said += ", " + _("{rate} tokens/s", rate=f"{expected.tokens_per_second:.0f}")
    return said


def _span(least: str, most: str) -> str:
    return least if least == most else f"{least} – {most}"


def _round_said(number: int, left: int, *, goes_on: bool) -> str:
    if goes_on:
        return ngettext(
            "Round {round}: {count} point is open, continuing the search.",
            "Round {round}: {count} points are open, continuing the search.",
            left,
            round=number + 1,
        )
    if not left:
        return _("Round {round}: nothing is open.", round=number + 1)
    return ngettext(
        "Round {round}: {count} point stays open, and the report says so.",
        "Round {round}: {count} points stay open, and the report says so.",
        left,
        round=number + 1,
    )


def _fitted(parts: Sequence[str], width: int) -> Iterator[Line]:
    """Lay out the parts in as many lines as needed."""
    line = ""
    for part in parts:
        longer = f"{line} · {part}" if line else f"  {part}"
        if line and display_width(longer) > width:
            yield (("dim", shorten(line, width)),)
            longer = f"  {part}"
        line = longer
    yield (("dim", shorten(line, width)),)
