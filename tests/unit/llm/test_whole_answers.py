"""Answers that nobody watches arrive: asked for in one piece, of bounded length, with headers of the caller."""

import json

import msgspec
import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.http.messages import HttpRequest
from localllm.llm.messages import CompletionRequest, UserMessage
from localllm.llm.providers import http_provider
from localllm.llm.providers.base import Chunk, FinishChunk, TextChunk, UsageChunk
from localllm.llm.providers.gemini import Gemini
from localllm.llm.providers.ollama import Ollama
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.ollama_wire import TOLD, answer, closing, lines
from tests.support.wire_server import Reply, WireServer, cassette

pytestmark = pytest.mark.anyio

REQUEST = CompletionRequest(model="qwen3:8b", messages=(UserMessage("Hello"),), whole=True)
ADDRESS = "http://127.0.0.1:9"


def prepared() -> dict[str, HttpRequest]:
    """The request as each kind of server is sent it."""
    request = msgspec.structs.replace(REQUEST, most_bytes=1_000, headers=(("X-Passed", "a,b"),))
    return {
        "ollama": Ollama(ADDRESS, timeout=1, idle_timeout=1, api_key="k").prepare(request, num_ctx=4_096),
        "openai": OpenAICompatible("openai", ADDRESS, timeout=1, idle_timeout=1, api_key="k").prepare(request),
        "gemini": Gemini(ADDRESS, timeout=1, idle_timeout=1, api_key="k").prepare(request),
    }


async def test_it_is_asked_for_without_a_stream() -> None:
    bodies = {name: json.loads(request.body) for name, request in prepared().items()}
    assert bodies["ollama"]["stream"] is bodies["openai"]["stream"] is False
    assert "stream_options" not in bodies["openai"], "OpenAI refuses them beside an answer in one piece"


async def test_the_callers_headers_go_along_with_the_key() -> None:
    for name, request in prepared().items():
        assert request.headers["X-Passed"] == "a,b", name
        assert "k" in " ".join(request.headers.values()), name
        assert request.most == 1_000, name


async def told(reply: Reply, request: CompletionRequest = REQUEST) -> list[Chunk]:
    with WireServer([reply], routes=TOLD) as server:
        async with closing(Ollama(server.url, timeout=5, idle_timeout=5)) as provider:
            return [chunk async for chunk in provider.stream(request)]


async def test_it_is_read_as_a_stream_is() -> None:
    assert await told(cassette("ollama/chat")) == [
        TextChunk("Hello!"),
        FinishChunk("stop"),
        UsageChunk(169, 15, generation_seconds=0.115959084),
        FinishChunk(""),
    ]


@pytest.mark.parametrize("piece", [b'data: {"choices":[{"index":0,"delta":{},"finish_reason":null}]}\n\n', b": k\n\n"])
async def test_pieces_that_bring_nothing_have_an_end(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_provider, "_MOST_BYTES", 10_000)
    with WireServer([Reply((piece * 3_000,))]) as server:
        async with closing(OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5)) as provider:
            with pytest.raises(LLMConnectionError) as caught:
                async for _ in provider.stream(CompletionRequest(model="m", messages=REQUEST.messages)):
                    pass
    assert caught.value.key == "llm_endless"


async def test_an_answer_that_is_too_long_is_broken_off() -> None:
    bounded = msgspec.structs.replace(REQUEST, most_bytes=10_000)
    long = answer({"message": {"content": "x" * 20_000}, "done": True})
    streamed = Reply(lines(*[{"message": {"content": "x" * 1_000}} for _ in range(20)], {"done": True}))
    for reply in (long, streamed):
        with pytest.raises(LLMConnectionError) as caught:
            await told(reply, bounded)
        assert caught.value.key == "llm_endless"
        assert not caught.value.retryable
        assert await told(reply), "without a limit it is whole"
