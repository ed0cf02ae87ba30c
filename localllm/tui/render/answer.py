"""The model's answer on a screen while it is being written."""

from localllm.text.markdown_blocks import Block, BlockSplitter
from localllm.text.sanitising import clean, cut_unfinished
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme


def preload() -> None:
    """Load what the first answer will need: rich, its Markdown parser, a highlighter. Takes about 100 ms."""
    from localllm.tui.render.markdown import render_tail

    render_tail("```python\npass\n```\n", Theme(plain=False), 80)
    render_tail("*word*\n", Theme(plain=False), 80)


class AnswerView:
    """Shows Markdown that arrives in pieces: finished blocks for good, the unfinished one as live lines.

    On a plain screen the text itself is written, as it comes.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._splitter = BlockSplitter()
        self._held = ""
        self._begun = False
        self._drawn: tuple[str, int, list[str]] = ("", 0, [])

    @property
    def begun(self) -> bool:
        """Whether there was any text."""
        return self._begun

    def feed(self, text: str) -> bool:
        """Take the next piece. Whether a block ended, so that the live lines are gone and the rest must be drawn."""
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

    def tail(self, below: int = 0) -> list[str]:
        """The lines of the unfinished block, as many of the last ones as fit the screen with `below` lines under it."""
        columns, rows = self._screen.size()
        room = max(3, rows - max(5, 3 + below))
        text = self._splitter.tail(fence_lines=room)
        if self._screen.plain or not text.strip():
            return []
        if self._drawn[:2] != (text, columns):
            from localllm.tui.render.markdown import render_tail

            self._drawn = (text, columns, render_tail(text, self._screen.theme, columns))
        return self._drawn[2][-room:]

    def finish(self) -> None:
        """The answer has ended, whole or not. The view is ready for another."""
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
        from localllm.tui.render.markdown import render_block

        width = self._screen.width
        text = "".join(render_block(block, self._screen.theme, width) for block in blocks)
        self._screen.print_text(text, instead=True)
        return True
