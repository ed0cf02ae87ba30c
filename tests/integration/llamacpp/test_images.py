"""Pictures before llama.cpp's real server with a model that has no eyes."""

from contextlib import aclosing

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.base.events import ToolCall
from localllm.llm.client import LLMClient
from localllm.llm.http.transport import HttpRequest
from localllm.llm.messages import AssistantMessage, CompletionRequest, ToolMessage, UserMessage
from localllm.llm.providers.base import MessageAssembler
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.llama import Served, asks
from tests.support.pictures import PNG

pytestmark = pytest.mark.anyio

SHOWN = asks("", messages=(UserMessage("What is this?", (PNG,)),))


async def said(provider: OpenAICompatible, request: CompletionRequest) -> MessageAssembler:
    gathered = MessageAssembler()
    async for chunk in provider.stream(request):
        gathered.add(chunk)
    return gathered


async def test_a_model_that_refuses_a_picture_is_asked_without_it(talker: Served) -> None:
    described = asks("What is this?\n[a picture (image/png, 1 kB) that this model cannot see]")
    async with talker.provider() as provider:
        answer, same = await said(provider, SHOWN), await said(provider, described)
    assert answer.text == same.text
    assert answer.usage
    assert same.usage
    assert answer.usage.prompt_tokens == same.usage.prompt_tokens


class Showing(OpenAICompatible):
    """Sends pictures, whatever it has learned."""

    def prepare(self, request: CompletionRequest, *, refused: frozenset[str] = frozenset()) -> HttpRequest:
        return super().prepare(SHOWN, refused=refused)


async def test_how_it_refuses(talker: Served) -> None:
    provider = Showing("openai", talker.address, timeout=30, idle_timeout=30, api_key=talker.process.api_key)
    async with aclosing(provider):
        with pytest.raises(LLMConnectionError) as caught:
            await said(provider, SHOWN)
    assert caught.value.key == "llm_no_images"
    assert "image input is not supported" in caught.value.why
    assert "--mmproj" in caught.value.fix


async def test_a_picture_in_a_result_does_not_end_the_conversation(caller: Served) -> None:
    call = ToolCall("c1", "screenshot", "{}")
    shown = [UserMessage("Look"), AssistantMessage("", (call,)), ToolMessage("c1", "screenshot", "Done", (PNG,))]
    async with caller.provider() as provider:
        client = LLMClient(provider, max_tokens=20, max_retries=0)
        first = await client.complete(shown)
        later = await client.complete([*shown, AssistantMessage("A dot."), UserMessage("Sure?")])
    assert first.usage.prompt_tokens - 16 <= later.usage.cached_tokens


async def test_a_client_that_knows_the_model_does_not_even_try(talker: Served) -> None:
    async with talker.provider() as provider:
        client = LLMClient(provider, max_tokens=20, max_retries=0)
        answer = await client.complete([UserMessage("What is this?", (PNG,))])
        assert client.info.abilities is not None
        assert "vision" not in client.info.abilities
    assert answer.message.text
