"""A line the person typed: a request, a command, an alias; and breaking off whatever is going on."""

import asyncio
from collections.abc import AsyncGenerator
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Literal, Self

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.base.events import AgentEvent, Notice, RunFinished, Usage
from localllm.base.i18n import set_language
from localllm.config.loader import Loaded
from localllm.config.reader import Origin
from localllm.config.schema import CommandSettings, Mode, Settings
from localllm.llm.server_summary import Introduction
from localllm.tui.chat_loop import Talk
from localllm.tui.commands.registry import Leave
from localllm.tui.dialogs.plan import Accepted, Answered, PlanAnswer
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme
from tests.support.forgetful import Forgetful

pytestmark = pytest.mark.anyio


class Program:
    """A chat whose requests never end by themselves, unless they are about nothing."""

    root = Path("/project")
    session_id, provider_name, provider_address, model, sandbox_level = "s", "p", "http://x", "m", "landlock"
    settings = Settings(
        commands=CommandSettings(
            aliases={"look": "Look at", "check": "Check", "test": "Test $ARGUMENTS twice", "exit": "x"}
        )
    )
    config = Loaded(
        settings=settings,
        origins={f"commands.aliases.{name}": Origin("project", "localllm.toml") for name in ("check", "test")},
    )
    usage = Usage()
    context_window, context_used, assumes_window = 8192, 0, False
    stand_in = None
    mode: Mode = "ask"
    memory = Forgetful()

    def __init__(self, *, obeys: bool = True) -> None:
        self.queries: list[str] = []
        self.typed: list[str | None] = []
        self.answers: dict[str, tuple[Literal["done", "limit", "error"], str]] = {}
        self.error_code, self.steps = "", 1
        self.interrupts = 0
        self.offered: list[tuple[str, str, int]] = []
        self.keeping = SimpleNamespace(
            welcome=["Going on."], stood=("Fix it", "It is fixed."), known=[], broken_off=lambda: ""
        )
        self._obeys = obeys
        self._stop = asyncio.Event()

    async def run(self, query: str, *, typed: str | None = None) -> AsyncGenerator[AgentEvent]:
        self.queries.append(query)
        self.typed.append(typed)
        yield Notice(text="begun")
        if query in self.answers:
            status, answer = self.answers[query]
            yield RunFinished(status=status, answer=answer, error_code=self.error_code, steps=self.steps)
            return
        if query != "nothing":
            await self._stop.wait()
        yield RunFinished(status="interrupted", answer="")

    def interrupt(self) -> None:
        self.interrupts += 1
        if self._obeys:
            self._stop.set()

    async def look_for_servers(self) -> list[object]:
        await asyncio.Event().wait()
        return []

    def introduction(self) -> Introduction:
        return Introduction(who="p · http://x · m", hint="There are others.", failure="It is locked.")

    async def use_model(self, name: str) -> None:
        self.model = name

    def tools(self) -> list[object]:
        return []

    def rules(self) -> list[object]:
        return []

    def set_mode(self, mode: Mode) -> None:
        self.mode = mode

    @property
    def changes(self) -> Self:
        return self

    def undo(self, *, turn: bool = False) -> list[str]:
        raise ToolExecutionError("undo_busy")

    def earlier(self, *, turn: bool = False) -> list[str]:
        return []

    def clear(self) -> None: ...

    def offer(self, command: str, output: str, return_code: int) -> None:
        self.offered.append((command, output, return_code))

    def notices(self) -> list[str]:
        return ["Look out."]


class Said:
    """A talk with a program, and what is on the screen."""

    def __init__(self, *, obeys: bool = True, is_attended: bool = True, plans: list[PlanAnswer] | None = None) -> None:
        self.program = Program(obeys=obeys)
        self.plans = plans or []
        self.stream = StringIO()
        self.statuses: list[str] = []
        screen = Screen(self.stream, Theme(plain=True))
        self.talk = Talk(
            self.program,  # type: ignore[arg-type] - no tools in it
            screen,
            self.consume,
            is_attended=is_attended,
            decide_plan=self.decide,
            typed=lambda text: text.replace("(pasted)", ""),
        )

    async def consume(self, events: AsyncGenerator[AgentEvent]) -> RunFinished | None:
        finished = None
        async for event in events:
            self.statuses.append(getattr(event, "status", "begun"))
            finished = event if isinstance(event, RunFinished) else None
        return finished

    async def decide(self, before: Mode) -> PlanAnswer:
        self.before = before
        return self.plans.pop(0)

    async def begin(self, line: str) -> asyncio.Task[object]:
        task: asyncio.Task[object] = asyncio.create_task(self.talk.take(line))
        for _ in range(5):
            await asyncio.sleep(0)
        return task


@pytest.mark.parametrize(
    ("language", "greeting"),
    [("en", "Ctrl+D leaves. It reads this project, asks"), ("ja", "Ctrl+D で終了。このプロジェクト")],
)
def test_the_first_greeting_says_what_this_is(language: str, greeting: str) -> None:
    set_language(language)
    try:
        said = Said()
        said.talk.greet(named=True, first=True)
        assert greeting in said.stream.getvalue().replace("\n", " ")
    finally:
        set_language("en")


async def test_a_request() -> None:
    said = Said()
    assert await said.talk.take("nothing") is None
    assert said.statuses == ["begun", "interrupted"]


@pytest.mark.parametrize(
    ("line", "query"), [("/look  src/a.py\nnow", "Look at src/a.py\nnow"), ("/usr/bin/x is odd", "/usr/bin/x is odd")]
)
async def test_what_is_asked_for(line: str, query: str) -> None:
    said = Said()
    task = await said.begin(line)
    assert said.program.queries == [query]
    said.talk.interrupt()
    await task


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("/check", ""),
        ("/check  src/a.py ", "src/a.py"),
        ("/test @a.py ", "@a.py"),
        ("/test", ""),
        ("/look @a.py", None),
        ("/test @a.py (pasted)", "@a.py "),
        ("/look (pasted)", "Look at "),
        ("look at (pasted), please", "look at , please"),
        ("(pasted)", ""),
    ],
)
async def test_of_pasted_text_and_of_a_projects_alias_only_the_rest_is_typed(line: str, typed: str | None) -> None:
    said = Said()
    task = await said.begin(line)
    assert said.program.typed == [typed]
    said.talk.interrupt()
    await task


async def test_a_fault_in_a_command_is_shown_and_the_talk_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def undo(*, turn: bool) -> list[str]:
        raise ZeroDivisionError(turn)

    said = Said()
    monkeypatch.setattr(said.program, "undo", undo)
    assert await said.talk.take("/undo") is None
    assert not said.talk.went_well
    assert "E1090" in said.stream.getvalue()
    assert "ZeroDivisionError" in said.stream.getvalue()
    said.program.answers["go on"] = ("done", "Done.")
    await said.talk.take("go on")
    assert said.talk.went_well


async def test_a_command_of_the_persons_own_is_shown_and_offered(tmp_path: Path) -> None:
    said = Said()
    said.program.root = tmp_path
    await said.talk.take("! printf '\\033[2Jout\\n'; exit 2")
    assert said.program.offered == [("printf '\\033[2Jout\\n'; exit 2", "\x1b[2Jout\n", 2)]
    assert "\x1b" not in said.stream.getvalue()
    assert "␛" not in said.stream.getvalue()
    assert said.stream.getvalue().endswith("out\n  exit 2; the model reads this with your next request\n")
    assert said.program.queries == []


async def test_what_a_command_printed_until_it_was_interrupted_is_offered(tmp_path: Path) -> None:
    said = Said()
    said.program.root = tmp_path
    task = await said.begin("!echo out; touch ready; sleep 60")
    while not (tmp_path / "ready").exists() or "out" not in said.stream.getvalue():
        await asyncio.sleep(0.01)
    said.talk.interrupt()
    await task
    assert said.program.offered == [("echo out; touch ready; sleep 60", "out", 130)]


async def test_of_a_program_that_would_wait_for_the_keyboard_it_says_so_first(tmp_path: Path) -> None:
    said = Said()
    said.program.root = tmp_path
    await said.talk.take("!PATH=; vim notes.txt")
    assert said.stream.getvalue().startswith(
        "! vim gets no keyboard input here and may not end by itself: Ctrl+C stops it.\n"
    )


async def test_lines_that_nobody_types_run_nothing(tmp_path: Path) -> None:
    said = Said(is_attended=False)
    said.program.root = tmp_path
    task = await said.begin("!touch made")
    assert said.program.queries == ["!touch made"]
    said.talk.interrupt()
    await task
    assert not (tmp_path / "made").exists()


async def test_a_command_that_leaves_although_an_alias_is_called_so() -> None:
    assert isinstance(await Said().talk.take(" /exit "), Leave)


async def test_an_unknown_command() -> None:
    said = Said()
    await said.talk.take("/loook")
    assert said.stream.getvalue() == "  There is no command /loook.\n  Did you mean /look?\n"


async def test_an_unknown_command_near_to_two() -> None:
    said = Said()
    await said.talk.take("/modle")
    assert said.stream.getvalue().endswith("  Did you mean /mode or /model?\n")
    await said.talk.take("/modell")
    assert said.stream.getvalue().endswith("  Did you mean /model?\n"), "not its plural, /models"


async def test_an_error_is_shown_and_the_talk_goes_on() -> None:
    said = Said()
    assert await said.talk.take("/undo") is None
    assert "✗ E8075" in said.stream.getvalue()


async def test_an_interrupt_lets_a_run_end_in_good_order() -> None:
    said = Said()
    task = await said.begin("long")
    said.talk.interrupt()
    await task
    assert said.statuses == ["begun", "interrupted"]
    assert said.stream.getvalue() == ""


async def test_the_second_interrupt_does_not_ask() -> None:
    said = Said(obeys=False)
    task = await said.begin("long")
    said.talk.interrupt()
    await asyncio.sleep(0)
    assert not task.done()
    said.talk.interrupt()
    assert await task is None
    assert said.stream.getvalue() == "! Interrupted.\n"
    assert said.program.interrupts == 1


async def test_a_command_that_waits_can_be_interrupted() -> None:
    said = Said()
    task = await said.begin("/models")
    said.talk.interrupt()
    assert await task is None
    assert said.program.interrupts == 0


async def test_an_interrupt_while_nothing_goes_on_is_nothing() -> None:
    said = Said()
    said.talk.interrupt()
    await said.talk.take("nothing")
    assert said.statuses == ["begun", "interrupted"]


async def test_the_beginning() -> None:
    said = Said()
    said.talk.greet(named=False)
    said.talk.warn(Screen(said.stream, Theme(plain=True)))
    said.talk.introduce(Screen(said.stream, Theme(plain=True)))
    shown = said.stream.getvalue()
    assert "  p · http://x · m\n  There are others.\n! It is locked.\n" in shown
    assert "contacts only" not in shown
    assert "! Look out." in shown
    assert "! Going on.\n› Fix it\n  It is fixed.\n" in shown
    assert "The alias “exit” is not used" in shown


async def test_a_session_that_was_broken_off_is_told_before_the_tasks() -> None:
    said = Said()
    assert said.talk.reminder() == []
    said.program.keeping.broken_off = lambda: "Fix\nthe \x07" + "discount " * 20
    (first, *rest) = said.talk.reminder()
    assert first[0][1].startswith("! The last session was interrupted (“Fix the ␇discount")
    assert "/resume 1" in "".join(text for line in rest for _, text in line)


async def test_somebody_new_is_told_a_little_more() -> None:
    said = Said()
    said.talk.greet(named=True, first=True)
    shown = said.stream.getvalue()
    assert "contacts only the model server" in " ".join(shown.split())
    assert "localllm 0" not in shown


PLAN = "1. Fix a.py\n2. Run the tests"
ACCEPTED = "The plan is accepted. Carry it out step by step and check the result."


async def test_a_plan_that_is_accepted_is_carried_out_in_the_mode_that_was_chosen() -> None:
    said = Said(plans=[Answered("smaller"), Accepted("auto-edit")])
    said.program.answers = {"fix it": ("done", PLAN), "smaller": ("done", PLAN), ACCEPTED: ("done", PLAN)}
    await said.talk.take("/plan fix it")
    assert said.program.queries == ["fix it", "smaller", ACCEPTED]
    assert said.program.mode == "auto-edit"
    assert f"→ {ACCEPTED}" in said.stream.getvalue()
    assert said.talk.went_well


async def test_the_mode_in_which_the_user_worked_before_the_plan_is_known() -> None:
    said = Said(plans=[None, None, Accepted("auto"), None])
    said.program.answers = {"fix it": ("done", PLAN), ACCEPTED: ("done", "Done."), "go on": ("done", PLAN)}
    said.program.mode = "auto"
    await said.talk.take("/plan fix it")
    assert (said.before, said.program.mode) == ("auto", "plan")
    await said.talk.take("go on")
    assert said.before == "auto"
    await said.talk.take("go on")
    assert said.program.mode == "auto"
    said.program.mode = "ask"
    await said.talk.take("nothing")
    said.program.mode = "plan"  # as Shift+Tab does, past auto
    await said.talk.take("go on")
    assert said.before == "ask"


async def test_a_plan_that_is_left_leaves_plan_mode_on() -> None:
    said = Said(plans=[None])
    said.program.answers = {"fix it": ("done", PLAN)}
    await said.talk.take("/plan fix it")
    assert said.program.queries == ["fix it"]
    assert said.program.mode == "plan"


async def test_what_is_said_to_a_plan_may_be_a_command() -> None:
    said = Said(plans=[Answered("/mode ask")])
    said.program.answers = {"fix it": ("done", PLAN)}
    await said.talk.take("/plan fix it")
    assert said.program.queries == ["fix it"]
    assert said.program.mode == "ask"


@pytest.mark.parametrize(
    ("mode", "status", "answer"),
    [
        ("plan", "limit", PLAN),
        ("plan", "error", ""),
        ("plan", "done", "Which file?"),
        ("ask", "done", PLAN),
        ("auto", "done", PLAN),
    ],
)
async def test_nothing_is_asked_where_there_is_no_plan_to_accept(
    mode: Mode, status: Literal["done", "limit", "error"], answer: str
) -> None:
    said = Said(plans=[])
    said.program.mode = mode
    said.program.answers = {"go": (status, answer)}
    await said.talk.take("go")
    assert said.program.queries == ["go"]
    assert said.talk.went_well == (status == "done")


async def test_plan_mode_alone() -> None:
    said = Said()
    await said.talk.take("/plan")
    assert said.program.mode == "plan"
    assert "Plan mode" in said.stream.getvalue()
    assert said.program.queries == []


async def test_a_line_that_fails_is_told_from_one_that_does_not() -> None:
    said = Said()
    await said.talk.take("/undo")
    assert not said.talk.went_well
    await said.talk.take("/tools")
    assert said.talk.went_well
    task = await said.begin("long")
    said.talk.interrupt()
    await task
    assert not said.talk.went_well


async def test_a_request_that_no_model_could_read_is_given_back_once() -> None:
    for code, steps, given_back in (("E2005", 1, "Fix it"), ("E2005", 2, ""), ("E2001", 1, "")):
        said = Said()
        said.program.answers["Fix it"] = ("error", "")
        said.program.error_code, said.program.steps = code, steps
        await said.talk.take("Fix it")
        assert said.talk.take_unanswered() == given_back
        assert said.talk.take_unanswered() == ""
