"""Whatever is drawn, written above and erased: the screen shows what is for good, then the lines drawn last."""

import os
import re

from hypothesis import given
from hypothesis import strategies as st

from localllm.tui.render.screen import LiveRegion
from tests.support.vt import Vt

COLUMNS = 12


class Stage:
    """A region on a small terminal, and what should be seen there."""

    def __init__(self) -> None:
        self.vt = Vt(COLUMNS)
        self.size = os.terminal_size((COLUMNS, 24))
        self.region = LiveRegion(self.vt.feed, lambda: self.size)


LINES = st.lists(st.sampled_from(["", "one", "\x1b[2mtwo\x1b[0m", "日本語の行", "exactly12cel", "x"]), max_size=5)
ACTIONS = st.lists(st.tuples(st.sampled_from(["draw", "above", "instead", "erase"]), LINES), max_size=20)


@given(ACTIONS)
def test_the_screen_is_what_was_written_and_what_is_drawn(actions: list[tuple[str, list[str]]]) -> None:
    stage = Stage()
    written, drawn = "", []
    for action, lines in actions:
        text = "".join(line + "\n" for line in lines)
        match action:
            case "draw":
                stage.region.draw(lines)
                drawn = lines
            case "above":
                stage.region.write_above(text)
                written += text
            case "instead":
                stage.region.replace_with(text)
                written, drawn = written + text, []
            case _:
                stage.region.erase()
                drawn = []
    expected = re.sub(r"\x1b\[\d*m", "", written + "\n".join(drawn))
    assert stage.vt.text().rstrip("\n") == expected.rstrip("\n")


def test_what_others_have_written_since_stays() -> None:
    stage = Stage()
    stage.region.draw(["one", "two"])
    stage.vt.feed("\n$ fg\n")
    stage.region.forget()
    stage.region.draw(["one", "two!"])
    assert stage.vt.text() == "one\ntwo\n$ fg\none\ntwo!"


def test_only_what_changed_is_written() -> None:
    frames: list[str] = []
    region = LiveRegion(frames.append, lambda: os.terminal_size((80, 24)))
    region.draw(["first", "second", "third"])
    region.draw(["first", "second", "third!"])
    region.draw(["first", "second", "third!"])
    assert len(frames) == 2
    assert "third!" in frames[1]
    assert "first" not in frames[1]
    assert "second" not in frames[1]


def test_after_a_narrowing_the_rows_are_counted_anew() -> None:
    frames: list[str] = []
    size = os.terminal_size((20, 24))
    region = LiveRegion(frames.append, lambda: size)
    region.draw(["fifteen letters", "日本語の文章です"])
    size = os.terminal_size((10, 24))
    region.draw(["new"])
    assert "\r\x1b[3A\x1b[J" in frames[-1]


def test_it_never_goes_above_the_screen() -> None:
    frames: list[str] = []
    size = os.terminal_size((20, 24))
    region = LiveRegion(frames.append, lambda: size)
    region.draw(["line"] * 10)
    size = os.terminal_size((20, 5))
    region.erase()
    assert "\x1b[4A" in frames[-1]
