"""Show the answers of an ensemble's workers side by side, while they are streamed and afterwards."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from localllm.base.i18n import _, ngettext
from localllm.ensemble.records import (
    ReviewStarted,
    ReviewText,
    RunEvent,
    RunStarted,
    WorkerFinished,
    WorkerRetried,
    WorkerText,
)
from localllm.text.sanitising import clean, display_width, shorten
from localllm.text.wrapping import wrap
from localllm.tui.render.activity import duration
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Line, Span, Style

_NARROWEST, _GAP, _INDENT = 28, 2, 2  # cells
_LIVE_ROWS, _FINAL_ROWS, _REVIEW_ROWS = 5, 12, 4
_REPAINT_SECONDS = 0.1
_TAIL = 2_000
"""Characters of a streamed answer, of which the last rows are shown."""


class _Column:
    """A worker's text so far, and its result."""

    def __init__(self, name: str) -> None:
        self.name = clean(name, keep_newlines=False)
        self.text = ""
        self.ended = ""
        self.mark = "·"
        self.has_failed = False
        self.style: Style = "dim"

    def finish(self, event: WorkerFinished) -> None:
        answer = event.answer
        self.ended, self.has_failed = duration(answer.seconds), answer.has_failed
        if answer.error is None:
            self.text, self.mark, self.style = _plain(answer.text), "✓", "good"
        else:
            self.text, self.mark, self.style = _plain(str(answer.error)), "✗", "warning"


class EnsembleColumns:
    """The columns of one run on `screen`."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._columns: list[_Column] = []
        self._reviewer = self._review = ""
        self._began = time.monotonic()

    @property
    def reviewer(self) -> str:
        """The reviewer's name, once it was asked."""
        return self._reviewer

    def handle(self, event: RunEvent) -> None:
        """Process the next event of the run."""
        match event:
            case RunStarted(workers=workers):
                self._columns = [_Column(name) for name in workers]
            case WorkerText(worker=worker, text=text):
                self._columns[worker].text += _plain(text)
            case WorkerRetried(worker=worker):
                self._columns[worker].text = ""
            case WorkerFinished(worker=worker):
                self._columns[worker].finish(event)
            case ReviewStarted(reviewer=reviewer):
                self._reviewer, self._review = clean(reviewer, keep_newlines=False), ""
            case ReviewText(text=text):
                self._review += _plain(text)
            case _:
                pass

    @asynccontextmanager
    async def shown(self) -> AsyncGenerator[None]:
        """While open, repaint the last rows of the columns and of the review."""
        painter = asyncio.create_task(self._keep_painting())
        try:
            yield
        finally:
            painter.cancel()
            self._screen.erase()

    def print(self) -> None:
        """Print the columns permanently, each with its beginning, and a blank line below."""
        if self._columns:
            self._screen.print_lines([*self._lines(self._screen.width, _FINAL_ROWS, live=False), (("", ""),)])

    async def _keep_painting(self) -> None:
        screen = self._screen
        if screen.plain:
            screen.print(("dim", "  " + _("asking the ensemble")))
            return
        while True:
            screen.draw([screen.format(line) for line in self._picture(*screen.size())])
            await asyncio.sleep(_REPAINT_SECONDS)

    def _picture(self, width: int, height: int) -> list[Line]:
        """Compose the live part with fewer rows than the screen: rows scrolled out could not be repainted."""
        below = [self._state(), *self._screen.below(width)]
        review = _rows(self._review, width - _INDENT, _REVIEW_ROWS, live=True) if self._review else []
        room = height - 1 - len(below) - len(review)
        groups = -(-len(self._columns) // self._abreast(width)) if self._columns else 1
        columns = self._lines(width, max(0, min(_LIVE_ROWS, room // groups - 1)), live=True)
        return [*columns[: max(0, room)], *((("dim", " " * _INDENT + row),) for row in review), *below]

    def _state(self) -> Line:
        left = sum(not column.ended for column in self._columns)
        if self._reviewer:
            doing = _("{name} reviews the answers", name=self._reviewer)
        elif self._columns:
            doing = ngettext("waiting for {count} worker", "waiting for {count} workers", left)
        else:
            doing = _("asking the ensemble")
        return (
            ("dim", shorten(f"  {doing} · {duration(time.monotonic() - self._began)} · Ctrl+C", self._screen.width)),
        )

    def _abreast(self, width: int) -> int:
        """Return how many columns fit side by side."""
        return max(1, min(len(self._columns), (width - _INDENT + _GAP) // (_NARROWEST + _GAP)))

    def _lines(self, width: int, rows: int, *, live: bool) -> list[Line]:
        """Lay out the columns, as many side by side as fit; while streaming, the last rows of each."""
        abreast = self._abreast(width)
        cells = max(1, (width - _INDENT - _GAP * (abreast - 1)) // abreast)
        lines: list[Line] = []
        for first in range(0, len(self._columns), abreast):
            group = self._columns[first : first + abreast]
            if lines and not live:
                lines.append((("", ""),))
            lines.append(_row([(column.style, _head(column, cells)) for column in group], cells))
            texts = [_rows(column.text, cells, rows, live=live and not column.has_failed) for column in group]
            for number in range(max(map(len, texts), default=0)):
                lines.append(_row([("", text[number] if number < len(text) else "") for text in texts], cells))
        return lines


def _plain(text: str) -> str:
    """Return a text whose characters all have the counted width."""
    return clean(text).replace("\t", "    ")


def _head(column: _Column, cells: int) -> str:
    ended = f" {column.ended}" if column.ended else ""
    return f"{column.mark} {shorten(column.name, max(1, cells - 2 - display_width(ended)))}{ended}"


def _rows(text: str, cells: int, rows: int, *, live: bool) -> list[str]:
    found = [row for row in wrap(text[-_TAIL:] if live else text, cells) if row.strip()]
    if not rows:
        return []
    if live:
        return found[-rows:]
    return found if len(found) <= rows else [*found[: rows - 1], "…"]


def _row(spans: Sequence[Span], cells: int) -> Line:
    """Join texts side by side, each padded to `cells` except the last."""
    line: list[Span] = [("", " " * _INDENT)]
    for number, (style, text) in enumerate(spans, start=1):
        line.append((style, text))
        if number < len(spans):
            line.append(("", " " * (cells - display_width(text) + _GAP)))
    return tuple(line)
