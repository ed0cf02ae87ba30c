"""Opinions and plans on the screen: side by side where there is room."""

from io import StringIO

import msgspec
import pytest

from localllm.base import i18n
from localllm.base.events import Consulted, Opinion
from localllm.text.sanitising import display_width
from localllm.tui.render.agents import consulted_lines, plan_lines, short_plan_lines
from localllm.tui.render.events import Renderer
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Line, Theme

CAREFUL = "Read the file before you edit it: the text was guessed. " * 4
BOLD = "思い切って書き直す。危険な\x1b[31m手順\x1b[0mは避ける。" * 6
PLAN = "Verdict: the text was guessed\nNext: read prices.py"


def event(*, plan: str = PLAN, by_hand: bool = True, left_out: tuple[str, ...] = ()) -> Consulted:
    opinions = (
        Opinion(role="conservative", text=CAREFUL, provider="openai", model="careful-4b"),
        Opinion(role="progressive", text=BOLD, provider="ollama", model="bold-8b"),
        Opinion(role="judge", text="The text was guessed.", provider="lmstudio", model="wise-30b"),
    )
    return Consulted(
        kind="panel",
        question="q",
        opinions=opinions if plan else (),
        plan=plan,
        confidence=0.8 if plan else 0.0,
        left_out=left_out,
        by_hand=by_hand,
    )


def rows(lines: list[Line]) -> list[str]:
    screen = Screen(StringIO(), Theme(plain=True))
    return [screen.format(line) for line in lines]


@pytest.mark.parametrize("width", [100, 120, 200])
def test_wide_the_opinions_stand_side_by_side(width: int) -> None:
    shown = rows(consulted_lines(event(), width))
    assert "conservative · openai careful-4b"[:20] in shown[0]
    assert "progressive" in shown[0]
    assert "judge" in shown[0]
    assert all(display_width(row) <= width for row in shown)
    columns = [row.split("│") for row in shown if "│" in row]
    assert {len(cells) for cells in columns} == {3}
    assert len({display_width(cells[0]) for cells in columns}) == 1
    assert len({display_width(cells[1]) for cells in columns}) == 1
    assert "Read the file" in columns[1][0]
    assert "思い切って" in columns[1][1]
    assert "".join(cells[0].strip() for cells in columns[1:]).replace(" ", "") == CAREFUL.replace(" ", "")


@pytest.mark.parametrize("width", [40, 80, 99])
def test_narrow_they_stand_one_below_another(width: int) -> None:
    shown = rows(consulted_lines(event(), width))
    assert not any("│" in row for row in shown)
    assert all(display_width(row) <= width for row in shown)
    text = "\n".join(shown)
    assert text.index("conservative") < text.index("progressive") < text.index("judge") < text.index("◆ Panel")


def test_the_plan_comes_last_with_its_confidence_and_those_who_were_left_out() -> None:
    shown = rows(consulted_lines(event(left_out=("boss (openai m): it is down",)), 100))
    assert shown[-4:] == [
        "◆ Panel · Plan · confidence 80 %",
        "  Verdict: the text was guessed",
        "  Next: read prices.py",
        "! Left out: boss (openai m): it is down",
    ]


def test_a_judge_who_says_nothing_but_the_plan_is_shown_once() -> None:
    said = event()
    judge = Opinion(role="judge", text=PLAN, provider="lmstudio", model="wise-30b")
    said = msgspec.structs.replace(said, opinions=(*said.opinions[:2], judge))
    for width in (80, 160):
        shown = rows(consulted_lines(said, width))
        assert sum("text was guessed\n" in f"{row}\n" for row in shown if "Verdict" in row) == 1
        assert "◆ Panel · Plan · judge · lmstudio wise-30b · confidence 80 %" in shown
        assert sum("judge" in row for row in shown) == 1


def test_opinions_nobody_has_weighed_are_shown_once() -> None:
    said = event(plan=f"Nobody could weigh these:\n\nconservative: {CAREFUL}", left_out=("judge (openai m): down",))
    shown = rows(consulted_lines(msgspec.structs.replace(said, opinions=said.opinions[:1], confidence=0.0), 80))
    assert "\n".join(shown).count("Read the file") == CAREFUL.count("Read the file")
    assert shown[-2:] == [
        "! No judge could weigh these opinions; they may contradict each other.",
        "! Left out: judge (openai m): down",
    ]


def test_what_models_say_cannot_act_on_the_terminal() -> None:
    for width in (80, 120):
        assert "\x1b" not in "".join(rows(consulted_lines(event(), width)))


def test_nobody_could_answer() -> None:
    left_out = ("conservative: down", "progressive: down")
    shown = rows(consulted_lines(event(plan="", left_out=left_out), 80))
    assert shown == [
        "! Left out: conservative: down",
        "! Left out: progressive: down",
        "! Nobody could be asked. Start a model server, or set other models in",
        "  [agents.panel].",
    ]
    asked = event(plan="", by_hand=False, left_out=left_out)
    for told in (plan_lines(asked, 80), short_plan_lines(asked, 80)):
        assert rows(told) == ["! Left out: conservative: down", "! Left out: progressive: down"]


def test_in_one_line() -> None:
    asked = event(by_hand=False, left_out=("conservative: down",))
    row, left_out = rows(short_plan_lines(asked, 60))
    assert row.startswith("◆ Panel: Verdict: ")
    assert display_width(row) <= 60
    assert "guessed Next" in rows(short_plan_lines(asked, 200))[0]
    assert left_out == "! Left out: conservative: down"


def test_in_a_run_the_plan_is_shown() -> None:
    stream = StringIO()
    Renderer(Screen(stream, Theme(plain=True))).handle(event(by_hand=False, left_out=("boss: down",)))
    assert "  Next: read prices.py\n! Left out: boss: down\n" in stream.getvalue()
    assert "careful-4b" not in stream.getvalue()


def test_in_japanese() -> None:
    i18n.set_language("ja")
    try:
        shown = rows(consulted_lines(event(left_out=("親分: 停止中",)), 120))
    finally:
        i18n.set_language("en")
    assert "慎重派" in shown[0]
    assert "積極派" in shown[0]
    assert "◆ 三賢者の協議 · 結論 · 確信度 80 %" in shown
    assert shown[-1] == "! 不参加: 親分: 停止中"
    assert all(display_width(row) <= 120 for row in shown)
