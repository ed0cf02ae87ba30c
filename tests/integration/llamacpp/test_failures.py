"""llama.cpp's real server failing in the middle: the conversation outlives it."""

import os
import signal
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from localllm.agent.react_agent import ReActAgent
from localllm.base.errors import LLMConnectionError
from localllm.base.events import AgentEvent, RunFinished, TextDelta
from localllm.config.schema import AgentSettings, GgufSettings, LLMSettings
from localllm.llm.client import LLMClient
from localllm.llm.factory import make_provider
from localllm.llm.gguf.provider import Gguf
from localllm.llm.http.messages import HttpRequest
from localllm.llm.messages import AssistantMessage, CompletionRequest, SystemMessage, UserMessage
from localllm.llm.providers.base import Chunk
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.integration.llamacpp.conftest import ModelFile
from tests.support.agents import make_tools, play
from tests.support.llama import Served, asks

pytestmark = pytest.mark.anyio

FREE_TEXT = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}


class Unstreamed(OpenAICompatible):
    """Asks for the answer in one piece."""

    def prepare(self, request: CompletionRequest, *, refused: frozenset[str] = frozenset()) -> HttpRequest:
        prepared = super().prepare(request, refused=refused)
        body = msgspec.json.decode(prepared.body)
        del body["stream_options"]
        return msgspec.structs.replace(prepared, body=msgspec.json.encode(body | {"stream": False}))


async def test_an_answer_the_server_cannot_read_fails_in_the_middle_of_a_stream(noisy: Served) -> None:
    said: list[Chunk] = []
    failure: LLMConnectionError | None = None
    async with noisy.provider() as provider:
        try:
            async for chunk in provider.stream(asks("Write", schema=FREE_TEXT, max_tokens=600)):
                said.append(chunk)
        except LLMConnectionError as error:
            failure = error
    assert said
    assert failure
    assert failure.key == "llm_bad_call"
    assert "does not match the expected" in failure.why


async def test_the_same_in_one_piece_is_a_500(noisy: Served) -> None:
    provider = Unstreamed("openai", noisy.address, timeout=30.0, idle_timeout=30.0, api_key=noisy.process.api_key)
    async with aclosing(provider):
        with pytest.raises(LLMConnectionError) as caught:
            await anext(provider.stream(asks("Write", schema=FREE_TEXT, max_tokens=600)))
    assert caught.value.key == "llm_bad_call"


async def test_a_server_that_dies_in_the_middle_cuts_the_answer_and_not_the_conversation(
    model_file: ModelFile, tmp_path: Path
) -> None:
    (root := tmp_path / "project").mkdir()
    settings = LLMSettings(provider="gguf", gguf=GgufSettings(file=str(model_file("plain")), threads=1))
    provider = make_provider(settings, root, os.environ)
    assert isinstance(provider, Gguf)
    victims: list[int] = []

    def kill_at_the_first_word(event: AgentEvent) -> None:
        if isinstance(event, TextDelta) and not victims:
            assert provider.pid
            victims.append(provider.pid)
            os.kill(victims[0], signal.SIGKILL)

    async with aclosing(provider):
        agent = ReActAgent(
            LLMClient(provider, model=provider.model, max_tokens=0),
            make_tools(root, tools=[]),
            settings=AgentSettings(),
            listeners=[kill_at_the_first_word],
        )
        cut = (await play(agent, "Talk."))[-1]
        agent.llm_client = LLMClient(provider, model=provider.model, max_tokens=20)
        then = (await play(agent, "Go on."))[-1]
        assert provider.pid not in victims

    assert isinstance(cut, RunFinished)
    assert (cut.status, cut.error_code) == ("error", "E2003")
    assert provider.address in cut.error
    assert isinstance(then, RunFinished)
    assert then.status == "limit"
    assert [type(message) for message in agent.history.messages] == [
        SystemMessage,
        UserMessage,
        AssistantMessage,
        UserMessage,
        AssistantMessage,
    ]
