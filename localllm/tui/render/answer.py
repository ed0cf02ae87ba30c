"""Show the model's answer while it is streamed, and an earlier one in a few rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localllm.base.i18n import gettext
from localllm.base.lazy_patterns import late_pattern
from localllm.text.markdown_blocks import Block, BlockSplitter, lines_of
from localllm.text.sanitising import clean, cut_unfinished
from localllm.text.wrapping import wrap
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme

if TYPE_CHECKING:
    from localllm.tui.render.unfinished import Unfinished

_MOST_BLOCKS = 20
"""Blocks at either end of an earlier answer that are rendered, for the few rows of them that are shown."""


def preload() -> None:
    """Import what the first answer needs: rich, its Markdown parser, a highlighter. Takes about 100 ms."""
    from localllm.tui.render.markdown import render_tail
    from localllm.tui.render.unfinished import unfinished

    for text in ("```python\npass\n```\n", "*word*\n"):
        render_tail(text, Theme(plain=False), 80)
    unfinished("item", (), Theme(plain=False))


class AnswerView:
    """Render streamed Markdown: finished blocks permanently, the unfinished one as live lines.

    On a plain screen, the text is written as it arrives.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._splitter = BlockSplitter()
        self._held = ""
        self._begun = False
        self._block: Unfinished | None = None
        self._taken = 0
        """Number of lines passed to the renderer of the unfinished block."""

    @property
    def begun(self) -> bool:
        """Whether there was any text."""
        return self._begun

    def feed(self, text: str) -> bool:
        """Add the next piece. Returns whether a block ended, so that the live lines are gone and the rest must be
        redrawn."""
        if not self._begun:
            text = text.lstrip("\n")
        if not text:
            return False
        self._begun = True
        if self._screen.plain:
            ready, self._held = cut_unfinished(self._held + text)
            self._screen.stream(clean(ready))
            return False
        return self._print(self._splitter.feed(text))

    def frame(self, below: int = 0) -> tuple[str, list[str]]:
        """Return finished output to print permanently, and the last lines of the unfinished block that fit on the
        screen with `below` lines under it."""
        columns, rows = self._screen.size()
        lines, partial = self._splitter.lines, self._splitter.partial
        if self._screen.plain or not (lines or partial):
            return "", []
        from localllm.tui.render.unfinished import UnfinishedText, unfinished

        if self._block is None and lines:
            self._block = unfinished(self._splitter.kind, lines, self._screen.theme)
        block = self._block or UnfinishedText(self._screen.theme)
        done = block.add(lines[self._taken :], columns)
        room = max(3, rows - max(5, 3 + below))
        self._taken = len(lines) if self._block else 0
        return done, block.live(partial, columns, room)[-room:]

    def finish(self) -> None:
        """End the answer, complete or not. The view can be reused."""
        if self._screen.plain:
            self._screen.stream(clean(self._held))
            self._screen.end_line()
        else:
            rest = self._splitter.finish()
            self._print(rest[:-1] if rest and rest[-1].kind == "blank" else rest)
        self._held, self._begun = "", False

    def _print(self, blocks: list[Block]) -> bool:
        if not blocks:
            return False
        text = "".join(map(self._finished, blocks))
        self._screen.print_text(text, instead=True)
        return True

    def _finished(self, block: Block) -> str:
        """Return the remaining output of a finished block."""
        begun, self._block, taken, self._taken = self._block, None, self._taken, 0
        if begun is not None:
            return begun.finish(block, lines_of(block.text)[taken:], self._screen.width)
        from localllm.tui.render.markdown import render_block

        return render_block(block, self._screen.theme, self._screen.width)


_INTERRUPTED = late_pattern(r"\[interrupted[^\]\n]{0,200}\]\Z")
"""Matches the note, written for the model, that ends an answer which was not given to its end."""


def print_exchange(screen: Screen, request: str, answer: str) -> None:
    """Print the last request and answer of a conversation in a few rows, the answer rendered as when it was given."""
    width = screen.width - 2
    answer = _INTERRUPTED.sub(lambda found: gettext(found[0]), answer.rstrip())
    asked = _few([row for row in wrap(clean(request), width) if row.strip()], 2, 0)
    screen.print_lines([(("dim", ("  " if number else "› ") + row),) for number, row in enumerate(asked)])
    if screen.plain:
        rows = [row for row in wrap(clean(answer), width) if row.strip()]
    else:
        rows = _rendered(answer, screen.theme, width)
    screen.print_text("".join(f"  {row}\n" for row in _few(rows, 3, 2)))


def _rendered(text: str, theme: Theme, width: int) -> list[str]:
    """Render Markdown as rows without blank ones; of a long text those of its first and last blocks."""
    splitter = BlockSplitter()
    blocks = [block for block in [*splitter.feed(text), *splitter.finish()] if block.kind != "blank"]
    if not blocks:
        return []
    from localllm.tui.render.markdown import render_block
    from localllm.tui.render.rich_lines import is_blank

    if len(blocks) > 2 * _MOST_BLOCKS:
        blocks = [*blocks[:_MOST_BLOCKS], *blocks[-_MOST_BLOCKS:]]
    rows = [row for block in blocks for row in render_block(block, theme, width).split("\n")]
    return [row for row in rows if not is_blank(row)]


def _few(rows: Sequence[str], first: int, last: int) -> Sequence[str]:
    """Return the rows; if there are too many, the first and last ones with `…` in between."""
    if len(rows) <= first + last + 1:
        return rows
    return [*rows[:first], "…", *rows[len(rows) - last :]]
