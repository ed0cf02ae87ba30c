"""Markdown as rich shows it, with our own taste: nothing hidden, Japanese broken where Japanese breaks, code that can
be copied. Imported when the first answer arrives, because rich and its parser take a while to load.
"""

import io
import re
from collections.abc import Iterator
from typing import ClassVar, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown as rich_markdown
from rich.box import SIMPLE
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from localllm.text.markdown_blocks import Block
from localllm.text.sanitising import clean
from localllm.text.wrapping import break_offsets, longest_piece
from localllm.tui.theme import Theme, make_console

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TRAILING = re.compile(r"(?>(?:\x1b\[[0-9;]*m|(?<! ) ++)+)$")
_DEFINITION = re.compile(r"^( {0,3})(\[[^\]\n]+\]:)", re.MULTILINE)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[ \t]*([^\s`]*)")


def render_block(block: Block, theme: Theme, width: int) -> str:
    """The block as whole lines for a terminal `width` cells wide. Lines of code are as long as they are."""
    text = clean(block.text)
    if block.kind == "blank":
        return "\n"
    if block.kind == "fence":
        return _render(_FencedCode(text, theme), theme, width, overflow="ignore")
    return _render(_Markdown(text, theme), theme, width)


def render_tail(text: str, theme: Theme, width: int) -> list[str]:
    """The lines of a block that is still being written, each at most `width` cells wide."""
    text = clean(text)
    renderable = _FencedCode(text, theme) if _FENCE.match(text) else _Markdown(text, theme)
    return _render(renderable, theme, width).splitlines()


def _render(
    renderable: "_FencedCode | _Markdown", theme: Theme, width: int, *, overflow: Literal["fold", "ignore"] = "fold"
) -> str:
    stream = io.StringIO()
    make_console(stream, theme, width).print(renderable, overflow=overflow, no_wrap=overflow == "ignore", crop=False)
    lines = [_without_trailing_space(line) for line in stream.getvalue().split("\n")]
    while len(lines) > 1 and not _COLOUR.sub("", lines[0]):
        del lines[0]
    while len(lines) > 1 and not _COLOUR.sub("", lines[-1]):
        lines.pop()
    return "\n".join(lines) + "\n"


def _without_trailing_space(line: str) -> str:
    """Padding would be copied with the text, and would wrap when the terminal becomes narrower."""
    match = _TRAILING.search(line)
    return line[: match.start()] + match[0].replace(" ", "") if match else line


class _FencedCode:
    """A fenced block with its fences, so that it reads as code without colours too."""

    def __init__(self, text: str, theme: Theme) -> None:
        opening, _, body = text.partition("\n")
        lines = body.rstrip("\n").split("\n") if body else []
        self.opening = opening
        self.closing = lines.pop() if lines and _closes(lines[-1], opening) else ""
        self.code = "\n".join(lines)
        self.theme = theme

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.opening, style="dim")
        if self.code:
            match = _FENCE.match(self.opening)
            yield _highlighted(self.code, match[2] if match else "", self.theme)
        if self.closing:
            yield Text(self.closing, style="dim")


def _closes(line: str, opening: str) -> bool:
    match = _FENCE.match(opening)
    mark = line.strip()
    return bool(match) and mark.startswith(match[1]) and not mark.strip(match[1][0])


def _highlighted(code: str, language: str, theme: Theme) -> Text:
    code_theme = "ansi_light" if theme.light else "ansi_dark"
    text = Syntax("", language or "text", theme=code_theme, background_color="default").highlight(code)
    text.rstrip()
    return text


def _wrapped(text: Text, width: int) -> Iterator[Text]:
    """The lines of `text`, broken by our rules rather than by rich's, which know spaces only."""
    for paragraph in text.split("\n", allow_blank=True):
        for line in paragraph.divide(break_offsets(paragraph.plain, width)):
            line.rstrip()
            line.no_wrap, line.overflow = True, "ignore"
            yield line


class _Paragraph(rich_markdown.Paragraph):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _wrapped(self.text, options.max_width)


class _Heading(rich_markdown.Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _wrapped(self.text, options.max_width)


class _BlockQuote(rich_markdown.BlockQuote):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        inner = options.update(width=options.max_width - 2)
        for line in console.render_lines(self.elements, inner, style=self.style, pad=False):
            yield Segment("│ ", console.get_style("dim"))
            yield from line
            yield Segment("\n")


class _Rule(rich_markdown.HorizontalRule):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("─" * min(options.max_width, 24), style="dim")


class _ListItem(rich_markdown.ListItem):
    def __init__(self) -> None:
        super().__init__()
        self._begun = False

    def on_child_close(self, context: rich_markdown.MarkdownContext, child: rich_markdown.MarkdownElement) -> bool:
        if self._begun and isinstance(child, _Paragraph):
            self.elements.append(Text())
        self._begun = True
        return super().on_child_close(context, child)

    def render_number(self, console: Console, options: ConsoleOptions, number: int, last_number: int) -> RenderResult:
        mark, style = f" {number}. ", console.get_style("markdown.item.number")
        inner = options.update(width=options.max_width - len(mark))
        for line in console.render_lines(self.elements, inner, style=self.style, pad=False):
            yield Segment(mark, style)
            yield from line
            yield Segment("\n")
            mark = " " * len(mark)


class _Cell:
    """A table's cell, which breaks where Japanese breaks and is never cut off."""

    def __init__(self, text: Text) -> None:
        self.text = text

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(longest_piece(self.text.plain), 16), self.text.cell_len)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in _wrapped(self.text, options.max_width):
            if self.text.justify in ("right", "center"):
                line.align(self.text.justify, options.max_width)
            yield line


class _Table(rich_markdown.TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=SIMPLE, pad_edge=False, collapse_padding=True, border_style="markdown.table.border")
        if self.header and self.header.row:
            for cell in self.header.row.cells:
                cell.content.stylize("markdown.table.header")
                table.add_column(_Cell(cell.content))
        for row in self.body.rows if self.body else ():
            table.add_row(*(_Cell(cell.content) for cell in row.cells))
        yield table


class _CodeBlock(rich_markdown.CodeBlock):
    """Code inside a list or a quotation, or indented."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _highlighted(str(self.text).rstrip(), self.lexer_name, Theme(plain=False, light="light" in self.theme))


class _Markdown(rich_markdown.Markdown):
    """Markdown in which nothing the model wrote disappears: raw HTML, images and link targets are shown as text."""

    elements: ClassVar[dict[str, type[rich_markdown.MarkdownElement]]] = {
        **rich_markdown.Markdown.elements,
        "paragraph_open": _Paragraph,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        "blockquote_open": _BlockQuote,
        "hr": _Rule,
        "list_item_open": _ListItem,
        "table_open": _Table,
    }

    def __init__(self, text: str, theme: Theme) -> None:
        super().__init__("", code_theme="ansi_light" if theme.light else "ansi_dark", hyperlinks=False)
        parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("image")
        self.parsed = parser.parse(_DEFINITION.sub(r"\1\\\2", text))
        for token in self.parsed:
            if token.children:
                token.children = _as_written(token.children)


def _as_written(tokens: list[Token]) -> list[Token]:
    """Keep the model's line ends, and write `<https://…>`, which is its own target, once."""
    kept: list[Token] = []
    rest = iter(tokens)
    for token in rest:
        if token.type == "softbreak":
            token.type = "hardbreak"
        if token.type == "link_open" and token.markup == "autolink":
            token = next(rest)  # noqa: PLW2901 - the address between the opening and the closing token
            next(rest)
        kept.append(token)
    return kept
