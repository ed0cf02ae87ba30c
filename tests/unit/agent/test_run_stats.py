"""A run as it is told and counted: its events, what it has used and produced, and its result."""

import asyncio
import json

import pytest

from localllm.agent.run_stats import EventStream, Tally
from localllm.base.error_texts import ERRORS
from localllm.base.errors import LocalLLMError, SafetyViolationError
from localllm.base.events import (
    AgentEvent,
    Compacted,
    Consulted,
    Delegated,
    Emit,
    Json,
    MessageCompleted,
    Notice,
    RunFinished,
    ToolCall,
    Usage,
)
from localllm.tools.results import ToolResult, failed

pytestmark = pytest.mark.anyio

USED = Usage(prompt_tokens=7, completion_tokens=2)


def result(name: str, payload: dict[str, Json] | None = None, *, acted: bool = False, **arguments: str) -> ToolResult:
    call = ToolCall("c", name, json.dumps(arguments))
    return ToolResult(call=call, success=True, payload=payload or {}, for_model="", summary="", acted=acted)


class UnexplainedError(SafetyViolationError):
    """An error of any key, whose text nobody reads."""

    def lines(self) -> str:
        return ""


def refused(name: str, key: str, **arguments: str) -> ToolResult:
    call = ToolCall("c", name, json.dumps(arguments))
    error = LocalLLMError.__new__(UnexplainedError)
    error.key = key
    return ToolResult(call=call, success=False, payload={"x": 1}, for_model="", summary="", error=error)


class TestTally:
    @pytest.mark.parametrize(
        ("event", "counts"),
        [
            (Consulted(kind="boss", question="q", opinions=(), plan="p", usage=USED), True),
            (Delegated(agent="explore", event=MessageCompleted(text="a", usage=USED)), True),
            (
                Delegated(
                    agent="explore", event=Compacted(how="summarised", before=9, after=1, messages=(), usage=USED)
                ),
                True,
            ),
            (Delegated(agent="explore", event=Notice(text="a")), False),
            (MessageCompleted(text="a", usage=USED), False),
        ],
    )
    def test_what_others_use_for_it_counts_as_used_by_it(self, event: AgentEvent, counts: bool) -> None:
        tally, told = Tally(), list[AgentEvent]()
        tally.usage = Usage(prompt_tokens=1)
        tally.counting(told.append)(event)
        assert told == [event]
        assert tally.usage.prompt_tokens == (8 if counts else 1)
        assert tally.finished("done", "").usage == tally.usage

    def test_of_data_of_one_name_the_newest_stays(self) -> None:
        tally = Tally()
        tally.note(result("look", {"content": "old", "path": "a"}))
        tally.note(result("look", {"content": "new"}))
        tally.note(failed(ToolCall("c", "look", "{}"), SafetyViolationError("denied_unattended", name="look")))
        assert tally.result(tally.finished("done", "x")).data == {"content": "new", "path": "a"}

    @pytest.mark.parametrize(
        ("key", "counts"),
        [
            *((key, True) for key in ("denied_unattended", "denied_unattended_command", "denied_dangerous")),
            *((key, True) for key in ("denied_address", "command_no_sandbox", "command_root_too_wide")),
            ("command_state_exposed", True),
            ("command_own_folder", True),
            *(
                (key, False)
                for key in ("denied_user", "denied_unwanted", "denied_plan_mode", "file_missing", "edit_no_match")
            ),
        ],
    )
    def test_only_what_somebody_could_have_permitted_is_missing(self, key: str, counts: bool) -> None:
        tally = Tally()
        tally.note(refused("run_command", key, command="make"))
        assert (tally.refused, tally.missing) == ((["run_command make"],) * 2 if counts else ([], []))
        assert not counts or key in ERRORS

    @pytest.mark.parametrize(
        ("name", "acted", "left"),
        [
            ("run_command", True, ["write_file a.py"]),
            ("edit_file", True, ["run_command make"]),
            ("read_file", False, ["run_command make", "write_file a.py"]),
        ],
    )
    def test_it_is_missing_until_another_way_was_found(self, name: str, acted: bool, left: list[str]) -> None:
        tally = Tally()
        tally.note(refused("run_command", "denied_unattended", command="make"))
        tally.note(refused("write_file", "denied_unattended", file_path="a.py"))
        tally.note(result(name, acted=acted))
        assert tally.missing == left
        assert len(tally.refused) == 2

    def test_a_new_run_begins_with_nothing(self) -> None:
        tally = Tally()
        tally.note(result("look", {"content": "old"}))
        tally.note(refused("run_command", "denied_unattended", command="make"))
        tally.steps, tally.usage = 3, USED
        tally.begin()
        assert (tally.steps, tally.usage, tally.refused, tally.missing) == (0, Usage(), [], [])
        assert tally.result(tally.finished("done", "")).data == {}

    @pytest.mark.parametrize("status", ["done", "limit", "error"])
    def test_the_result_has_all_of_the_end(self, status: str) -> None:
        tally = Tally()
        tally.note(refused("run_command", "denied_unattended", command="make"))
        tally.steps, tally.usage = 3, USED
        ended = tally.finished(status, "so", unverified=["a test"], error_code="E1", error="why")
        whole = tally.result(ended)
        assert (whole.success, whole.status, str(whole)) == (status == "done", status, "so")
        assert (whole.steps, whole.usage) == (ended.steps, ended.usage) == (3, USED)
        assert whole.refused == ended.refused == ("run_command make",)
        assert whole.unverified == ended.unverified == ("a test",)
        assert (whole.error_code, whole.error) == (ended.error_code, ended.error) == ("E1", "why")


class TestTheStream:
    async def test_listeners_hear_each_event_at_once_and_in_their_order(self) -> None:
        heard: list[tuple[str, AgentEvent]] = []
        stream = EventStream([lambda event: heard.append(("a", event)), lambda event: heard.append(("b", event))])
        one, two = Notice(text="1"), RunFinished(status="done", answer="")

        async def work(emit: Emit) -> None:
            emit(one)
            assert heard == [("a", one), ("b", one)]
            emit(two)

        assert [event async for event in stream.of(work)] == [one, two]
        assert heard == [("a", one), ("b", one), ("a", two), ("b", two)]

    async def test_a_fault_is_raised_after_the_events_before_it(self) -> None:
        async def work(emit: Emit) -> None:
            emit(Notice(text="1"))
            raise RuntimeError("a fault of ours")

        events = EventStream([]).of(work)
        assert await anext(events) == Notice(text="1")
        with pytest.raises(RuntimeError, match="of ours"):
            await anext(events)

    @pytest.mark.parametrize("has_ended", [True, False])
    async def test_an_interrupted_run_ends_once(self, has_ended: bool) -> None:
        stream, begun = EventStream([]), asyncio.Event()

        async def work(emit: Emit) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                if has_ended:
                    emit(RunFinished(status="interrupted", answer="half"))

        async def gathered() -> list[AgentEvent]:
            return [event async for event in stream.of(work)]

        run = asyncio.create_task(gathered())
        await begun.wait()
        stream.interrupt()
        assert await run == [RunFinished(status="interrupted", answer="half" if has_ended else "")]

    async def test_without_a_run_there_is_nothing_to_interrupt(self) -> None:
        EventStream([]).interrupt()
