"""Policies around the loop: what a run is for, and when it has taken too much."""

import pytest

from localllm.agent.history import History
from localllm.agent.middleware import Limits, RunState, Stop, goal_of
from localllm.base.events import AgentEvent, Usage
from localllm.llm.messages import AssistantMessage

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
    state = state_of("go on", "go on", "now the tests", "go on")
    state.history.append_note("[said] and hurry", words="and hurry")
    assert goal_of(state) == "go on\nand hurry"


@pytest.mark.parametrize(("tokens", "stops"), [(99, False), (100, True), (101, True)])
async def test_the_limit_of_tokens_is_what_a_run_may_use(tokens: int, stops: bool) -> None:
    decision = await Limits(9, token_limit=100).before_step(state_of("look", "look", tokens=tokens))
    assert isinstance(decision, Stop) == stops
