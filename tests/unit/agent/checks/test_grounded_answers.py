"""An answer from collections alone follows a search of its own run."""

import pytest

from localllm.agent.checks.grounded_answers import GroundedAnswers
from localllm.agent.history import History
from localllm.agent.middleware import Inject, RunState
from localllm.agent.system_prompt import remark
from localllm.base.events import ToolCall, Usage
from localllm.llm.messages import AssistantMessage, Completion
from localllm.tools.results import ToolResult

pytestmark = pytest.mark.anyio

STATE = RunState("why?", History("s"), lambda _: None)
ANSWER = Completion(AssistantMessage("So."), "stop", Usage())
SENT_BACK = Inject(remark("search_first"), require_call=True)


async def finds(question: str) -> str:
    return f"passages for {question}"


async def finds_nothing(question: str) -> str:
    del question
    return ""


def called(*names: str, success: bool = True) -> list[ToolResult]:
    return [
        ToolResult(call=ToolCall("c", name, "{}"), success=success, payload={}, for_model="", summary="")
        for name in names
    ]


@pytest.mark.parametrize("searched", [["search"], ["list", "search"], ["search", "list"]])
async def test_after_a_search_any_answer_is_the_last(searched: list[str]) -> None:
    policy = GroundedAnswers("search", finds)
    assert not policy.has_searched
    policy.after_results(STATE, called(*searched))
    policy.after_results(STATE, called("list"))
    assert policy.has_searched
    assert await policy.after_answer(STATE, ANSWER) is None


@pytest.mark.parametrize("results", [called("list"), called("search", success=False)])
async def test_without_one_it_is_sent_back_once_and_then_searched_for(results: list[ToolResult]) -> None:
    policy = GroundedAnswers("search", finds)
    policy.after_results(STATE, results)
    assert await policy.after_answer(STATE, ANSWER) == SENT_BACK
    policy.after_results(STATE, results)
    given = await policy.after_answer(STATE, ANSWER)
    assert isinstance(given, Inject)
    assert "passages for why?" in given.text
    assert await policy.after_answer(STATE, ANSWER) is None


async def test_where_nothing_is_found_either_the_answer_is_the_last() -> None:
    policy = GroundedAnswers("search", finds_nothing)
    assert await policy.after_answer(STATE, ANSWER) == SENT_BACK
    assert await policy.after_answer(STATE, ANSWER) is None


async def test_each_run_has_to_search() -> None:
    policy = GroundedAnswers("search", finds)
    policy.after_results(STATE, called("search"))
    policy.begin()
    assert await policy.after_answer(STATE, ANSWER) == SENT_BACK
    policy.begin()
    assert await policy.after_answer(STATE, ANSWER) == SENT_BACK
