"""Show the model's answer while it is streamed."""

from typing import TYPE_CHECKING

from localllm.text.markdown_blocks import Block, BlockSplitter, lines_of
from localllm.text.sanitising import clean, cut_unfinished
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme

if TYPE_CHECKING:
    from localllm.tui.render.unfinished import Unfinished


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
