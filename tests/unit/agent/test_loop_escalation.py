"""What is done with a run that goes round in circles, rung by rung, with real tools and a model that plays a script."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.history import History
from localllm.agent.loop_detection import LoopDetector, Step
from localllm.agent.loop_escalation import Ladder, Rung, step_of
from localllm.agent.middleware import Inject, RunState
from localllm.agent.panel.records import Consultation, Dossier
from localllm.agent.react_agent import ReActAgent
from localllm.base.errors import ToolExecutionError
from localllm.base.events import AgentEvent, Emit, Notice, RunFinished, ToolCall, ToolFinished, Usage
from localllm.base.i18n import set_language
from localllm.config.schema import AgentSettings
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, Completion, ToolMessage, ToolSpec, UserMessage
from localllm.tools.results import ToolResult
from localllm.tui.headless import exit_code
from tests.support.agents import call, make_tools, play, scripted
from tests.support.wire_server import Reply, WireServer, delta, sse
from tests.unit.agent.test_react_agent import server_of

pytestmark = pytest.mark.anyio

MISS = call("edit_file", file_path="a.py", old_string="y = 2", new_string="y = 3")
MEND = call("edit_file", file_path="a.py", old_string="x = 1", new_string="x = 3")
PLAN = Consultation(plan="Replace x = 1, there is no y.", confidence=0.9, is_sure=True)
UNSURE = Consultation(plan="Perhaps read it.", confidence=0.2)
NOBODY = Consultation(left_out=("judge: connection refused",))


class Wise:
    """Advisers who answer what they were given, in turn, and remember what they were asked."""

    def __init__(self, three: Sequence[Consultation] = (), boss: Sequence[Consultation] = ()) -> None:
        self._three = list(three)
        self._boss = list(boss)
        self.dossiers: list[Dossier] = []
        self.earlier: list[Sequence[Consultation]] = []
        self.asked: list[str] = []

    async def ask_three(self, dossier: Dossier, emit: Emit, *, by_hand: bool = False) -> Consultation:
        self.asked.append("three")
        self.dossiers.append(dossier)
        return self._three.pop(0)

    async def ask_boss(
        self, dossier: Dossier, earlier: Sequence[Consultation], emit: Emit, *, by_hand: bool = False
    ) -> Consultation:
        self.asked.append("boss")
        self.dossiers.append(dossier)
        self.earlier.append(earlier)
        return self._boss.pop(0)


class Talked(Wise):
    """Advisers during whose last question, which would never be answered, the user speaks: that of the boss, if the
    `three` have an answer."""

    def __init__(self, three: Consultation | None, speak: Callable[[], bool]) -> None:
        super().__init__([three] if three else [])
        self._speak = speak

    async def ask_three(self, dossier: Dossier, emit: Emit, *, by_hand: bool = False) -> Consultation:
        if not self._three:
            await self._hear()
        return await super().ask_three(dossier, emit, by_hand=by_hand)

    async def ask_boss(
        self, dossier: Dossier, earlier: Sequence[Consultation], emit: Emit, *, by_hand: bool = False
    ) -> Consultation:
        await self._hear()
        raise AssertionError

    async def _hear(self) -> None:
        assert self._speak()
        await asyncio.Event().wait()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    (folder / "b.py").write_text("z = 1\n")
    return folder


def an_agent(project: Path, *turns: dict[str, Any] | str, wise: Wise | None = None, threshold: int = 3) -> ReActAgent:
    return ReActAgent(
        LLMClient(scripted(*turns), model="m", max_retries=0),
        make_tools(project),
        settings=AgentSettings(loop_detection_threshold=threshold),
        advisers=wise,
    )


def results(agent: ReActAgent) -> list[str]:
    return [message.text for message in agent.history.messages if isinstance(message, ToolMessage)]


def notices(events: Sequence[AgentEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def end(events: Sequence[AgentEvent]) -> RunFinished:
    assert isinstance(events[-1], RunFinished)
    return events[-1]


class TestRungByRung:
    async def test_a_failing_edit_is_told_stepped_back_from_advised_on_and_mended(self, project: Path) -> None:
        wise = Wise([PLAN])
        agent = an_agent(project, *[MISS] * 5, MEND, "x is 3 now.", wise=wise)
        events = await play(agent, "set the value to 3")
        assert (end(events).status, end(events).answer, exit_code(end(events))) == ("done", "x is 3 now.", 0)
        assert (project / "a.py").read_text() == "x = 3\n"
        told = results(agent)
        assert "3 edits of a.py did not fit" in told[2]
        assert "Step back" in told[3]
        assert told[3].count("[") == told[3].count("]") == 1
        assert "set the value to 3" in told[3]
        assert PLAN.plan in told[4]
        assert all("[" not in told[number].partition("not")[0] for number in (0, 1))
        assert wise.asked == ["three"]
        assert [notice.split(",")[0].split(":")[0] for notice in notices(events)] == [
            "The model is repeating itself and was told so",
            "Still going in circles; the model was asked to step back and think again",
            "Still stuck; asking the panel for advice",
        ]

    @pytest.mark.parametrize("threshold", [2, 3, 5])
    async def test_an_identical_call_leads_a_rung_up_each_time(self, project: Path, threshold: int) -> None:
        boss = Consultation(plan="Ask the person.", confidence=0.8, is_sure=True)
        wise = Wise([PLAN], [boss])
        agent = an_agent(project, *[call("read_file", file_path="b.py")] * 20, wise=wise, threshold=threshold)
        finished = end(await play(agent, "go"))
        said = results(agent)
        marks = [f"{threshold} times", "Step back", PLAN.plan, boss.plan]
        at = [next(number for number, text in enumerate(said, 1) if mark in text) for mark in marks]
        assert at == [threshold, threshold + 1, threshold + 2, threshold + 3]
        assert (finished.status, finished.steps) == ("stuck", threshold + 4)

    async def test_the_dossier_has_the_goal_and_the_exact_error(self, project: Path) -> None:
        wise = Wise([PLAN])
        agent = an_agent(project, *[MISS] * 5, MEND, "done", wise=wise)
        await play(agent, "set the value to 3")
        dossier = wise.dossiers[0]
        assert dossier.goal == "set the value to 3"
        assert "a.py" in dossier.problem
        error = results(agent)[0]
        assert any(attempt.result == error and attempt.failed for attempt in dossier.attempts)

    async def test_one_that_stays_stuck_meets_the_boss_and_is_stopped(self, project: Path) -> None:
        boss = Consultation(plan="Ask the person.", confidence=0.8, is_sure=True)
        wise = Wise([PLAN], [boss])
        agent = an_agent(project, *[MISS] * 20, wise=wise)
        events = await play(agent, "set the value to 3")
        assert wise.asked == ["three", "boss"]
        assert list(wise.earlier[0]) == [PLAN]
        finished = end(events)
        assert (finished.status, finished.steps, exit_code(finished)) == ("stuck", 7, 3)
        assert "Goal: set the value to 3" in finished.answer
        assert "edit_file a.py (7 times)" in finished.answer
        assert results(agent)[0].splitlines()[0] in finished.answer
        assert "- Replace x = 1, there is no y." in finished.answer
        assert "- Ask the person." in finished.answer
        assert "make that change by hand" in finished.answer
        assert agent.detect_loop()

    async def test_a_run_that_goes_on_is_for_what_was_asked_before(self, project: Path) -> None:
        wise = Wise([PLAN], [PLAN])
        agent = an_agent(project, "Well.", *[MISS] * 20, wise=wise)
        await play(agent, "set the value to 3")
        finished = end(await play(agent, "continue"))
        assert "The user's goal: set the value to 3\n" in results(agent)[3]
        assert [dossier.goal for dossier in wise.dossiers] == ["set the value to 3\ncontinue"] * 2
        assert "Goal: set the value to 3\n" in finished.answer

    @pytest.mark.parametrize("three", [None, UNSURE])
    async def test_what_the_user_says_meanwhile_ends_the_consultation(
        self, project: Path, three: Consultation | None
    ) -> None:
        def speak() -> bool:
            return agent.steer("just edit a.py") and agent.steer("and hurry")

        agent = an_agent(project, *[MISS] * 5, MEND, "done", wise=Talked(three, speak))
        events = await play(agent, "set the value to 3")
        read = results(agent)[4]
        assert "just edit a.py" in read
        assert "and hurry" in read, "with the next request"
        assert "Advice" not in read
        assert notices(events)[-1].startswith("The panel is not sure" if three else "Still stuck; asking the panel")
        assert agent.ladder.rung is Rung.GROUND
        assert end(events).status == "done"

    async def test_an_unsure_judge_leads_to_the_boss_at_once(self, project: Path) -> None:
        wise = Wise([UNSURE], [PLAN])
        agent = an_agent(project, *[MISS] * 5, MEND, "done", wise=wise)
        events = await play(agent, "go")
        assert notices(events)[-1] == "The panel is not sure of its advice; asking the boss."
        assert wise.asked == ["three", "boss"]
        assert list(wise.earlier[0]) == [UNSURE]
        assert PLAN.plan in results(agent)[4]
        assert UNSURE.plan not in results(agent)[4]

    async def test_where_the_boss_has_nothing_either_the_unsure_plan_counts(self, project: Path) -> None:
        wise = Wise([UNSURE], [NOBODY])
        agent = an_agent(project, *[MISS] * 5, MEND, "done", wise=wise)
        await play(agent, "go")
        assert UNSURE.plan in results(agent)[4]

    async def test_where_nobody_can_be_asked_it_goes_on_alone_and_says_so(self, project: Path) -> None:
        wise = Wise([NOBODY], [Consultation(left_out=("boss: no model",))])
        agent = an_agent(project, *[MISS] * 5, MEND, "done", wise=wise)
        events = await play(agent, "go")
        assert end(events).status == "done"
        assert notices(events)[-1] == "No advice is available; the agent continues without it."
        assert "Nobody could be asked" in results(agent)[4]

    async def test_without_advisers_their_rungs_are_left_out(self, project: Path) -> None:
        agent = an_agent(project, *[MISS] * 20)
        events = await play(agent, "go")
        assert (end(events).status, end(events).steps) == ("stuck", 5)
        assert "Advice received" not in end(events).answer

    async def test_the_threshold_is_a_setting(self, project: Path) -> None:
        agent = an_agent(project, *[MISS] * 20, threshold=2)
        assert end(await play(agent, "go")).steps == 4
        patient = an_agent(project, *[MISS] * 4, "I give up.", threshold=5)
        assert notices(await play(patient, "go")) == []

    async def test_many_equal_calls_in_one_answer_are_one_rung(self, project: Path) -> None:
        many = {"calls": MISS["calls"] * 9}
        agent = an_agent(project, many, MEND, "done")
        events = await play(agent, "go")
        assert len(notices(events)) == 1
        assert end(events).status == "done"

    async def test_it_speaks_the_persons_language(self, project: Path) -> None:
        set_language("ja")
        try:
            events = await play(an_agent(project, *[MISS] * 20), "値を 3 にして")
        finally:
            set_language("en")
        assert "目標: 値を 3 にして" in end(events).answer
        assert "繰り返" in notices(events)[0]


class TestStepOf:
    @pytest.mark.parametrize(
        ("tool", "payload", "waits"),
        [
            ("command_output", {"running": True}, True),
            ("command_output", {"running": False}, False),
            ("run_command", {"running": True}, False),
            ("read_file", {}, False),
        ],
    )
    async def test_only_looking_at_what_still_runs_is_waiting(self, tool: str, payload: dict, waits: bool) -> None:
        made = ToolCall("1", tool, "{}")
        result = ToolResult(call=made, success=True, payload=payload, for_model="[1: running, 3 s]", summary="")
        assert step_of(result).waits is waits

    async def test_error_changes_and_name_are_those_of_the_result(self) -> None:
        error = ToolExecutionError("file_missing", path="a.py", hint="")
        made = ToolCall("1", "Read_File ", '{"file_path": "a.py"}')
        result = ToolResult(
            call=made, success=False, payload={}, for_model="no", summary="", error=error, changes={"b.py": "1"}
        )
        step = step_of(result)
        assert (step.tool, step.error, step.changed) == ("read_file", "file_missing", {"b.py": "1"})


class TestComingDown:
    async def test_a_changed_file_leads_one_rung_down(self, project: Path) -> None:
        other = call("edit_file", file_path="b.py", old_string="z = 1", new_string="z = 2")
        agent = an_agent(project, *[MISS] * 4, other, *[MISS] * 3, MEND, "done")
        events = await play(agent, "go")
        assert [notice[:14] for notice in notices(events)] == ["The model is r", "Still going in", "Still going in"]
        assert end(events).status == "done"

    async def test_further_changes_lead_no_further_down_until_it_climbs_again(self, project: Path) -> None:
        edits = [
            call("edit_file", file_path="b.py", old_string=f"z = {value}", new_string=f"z = {value + 1}")
            for value in (1, 2, 3)
        ]
        agent = an_agent(project, *[MISS] * 4, *edits, "done")
        await play(agent, "go")
        assert agent.ladder.rung is Rung.NOTICE

    async def test_a_command_that_changes_a_file_is_headway_too(self, project: Path) -> None:
        read = call("read_file", file_path="a.py")
        write = call("run_command", command="echo 'y = 1' >> a.py")
        agent = an_agent(project, read, read, write, read, read, "done")
        assert notices(await play(agent, "go")) == []

    async def test_the_three_are_asked_twice_at_most(self, project: Path) -> None:
        turns: list[dict[str, Any]] = []
        for value in range(1, 5):
            turns += [MISS] * 5
            turns += [call("edit_file", file_path="b.py", old_string=f"z = {value}", new_string=f"z = {value + 1}")]
        wise = Wise([PLAN] * 9, [PLAN] * 9)
        events = await play(an_agent(project, *turns, wise=wise), "go")
        assert wise.asked.count("three") == 2
        assert wise.asked.count("boss") <= 2
        assert end(events).status == "stuck"

    async def test_each_is_asked_twice_and_then_the_run_is_stopped(self, project: Path) -> None:
        turns: list[dict[str, Any]] = [MISS] * 5
        for value in range(1, 5):
            turns += [call("edit_file", file_path="b.py", old_string=f"z = {value}", new_string=f"z = {value + 1}")]
            turns += [MISS] * 3
        wise = Wise([PLAN] * 9, [PLAN] * 9)
        events = await play(an_agent(project, *turns, *[MISS] * 9, wise=wise), "go")
        assert wise.asked == ["three", "three", "boss", "boss"]
        assert (end(events).status, end(events).steps) == ("stuck", len(turns))

    async def test_the_person_who_speaks_again_begins_on_the_ground(self, project: Path) -> None:
        agent = an_agent(project, *[MISS] * 5, *[MISS] * 3, "It could not be done.")
        await play(agent, "go")
        assert agent.ladder.rung is Rung.STOP
        events = await play(agent, "again")
        assert [notice[:14] for notice in notices(events)] == ["The model is r"]


class TestWindowThatFillsAgain:
    async def told_at(self, *compactions: int) -> list[int]:
        """The steps before which the model is told something, where the conversation is summed up before these."""
        ladder, told = Ladder(LoopDetector()), list[int]()
        state = RunState("go", History("system"), lambda _: None)
        for step in range(60):
            state.step = step
            if isinstance(decision := await ladder.before_step(state), Inject):
                assert "summed up" in decision.text
                told.append(step)
            for _ in range(compactions.count(step)):
                ladder.note_compaction()
        return told

    async def test_three_times_in_a_row_is_a_loop(self) -> None:
        assert await self.told_at(10, 11, 12) == []
        assert await self.told_at(10, 11, 12, 13) == [14]
        assert await self.told_at(10, 12, 14, 16) == [17]

    async def test_with_work_between_it_is_none(self) -> None:
        assert await self.told_at(10, 20, 30, 40, 50) == []
        assert await self.told_at(10, 11, 12, 22, 23, 24) == []

    async def test_pruning_and_summing_up_at_once_are_one(self) -> None:
        assert await self.told_at(10, 10, 10, 10, 10) == []

    async def test_what_was_read_before_may_be_read_again(self, project: Path) -> None:
        read = call("read_file", file_path="a.py")
        agent = an_agent(project, read, read, read, "done")
        read_before = 0
        async for event in agent.run("go"):
            read_before += isinstance(event, ToolFinished)
            if isinstance(event, ToolFinished) and read_before == 2:
                agent.ladder.note_compaction()
            assert not isinstance(event, Notice)


class TestChanting:
    PASSAGE = "I will now read the configuration file to find out what the port is, and go on. "

    async def test_an_answer_is_broken_off_told_once_then_climbs(self, project: Path) -> None:
        chant = self.PASSAGE * 40
        agent = an_agent(project, chant, chant, chant, "It is 80.")
        events = await play(agent, "go")
        assert end(events).answer == "It is 80."
        said = [message.text for message in agent.history.messages if isinstance(message, UserMessage)]
        assert "broken off" in said[1]
        assert [notice[:14] for notice in notices(events)] == ["The answer was", "The model is r", "Still going in"]
        assert [thought.finish_reason for thought in agent.thought_history] == ["chanting"] * 3 + ["stop"]
        assert agent.thought_history[0].message.text.count("configuration file") == 1

    async def test_an_answer_broken_off_counts_as_far_as_it_came(self, project: Path) -> None:
        agent = an_agent(project, self.PASSAGE * 40, "It is 80.")
        await play(agent, "go")
        cost = agent.thought_history[0].usage
        assert cost.estimated
        assert cost.prompt_tokens > 40
        assert 40 < cost.completion_tokens < 40 * 25

    async def test_thinking_is_broken_off_too(self, project: Path) -> None:
        agent = an_agent(project, {"thinking": self.PASSAGE * 40, "text": "never said"}, "It is 80.")
        assert end(await play(agent, "go")).answer == "It is 80."
        assert len(agent.thought_history[0].message.thinking) < 2 * len(self.PASSAGE)

    async def test_it_ends_with_the_report(self, project: Path) -> None:
        events = await play(an_agent(project, *[self.PASSAGE * 40] * 9), "go")
        assert (end(events).status, exit_code(end(events))) == ("stuck", 3)
        assert "use a model that" in end(events).answer

    async def test_the_connection_is_closed_so_that_the_server_stops(self, project: Path) -> None:
        endless = sse(*[delta(content=self.PASSAGE)] * 60)
        answer = Reply(sse(delta(content="It is 80."), delta(finish="stop"), "[DONE]"))
        with WireServer([Reply(endless, hold_before=50), answer]) as server:
            agent = ReActAgent(LLMClient(server_of(server), model="m", max_retries=0), make_tools(project))
            events = await play(agent, "go")
            assert server.disconnected.wait(5)
            await agent.llm_client.aclose()
        assert end(events).answer == "It is 80."


def looked(path: str, **changes: str) -> ToolResult:
    call = ToolCall("c", "read_file", f'{{"file_path": "{path}"}}')
    return ToolResult(call=call, success=True, payload={}, for_model=path, summary=path, changes=changes)


@pytest.mark.parametrize("headway", [True, False])
async def test_what_was_announced_before_a_file_was_changed_is_not_counted(headway: bool) -> None:
    ladder, history = Ladder(LoopDetector(3)), History("system")
    history.add_user("mend it")
    state = RunState("mend it", history, lambda _: None, tools=(ToolSpec("edit_file", "", {}),))
    announced = Completion(AssistantMessage("Let me read the file."), "stop", Usage())
    said: list[object] = []
    for number in range(3):
        said.append(await ladder.after_answer(state, announced))
        changes = {"a.py": "new"} if headway and number == 1 else {}
        ladder.after_results(state, [looked(f"{number}.py", **changes)])
    assert said[:2] == [None, None]
    assert (said[2] is None) == headway


async def test_a_run_that_meets_its_limit_after_a_loop_was_told_is_not_said_to_be_stuck(project: Path) -> None:
    agent = ReActAgent(
        LLMClient(scripted(*[MISS] * 9), model="m", max_retries=0),
        make_tools(project),
        settings=AgentSettings(loop_detection_threshold=3, max_iterations=4),
    )
    finished = end(await play(agent, "set the value to 3"))
    assert finished.status == "limit"
    assert "raise the limit" in finished.answer
    assert "say more precisely" not in finished.answer


def missed(path: str = "a.py", key: str = "edit_no_match") -> ToolResult:
    made = ToolCall("c", "edit_file", f'{{"file_path": "{path}"}}')
    error = ToolExecutionError(key, path=path, hint="", closest="")
    return ToolResult(call=made, success=False, payload={}, for_model=f"not in {path}", summary="", error=error)


def standing(project: Path, wise: Wise | None = None) -> tuple[Ladder, RunState, list[AgentEvent]]:
    """A ladder, and the state of a run that has just begun."""
    history, told = History("system"), list[AgentEvent]()
    history.add_user("mend it", words="mend it")
    ladder = Ladder(LoopDetector(3), wise, lambda path: (project / path).read_text())
    return ladder, RunState("mend it", history, told.append, tools=(ToolSpec("edit_file", "", {}),)), told


async def climb(ladder: Ladder, state: RunState, times: int) -> list[str]:
    """What is said after so many edits that do not fit."""
    said: list[str] = []
    for _ in range(times):
        ladder.after_results(state, [missed()])
        decision = await ladder.before_step(state)
        said.append(decision.text if isinstance(decision, Inject) else "")
    return said


class TestANewRequest:
    async def test_advice_errors_and_attempts_of_earlier_ones_are_forgotten(self, project: Path) -> None:
        wise = Wise([PLAN] * 4, [PLAN] * 4)
        ladder, state, _ = standing(project, wise)
        for _ in range(3):
            ladder.begin()
            await climb(ladder, state, 6)
            assert ladder.blocker("", "").advice == (PLAN.plan, PLAN.plan)
            assert ladder.blocker("", "").errors == ("edit_no_match",)
            assert len(ladder.attempts) == 6
        assert wise.asked == ["three", "boss"] * 3
        ladder.begin()
        empty = ladder.blocker("", "")
        assert (empty.advice, empty.errors, empty.attempts, ladder.rung) == ((), (), (), Rung.GROUND)

    async def test_a_loop_nobody_was_told_of_is_forgotten(self, project: Path) -> None:
        ladder, state, told = standing(project)
        ladder.after_results(state, [missed()] * 3)
        ladder.begin()
        assert await ladder.before_step(state) is None
        assert told == []

    async def test_passages_and_announcements_count_anew(self, project: Path) -> None:
        ladder, state, _ = standing(project)
        chant = Completion(AssistantMessage("and so on"), "chanting", Usage())
        announced = Completion(AssistantMessage("Let me read the file."), "stop", Usage())
        for _ in range(2):
            ladder.begin()
            assert isinstance(await ladder.after_answer(state, chant), Inject)
            assert ladder.rung is Rung.GROUND
            for number in range(2):
                assert await ladder.after_answer(state, announced) is None
                ladder.after_results(state, [looked(f"{number}.py")])


class TestWhatIsCounted:
    async def test_a_loop_seen_in_the_middle_of_an_answers_calls_is_told(self, project: Path) -> None:
        ladder, state, _ = standing(project)
        ladder.after_results(state, [missed(), missed(), missed(), looked("b.py")])
        decision = await ladder.before_step(state)
        assert isinstance(decision, Inject)
        assert "3 edits of a.py did not fit" in decision.text
        assert await ladder.before_step(state) is None, "once"

    async def test_words_are_no_reason_to_ask_others(self, project: Path) -> None:
        wise = Wise([PLAN])
        ladder, state, _ = standing(project, wise)
        announced = Completion(AssistantMessage("Let me read the file."), "stop", Usage())
        decisions: list[object] = []
        for number in range(20):
            decisions.append(await ladder.after_answer(state, announced))
            ladder.after_results(state, [looked(f"{number}.py")])
        assert [number for number, said in enumerate(decisions, 1) if said] == [3, 6]
        assert (wise.asked, ladder.rung) == ([], Rung.STEP_BACK)

    async def test_two_announcements_without_a_call_between_are_one(self, project: Path) -> None:
        ladder, state, _ = standing(project)
        announced = Completion(AssistantMessage("Let me read the file."), "stop", Usage())
        assert [await ladder.after_answer(state, announced) for _ in range(5)] == [None] * 5

    async def test_the_newest_sixty_attempts_are_kept(self, project: Path) -> None:
        ladder, state, _ = standing(project)
        ladder.after_results(state, [looked(f"{number}.py") for number in range(70)])
        assert [ladder.attempts[0].result, ladder.attempts[-1].result, len(ladder.attempts)] == ["10.py", "69.py", 60]


class TestWhatOthersAreShown:
    async def test_the_conversation_the_tools_and_files_as_they_are_now(self, project: Path) -> None:
        wise = Wise([PLAN])
        ladder, state, _ = standing(project, wise)
        read = ToolCall("r", "read_file", '{"file_path": "a.py"}')
        state.history.add_assistant(AssistantMessage("", (read,)))
        state.history.add_result("r", "x = 0")
        said = await climb(ladder, state, 5)
        (dossier,) = wise.dossiers
        assert dossier.main is not None
        assert (dossier.main.tools, dossier.main.messages) == (state.tools, state.history.messages)
        assert dossier.snippets == ("a.py, lines 1-1:\nx = 1",)
        assert (dossier.goal, dossier.attempts[0].count) == ("mend it", 5)
        assert PLAN.plan in said[-1]

    async def test_the_boss_is_shown_all_that_was_advised(self, project: Path) -> None:
        wise = Wise([PLAN, UNSURE], [UNSURE, PLAN])
        ladder, state, _ = standing(project, wise)
        await climb(ladder, state, 6)
        ladder.after_results(state, [looked("c.py", **{"c.py": "new"})])
        ladder.rung = Rung.STEP_BACK
        await climb(ladder, state, 3)
        assert wise.asked == ["three", "boss", "three", "boss"]
        assert list(wise.earlier[0]) == [PLAN]
        assert list(wise.earlier[1]) == [PLAN, UNSURE, UNSURE]

    async def test_a_boss_that_was_asked_twice_is_not_asked_for_the_three(self, project: Path) -> None:
        wise = Wise([PLAN, UNSURE], [PLAN, PLAN])
        ladder, state, _ = standing(project, wise)
        await climb(ladder, state, 6)
        ladder.rung = Rung.THREE
        await climb(ladder, state, 1)
        ladder.rung = Rung.STEP_BACK
        (said,) = await climb(ladder, state, 1)
        assert wise.asked == ["three", "boss", "boss", "three"]
        assert UNSURE.plan in said

    async def test_one_who_has_no_plan_is_not_shown_to_the_boss(self, project: Path) -> None:
        wise = Wise([NOBODY], [PLAN])
        ladder, state, _ = standing(project, wise)
        await climb(ladder, state, 5)
        assert list(wise.earlier[0]) == []

    async def test_of_a_long_goal_the_beginning_stands_where_it_steps_back(self, project: Path) -> None:
        ladder, state, _ = standing(project)
        state.query = "mend it " + "x" * 900 + " at last"
        said = await climb(ladder, state, 4)
        assert "mend it xxx" in said[3]
        assert "at last" not in said[3]
        assert "x" * 593 not in said[3]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("edit_no_match", "failed_edit"),
        ("would_destroy", "failed_edit"),
        ("file_changed_since", "failed_edit"),
        ("tool_bad_arguments", "bad_call"),
        ("tool_unknown", "bad_call"),
        ("file_missing", "same_error"),
    ],
)
def test_a_failure_is_of_its_kind_wherever_the_path_is_written(error: str, kind: str) -> None:
    detector = LoopDetector(3)
    for path in ("a.py", "./a.py", "b/../a.py") if kind == "failed_edit" else ("a.py",) * 3:
        detector.record(Step(tool="edit_file", arguments=f'{{"file_path": "{path}"}}', result="no", error=error))
    loop = detector.look()
    assert loop is not None
    assert (loop.pattern, loop.count) == (kind, 3)
    assert detector.detected()


def test_after_a_compaction_what_has_failed_counts_still() -> None:
    for error, counts in (("", False), ("file_missing", True)):
        detector = LoopDetector(3)
        step = Step(tool="read_file", arguments='{"file_path": "a.py"}', result="no", error=error)
        for number in range(3):
            if number == 2:
                detector.note_compaction()
            detector.record(step)
        assert detector.detected() == counts


def test_a_new_request_knows_no_state_and_no_output() -> None:
    detector = LoopDetector(3)
    same = Step(tool="read_file", arguments="{}", result="x")
    made = Step(tool="edit_file", arguments="{}", result="y", changed={"a.py": "1"})
    printed = [Step(tool="run_command", arguments='{"command": "make"}', result=text) for text in ("one", "two")]
    for _ in range(2):
        detector.reset()
        detector.record(made)
        assert detector.has_changed_files
        detector.record(made)
        assert not detector.has_changed_files
        detector.record(same)
        detector.record(same)
        detector.record(printed[0])
        detector.record(same)
        assert detector.detected(), "what a command says for the first time is no headway"
        detector.record(printed[1])
        detector.record(same)
        assert not detector.detected(), "what it has not said before is"
