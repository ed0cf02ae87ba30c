"""Policies around the loop: what a run is for, and when it has taken too much."""

from collections.abc import Sequence

import pytest

from localllm.agent.history import History
from localllm.agent.middleware import Decision, Inject, Limits, Middleware, Policies, RunState, Stop, goal_of
from localllm.base.events import AgentEvent, ToolCall, Usage
from localllm.llm.messages import AssistantMessage, Completion
from localllm.tools.results import ToolResult

pytestmark = pytest.mark.anyio


def to_nobody(_event: AgentEvent) -> None:
    """Nobody watches."""


def state_of(query: str, *requests: str, tokens: int = 0) -> RunState:
    """The state of a run in a conversation of these requests, each answered but the last."""
    history = History("system")
    for number, words in enumerate(requests):
        if number:
            history.add_assistant(AssistantMessage("Well."))
        history.add_user(words, words=words)
    return RunState(
        query, history, to_nobody, usage=Usage(prompt_tokens=tokens - tokens // 2, completion_tokens=tokens // 2)
    )


def test_the_goal_is_the_newest_request_of_these_words_and_what_was_said_since() -> None:
    state = state_of("fix it", "fix it", "now the tests", "fix it")
    state.history.append_note("[said] and hurry", words="and hurry")
    assert state.goal == "fix it\nand hurry"


@pytest.mark.parametrize(
    ("requests", "goal"),
    [
        (("explain it", "fix it", "continue"), "fix it\ncontinue"),
        (("fix it", "continue", "yes, and rename x", "continue"), "fix it\ncontinue\nyes, and rename x"),
        (("yes", "continue"), "continue"),
        (("continue", "fix it"), "fix it"),
    ],
)
def test_the_goal_of_a_run_that_goes_on_begins_with_what_is_gone_on_with(requests: Sequence[str], goal: str) -> None:
    assert state_of(requests[-1], *requests).goal == goal


def test_what_was_added_during_a_run_is_not_all_that_is_gone_on_with() -> None:
    history = History("system")
    history.add_user("fix it", words="fix it")
    history.add_assistant(AssistantMessage("", (ToolCall("1", "read_file", "{}"),)))
    history.add_result("1", "x = 1")
    history.append_note("[said] only app.py", words="only app.py")
    history.close_turn("", "[interrupted by the user]")
    history.add_user("continue", words="continue")
    assert goal_of("continue", history) == "fix it\nonly app.py\ncontinue"


@pytest.mark.parametrize(("tokens", "stops"), [(99, False), (100, True), (101, True)])
async def test_the_limit_of_tokens_is_what_a_run_may_use(tokens: int, stops: bool) -> None:
    decision = await Limits(9, token_limit=100).before_step(state_of("look", "look", tokens=tokens))
    assert isinstance(decision, Stop) == stops


@pytest.mark.parametrize(
    ("step", "calls", "limits", "told"),
    [
        (2, 99, Limits(3), None),
        (3, 0, Limits(3), "after 3 steps"),
        (1, 0, Limits(1), "after 1 step,"),
        (0, 2, Limits(9, max_tool_calls=3), None),
        (0, 3, Limits(9, max_tool_calls=3), "after 3 tool calls"),
        (0, 5, Limits(9, max_tool_calls=3), "after 5 tool calls"),
        (9, 3, Limits(9, max_tool_calls=3), "after 9 steps"),
        (0, 0, Limits(9, max_tool_calls=0, token_limit=0), None),
    ],
)
async def test_a_run_ends_at_its_limit_and_says_which(step: int, calls: int, limits: Limits, told: str | None) -> None:
    state = state_of("look", "look", tokens=10**6)
    state.step, state.tool_calls = step, calls
    decision = await limits.before_step(state)
    assert (decision is None) == (told is None)
    if told:
        assert isinstance(decision, Stop)
        assert decision.status == "limit"
        assert told in str(decision.reason)


async def test_tokens_read_and_written_are_used() -> None:
    decision = await Limits(9, token_limit=100).before_step(state_of("look", "look", tokens=1_234))
    assert isinstance(decision, Stop)
    assert "after 1,234 tokens, more than the 100 of a run" in str(decision.reason)


def test_a_goal_that_nobody_has_said_is_the_query() -> None:
    assert state_of("explore it", "look", "go on").goal == "explore it"


class Policy(Middleware):
    """Says what it is given, and keeps what it was asked."""

    def __init__(self, name: str, log: list[str], *, before: Decision = None, answer: Decision = None) -> None:
        self._name, self._log, self._before, self._answer = name, log, before, answer

    def begin(self) -> None:
        self._log.append(f"{self._name} begins")

    async def before_step(self, state: RunState) -> Decision:
        self._log.append(f"{self._name} before")
        return self._before

    def after_results(self, state: RunState, results: Sequence[ToolResult]) -> None:
        self._log.append(f"{self._name} results")

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        self._log.append(f"{self._name} answer")
        return self._answer


class TestPolicies:
    STOP, SAID, MORE = Stop("stuck", "why"), Inject("one"), Inject("two")
    ANSWER = Completion(AssistantMessage("so"), "stop", Usage())

    async def test_before_a_step_all_are_asked_until_one_stops_the_run(self) -> None:
        log: list[str] = []
        told: list[Inject] = []
        policies = Policies(
            [
                Policy("a", log, before=self.SAID),
                Policy("b", log),
                Policy("c", log, before=self.MORE),
                Policy("d", log, before=self.STOP),
                Policy("e", log, before=self.SAID),
            ],
            told.append,
        )
        assert await policies.before_step(state_of("look", "look")) == self.STOP
        assert log == ["a before", "b before", "c before", "d before"]
        assert told == [self.SAID, self.MORE]
        assert await Policies([Policy("a", log)], told.append).before_step(state_of("look", "look")) is None

    @pytest.mark.parametrize("decision", [STOP, SAID])
    async def test_of_an_answer_the_first_that_has_something_to_say_decides(self, decision: Stop | Inject) -> None:
        log: list[str] = []
        told: list[Inject] = []
        first = [Policy("a", log), Policy("b", log, answer=decision), Policy("c", log, answer=self.MORE)]
        assert await Policies(first, told.append).after_answer(state_of("look", "look"), self.ANSWER) == decision
        assert log == ["a answer", "b answer"]
        assert told == ([decision] if decision is self.SAID else [])

    async def test_all_are_told_that_a_run_begins_and_what_came_of_calls(self) -> None:
        log: list[str] = []
        policies = Policies([Policy("a", log), Policy("b", log)], lambda _: None)
        policies.begin()
        policies.after_results(state_of("look", "look"), ())
        assert log == ["a begins", "b begins", "a results", "b results"]
        assert await policies.after_answer(state_of("look", "look"), self.ANSWER) is None

    async def test_a_policy_does_nothing_of_itself(self) -> None:
        plain, state = Middleware(), state_of("look", "look")
        plain.begin()
        plain.after_results(state, ())
        assert await plain.before_step(state) is None
        assert await plain.after_answer(state, self.ANSWER) is None
