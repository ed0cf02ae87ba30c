"""LLMClient: what it knows of its model, and when it asks."""

from collections.abc import AsyncGenerator

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.clients import ASSUMED_CONTEXT_WINDOW, LLMClient
from localllm.llm.messages import CompletionRequest, UserMessage
from localllm.llm.providers.base import Chunk, FinishChunk, ModelInfo, TextChunk

pytestmark = pytest.mark.anyio

HELLO = (UserMessage("Hello"),)


class Server:
    """Tells of its models as `told` says, in turn and the last of it again; an error among it is raised."""

    name = "made-up"
    address = "http://127.0.0.1:9"

    def __init__(self, *told: ModelInfo | LLMConnectionError) -> None:
        self.told = list(told)
        self.described: list[str] = []
        self.closed = False

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        yield TextChunk(f"I am {request.model}")
        yield FinishChunk("stop")

    async def list_models(self) -> list[ModelInfo]:
        return [ModelInfo("first"), ModelInfo("second")]

    async def describe(self, model: str) -> ModelInfo:
        self.described.append(model)
        told = self.told.pop(0) if len(self.told) > 1 else self.told[0]
        if isinstance(told, LLMConnectionError):
            raise told
        return told

    async def aclose(self) -> None:
        self.closed = True


async def test_the_window_is_what_the_server_tells_and_is_asked_for_once() -> None:
    client = LLMClient(server := Server(ModelInfo("first", context_window=4_096)))
    assert (client.context_window, client.assumes_window) == (ASSUMED_CONTEXT_WINDOW, True)
    for _ in range(3):
        await client.complete(HELLO)
    assert (client.context_window, client.assumes_window) == (4_096, False)
    assert server.described == ["first"]


@pytest.mark.parametrize(("set_to", "window"), [(2_048, 2_048), (32_768, 4_096)])
async def test_of_the_window_that_is_set_and_the_one_that_is_told_the_smaller_counts(set_to: int, window: int) -> None:
    client = LLMClient(Server(ModelInfo("first", context_window=4_096)), context_window=set_to)
    await client.complete(HELLO)
    assert client.context_window == window


async def test_a_model_that_was_not_loaded_is_asked_about_again_after_its_first_answer() -> None:
    client = LLMClient(server := Server(ModelInfo("first", loaded=False), ModelInfo("first", context_window=4_096)))
    for _ in range(3):
        await client.complete(HELLO)
    assert client.context_window == 4_096
    assert server.described == ["first", "first"]


async def test_a_server_that_never_tells_is_asked_twice_at_most() -> None:
    client = LLMClient(server := Server(ModelInfo("first")))
    for _ in range(5):
        await client.complete(HELLO)
    assert len(server.described) == 2


async def test_a_server_that_cannot_describe_still_answers() -> None:
    failure = LLMConnectionError("llm_malformed", url="u", reason="r", provider="p")
    client = LLMClient(server := Server(failure))
    completion = await client.complete(HELLO)
    assert completion.message.text == "I am first"
    await client.complete(HELLO)
    await client.complete(HELLO)
    assert len(server.described) == 2


async def test_another_model_and_another_server_are_described_anew() -> None:
    before, after = Server(ModelInfo("first", context_window=4_096)), Server(ModelInfo("b", context_window=9_999))
    client = LLMClient(before)
    await client.complete(HELLO)
    await client.use(before, "second")
    await client.complete(HELLO)
    assert before.described == ["first", "second"]
    assert not before.closed
    await client.use(after, "b")
    assert before.closed
    assert client.context_window == ASSUMED_CONTEXT_WINDOW
    assert (await client.complete(HELLO)).message.text == "I am b"
    assert client.context_window == 9_999
