"""Embeddings of llama.cpp's real server, and its refusals."""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.providers.base import Embedding, MessageAssembler
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.integration.llamacpp.conftest import ModelFile
from tests.support.embedding_llama import serving_embeddings
from tests.support.llama import Served, asks
from tests.support.tiny_gguf import WIDTH

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def embedder(model_file: ModelFile) -> Iterator[str]:
    with serving_embeddings(model_file("plain")) as address:
        yield address


@asynccontextmanager
async def opened(address: str) -> AsyncIterator[OpenAICompatible]:
    async with aclosing(OpenAICompatible("openai", address, timeout=30, idle_timeout=30)) as provider:
        yield provider


async def test_each_text_has_its_vector(embedder: str) -> None:
    texts = ["the file", "a test of tools", "the file"]
    async with opened(embedder) as provider:
        assert isinstance(provider, Embedding)
        together = await provider.embed(texts, "tiny")
        alone = await provider.embed(texts[1:2], "tiny")
    first, second, third = together.vectors
    assert len(first) == len(second) == WIDTH
    assert first == pytest.approx(third, abs=1e-4)
    assert second == pytest.approx(alone.vectors[0], abs=1e-4)
    assert first != pytest.approx(second, abs=1e-2)
    assert together.tokens > len(texts)


async def test_an_embedding_costs_a_conversation_on_the_same_server_its_cache(embedder: str) -> None:
    """Why the gguf provider, whose one child serves a conversation, makes none."""

    async def cached(provider: OpenAICompatible) -> int:
        gathered = MessageAssembler()
        async for chunk in provider.stream(asks("the file " * 100, max_tokens=2)):
            gathered.add(chunk)
        assert gathered.usage
        return gathered.usage.cached_tokens

    async with opened(embedder) as provider:
        await cached(provider)
        assert await cached(provider) > 100
        await provider.embed(["the file"], "tiny")
        assert await cached(provider) == 0


async def test_a_text_that_is_too_long_is_an_error(embedder: str) -> None:
    async with opened(embedder) as provider:
        with pytest.raises(LLMConnectionError) as caught:
            await provider.embed(["the file", "the file" * 800], "tiny")
    assert caught.value.key == "llm_text_too_long"
    assert "--ubatch-size" in caught.value.fix


async def test_a_server_that_was_not_started_for_them_says_how(talker: Served) -> None:
    async with talker.provider() as provider:
        with pytest.raises(LLMConnectionError) as caught:
            await provider.embed(["the file"], "tiny")
    assert caught.value.key == "llm_no_embeddings"
    assert not caught.value.retryable
    assert "--embeddings" in caught.value.fix


async def test_a_model_without_pooling_needs_to_be_told_one(model_file: ModelFile) -> None:
    with serving_embeddings(model_file("plain"), pooling="") as address:
        async with opened(address) as provider:
            with pytest.raises(LLMConnectionError) as caught:
                await provider.embed(["the file"], "tiny")
    assert caught.value.key == "llm_no_embeddings"
    assert "--pooling mean" in caught.value.fix
