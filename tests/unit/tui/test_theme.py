"""Where there is colour, and where there is none."""

from io import StringIO

import pytest

from localllm.tui.theme import Theme, choose_theme
from tests.support.vt import Tty


@pytest.mark.parametrize(
    ("stream", "name", "environ", "is_plain"),
    [
        (Tty(), "auto", {}, False),
        (StringIO(), "auto", {}, True),
        (Tty(), "auto", {"NO_COLOR": "1"}, True),
        (Tty(), "auto", {"NO_COLOR": ""}, False),
        (Tty(), "auto", {"TERM": "dumb"}, True),
        (Tty(), "plain", {}, True),
        (StringIO(), "dark", {}, True),
    ],
)
def test_plain(stream: StringIO, name: str, environ: dict[str, str], is_plain: bool) -> None:
    assert choose_theme(stream, name, environ).plain is is_plain  # type: ignore[arg-type] - a plain str from the table


def test_light() -> None:
    assert choose_theme(Tty(), "light", {}).light
    assert choose_theme(Tty(), "auto", {"COLORFGBG": "0;15"}).light
    assert not choose_theme(Tty(), "auto", {"COLORFGBG": "15;0"}).light


def test_paint() -> None:
    assert Theme(plain=False).paint("good", "x") == "\x1b[32mx\x1b[0m"
    assert Theme(plain=True).paint("good", "x") == "x"
