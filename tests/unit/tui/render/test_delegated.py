"""What a sub-agent does, as lines for a person."""

import io
import json

import pytest

from localllm.base.events import (
    AgentEvent,
    Delegated,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from localllm.text.sanitising import display_width
from localllm.tui.headless import HeadlessPrinter
from localllm.tui.render.agents import delegated_lines
from localllm.tui.render.events import Renderer
from localllm.tui.render.screen import Screen
from localllm.tui.theme import choose_theme

STARTED = ToolStarted(call_id="c", name="read_file", arguments={"file_path": "src/a.py"})
GOOD = ToolFinished(call_id="c", name="read_file", success=True, summary="read", payload={})
BAD = ToolFinished(call_id="c", name="read_file", success=False, summary="no such file", payload={})
BEGUN = RunStarted(session_id="", query="q", provider="p", model="m")
DONE = RunFinished(status="done", answer="a", steps=3)


def _text(event: object, *, agent: str = "explore", width: int = 80) -> list[str]:
    lines = delegated_lines(Delegated(agent=agent, event=event), width)  # type: ignore[arg-type] - each is one
    return ["".join(text for _, text in line) for line in lines]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (STARTED, ["  ↳ explore: read_file src/a.py"]),
        (GOOD, []),
        (BAD, ["  ↳ explore: ✗ read_file: no such file"]),
        (MessageCompleted(text="thinking aloud"), []),
        (Notice(text="again\nin 2 s", level="warning"), ["  ↳ explore: ! again in 2 s"]),
        (BEGUN, []),
        (DONE, []),
    ],
)
def test_one_line_each(event: object, expected: list[str]) -> None:
    assert _text(event) == expected


@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_line_is_wider_than_the_screen_or_acts_on_it(width: int) -> None:
    wide = ToolStarted(call_id="c", name="run_command", arguments={"command": "echo \x1b[2J 日本語" * 30})
    (line,) = _text(wide, agent="とても長い名前のエージェント\x1b[31m" * 3, width=width)
    assert display_width(line) <= width
    assert "\x1b" not in line
    assert "\n" not in line


def test_its_answers_are_not_shown_as_the_agents_own() -> None:
    stream = io.StringIO()
    renderer = Renderer(Screen(stream, choose_theme(stream)))
    said = MessageCompleted(text="the helper's words")
    events: list[AgentEvent] = [
        BEGUN,
        ToolStarted(call_id="x", name="explore", arguments={"question": "Where?"}),
        Delegated(agent="explore", event=BEGUN),
        Delegated(agent="explore", event=STARTED),
        Delegated(agent="explore", event=said),
        Delegated(agent="explore", event=DONE),
        ToolFinished(call_id="x", name="explore", success=True, summary="found", payload={}),
        TextDelta(text="mine"),
        MessageCompleted(text="mine"),
        RunFinished(status="done", answer="mine", steps=2),
    ]
    for event in events:
        renderer.handle(event)
    shown = stream.getvalue()
    assert "● explore Where?\n  ↳ explore: read_file src/a.py\n  ✓ found" in shown
    assert "the helper's words" not in shown
    assert "mine" in shown


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_without_a_screen(output: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    printer = HeadlessPrinter(output, stdout=out, stderr=err)  # type: ignore[arg-type] - each is one
    for event in (
        BEGUN,
        ToolStarted(call_id="x", name="explore", arguments={"question": "Where?"}),
        Delegated(agent="explore", event=STARTED),
        Delegated(agent="explore", event=GOOD),
        ToolFinished(call_id="x", name="explore", success=True, summary="found", payload={}),
        MessageCompleted(text="mine"),
        RunFinished(status="done", answer="mine", steps=2),
    ):
        printer.handle(event)
    assert "  ↳ explore: read_file src/a.py" in err.getvalue()
    lines = out.getvalue().splitlines()
    if output == "text":
        assert lines == ["mine"]
    elif output == "json":
        assert [tool["name"] for tool in json.loads(lines[0])["tools"]] == ["explore"]
    else:
        told = [json.loads(line) for line in lines]
        assert [line["type"] for line in told].count("ToolStarted") == 1
        inner = next(line for line in told if line["type"] == "Delegated")
        assert (inner["agent"], inner["event"]["type"]) == ("explore", "ToolStarted")
