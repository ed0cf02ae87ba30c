"""Where there is colour, and where there is none."""

import re
from io import StringIO

import pytest

from localllm.text.markdown_blocks import Block
from localllm.tui.render.markdown import render_block
from localllm.tui.theme import Theme, choose_theme
from tests.support.vt import Tty


@pytest.mark.parametrize(
    ("stream", "name", "environ", "is_plain"),
    [
        (Tty(), "auto", {}, False),
        (StringIO(), "auto", {}, True),
        (Tty(), "auto", {"NO_COLOR": "1"}, False),
        (Tty(), "auto", {"TERM": "dumb"}, True),
        (Tty(), "plain", {}, True),
        (StringIO(), "dark", {}, True),
    ],
)
def test_plain(stream: StringIO, name: str, environ: dict[str, str], is_plain: bool) -> None:
    assert choose_theme(stream, name, environ).plain is is_plain  # type: ignore[arg-type] - a plain str from the table


@pytest.mark.parametrize(("value", "colours"), [("1", False), ("", True)])
def test_no_color_takes_the_colours_and_nothing_else(value: str, colours: bool) -> None:
    theme = choose_theme(Tty(), "auto", {"NO_COLOR": value})
    assert theme.colours is colours
    assert (theme.paint("good", "x") == "x") is not colours
    assert theme.paint("bold", "x") == "\x1b[1mx\x1b[0m"
    shown = render_block(Block("paragraph", "**bold** and `code`\n"), theme, 80)
    assert "\x1b[1m" in shown
    assert bool(re.search(r"\x1b\[[\d;]*3[0-7]", shown)) is colours


def test_light() -> None:
    assert choose_theme(Tty(), "light", {}).light
    assert choose_theme(Tty(), "auto", {"COLORFGBG": "0;15"}).light
    assert not choose_theme(Tty(), "auto", {"COLORFGBG": "15;0"}).light


def test_paint() -> None:
    assert Theme(plain=False).paint("good", "x") == "\x1b[32mx\x1b[0m"
    assert Theme(plain=True).paint("good", "x") == "x"
