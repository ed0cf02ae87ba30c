"""An answer while it is written: what stays on the screen is what the whole would be, and no frame costs more because
much stands above it.
"""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.syntax import Syntax
from rich.text import Text

from localllm.base.i18n import set_language
from localllm.text.markdown_blocks import BlockSplitter
from localllm.text.sanitising import display_width
from localllm.tui.render.answer import AnswerView, preload, print_exchange
from localllm.tui.render.code import Highlighter
from localllm.tui.render.markdown import render_block
from localllm.tui.render.rich_lines import console_for
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme
from tests.support.call_count import calls_in
from tests.support.each import each
from tests.support.vt import Tty, Vt

DARK = Theme(plain=False)
CONSOLE = console_for(DARK)


class Written:
    """An answer on a terminal of 80 by 24."""

    def __init__(self) -> None:
        self.tty = Tty()
        self.screen = Screen(self.tty, DARK)
        self.view = AnswerView(self.screen)

    def write(self, text: str, size: int = 10_000) -> None:
        """The text in pieces of so many characters, and a frame after each."""
        for start in range(0, len(text), size):
            self.view.feed(text[start : start + size])
            finished, lines = self.view.frame()
            self.screen.draw(lines, finished)

    def ended(self) -> str:
        """What is on the screen when the answer has ended."""
        self.view.finish()
        return shown(self.tty.getvalue())


def shown(text: str) -> str:
    terminal = Vt(80)
    terminal.feed(text)
    return terminal.text().rstrip("\n")


def whole(text: str) -> str:
    """The same text, shown when all of it is there."""
    splitter = BlockSplitter()
    blocks = splitter.feed(text.lstrip("\n")) + splitter.finish()
    return shown("".join(render_block(block, DARK, 80) for block in blocks))


LINES = st.sampled_from(
    [
        *("words\n", "*more* words of `it`\n", "日本語の文章です。\n", "\n", "> quote\n", "# Head\n", "---\n"),
        *("- item\n", "  - within\n", "1. one\n", "  ```\n", "```\n", "```py\n", "    x = '''\n", "y = 1\n"),
        *("| a | b |\n", "|---|--:|\n", "| 名前 | 説明が長い `b` |\n", "| 1 |\n", "| a | b |\n|---|---|\n| c | d |\n"),
    ]
)


@given(st.lists(LINES, max_size=12).map("".join), st.integers(1, 40))
def test_what_stays_is_what_the_whole_would_be(text: str, size: int) -> None:
    written = Written()
    written.write(text, size)
    assert written.ended() == whole(text)


def test_code_is_there_for_good_line_by_line() -> None:
    written = Written()
    written.write("```py\nx = 1\n\ny = ")
    finished, lines = written.view.frame()
    assert (finished, len(lines)) == ("", 2)
    assert shown(written.tty.getvalue()) == "```py\nx = 1\n\ny ="


def test_a_long_table_is_there_once_and_fits() -> None:
    rows = [f"| {number} | {'長い' * (number // 10)} |" for number in range(300)]
    written = Written()
    written.write("| n | long |\n|---|---|\n" + "\n".join(rows), 1_000)
    lines = written.ended().splitlines()
    assert all(display_width(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines if line[:4].strip().isdigit()] == [str(n) for n in range(300)]
    assert sum(line.count("長い") for line in lines) == sum(n // 10 for n in range(300))


@each(
    ("language", "code"),
    [
        (
            "python",
            'def f(a):\n    """Words\n\n    if "a" in b: pass\n    """\n    return a + 1  # end\n\nx = f(\n    1,\n)\n',
        ),
        ("c", "int a; /* if\n return\n*/ int b = 'c';\n#define A \\\n 1\nchar *s = \"if\";\n"),
        ("html", "<p>if</p>\n<script>\nif (a) { return `b` }\n</script>\n<!-- <p>\n</p> -->\n"),
        ("js", "let a = `if\n${b}\n`\nreturn /x/\n"),
        ("sh", "if true; then echo 'if\nfi'; fi\n"),
        ("no such language", "a\nb\n"),
    ],
)
def test_code_has_the_colours_of_the_whole_line_by_line(language: str, code: str) -> None:
    by_line = Highlighter(language, DARK)
    lines = Text().join(by_line.highlight(line) for line in code.splitlines(keepends=True))
    expected = Syntax("", language, theme="ansi_dark").highlight(code)
    assert lines.plain == code
    assert colours(lines) == colours(expected)


@pytest.mark.parametrize("slow", [f"int a{' ' * 40_000}b;\n", f"int {'x' * 5_000};\n", f"int a{chr(9) * 60}b;\n"])
def test_no_lexer_reads_a_line_that_would_take_for_ever(slow: str) -> None:
    highlighter = Highlighter("c", DARK)
    read = highlighter._lexer.get_tokens  # type: ignore[union-attr]
    longest: list[int] = []

    def noting(text: str) -> Iterable[tuple[object, str]]:
        longest.append(len(text))
        return read(text)

    highlighter._lexer.get_tokens = noting  # type: ignore[union-attr, method-assign]
    line = slow.expandtabs(4)
    assert highlighter.peek(line.rstrip("\n")).plain == line.rstrip("\n")
    shown = highlighter.highlight(f"int b;\n{line}return 1;\n")
    assert shown.plain == f"int b;\n{line}return 1;\n"
    assert max(longest) < 500
    assert colours(shown[-len("return 1;\n") :]) == colours(Highlighter("c", DARK).highlight("return 1;\n"))


def test_a_lexer_gets_few_lines_and_few_empty_ones_at_a_time() -> None:
    highlighter = Highlighter("c", DARK)
    read = highlighter._lexer.get_tokens  # type: ignore[union-attr]
    given: list[str] = []

    def noting(text: str) -> Iterable[tuple[object, str]]:
        given.append(text)
        return read(text)

    highlighter._lexer.get_tokens = noting  # type: ignore[union-attr, method-assign]
    code = "int main(void)\n" + "\n" * 5_000 + "{ return 0; }\n\n\n" + "f(a);\n" * 900 + "\n" * 50
    assert highlighter.highlight(code).plain == code
    assert not any("\n" * 5 in text for text in given)
    assert max(map(len, given)) < 500


def test_a_block_whose_colours_take_too_long_has_none_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    highlighter = Highlighter("c", DARK)
    assert set(colours(highlighter.highlight("return 1;\n"))) != {"None"}
    monkeypatch.setattr("localllm.tui.render.code._MOST_SECONDS", 0.0)
    assert highlighter.highlight("return 1;\n").spans == []
    assert highlighter.peek("return 1;").spans == []


def colours(text: Text) -> list[str]:
    """The colour of each character that is seen."""
    seen = [offset for offset, character in enumerate(text.plain) if not character.isspace()]
    return [str(text.get_style_at_offset(CONSOLE, offset).color) for offset in seen]


@each(
    ("begin", "line"),
    [
        ("", "some *words* of a paragraph\n"),
        ("", "words without a line end, "),
        ("> quote\n", "> more of it\n"),
        ("- item\n", "  - nested `item`\n"),
        ("- item\n  ```py\n", "  x = 1\n"),
        ("```py\n", "def f(): return 'a'\n"),
        ("```py\n", "f(a, b) + "),
        ("| a | b |\n|---|---|\n", "| one | `two` |\n"),
        ("| a | b |\n|---|---|\nfoo", " and more"),
    ],
)
def test_a_frame_costs_the_same_however_much_stands_above(begin: str, line: str) -> None:
    preload()
    costs: list[int] = []
    for size in (2_000, 20_000):
        written = Written()
        written.write(begin + line * (size // len(line)), 1_000)
        costs.append(calls_in(lambda shown=written: shown.write("w")))
    assert costs[1] < 1.2 * costs[0]


def exchange(request: str, answer: str, theme: Theme = DARK) -> list[str]:
    tty = Tty()
    print_exchange(Screen(tty, theme), request, answer)
    return shown(tty.getvalue()).split("\n")


def test_an_interruption_is_shown_in_the_users_language() -> None:
    set_language("ja")
    try:
        for theme in (DARK, Theme(plain=True)):
            assert exchange("直して", "[interrupted by the user]", theme)[1] == "  [中断しました]"
            assert exchange("直して", "まず [interrupted by the user]", theme)[1] == "  まず [中断しました]"
            assert exchange("直して", "Done.", theme)[1] == "  Done."
    finally:
        set_language("en")


def test_where_a_conversation_stood_in_a_few_rows() -> None:
    answer = "\n\n".join(f"{number} 割引を直しました。" * 6 for number in range(9))
    for theme in (DARK, Theme(plain=True)):
        rows = exchange("直して\n" * 40, answer, theme)
        assert len(rows) == 3 + 6
        assert rows[0] == "› 直して"
        assert (rows[2], rows[6]) == ("  …", "  …")
        assert rows[3].startswith("  0 割引")
        assert rows[-1].endswith("8 割引を直しました。")
        assert all(display_width(row) <= 80 for row in rows)
        assert exchange("", "", theme) == [""]


def test_the_answer_a_conversation_stood_at_is_rendered() -> None:
    rows = exchange("go", "# Done\n\n**bold** and `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert rows == ["› go", "  Done", "  bold and code", "   a  b", "   ────", "   1  2"]
    assert exchange("go", "**bold**", Theme(plain=True)) == ["› go", "  **bold**"]


def test_of_a_long_answer_only_the_ends_are_rendered() -> None:
    short, long = (calls_in(lambda n=n: exchange("go", "- **item**\n" * n)) for n in (100, 1_000))
    assert exchange("go", "- **item**\n" * 1_000)[1:] == [
        "   • item",
        "   • item",
        "   • item",
        "  …",
        "   • item",
        "   • item",
    ]
    assert long < 4 * short
