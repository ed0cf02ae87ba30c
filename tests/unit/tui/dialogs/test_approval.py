"""Questions to a person: what is shown, and what each answer means."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO

import msgspec
import pytest

from localllm.base.events import ConfirmationAnswered, ConfirmationRequested
from localllm.tui.dialogs.approval import Escaped, TerminalConfirmer, ask_yes_no
from localllm.tui.render import tool_lines
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Line, Theme

pytestmark = pytest.mark.anyio


KEEPS = "(the answer that is there already)"


class Person:
    """Answers from a list; an exception in it is raised as the keyboard would."""

    def __init__(self, *answers: str | type[BaseException]) -> None:
        self.answers = list(answers)
        self.defaults: list[str] = []
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

    async def ask(self, default: str = "") -> str:
        assert self.on_stage
        self.defaults.append(default)
        answer = self.answers.pop(0)
        if answer == KEEPS:
            return default
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


def lasting(**changes: str) -> ConfirmationRequested:
    asked = request(**{"detail": "make test -x", "scope": "make test -x", **changes})
    return msgspec.structs.replace(asked, lasting=True)


async def answer(*answers: str | type[BaseException], **changes: str) -> ConfirmationAnswered:
    return await Person(*answers).confirmer.confirm(request(**changes))


@pytest.mark.parametrize("said", ["y", "Y", "yes", " y ", "ｙ", "はい"])
async def test_yes(said: str) -> None:
    given = await answer(said)
    assert (given.approved, given.by, given.request_id) == (True, "user", "r")


@pytest.mark.parametrize("said", ["", "n", "No", "いいえ", EOFError])
async def test_no(said: str | type[BaseException]) -> None:
    given = await answer(said)
    assert (given.approved, given.by, given.feedback) == (False, "user", "")


@pytest.mark.parametrize("said", ["/model", "/model qwen3", "／help", "y/model", "/"])
async def test_a_command_is_no_answer_and_does_not_go_to_the_model(said: str) -> None:
    person = Person(said, "y")
    assert (await person.confirmer.confirm(request())).approved
    assert not person.answers


async def test_a_path_first_is_an_instruction() -> None:
    assert (await answer("/tmp/build is the right folder")).feedback == "/tmp/build is the right folder"


async def test_anything_else_is_no_and_goes_to_the_model() -> None:
    given = await answer("yes, but with pytest 日本語")
    assert (given.approved, given.feedback) == (False, "yes, but with pytest 日本語")


async def test_a_single_letter_that_means_nothing_is_asked_about_again() -> None:
    person = Person("e", "ぬ", "y")
    assert (await person.confirmer.confirm(request())).approved
    assert "“e” is none of these." in person.stream.getvalue()


async def test_ctrl_c_is_no_and_breaks_off_the_run() -> None:
    person = Person(KeyboardInterrupt)
    assert not (await person.confirmer.confirm(request())).approved
    assert person.interrupted == 1
    assert not person.on_stage


@pytest.mark.parametrize(
    ("key", "always"), [("a", "session"), ("いつも", "session"), ("p", "project"), ("Ｐ", "project")]
)
async def test_always_is_for_this_very_command_unless_the_person_shortens_it(key: str, always: str) -> None:
    person = Person(key, KEEPS)
    given = await person.confirmer.confirm(lasting())
    assert (given.approved, given.by, given.always, given.scope) == (True, "user", always, "make test -x")
    assert person.defaults == ["", "make test -x"]
    assert "exactly as written: run_command(make test -x)" in person.stream.getvalue()


async def test_a_beginning_of_the_command_may_be_left() -> None:
    person = Person("p", "make test")
    given = await person.confirmer.confirm(lasting())
    assert (given.always, given.scope) == ("project", "make test")
    assert "Allowed from now on: run_command(make test)" in person.stream.getvalue()


@pytest.mark.parametrize("other", ["make tes", "make -x", "ls", "make test; ls", "make *"])
async def test_what_would_not_allow_the_command_is_asked_for_again(other: str) -> None:
    person = Person("a", other, "make")
    assert (await person.confirmer.confirm(lasting())).scope == "make"
    assert "would not allow this command" in person.stream.getvalue()


@pytest.mark.parametrize("breaks_off", [KeyboardInterrupt, EOFError])
async def test_breaking_off_there_is_no(breaks_off: type[BaseException]) -> None:
    assert not (await Person("a", breaks_off).confirmer.confirm(lasting())).approved


@pytest.mark.parametrize("back", [Escaped, ""])
@pytest.mark.parametrize("kind", ["command", "diff"])
async def test_esc_or_an_empty_line_there_leads_back_to_the_question(
    back: str | type[BaseException], kind: str
) -> None:
    person = Person("a", back, "y")
    given = await person.confirmer.confirm(lasting(detail_kind=kind))
    assert (given.approved, given.always) == (True, "")
    assert person.interrupted == 0
    assert "Esc goes back." in person.stream.getvalue()
    assert "would not allow" not in person.stream.getvalue()


async def test_esc_there_leads_back_to_the_question() -> None:
    person = Person("a", Escaped, "y")
    given = await person.confirmer.confirm(lasting())
    assert (given.approved, given.always) == (True, "")
    assert person.interrupted == 0


async def test_esc_at_the_question_itself_breaks_off_the_run() -> None:
    person = Person(Escaped)
    assert not (await person.confirmer.confirm(lasting())).approved
    assert person.interrupted == 1


async def test_a_command_of_several_lines_holds_as_it_is() -> None:
    command = "make test\nls"
    given = await Person("a").confirmer.confirm(lasting(detail=command, scope=command))
    assert (given.always, given.scope) == ("session", command)


async def test_what_has_no_folder_is_allowed_as_a_tool() -> None:
    person = Person("p")
    given = await person.confirmer.confirm(lasting(tool="git_commit", detail_kind="text", scope=""))
    assert (given.always, given.scope) == ("project", "")
    assert "Allowed from now on: git_commit" in person.stream.getvalue()


@pytest.mark.parametrize(("left", "scope"), [(KEEPS, "docs/api/"), ("docs", "docs"), (".", ".")])
async def test_an_edit_is_allowed_in_a_folder(left: str, scope: str) -> None:
    person = Person("a", "src", left)
    given = await person.confirmer.confirm(
        lasting(tool="edit_file", detail_kind="diff", detail="+a", scope="docs/api/")
    )
    assert (given.always, given.scope) == ("session", scope)
    assert "is not in there" in person.stream.getvalue()


@pytest.mark.parametrize(
    ("left", "scope"), [(KEEPS, "https://a.example"), ("https://a.example/docs", "https://a.example/docs")]
)
async def test_an_address_is_shown_whole_and_allowed_by_its_host(left: str, scope: str) -> None:
    person = Person("a", "https://a.example.evil", left)
    url = "https://a.example/?k=" + "x" * 300
    asked = lasting(tool="fetch_page", detail_kind="text", detail=url, scope="https://a.example")
    given = await person.confirmer.confirm(msgspec.structs.replace(asked, needs_person=True))
    assert (given.always, given.scope) == ("session", scope)
    rows = person.stream.getvalue().splitlines()
    begin = next(number for number, row in enumerate(rows) if "https://a.example/?k=" in row)
    assert "".join(row.removeprefix("    ") for row in rows[begin:] if row.startswith("    ")).startswith(url)


async def test_what_is_dangerous_is_asked_about_every_time() -> None:
    person = Person("a", "p", "y")
    given = await person.confirmer.confirm(request(risk="dangerous", reason="rm -rf"))
    assert (given.approved, given.always) == (True, "")
    assert person.answers == []
    assert "[a]lways" not in person.stream.getvalue()
    assert "“rm -rf”" in person.stream.getvalue()


@pytest.mark.parametrize("risk", ["safe", "medium", "high", "highest", "dangerous"])
async def test_the_risk_is_named_only_where_it_is_above_that_of_a_change_that_can_be_undone(risk: str) -> None:
    person = Person("n")
    await person.confirmer.confirm(request(risk=risk))
    assert (f"run it (risk: {risk})" in person.stream.getvalue()) == (risk in ("highest", "dangerous"))
    assert ("risk" in person.stream.getvalue()) == (risk in ("highest", "dangerous"))


@pytest.mark.parametrize("long", ["summary", "reason", "path"])
async def test_no_long_path_passes_for_the_question_or_hides_what_is_done(long: str) -> None:
    name = "/".join(["-" * 74, "Write README.md (risk: safe)", "-" * 74] * 8)
    name = f"src/{name}/run.py".replace("/", " ")
    diff = f"--- /dev/null\n+++ b/{name if long == 'path' else 'x'}\n@@ -0,0 +1 @@\n+import evil\n"
    head = {long: f"Begin {name} end"} if long != "path" else {}
    person = Person("v", "n")
    await person.confirmer.confirm(request(**head, detail=diff, detail_kind="diff"))
    shown = person.stream.getvalue()
    rows = shown.splitlines()
    assert not [row for row in rows if row.startswith("  Write README")]
    assert "import evil" in shown
    assert "run.py" in shown
    assert "[v]iew all" in shown
    assert len(rows) < 24
    viewed = "".join(text.strip() for ((_, text), *more) in person.viewed[0] for _, text in [("", text), *more])
    assert viewed.count("Write README.md (risk: safe)") == 8


async def test_the_whole_command_is_shown_and_its_line_ends_are_visible() -> None:
    person = Person("n")
    command = "echo one\r\n" + "x" * 500 + "\n" * 30 + "\x1b[8mrm -rf hidden"
    await person.confirmer.confirm(request(detail=command))
    shown = person.stream.getvalue()
    assert "    $ echo one␍␊\n" in shown
    assert "x" * 500 + "␊" in shown.replace("\n      ", "")
    assert all(line.startswith("  ") for line in shown.splitlines() if line)  # nothing at the question's own depth
    assert "␛[8mrm -rf hidden" in shown
    assert "more lines" not in shown


async def shown(**changes: str) -> str:
    person = Person("n")
    await person.confirmer.confirm(request(**changes))
    return person.stream.getvalue()


BLANKS = [" ", "\t", "\u3000", "\u00a0", "\u2003", "\u2800", "\u115f", "\u3164", "\uffa0", " \u3000", "\n", " \n\t\n"]


@pytest.mark.parametrize("blank", BLANKS)
async def test_nothing_scrolls_away_behind_blanks(blank: str) -> None:
    """However the blanks are made, the whole question fits on a screen, and what they hid is in it."""
    long = blank * 5_000
    said = await shown(detail=f"true;{long}rm hidden;{long}true")
    assert "rm hidden" in said
    assert len(said.splitlines()) < 10
    assert not any(line.isspace() for line in said.splitlines())


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("make  test", "make  test"),
        ("x = 1" + " " * 16 + "# why", "x = 1" + " " * 16 + "# why"),
        ("a" + " " * 37 + "b", "a<␣×37>b"),
        ("make ", "make␣"),
        ("a\u00a0b\u2800\u2800c", "a<U+00A0>b<U+2800×2>c"),
        ("echo こんにちは\u3000世界", "echo こんにちは\u3000世界"),
        ("a" + "\u3000" * 9 + "b", "a<U+3000×9>b"),
        ("a" + " " * 20 + "\u3000" * 2 + "b", "a<␣×20><U+3000×2>b"),
        ("a\n\n\nb", "a␊\n      ␊\n      ␊\n      b"),
        ("a" + "\n" * 9 + "b", "a␊\n      ␊×8\n      b"),
        ("for x in 1; do\n    " + "  " * 8 + "echo", "for x in 1; do␊\n          " + "  " * 8 + "echo"),
    ],
)
async def test_blanks_of_a_command(line: str, seen: str) -> None:
    assert f"    $ {seen}\n" in await shown(detail=line)


async def test_blanks_of_a_change() -> None:
    rows = [
        " def f():",
        "-        return  1",
        "+" + " " * 24 + "return 1  ",
        "+x" + " " * 90 + "; import evil",
        " ",
        "+\u3000全角",
    ]
    said = await shown(tool="edit_file", detail_kind="diff", detail="\n".join(rows) + "\n", summary="Edit a" + " " * 99)
    for row in (
        " def f():",
        "-        return  1",
        "+" + " " * 24 + "return 1<␣×2>",
        "+x<␣×90>; import evil",
        " ",
        "+\u3000全角",
    ):
        assert f"    {row}\n" in said
    assert "Edit a<␣×99>" in said


async def test_a_long_change_can_be_viewed_whole() -> None:
    person = Person("v", "y")
    diff = "".join(f"+line {number}\n" for number in range(100))
    given = await person.confirmer.confirm(request(tool="write_file", detail_kind="diff", detail=diff))
    assert given.approved
    assert len(person.viewed[0]) == 100
    assert "… 84 more lines" in person.stream.getvalue()
    assert "[v]iew all" in person.stream.getvalue()


@pytest.mark.parametrize(("kind", "depth"), [("diff", 5), ("text", 4)])
async def test_a_long_line_passes_for_no_other_line_and_hides_none_above(kind: str, depth: int) -> None:
    """What it goes on with stands no further left than it began, and counts as lines of the screen."""
    person = Person("n")
    detail = "+evil " + "·" * 5_000 + " Edit notes.txt"
    await person.confirmer.confirm(request(tool="write_file", detail_kind=kind, detail=detail))
    shown = person.stream.getvalue()
    assert all(line[:depth].isspace() for line in shown.splitlines() if "·" in line and "evil" not in line)
    assert len(shown.splitlines()) < 24
    assert "[v]iew all" in shown


async def test_rows_leave_the_pager_room_for_its_scroll_bar() -> None:
    """A wider one would go on at its left edge, where only lines of the question begin."""
    person = Person("v", "n")
    name = "Write " + "a" * 1_000
    await person.confirmer.confirm(request(tool="write_file", detail_kind="diff", summary=name, detail="+" + "x" * 500))
    room = Screen(StringIO(), Theme(plain=True)).width - 2
    assert max(sum(len(text) for _, text in line) for line in person.viewed[0]) == room


async def test_plain_text_is_folded_without_a_look_at_each_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes a second for a million of them, in which no key is read and no signal heard."""
    monkeypatch.delattr(tool_lines, "clusters")
    person = Person("v", "n")
    detail = "+" + "x" * 1_000_000 + "\n+日本語"
    await person.confirmer.confirm(request(tool="write_file", detail_kind="diff", detail=detail))
    assert "".join(line[1][1] for line in person.viewed[0]) == "x" * 1_000_000 + "日本語"


async def test_of_a_command_longer_than_the_screen_it_is_said_that_it_begins_above() -> None:
    assert "begins further up" in await shown(detail="true " + "·" * 5_000)
    assert "begins further up" not in await shown(detail="true " + "·" * 500)


@pytest.mark.parametrize(
    ("answers", "means"),
    [
        (("y",), True),
        (("はい",), True),
        (("",), False),
        (("n",), False),
        ((KeyboardInterrupt,), False),
        ((EOFError,), False),
        (("what?", "a", "y"), True),
    ],
)
async def test_yes_or_no(answers: tuple[str | type[BaseException], ...], means: bool) -> None:
    person = Person(*answers)
    assert await ask_yes_no("Undo it?", Screen(person.stream, Theme(plain=True)), person) is means
    assert not person.answers
    assert "Undo it?" in person.stream.getvalue()
