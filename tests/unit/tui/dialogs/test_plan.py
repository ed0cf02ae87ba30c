"""The end of a plan: what is asked, and what each answer means."""

import pytest

from localllm.config.schema import Mode
from localllm.text.sanitising import display_width
from localllm.tui.dialogs.plan import Accepted, Answered, PlanAnswer, PlanQuestion
from localllm.tui.render.report import choice_lines
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme
from tests.unit.tui.dialogs.test_approval import Person


async def answer(*answers: str | type[BaseException], before: Mode = "ask") -> tuple[PlanAnswer, str]:
    person = Person(*answers)
    given = await PlanQuestion(Screen(person.stream, Theme(plain=True)), person, before).ask()
    assert not person.answers
    return given, person.stream.getvalue()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("y", Accepted("ask")),
        ("はい", Accepted("ask")),
        ("e", Accepted("auto-edit")),
        ("Ｅ", Accepted("auto-edit")),
        ("", None),
        ("n", None),
        (KeyboardInterrupt, None),
        (EOFError, None),
        ("smaller steps", Answered("smaller steps")),
        ("/mode ask", Answered("/mode ask")),
        ("\n!touch x\nend\n", Answered("\n!touch x\nend")),
    ],
)
async def test_answers(said: str | type[BaseException], means: PlanAnswer) -> None:
    given, shown = await answer(said)
    assert given == means
    assert "[y]es" in shown
    assert ("plan mode goes on" in shown) == (means is None)


@pytest.mark.anyio
async def test_an_answer_to_another_question_is_asked_again() -> None:
    given, shown = await answer("a", "y")
    assert given == Accepted("ask")
    assert shown.count("[y]es") == 2
    assert "auto" not in shown


@pytest.mark.anyio
async def test_who_worked_in_mode_auto_can_go_on_in_it() -> None:
    for said in ("a", "Ａ"):
        given, shown = await answer(said, before="auto")
        assert given == Accepted("auto")
        assert "[a]s before, in mode auto" in shown
    assert (await answer("y", before="auto"))[0] == Accepted("ask")


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_choices_are_not_broken(width: int) -> None:
    choices = [
        "[y] はい",
        "[n] いいえ（Enter）",
        "[a] セッション中は許可",
        "[p] プロジェクトで常に許可",
        "または代わりの指示を入力",
    ]
    rows = ["".join(text for _, text in line) for line in choice_lines(choices, width)]
    assert all(display_width(row) <= width for row in rows)
    for choice in choices:
        assert any(choice in row for row in rows)
