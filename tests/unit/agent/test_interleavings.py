"""Whatever happens at whatever moment, the conversation stays valid, is sent as it is, and loses no word.

A failure prints its seed and what was done. What such failures have led to stands below, as tests of their own.
"""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from localllm.agent.react_agent import ReActAgent
from localllm.base.errors import LLMConnectionError
from localllm.base.events import AgentEvent, RunFinished, RunStarted
from localllm.llm.client import LLMClient
from localllm.llm.message_format import LOOKING
from localllm.llm.messages import AssistantMessage, CompletionRequest
from localllm.llm.providers.base import Chunk, FinishChunk, ModelInfo, TextChunk
from tests.support.accepting import check_accepted
from tests.support.agents import make_agent, play, scripted
from tests.support.interleavings import Interleaving, no_time
from tests.unit.agent.test_history import check_valid

pytestmark = pytest.mark.anyio

SEEDS = 50
"""So many take about a second; tests/long plays thousands."""


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_any_interleaving_leaves_a_valid_conversation(tmp_path: Path, seed: int) -> None:
    await Interleaving(seed, tmp_path).play()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n", encoding="utf-8")
    return root


def check(agent: ReActAgent) -> None:
    check_valid(agent.history.messages)
    check_accepted(agent.history.messages, agent.tool_system.specs())


@pytest.mark.parametrize("thinking", ["", "Hm."])
async def test_an_answer_of_nothing_but_spaces_is_none(project: Path, thinking: str) -> None:
    agent = make_agent(scripted(*[{"thinking": thinking, "text": " \n\n "}] * 3, "Well."), project)
    broken = (await play(agent, "Look"))[-1]
    assert isinstance(broken, RunFinished)
    key = "llm_only_thought" if thinking else "llm_empty"
    assert (broken.status, broken.error_code) == ("limit", LLMConnectionError(key, url="", reason="").code)
    check(agent)
    assert (await agent.execute_query("Go on")).answer == "Well."
    check(agent)


async def test_what_answers_with_spaces_is_asked_again(project: Path) -> None:
    client = LLMClient(scripted(" \n\n ", "Well."), model="m", max_retries=1, pause=no_time)
    agent = make_agent(client.provider, project, client=client)
    assert (await agent.execute_query("Look")).answer == "Well."
    check(agent)


async def test_a_request_that_is_interrupted_while_its_files_are_read_is_not_lost(project: Path) -> None:
    interrupting: list[ReActAgent] = []

    def listener(event: AgentEvent) -> None:
        if isinstance(event, RunStarted) and interrupting:
            interrupting.pop().interrupt()

    agent = make_agent(scripted("It is one."), project, listener=listener)
    interrupting.append(agent)
    events = await play(agent, "@a.py what is x?")
    assert isinstance(events[-1], RunFinished)
    assert events[-1].status == "interrupted"
    assert agent.history.words == ("@a.py what is x?",)
    check(agent)
    assert (await agent.execute_query("And now?")).answer == "It is one."
    check(agent)


class Overflowing:
    """Says a little, and then that the prompt is so much too long that the person's own words do not fit."""

    name, address, constrains = "overflowing", "here", False

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        if "too long" in request.messages[-1].text:
            yield TextChunk("It begins here.\n")
            yield TextChunk("And goes on.\n")
            raise LLMConnectionError(
                "llm_context_overflow", url=self.address, reason="", n_prompt_tokens=9_000, n_ctx=4_096
            )
        yield TextChunk("Well.")
        yield FinishChunk("stop")

    async def list_models(self) -> list[ModelInfo]:
        return [await self.describe("m")]

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        return ModelInfo(model)

    async def aclose(self) -> None:
        """Nothing to give back."""


async def test_what_was_said_to_a_request_that_is_taken_back_is_forgotten_with_it(project: Path) -> None:
    agent = make_agent(Overflowing(), project)
    broken = await agent.execute_query("too long " * 4_000)
    assert broken.error_code == LLMConnectionError("context_words_too_long", words="", room="", window="").code
    assert (agent.history.words, len(agent.history.messages)) == ((), 1)
    assert (await agent.execute_query("Shorter")).answer == "Well."
    check(agent)


async def test_a_model_may_say_what_stands_between_results_and_pictures(project: Path) -> None:
    agent = make_agent(scripted(LOOKING, "Well."), project)
    await agent.execute_query("Look")
    await agent.execute_query("Go on")
    assert agent.history.messages[2] == AssistantMessage(LOOKING)
    check(agent)
