"""Render Markdown with rich, customised: nothing hidden, Japanese line breaking, code that can be copied. Imported with
the first answer, because rich and its parser load slowly."""

import re
from functools import cache
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown as rich_markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text

from localllm.text.markdown_blocks import Block, lines_of
from localllm.text.sanitising import clean
from localllm.tui.render.code import FencedCode, Highlighter, is_fence
from localllm.tui.render.rich_lines import console_for, painted, without_blank_ends, wrapped
from localllm.tui.render.tables import Columns, row_lines, rule
from localllm.tui.theme import Theme

_DEFINITION = re.compile(r"^( {0,3})(\[[^\]\n]+\]:)", re.MULTILINE)


def render_block(block: Block, theme: Theme, width: int) -> str:
    """Render a block as whole lines for a terminal of `width` cells. Code lines are not wrapped."""
    if block.kind == "blank":
        return "\n"
    if block.kind == "fence":
        return render_code(FencedCode(theme).add(lines_of(block.text)), theme, width)
    lines = painted(_Markdown(clean(block.text), theme), theme, width)
    return "\n".join(without_blank_ends(lines)) + "\n"


def render_code(code: Text, theme: Theme, width: int) -> str:
    """Render code lines without wrapping."""
    code.rstrip()
    return "\n".join(painted(code, theme, width, overflow="ignore")) + "\n"


def render_tail(text: str, theme: Theme, width: int) -> list[str]:
    """Render the lines of an unfinished block, each at most `width` cells wide."""
    shown = FencedCode(theme).add(lines_of(text)) if is_fence(text) else _Markdown(clean(text), theme)
    return without_blank_ends(painted(shown, theme, width))


def table_rows(text: str, theme: Theme) -> tuple[list[list[Text]], int]:
    """Return the rows of the table that `text` begins with, the header first, and its number of lines; no rows and 0
    without a table."""
    markdown = _Cells(clean(text), theme)
    if not markdown.parsed or markdown.parsed[0].type != "table_open":
        return [], 0
    for _segment in console_for(theme).render(markdown):
        pass
    first, end = markdown.parsed[0].map or (0, 0)
    return markdown.tables[0].rows, end - first


class _Paragraph(rich_markdown.Paragraph):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from wrapped(self.text, options.max_width)


class _Heading(rich_markdown.Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from wrapped(self.text, options.max_width)


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


class _Table(rich_markdown.TableElement):
    @property
    def rows(self) -> list[list[Text]]:
        """Return the cells, the header's first."""
        header = [self.header.row] if self.header and self.header.row else []
        for cell in (cell for row in header for cell in row.cells):
            cell.content.stylize("markdown.table.header")
        return [[cell.content for cell in row.cells] for row in [*header, *(self.body.rows if self.body else ())]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        header, *rows = self.rows
        widths = Columns(len(header)).with_rows([header, *rows]).widths(options.max_width)
        yield from (*row_lines(header, widths), rule(widths))
        for row in rows:
            yield from row_lines(row, widths)


class _SilentTable(_Table):
    """A table that renders nothing: only its cells are needed."""

    @classmethod
    def create(cls, markdown: rich_markdown.Markdown, token: Token) -> "_SilentTable":
        table = cls()
        if isinstance(markdown, _Cells):
            markdown.tables.append(table)
        return table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from ()


class _CodeBlock(rich_markdown.CodeBlock):
    """Code in a list or a quotation, or indented."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        highlighter = Highlighter(self.lexer_name, Theme(plain=False, light="light" in self.theme))
        yield highlighter.highlight(str(self.text).rstrip().expandtabs(4))


class _Markdown(rich_markdown.Markdown):
    """Markdown that hides nothing: raw HTML, images and link targets are shown as text."""

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
        self.parsed = _parser().parse(_DEFINITION.sub(r"\1\\\2", text))
        for token in self.parsed:
            if token.children:
                token.children = _as_written(token.children)


class _Cells(_Markdown):
    """Markdown of which only the table cells are needed."""

    elements: ClassVar[dict[str, type[rich_markdown.MarkdownElement]]] = {
        **_Markdown.elements,
        "table_open": _SilentTable,
    }

    def __init__(self, text: str, theme: Theme) -> None:
        super().__init__(text, theme)
        self.tables: list[_SilentTable] = []


def code_blocks(text: str) -> list[str]:
    """Return the contents of the code blocks in Markdown, in order."""
    return [token.content for token in _parser().parse(text) if token.type in ("fence", "code_block")]


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("image")


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
