"""A one-shot run: what goes to stdout, what to stderr, and the exit code."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Iterable
from io import StringIO
from pathlib import Path
from typing import get_args

import pytest

from localllm.base import events
from localllm.base.errors import LLMConnectionError
from localllm.base.events import (
    AgentEvent,
    ConfirmationRequested,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Usage,
)
from localllm.tui.headless import HeadlessConfirmer, HeadlessPrinter, OutputFormat, exit_code
from tests.support.vt import Tty, Vt

pytestmark = pytest.mark.anyio

STARTED = RunStarted(session_id="s1", query="q", provider="scripted", model="m1")
CALL = ToolStarted(call_id="c1", name="read_file", arguments={"file_path": "a.py"})
RESULT = ToolFinished(call_id="c1", name="read_file", success=True, summary="3 lines", payload={"stdout": "out"})
USAGE = Usage(
    prompt_tokens=100, completion_tokens=7, cached_tokens=90, first_token_seconds=0.25, generation_seconds=0.56
)
DONE = RunFinished(status="done", answer="# The *answer*", steps=2, usage=USAGE)
RUN = [STARTED, CALL, RESULT, Notice(text="slow"), TextDelta(text="# The *answer*"), DONE]


async def stream(listed: Iterable[AgentEvent]) -> AsyncGenerator[AgentEvent]:
    for event in listed:
        yield event


class Printed:
    """What one run printed."""

    def __init__(self, output: OutputFormat, *, terminal: bool = False) -> None:
        self.out = Tty() if terminal else StringIO()
        self.err = Tty() if terminal else StringIO()
        self.printer = HeadlessPrinter(output, stdout=self.out, stderr=self.err)

    async def run(self, listed: Iterable[AgentEvent]) -> "Printed":
        self.finished = await self.printer.consume(stream(listed))
        return self


async def test_what_programs_read_is_documented() -> None:
    document = (Path(__file__).parents[3] / "docs" / "sessions.md").read_text(encoding="utf-8")
    _, _, told = document.partition("## What programs read")
    report = json.loads((await Printed("json").run(RUN)).out.getvalue())
    names = {*report, *report["usage"], *report["tools"][0], *(kind.__name__ for kind in get_args(AgentEvent))}
    assert {name for name in names if f"`{name}`" not in told} == set()


async def test_text_is_the_answer_alone() -> None:
    printed = await Printed("text").run(RUN)
    assert printed.out.getvalue() == "# The *answer*\n"
    assert printed.err.getvalue() == "● read_file a.py\n  ✓ 3 lines\n! slow\n"
    assert printed.finished == DONE


async def test_a_pipe_gets_the_very_characters_and_a_terminal_what_is_inert() -> None:
    evil = [STARTED, RunFinished(status="done", answer="a\x1b[31mb\n\n")]
    assert (await Printed("text").run(evil)).out.getvalue() == "a\x1b[31mb\n"
    assert (await Printed("text", terminal=True).run(evil)).out.getvalue() == "a␛[31mb\n"


async def test_on_a_terminal_the_live_line_is_gone_at_the_end() -> None:
    printed = Printed("text", terminal=True)

    async def slowly() -> AsyncGenerator[AgentEvent]:
        yield STARTED
        while "waiting for the model" not in printed.err.getvalue():
            await asyncio.sleep(0.01)
        yield DONE

    await printed.printer.consume(slowly())
    terminal = Vt(80)
    terminal.feed(printed.err.getvalue())
    assert terminal.text() == ""


async def test_json() -> None:
    printed = await Printed("json").run(RUN)
    assert json.loads(printed.out.getvalue()) == {
        "success": True,
        "status": "done",
        "verified": True,
        "unverified": [],
        "answer": "# The *answer*",
        "session_id": "s1",
        "provider": "scripted",
        "model": "m1",
        "steps": 2,
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 7,
            "cached_tokens": 90,
            "tokens_per_second": 12.5,
            "first_token_seconds": 0.25,
        },
        "tools": [{"name": "read_file", "success": True, "summary": "3 lines"}],
        "refused": [],
        "error": None,
    }
    assert printed.out.getvalue().count("\n") == 1


async def test_json_names_who_has_answered_where_another_had_to_stand_in() -> None:
    said = MessageCompleted(text="So.", provider="ollama", model="m2")
    printed = await Printed("json").run([STARTED, said, DONE])
    report = json.loads(printed.out.getvalue())
    assert (report["provider"], report["model"]) == ("ollama", "m2")


async def test_json_of_a_failure() -> None:
    async def failing() -> AsyncGenerator[AgentEvent]:
        yield STARTED
        raise LLMConnectionError("llm_model_not_found", url="u", model="m", reason="", available="n")

    printed = Printed("json")
    finished = await printed.printer.consume(failing())
    report = json.loads(printed.out.getvalue())
    assert (report["success"], report["status"]) == (False, "error")
    assert report["error"]["code"].startswith("E2")
    assert "“m”" in report["error"]["what"]
    assert report["error"]["fix"]
    assert exit_code(finished) == 5
    assert "✗ E2" in printed.err.getvalue()


async def test_stream_json_is_every_event_at_once() -> None:
    printed = Printed("stream-json")
    lines: list[int] = []

    async def watched() -> AsyncGenerator[AgentEvent]:
        for event in RUN:
            yield event
            lines.append(printed.out.getvalue().count("\n"))

    await printed.printer.consume(watched())
    assert lines == list(range(1, len(RUN) + 1))
    assert [events.decode(line) for line in printed.out.getvalue().splitlines()] == RUN


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
async def test_what_a_running_command_has_written_so_far_is_for_the_chat_alone(output: OutputFormat) -> None:
    without, printed = Printed(output), Printed(output)
    await without.run(RUN)
    await printed.run([*RUN[:2], events.CommandOutput(lines=("so far",)), *RUN[2:]])
    assert (printed.out.getvalue(), printed.err.getvalue()) == (without.out.getvalue(), without.err.getvalue())


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
async def test_a_lone_surrogate_breaks_nothing(output: OutputFormat) -> None:
    with open(os.devnull, "w", encoding="utf-8") as out:  # noqa: PTH123 - any stream that encodes
        printer = HeadlessPrinter(output, stdout=out, stderr=StringIO())
        done = RunFinished(status="done", answer="x\ud800")
        assert await printer.consume(stream([STARTED, TextDelta(text="x\ud800"), done])) == done


async def test_an_interrupt_still_leaves_a_report() -> None:
    printed = Printed("json")

    async def endless() -> AsyncGenerator[AgentEvent]:
        yield STARTED
        yield MessageCompleted(text="So far.")
        await asyncio.Event().wait()

    task = asyncio.create_task(printed.printer.consume(endless()))
    while printed.printer.said != "So far.":
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    report = json.loads(printed.out.getvalue())
    assert (report["status"], report["answer"]) == ("interrupted", "So far.")


async def test_a_closed_stdout_ends_the_run_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    pulled: list[AgentEvent] = []

    async def watched() -> AsyncGenerator[AgentEvent]:
        for event in RUN:
            pulled.append(event)
            yield event

    err = StringIO()
    with os.fdopen(writing, "w", encoding="utf-8") as out:
        finished = await HeadlessPrinter("stream-json", stdout=out, stderr=err).consume(watched())
    assert finished.status == "interrupted"
    assert len(pulled) == 1
    assert err.getvalue() == ""


@pytest.mark.parametrize(
    ("status", "error_code", "code"),
    [
        ("done", "", 0),
        ("error", "E8004", 1),
        ("error", "E1003", 2),
        ("error", "E2001", 5),
        ("limit", "", 3),
        ("stuck", "", 3),
        ("incomplete", "", 3),
        ("refused", "", 4),
        ("interrupted", "", 130),
    ],
)
def test_exit_codes(status: str, error_code: str, code: int) -> None:
    finished = RunFinished(status=status, answer="", error_code=error_code)  # type: ignore[arg-type] - from the table
    assert exit_code(finished) == code


@pytest.mark.parametrize(
    ("approve_all", "risk", "approved", "by"),
    [
        (True, "highest", True, "flag"),
        (True, "dangerous", False, "unattended"),
        (False, "medium", False, "unattended"),
    ],
)
async def test_the_confirmer(approve_all: bool, risk: str, approved: bool, by: str) -> None:
    request = ConfirmationRequested(request_id="r", call_id="c", tool="t", risk=risk, summary="s", detail="d")
    answer = await HeadlessConfirmer(approve_all=approve_all).confirm(request)
    assert (answer.request_id, answer.approved, answer.by) == ("r", approved, by)
