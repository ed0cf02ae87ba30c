"""The context of a run for its strategy: question and agents, requests to them, and events."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec

from localllm.base import logs
from localllm.base.errors import EnsembleError, LLMConnectionError, LocalLLMError
from localllm.base.events import Json, Usage
from localllm.base.i18n import sentences
from localllm.ensemble.agents import Agent, Agents, explained
from localllm.ensemble.answer_checks import AnswerChecks
from localllm.ensemble.answers import Answer, Ask, answer_to
from localllm.ensemble.budget import Room, room_of
from localllm.ensemble.config import SystemSettings
from localllm.ensemble.fanout import Emit, FanOut, WorkerAsk
from localllm.ensemble.records import (
    HOPS_HEADER,
    Question,
    ReviewStarted,
    ReviewText,
    RunStarted,
    StrategyName,
    WorkerAnswer,
)
from localllm.llm.messages import Message, SystemMessage, UserMessage
from localllm.llm.overflow import overflow_of
from localllm.llm.tool_calling.router import refuses_schema

_SHRINK = 0.6
"""Factor for a reviewer's room after its server rejected the prompt as too long without giving a number."""

_MOST_SHRINKING, _MOST_REFUSALS = 2, 4
"""Most truncations by this factor, and most in all: a rejection may report the window or the prompt's length."""

_log = logs.of("ENSEMBLE")

Prompt = Callable[[Room], Sequence[Message]]
"""Builds a reviewer's prompt that fits the room. Raises EnsembleError if none does."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a strategy. `reviewer_error`: why the final answer is only a fallback. `finish_reason`: "length"
    if the final answer was truncated."""

    final_answer: str
    review_comment: str = ""
    reviewer_error: LocalLLMError | None = None
    finish_reason: str = "stop"


class Run:
    """One run. `workers`: the default workers; `answers`: their answers; `runtime`: details for the result beside the
    paper's keys, filled by the strategy; `usage`: the tokens of all requests so far; `checks` runs the configured
    check."""

    def __init__(
        self,
        run_id: str,
        question: Question,
        strategy: StrategyName,
        agents: Agents,
        workers: Sequence[Agent],
        emit: Emit,
        checks: AnswerChecks,
    ) -> None:
        self.run_id = run_id
        self.question = question
        self.strategy: StrategyName = strategy
        self.reviewer = agents.reviewer
        self.workers = tuple(workers)
        self.settings: SystemSettings = agents.settings
        self.answers: tuple[WorkerAnswer, ...] = ()
        self.runtime: dict[str, Json] = {}
        self.usage = Usage()
        self.emit = emit
        self.checks = checks
        self._deadline: float | None = None
        self._headers = ((HOPS_HEADER, ",".join(question.hops)),) if question.hops else ()

    async def ask_workers(
        self, workers: Sequence[Agent] | None = None, *, names: Sequence[str] = (), temperature: float | None = None
    ) -> tuple[WorkerAnswer, ...]:
        """Ask all workers concurrently; to be called once per run.

        Args:
            workers: Other workers than the run's; one may occur several times.
            names: The names of their answers; empty uses their own.
            temperature: Overrides their own.
        """
        asked = self.workers if workers is None else tuple(workers)
        called = tuple(names) or tuple(agent.name for agent in asked)
        models = tuple(agent.config.model for agent in asked)
        self.emit(RunStarted(self.run_id, self.strategy, called, self.reviewer.name, models))
        _log.info("%s: %s asked (%s)", self.run_id, ", ".join(called), self.strategy)
        getting_ready = self._get_reviewer_ready()
        try:
            fan_out = FanOut(
                [
                    WorkerAsk(name, self._ask(agent, self._messages(agent), temperature))
                    for name, agent in zip(called, asked, strict=True)
                ],
                self.settings,
                self.emit,
                stream=self.question.stream,
                run_id=self.run_id,
            )
            self.answers = await fan_out.answers()
        finally:
            if getting_ready is not None:
                getting_ready.cancel()
        for answer in self.answers:
            self.usage += answer.usage or Usage()
        return self.answers

    async def ask_reviewer(self, prompt: Prompt, *, schema: dict[str, Json] | None = None) -> Answer:
        """Send the reviewer a prompt that fits its window; shorten and retry it if its server rejects it as too long.
        All requests to it in a run share one timeout. `schema`: see `Ask`; dropped if the server rejects it. Raises
        LocalLLMError."""
        agent = self.reviewer
        self.emit(ReviewStarted(agent.name))
        _log.info("%s: %s reviews", self.run_id, agent.name)
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + agent.timeout
        deadline = self._deadline
        try:
            async with asyncio.timeout_at(deadline):
                await agent.endpoint.get_ready()
        except LLMConnectionError as error:
            raise explained(error, agent) from error
        except TimeoutError as error:
            raise EnsembleError("ensemble_timeout", seconds=agent.timeout) from error
        shrinking = refusals = 0
        while True:
            room = room_of(agent.endpoint, agent.config.max_tokens, _SHRINK**shrinking)
            messages = tuple(prompt(room))
            try:
                answer = await self._review(messages, deadline, schema)
            except LLMConnectionError as error:
                if schema is not None and refuses_schema(error):
                    schema = None
                elif overflow_of(error) and refusals < _MOST_REFUSALS and shrinking < _MOST_SHRINKING:
                    refusals += 1
                    shrinking += not agent.endpoint.learn_from(error, messages)
                else:
                    raise explained(error, agent) from error
                continue
            if not answer.usage.estimated:
                agent.endpoint.calibration.learn(messages, (), answer.usage.prompt_tokens)
            self.usage += answer.usage
            return answer

    async def ask(self, agent: Agent, messages: Sequence[Message], *, temperature: float | None = None) -> Answer:
        """Ask one agent without emitting events. Raises LocalLLMError."""
        try:
            answer = await answer_to(
                self._ask(agent, tuple(messages), temperature),
                deadline=asyncio.get_running_loop().time() + agent.timeout,
                retries=self.settings.max_retries,
            )
        except LLMConnectionError as error:
            raise explained(error, agent) from error
        self.usage += answer.usage
        return answer

    def _get_reviewer_ready(self) -> asyncio.Task[None] | None:
        """Fetch the reviewer's description while the workers answer."""
        endpoint = self.reviewer.endpoint
        if endpoint.is_ready:
            return None

        async def get_ready() -> None:
            with suppress(LocalLLMError):
                await endpoint.get_ready()

        return asyncio.get_running_loop().create_task(get_ready())

    async def _review(self, messages: tuple[Message, ...], deadline: float, schema: dict[str, Json] | None) -> Answer:
        return await answer_to(
            Ask(agent=self.reviewer, messages=messages, schema=schema, headers=self._headers),
            deadline=deadline,
            retries=self.settings.max_retries,
            on_text=(lambda text: self.emit(ReviewText(text))) if self.question.stream else None,
        )

    def _ask(self, agent: Agent, messages: tuple[Message, ...], temperature: float | None) -> Ask:
        return Ask(agent=agent, messages=messages, temperature=temperature, headers=self._headers)

    def _messages(self, agent: Agent) -> tuple[Message, ...]:
        """Build a worker's messages: the system message, the previous turns and the question."""
        question = self.question
        system = "\n\n".join(filter(None, (agent.config.system, question.system)))
        before = (SystemMessage(system),) if system else ()
        return (*before, *question.history, UserMessage(question.prompt))


Strategy = Callable[[Run], Awaitable[Outcome]]
"""Merges the answers of a run. It asks the workers first; a failure of the reviewer is part of its outcome."""


def all_failed(answers: Sequence[WorkerAnswer]) -> EnsembleError:
    """Return the error for a run without any answer."""
    reasons = sentences(*(f"{answer.agent}: {answer.error.what}" for answer in answers if answer.error))
    return EnsembleError("ensemble_all_failed", reasons=reasons)
