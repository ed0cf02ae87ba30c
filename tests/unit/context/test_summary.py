"""A hand-off as it is asked for: what is tried again, and what is no summary."""

from collections.abc import AsyncGenerator

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.context.budget import Scale
from localllm.context.conversation import Conversation, Spoken
from localllm.context.summary import Summariser, Summary, plain_state
from localllm.llm.client import LLMClient
from localllm.llm.messages import (
    AssistantMessage,
    CompletionRequest,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from localllm.llm.providers.base import Chunk, FinishChunk, TextChunk
from localllm.llm.providers.scripted import Script, Scripted

pytestmark = pytest.mark.anyio

GOOD = "The goal is to find the leak; cache.py was read, and nothing has been changed so far."


class Model(Scripted):
    """Refuses as many requests as too long as it is told to, then says GOOD and ends so."""

    name = "told"

    def __init__(self, refused: int = 0, finish: str = "stop") -> None:
        super().__init__(Script(turn=()))
        self.asked: list[str] = []
        self._refused = refused
        self._finish = finish

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        self.asked.append(request.messages[-1].text)
        if len(self.asked) <= self._refused:
            raise LLMConnectionError("llm_context_overflow")
        yield TextChunk(GOOD)
        yield FinishChunk(self._finish)


def talk(*paths: str) -> Conversation:
    messages: list[Message] = [SystemMessage("system"), UserMessage("Find the leak.")]
    for path in paths:
        messages += [
            AssistantMessage("", (ToolCall("c", "read_file", f'{{"file_path": "{path}"}}'),)),
            ToolMessage("c", "read_file", f"x = {path}\n" * 2_000),
        ]
    return Conversation(tuple(messages), (Spoken("Find the leak.", 1),))


async def summed_up(model: Model) -> Summary:
    conversation = talk(*(f"module_{number}.py" for number in range(30)))
    scale = Scale(LLMClient(model, model="m", context_window=8_192, max_retries=0), (), 0.85)
    return await Summariser(scale._client).summarise(conversation, scale, scale.budget(conversation.messages[0]))


async def test_a_request_that_is_too_long_is_made_again_half_as_long() -> None:
    model = Model(refused=1)
    assert (await summed_up(model)).text == GOOD
    first, second = map(len, model.asked)
    assert second < 0.6 * first


async def test_two_that_are_too_long_are_enough() -> None:
    model = Model(refused=3)
    summary = await summed_up(model)
    assert (summary.text, len(model.asked)) == ("", 2)
    assert "does not fit" in summary.why


async def test_one_that_was_cut_at_the_limit_is_no_summary() -> None:
    summary = await summed_up(Model(finish="length"))
    assert (summary.text, summary.why) == ("", "it is too long")


def test_what_was_changed_is_not_listed_as_read() -> None:
    conversation = talk("a.py", "b.py")
    edit = ToolCall("e", "edit_file", '{"file_path": "a.py"}')
    more = (AssistantMessage("", (edit,)), ToolMessage("e", "edit_file", "Edited."))
    state = plain_state(Conversation((*conversation.messages, *more), conversation.spoken))
    assert "\nread: b.py\n" in state
    assert "\nchanged: a.py\n" in state
