"""A model that answers by what it is asked, for an agent and those that work for it."""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

import msgspec

from localllm.agent.system_prompt import system_prompt
from localllm.llm.messages import CompletionRequest, ToolMessage
from localllm.llm.providers.base import Chunk, FinishChunk, ModelInfo, TextChunk, ToolCallChunk

Turn = dict[str, Any] | str
"""A text, or {"text": …, "calls": [{"name": …, "arguments": {…}}]}."""


class Brain:
    """The provider of such a model. `answer` gives a turn, or raises what a server would.

    `requests` has every request, `open` counts those that are not answered yet.
    """

    name = "brain"
    address = "brain"
    constrains = True

    def __init__(self, answer: Callable[[CompletionRequest], Turn | Awaitable[Turn]]) -> None:
        self._answer = answer
        self.requests: list[CompletionRequest] = []
        self.open = 0

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        self.requests.append(request)
        self.open += 1
        try:
            found = self._answer(request)
            turn = await found if inspect.isawaitable(found) else found
            turn = {"text": turn} if isinstance(turn, str) else turn
            if text := turn.get("text"):
                yield TextChunk(text)
            calls = turn.get("calls", [])
            for index, one in enumerate(calls):
                yield ToolCallChunk(index, name=one["name"])
                yield ToolCallChunk(index, arguments=msgspec.json.encode(one["arguments"]).decode())
            yield FinishChunk("tool_calls" if calls else "stop")
        finally:
            self.open -= 1

    async def list_models(self) -> list[ModelInfo]:
        return [await self.describe("brain")]

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        return ModelInfo(model)

    async def aclose(self) -> None:
        """Nothing to give back."""


def asked_as(request: CompletionRequest, prompt: str) -> bool:
    """Whether the request is that of an agent with this system prompt."""
    return request.messages[0].text == system_prompt(prompt)


def task_of(request: CompletionRequest) -> str:
    """What the agent was asked first."""
    return request.messages[1].text


def results_in(request: CompletionRequest) -> list[str]:
    """The results of its calls so far."""
    return [message.text for message in request.messages if isinstance(message, ToolMessage)]


def to_call(name: str, **arguments: Any) -> Turn:
    """A turn with one call."""
    return {"calls": [{"name": name, "arguments": arguments}]}
