"""A run's events on a screen, on a terminal and plainly."""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable
from io import StringIO

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.base.events import (
    BROKEN_OFF,
    AgentEvent,
    CommandOutput,
    ConfirmationRequested,
    Consulting,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    Steered,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    Usage,
)
from localllm.tui.render.events import Renderer
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Line, Theme
from tests.support.vt import Tty, Vt

pytestmark = pytest.mark.anyio

STARTED = RunStarted(session_id="s", query="q", provider="p", model="m")
DONE = RunFinished(status="done", answer="", steps=1, usage=Usage(prompt_tokens=1000, completion_tokens=20))
CALL = ToolStarted(call_id="c1", name="read_file", arguments={"file_path": "a.py"})
RESULT = ToolFinished(call_id="c1", name="read_file", success=True, summary="3 lines", payload={})
QUESTION = ConfirmationRequested(request_id="r", call_id="c1", tool="t", risk="high", summary="s", detail="d")


class Clock:
    """Time that goes on only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Shown:
    """A renderer on a terminal of 80 columns."""

    def __init__(self, *, plain: bool = False, typed: str = "") -> None:
        self.stream = StringIO() if plain else Tty()
        self.clock = Clock()
        self.typed = typed

        def below(_width: int) -> list[Line]:
            return [(("", f"› {self.typed}"),)] if self.typed else []

        self.renderer = Renderer(Screen(self.stream, Theme(plain=plain)), below=below, clock=self.clock)

    def handle(self, *events: AgentEvent) -> str:
        for event in events:
            self.renderer.handle(event)
        return self.text()

    def text(self) -> str:
        terminal = Vt(80)
        terminal.feed(self.stream.getvalue())
        return terminal.text()


RUNS = ToolStarted(call_id="c1", name="run_command", arguments={"command": "make test"})
RAN = ToolFinished(call_id="c1", name="run_command", success=True, summary="exit 0, 9.0 s", payload={})


async def stream(events: Iterable[AgentEvent]) -> AsyncGenerator[AgentEvent]:
    for event in events:
        yield event


def text(*pieces: str) -> list[AgentEvent]:
    return [*(TextDelta(text=piece) for piece in pieces), MessageCompleted(text="".join(pieces))]


async def test_a_run() -> None:
    shown = Shown()
    events = [STARTED, *text("I loo", "k.\n"), CALL, RESULT, *text("# Found\n\n- **one**\n- two"), DONE]
    await shown.renderer.consume(stream(events))
    assert shown.text().splitlines() == [
        "",
        "I look.",
        "",
        "● read_file a.py",
        "  ✓ 3 lines",
        "",
        "Found",
        "",
        " • one",
        " • two",
        "",
        "  steps 1 · in 1,000 · out 20 tokens",
    ]


async def test_the_same_run_plainly() -> None:
    shown = Shown(plain=True)
    events = [STARTED, *text("I loo", "k.\n"), CALL, RESULT, *text("# Found\n\n- **one**\n- two"), DONE]
    await shown.renderer.consume(stream(events))
    assert "\x1b" not in shown.stream.getvalue()
    assert shown.stream.getvalue() == (
        "\nI look.\n\n● read_file a.py\n  ✓ 3 lines\n\n# Found\n\n- **one**\n- two\n\n"
        "  steps 1 · in 1,000 · out 20 tokens\n"
    )


def test_the_output_of_a_command_stands_there_while_it_runs() -> None:
    shown = Shown()
    shown.handle(STARTED, RUNS, CommandOutput(lines=("\tone", "two \u202e\x07" + "日" * 50)))
    shown.renderer.paint()
    assert shown.text().splitlines()[-3:] == [
        "  │         one",
        "  │ two <U+202E>␇" + "日" * 31 + "…",
        "  run_command is running, 0.0 s (Ctrl+C stops)",
    ]
    shown.handle(CommandOutput(lines=("three",)))
    shown.renderer.paint()
    assert shown.text().splitlines()[-2].endswith("│ three")
    assert "two" not in shown.text()
    shown.handle(RAN)
    shown.renderer.paint()
    assert "│" not in shown.text()
    assert shown.text().splitlines()[-2:] == ["  ✓ exit 0, 9.0 s", "  waiting for the model, 0.0 s (Ctrl+C stops)"]


def test_the_members_that_are_asked_are_named_while_they_are() -> None:
    shown = Shown()
    shown.handle(STARTED, Consulting(roles=("conservative", "judge")))
    shown.renderer.paint()
    assert shown.text().splitlines()[-1] == "  asking: conservative, judge, 0.0 s (Ctrl+C stops)"
    shown.handle(Consulting(roles=()))
    shown.renderer.paint()
    assert shown.text().splitlines()[-1] == "  waiting for the model, 0.0 s (Ctrl+C stops)"


def test_the_output_of_a_command_leaves_room_on_a_low_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(typed="mine")
    monkeypatch.setattr(Screen, "size", lambda _: os.terminal_size((80, 6)))
    shown.handle(STARTED, RUNS, CommandOutput(lines=("one", "two", "three")))
    shown.renderer.paint()
    assert shown.text().splitlines()[-4:-2] == ["  │ two", "  │ three"]


def test_a_plain_screen_shows_no_output_before_the_end() -> None:
    shown = Shown(plain=True)
    before = shown.handle(STARTED, RUNS)
    assert shown.handle(CommandOutput(lines=("one",))) == before


def test_what_stands_for_a_repetition_in_the_conversation_is_not_shown() -> None:
    shown = Shown()
    events = [STARTED, ThinkingDelta(text="Hm. "), MessageCompleted(text=BROKEN_OFF, thinking="Hm."), DONE]
    assert "broken off" not in shown.handle(*events)


def test_the_first_piece_is_shown_at_once() -> None:
    shown = Shown()
    shown.handle(STARTED)
    assert "waiting for the model" in shown.text()
    assert shown.handle(TextDelta(text="Hel")).endswith("Hel")


def test_repaints_are_few_however_many_pieces_come() -> None:
    shown = Shown()
    shown.handle(STARTED, TextDelta(text="a"))
    before = len(shown.stream.getvalue())
    shown.handle(*[TextDelta(text="b")] * 70)
    assert len(shown.stream.getvalue()) == before
    shown.clock.now += 0.04
    assert shown.handle(TextDelta(text="c")).endswith("a" + "b" * 70 + "c")


def test_a_finished_block_is_never_drawn_again() -> None:
    shown = Shown()
    shown.handle(STARTED, TextDelta(text="First.\n\nSec"))
    before = len(shown.stream.getvalue())
    shown.clock.now += 1
    shown.handle(TextDelta(text="ond"))
    assert "Second" in shown.text()
    assert "First" not in shown.stream.getvalue()[before:]


def test_thinking_is_one_line_and_collapses() -> None:
    shown = Shown()
    shown.handle(STARTED)
    shown.clock.now += 3
    live = shown.handle(ThinkingDelta(text="First I look\nat the file " * 20))
    assert "thinking, 0.0 s, 500 characters" in live
    assert len(live.splitlines()) == 1
    shown.clock.now += 2
    assert shown.handle(TextDelta(text="Hi")).splitlines()[1:] == ["  thought for 2.0 s (500 characters)", "", "Hi"]


def test_thinking_in_the_middle_of_an_answer() -> None:
    shown = Shown()
    shown.handle(STARTED, TextDelta(text="One."), ThinkingDelta(text="hm"), TextDelta(text="Two."))
    assert [line for line in shown.text().splitlines() if line] == [
        "One.",
        "  thought for 0.0 s (2 characters)",
        "Two.",
    ]


def test_a_silence_in_the_middle_of_an_answer_is_told() -> None:
    shown = Shown()
    shown.handle(STARTED, TextDelta(text="So"))
    assert "waiting" not in shown.text()
    shown.clock.now += 5
    shown.renderer.paint()
    assert "waiting for the model, 5.0 s" in shown.text()


def test_an_answer_that_does_not_stream_is_shown() -> None:
    assert "Whole." in Shown().handle(STARTED, MessageCompleted(text="Whole."))


def test_an_answer_is_not_shown_twice() -> None:
    answer = "The answer."
    shown = Shown().handle(STARTED, *text(answer), RunFinished(status="done", answer=answer))
    assert shown.count(answer) == 1


def test_what_is_added_to_the_answer_at_the_end_is_shown() -> None:
    shown = Shown().handle(STARTED, *text("Said."), RunFinished(status="refused", answer="Said.\n\nNot done: x."))
    assert shown.count("Said.") == 1
    assert "Not done: x." in shown


def test_a_notice_in_the_middle_of_an_answer() -> None:
    shown = Shown().handle(STARTED, TextDelta(text="One "), Notice(text="again", level="warning"), *text("Two"), DONE)
    assert [line for line in shown.splitlines() if line][:3] == ["One", "! again", "Two"]


def test_an_outcome_that_comes_late_names_its_tool() -> None:
    other = ToolStarted(call_id="c2", name="list_files", arguments={})
    assert "  ✓ read_file: 3 lines" in Shown().handle(STARTED, CALL, other, RESULT)


def test_an_error_at_the_end() -> None:
    failed = RunFinished(status="error", answer="", error_code="E2001", error="No server.\nIt is off.\nStart it.")
    lines = Shown().handle(STARTED, failed).splitlines()
    assert lines[1:4] == ["✗ E2001 No server.", "  It is off.", "→ Start it."]


@pytest.mark.parametrize("status", ["limit", "stuck", "refused", "interrupted"])
def test_every_other_end_is_told(status: str) -> None:
    finished = RunFinished(status=status, answer="")  # type: ignore[arg-type] - one of the statuses
    assert Shown().handle(STARTED, finished).splitlines()[1].startswith("! ")


async def test_an_error_that_is_raised_is_shown() -> None:
    async def failing() -> AsyncGenerator[AgentEvent]:
        yield STARTED
        raise LLMConnectionError("llm_model_not_found", url="u", model="m", reason="", available="n")

    shown = Shown()
    await shown.renderer.consume(failing())
    assert "✗ E2" in shown.text()


async def test_the_events_are_closed_when_the_task_is_cancelled() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncGenerator[AgentEvent]:
        try:
            yield STARTED
            await asyncio.Event().wait()
        finally:
            closed.set()

    task = asyncio.create_task(Shown().renderer.consume(endless()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed.is_set()


async def test_a_question_waits_for_what_came_before_it() -> None:
    shown = Shown()
    waiting = asyncio.create_task(shown.renderer.reached("r"))
    await asyncio.sleep(0)
    shown.handle(STARTED, CALL)
    assert not waiting.done()
    shown.handle(QUESTION)
    await asyncio.wait_for(waiting, 5)
    await asyncio.wait_for(shown.renderer.reached("r"), 5)


def test_while_suspended_nothing_is_written() -> None:
    shown = Shown(typed="typed")
    shown.handle(STARTED, CALL, QUESTION)
    shown.renderer.suspend()
    before = shown.stream.getvalue()
    shown.clock.now += 1
    shown.handle(Notice(text="later"))
    shown.renderer.paint()
    assert shown.stream.getvalue() == before
    shown.renderer.resume()
    assert "! later" in shown.text()


def test_a_change_the_person_has_seen_is_not_shown_again() -> None:
    edit = ToolFinished(call_id="c1", name="e", success=True, summary="s", payload={"file_path": "f", "diff": "+new"})
    shown = Shown()
    shown.handle(STARTED, CALL, QUESTION)
    shown.renderer.suspend()
    shown.renderer.resume(shown_diff_of="c1")
    assert "+new" not in shown.handle(edit)
    assert "+new" in Shown().handle(STARTED, CALL, edit)


def test_what_is_typed_ahead_is_shown_below() -> None:
    assert Shown(typed="日本").handle(STARTED).splitlines()[-1] == "› 日本"


async def test_a_key_is_shown_at_once_and_nothing_above_is_drawn_anew() -> None:
    shown = Shown()
    seen: list[tuple[str, str]] = []

    async def events() -> AsyncGenerator[AgentEvent]:
        yield STARTED
        yield TextDelta(text="words of an *answer*\nand more")
        yield TextDelta(text=" which no frame has shown")
        for shown.typed in ("", "日", "日本"):
            before = len(shown.stream.getvalue())
            shown.renderer.echo()
            seen.append((shown.text(), shown.stream.getvalue()[before:]))
        shown.renderer.suspend()
        before = shown.stream.getvalue()
        shown.renderer.echo()
        assert shown.stream.getvalue() == before
        shown.renderer.resume()

    await shown.renderer.consume(events())
    assert [screen.splitlines()[-1].strip() for screen, _ in seen[1:]] == ["› 日", "› 日本"]
    assert all("and more" in screen and "no frame" not in screen for screen, _ in seen)
    assert seen[0][1] == ""
    assert "and more" not in seen[2][1]
    assert shown.text().splitlines()[1:] == ["words of an answer", "and more which no frame has shown"]


def test_what_the_person_said_into_the_run_stands_where_it_was_read() -> None:
    shown = Shown().handle(STARTED, *text("Begun."), Steered(text="日本語で\nお願い"), *text("はい。"))
    assert "Begun.\n\n› 日本語で\n  お願い\n\nはい。" in shown


async def test_how_a_run_ended_and_whether_the_bottom_is_shown() -> None:
    shown = Shown()
    assert not shown.renderer.is_live
    end = RunFinished(status="limit", answer="")
    was_live: list[bool] = []

    async def events() -> AsyncGenerator[AgentEvent]:
        was_live.append(shown.renderer.is_live)
        shown.renderer.suspend()
        was_live.append(shown.renderer.is_live)
        shown.renderer.resume()
        yield end

    assert await shown.renderer.consume(events()) == end
    assert was_live == [True, False]
    assert not shown.renderer.is_live


def test_nothing_a_model_says_acts_on_the_terminal() -> None:
    evil = "\x1b]0;t\x07 \x9b2J \u202e"
    call = ToolStarted(call_id="c1", name=evil, arguments={"command": evil})
    result = ToolFinished(call_id="c1", name=evil, success=False, summary=evil, payload={"stdout": evil})
    end = RunFinished(status="error", answer=evil, error_code="E1", error=evil)
    shown = Shown()
    shown.handle(
        STARTED, ThinkingDelta(text=evil), *text(evil, "\n\n```\n" + evil), call, result, Notice(text=evil), end
    )
    written = shown.stream.getvalue()
    assert "\x07" not in written
    assert "\x9b" not in written
    assert "\u202e" not in written
    assert "\x1b]" not in written
    assert written.count("␛]0;t␇ <U+009B>2J <U+202E>") >= 7
