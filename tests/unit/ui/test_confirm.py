"""Questions to a person: what is shown, and what each answer means."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO

import pytest

from localllm.base.events import ConfirmationAnswered, ConfirmationRequested
from localllm.ui.confirm import TerminalConfirmer
from localllm.ui.screen import Screen
from localllm.ui.theme import Line, Theme

pytestmark = pytest.mark.anyio


class Person:
    """Answers from a list; an exception in it is raised as the keyboard would."""

    def __init__(self, *answers: str | type[BaseException]) -> None:
        self.answers = list(answers)
        self.viewed: list[Sequence[Line]] = []
        self.interrupted = 0
        self.on_stage = False
        self.stream = StringIO()
        self.confirmer = TerminalConfirmer(Screen(self.stream, Theme(plain=True)), self, self.interrupt)

    async def reached(self, request_id: str) -> None:
        assert not self.stream.getvalue(), "asked before the screen was ready"

    @contextmanager
    def cleared(self, call_id: str) -> Iterator[None]:
        self.on_stage = True
        yield
        self.on_stage = False

    async def ask(self) -> str:
        assert self.on_stage
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            return answer
        raise answer

    async def view(self, lines: Sequence[Line]) -> None:
        self.viewed.append(lines)

    def interrupt(self) -> None:
        self.interrupted += 1


def request(**changes: str) -> ConfirmationRequested:
    fields = {"request_id": "r", "call_id": "c", "tool": "run_command", "risk": "highest", "summary": "run it"}
    return ConfirmationRequested(**{**fields, "detail": "make test", "detail_kind": "command", **changes})  # type: ignore[arg-type] - str for its literal


async def answer(*answers: str | type[BaseException], **changes: str) -> ConfirmationAnswered:
    return await Person(*answers).confirmer.confirm(request(**changes))


@pytest.mark.parametrize("said", ["y", "Y", "yes", " y ", "ｙ", "はい", "a"])
async def test_yes(said: str) -> None:
    given = await answer(said)
    assert (given.approved, given.by, given.request_id) == (True, "user", "r")


@pytest.mark.parametrize("said", ["", "n", "No", "いいえ", EOFError])
async def test_no(said: str | type[BaseException]) -> None:
    given = await answer(said)
    assert (given.approved, given.by, given.feedback) == (False, "user", "")


async def test_anything_else_is_no_and_goes_to_the_model() -> None:
    given = await answer("yes, but with pytest 日本語")
    assert (given.approved, given.feedback) == (False, "yes, but with pytest 日本語")


async def test_ctrl_c_is_no_and_breaks_off_the_run() -> None:
    person = Person(KeyboardInterrupt)
    assert not (await person.confirmer.confirm(request())).approved
    assert person.interrupted == 1
    assert not person.on_stage


async def test_always_is_for_this_very_command() -> None:
    person = Person("a", "n")
    await person.confirmer.confirm(request())
    again = await person.confirmer.confirm(request())
    assert (again.approved, again.by) == (True, "rule")
    person.stream.truncate(0)
    other = await person.confirmer.confirm(request(detail="make test; rm x"))
    assert not other.approved
    assert person.confirmer.always == ["run_command(make test)"]


async def test_always_is_for_a_whole_other_tool_until_it_is_forgotten() -> None:
    person = Person("a", "n")
    await person.confirmer.confirm(request(tool="edit_file", detail_kind="diff", detail="+a"))
    assert (await person.confirmer.confirm(request(tool="edit_file", detail_kind="diff", detail="+b"))).approved
    person.confirmer.forget()
    person.stream.truncate(0)
    assert not (await person.confirmer.confirm(request(tool="edit_file", detail_kind="diff", detail="+c"))).approved


async def test_what_is_dangerous_is_asked_about_every_time() -> None:
    person = Person("a", "y")
    given = await person.confirmer.confirm(request(risk="dangerous", reason="rm -rf"))
    assert given.approved
    assert person.answers == []
    assert person.confirmer.always == []
    assert "[a]lways" not in person.stream.getvalue()
    assert "“rm -rf”" in person.stream.getvalue()


async def test_the_whole_command_is_shown_and_its_line_ends_are_visible() -> None:
    person = Person("n")
    command = "echo one\r\n" + "x" * 500 + "\n" * 30 + "\x1b[8mrm -rf hidden"
    await person.confirmer.confirm(request(detail=command))
    shown = person.stream.getvalue()
    assert "    $ echo one␍␊\n" in shown
    assert "x" * 500 + "␊\n" in shown
    assert "␛[8mrm -rf hidden" in shown
    assert "more lines" not in shown


async def test_a_long_change_can_be_viewed_whole() -> None:
    person = Person("v", "y")
    diff = "".join(f"+line {number}\n" for number in range(100))
    given = await person.confirmer.confirm(request(tool="write_file", detail_kind="diff", detail=diff))
    assert given.approved
    assert len(person.viewed[0]) == 100
    assert "… 84 more lines" in person.stream.getvalue()
    assert "[v]iew all" in person.stream.getvalue()
