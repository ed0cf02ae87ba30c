"""LLMClient: what it knows of its model, and when it asks."""

from collections.abc import AsyncGenerator, Sequence

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.client import ASSUMED_CONTEXT_WINDOW, LEAST_ANSWER, LLMClient
from localllm.llm.messages import AssistantMessage, CompletionRequest, UserMessage
from localllm.llm.providers.base import Chunk, FinishChunk, ModelInfo, TextChunk, UsageChunk

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

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
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


async def test_a_server_that_never_tells_its_window_is_asked_once() -> None:
    client = LLMClient(server := Server(ModelInfo("first")))
    for _ in range(5):
        await client.complete(HELLO)
    assert len(server.described) == 1


async def test_a_window_that_a_loaded_model_did_not_have_yet_is_asked_for_again_once() -> None:
    client = LLMClient(server := Server(ModelInfo("first", loaded=True)))
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


async def test_who_is_got_ready_is_not_described_again() -> None:
    client = LLMClient(server := Server(ModelInfo("first", context_window=4_096)))
    await client.get_ready()
    assert client.context_window == 4_096
    await client.complete(HELLO)
    assert server.described == ["first"]


async def test_what_fails_in_getting_ready_fails_in_the_request_and_is_tried_again_there() -> None:
    """Nobody is asked once more than without it."""

    class Waking(Server):
        asked = 0

        async def list_models(self) -> list[ModelInfo]:
            self.asked += 1
            if self.asked == 1:
                raise LLMConnectionError("llm_loading", url="u", reason="r", retryable=True)
            return await super().list_models()

    async def no_pause(_seconds: float) -> None:
        """Nobody waits."""

    client = LLMClient(server := Waking(ModelInfo("first", context_window=4_096)), pause=no_pause)
    await client.get_ready()
    assert server.asked == 1
    retried: list[str] = []
    await client.complete(HELLO, on_retry=lambda error, _seconds: retried.append(error.key))
    assert (server.asked, retried) == (2, ["llm_loading"])


async def test_a_failure_to_get_ready_is_no_failure_of_another_server() -> None:
    class Silent(Server):
        async def list_models(self) -> list[ModelInfo]:
            raise LLMConnectionError("llm_refused", url="u")

    client = LLMClient(Silent(ModelInfo("m")))
    await client.get_ready()
    await client.use(Server(ModelInfo("b")), "b")
    assert (await client.complete(HELLO)).message.text == "I am b"


class Asked(Server):
    """Counts a prompt as `counted` tokens, and keeps how long an answer each request may have."""

    def __init__(self, told: ModelInfo, counted: int) -> None:
        super().__init__(told)
        self.counted = counted
        self.limits: list[int] = []

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        self.limits.append(request.max_tokens)
        yield TextChunk("yes")
        yield UsageChunk(self.counted, 1)
        yield FinishChunk("stop")


async def test_no_answer_is_asked_for_that_is_longer_than_what_is_left_of_the_window() -> None:
    long = (UserMessage("word " * 1_440),)  # estimated as 2,000 tokens
    client = LLMClient(server := Asked(ModelInfo("first", context_window=4_096), 2_000), max_tokens=8_192)
    await client.complete(HELLO)
    await client.complete(long)
    assert 4_000 < server.limits[0] < 4_096
    assert 4_096 - 1.32 * 2_000 < server.limits[1] < 4_096 - 1.28 * 2_000, "it may be longer than estimated"
    await client.complete((*long, AssistantMessage("yes"), UserMessage("again")))
    assert 2_000 < server.limits[2] < 4_096 - 2_000


async def test_in_a_script_the_estimate_is_unsure_about_less_is_left_for_the_answer() -> None:
    client = LLMClient(server := Asked(ModelInfo("first", context_window=4_096), 0), max_tokens=8_192)
    await client.complete((UserMessage("日本語の文章" * 330),))  # estimated as 1,980 tokens
    assert server.limits[0] == LEAST_ANSWER
    await client.complete((UserMessage("word " * 1_440),))
    await client.complete((UserMessage("word " * 1_440),))
    assert server.limits[1] == server.limits[2] > 1_400, "nothing was ever counted"


async def test_once_a_prompt_was_counted_another_one_gets_most_of_what_it_leaves() -> None:
    """A summary, or the first request of a sub-agent, continues nothing."""
    told = (UserMessage("word " * 720),)  # estimated as 1,000 tokens, and counted so
    client = LLMClient(server := Asked(ModelInfo("first", context_window=4_096), 1_000), max_tokens=8_192)
    await client.complete(told)
    await client.complete((UserMessage("another " * 1_100),))  # 2,450
    assert 800 < server.limits[1] < 4_096 - 2_450


async def test_a_limit_of_the_request_counts_before_the_clients_own() -> None:
    client = LLMClient(server := Asked(ModelInfo("first", context_window=4_096), 20), max_tokens=1_000)
    await client.complete(HELLO, max_tokens=77)
    await client.complete(HELLO)
    assert server.limits == [77, 1_000]


async def test_where_the_window_is_a_guess_or_no_limit_is_wanted_it_is_left_alone() -> None:
    client = LLMClient(server := Asked(ModelInfo("first"), 20), max_tokens=50_000)
    await client.complete(HELLO)
    assert server.limits == [50_000]
    client = LLMClient(server := Asked(ModelInfo("first", context_window=4_096), 20))
    await client.complete(HELLO)
    assert server.limits == [0]


async def test_what_a_request_had_is_known_when_the_next_continues_it() -> None:
    long = (UserMessage("word " * 1_440),)
    client = LLMClient(Asked(ModelInfo("first"), 3_000))
    await client.complete(long)
    more = (*long, AssistantMessage("yes"), UserMessage("word " * 72))
    assert 3_000 + 100 < client.expect_prompt(more) < 3_000 + 160
    assert client.expect_prompt((UserMessage("another"),)) < 20
