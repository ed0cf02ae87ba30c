"""Markdown on a terminal: nothing the model wrote is hidden, every line fits, code can be copied."""

import re

import pytest

from localllm.text.markdown_blocks import Block, BlockSplitter
from localllm.text.sanitising import display_width
from localllm.tui.render.markdown import render_block, render_tail
from localllm.tui.theme import Theme
from tests.support.each import each

DARK = Theme(plain=False)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def rendered(text: str, width: int = 60) -> str:
    splitter = BlockSplitter()
    return plain("".join(render_block(block, DARK, width) for block in splitter.feed(text) + splitter.finish()))


@each(
    ("text", "shown"),
    [
        ("# Head", "Head"),
        ("a *b* **c** `d`", "a b c d"),
        ("Vec<T> and <div>", "Vec<T> and <div>"),
        ("[here](https://a.example/x)", "here (https://a.example/x)"),
        ("<https://a.example>", "https://a.example"),
        ("![alt](http://a/b.png)", "!alt (http://a/b.png)"),
        ("[1]: https://a.example", "[1]: https://a.example"),
        ("first\nsecond", "first\nsecond"),
        ("- a\n- b", " • a\n • b"),
        ("3. a\n4. b", " 3. a\n 4. b"),
        ("1. a\n\n   more", " 1. a\n\n    more"),
        ("> quote", "│ quote"),
        ("```py\nx = 1\n```", "```py\nx = 1\n```"),
        ("```\nopen", "```\nopen"),
        ("    indented", "indented"),
        ("\x1b[31mred", "␛[31mred"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert rendered(text) == shown + "\n"


def test_a_table_keeps_every_word_of_a_wide_cell() -> None:
    shown = rendered("| 名前 | 説明 |\n|---|--:|\n| a | とても長い説明文がここに入りますので折り返しが必要です |\n", 40)
    assert all(display_width(line) <= 40 for line in shown.splitlines())
    assert "".join(shown.split()).endswith("とても長い説明文がここに入りますので折り返しが必要です")


def test_japanese_fills_the_line() -> None:
    first, *_ = rendered("Python 3.11 で書かれた日本語の文章は、行の終わりまで続きます。本当です。", 40).splitlines()
    assert display_width(first) >= 38


def test_a_long_line_of_code_is_not_broken() -> None:
    code = "x = " + " + ".join(["value"] * 30)
    assert code in rendered(f"```python\n{code}\n```\n", 40).splitlines()


def test_no_line_ends_in_padding() -> None:
    shown = render_block(Block("item", "- " + "word " * 30), DARK, 40)
    assert not any(plain(line).endswith(" ") for line in shown.splitlines())


@pytest.mark.parametrize(
    "text", ["word " * 40, "```py\n" + "x" * 100, "- " + "日本語" * 40, "| a |\n|---|\n| " + "b" * 90]
)
def test_every_line_of_a_tail_fits(text: str) -> None:
    assert all(display_width(plain(line)) <= 40 for line in render_tail(text, DARK, 40))


def test_the_environment_does_not_set_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert len(rendered("word " * 20, 80).splitlines()) == 2
