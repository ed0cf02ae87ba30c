"""Answers in a form that was not asked for: of another interface of the same server, or of a server behind another's
provider. What is said is read; what is no answer is an error that says so, and never an empty answer."""

import json
from pathlib import Path

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.client import LLMClient
from localllm.llm.discovery.http_get import Answer
from localllm.llm.discovery.scan import recognise
from localllm.llm.messages import AssistantMessage, Completion, CompletionRequest, UserMessage
from localllm.llm.providers.base import Embedding, Provider, TextChunk
from localllm.llm.providers.lmstudio import LMStudio, parse_native_models
from localllm.llm.providers.ollama import Ollama
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.each import each
from tests.support.wire_server import FIXTURES, Reply, WireServer, cassette

pytestmark = pytest.mark.anyio

HELLO = (UserMessage("Hello"),)
TESTS = Path(__file__).parents[2]


def lm_studio(url: str) -> LMStudio:
    return LMStudio(url, timeout=5, idle_timeout=5)


def openai(url: str) -> OpenAICompatible:
    return OpenAICompatible("openai", url, timeout=5, idle_timeout=5)


async def ask(provider: Provider) -> Completion:
    client = LLMClient(provider, model="qwen3:8b", max_retries=0)
    try:
        return await client.complete(HELLO)
    finally:
        await client.aclose()


async def failure(provider: Provider) -> LLMConnectionError:
    with pytest.raises(LLMConnectionError) as caught:
        await ask(provider)
    assert caught.value.fix
    return caught.value


class TestLMStudiosOwnInterface:
    """/api/v1/chat and its neighbours: we ask /v1/chat/completions, which agents need for their tools."""

    @pytest.mark.parametrize("name", ["v1_api_chat", "v1_api_load", "v1_api_unload"])
    async def test_an_answer_of_another_form_is_told_with_its_words(self, name: str) -> None:
        with WireServer([cassette(f"lmstudio/{name}")]) as server:
            error = await failure(lm_studio(server.url))
        assert error.key == "llm_malformed"
        assert "qwen/qwen3-8b" in error.why

    async def test_a_stream_of_another_form_is_no_answer(self) -> None:
        with WireServer([cassette("lmstudio/v1_api_chat_stream")]) as server:
            error = await failure(lm_studio(server.url))
        assert error.key == "llm_cut"

    async def test_an_error_in_it_keeps_its_words(self) -> None:
        with WireServer([cassette("lmstudio/v1_api_err_stream")]) as server:
            error = await failure(lm_studio(server.url))
        assert error.key == "llm_server_failed"
        assert '"model" is required' in error.why

    @pytest.mark.parametrize("name", ["v1_api_chat", "v1_api_load", "v1_api_unload"])
    def test_it_is_no_list_of_models(self, name: str) -> None:
        with pytest.raises(ValueError, match="lists no models"):
            parse_native_models(b"".join(cassette(f"lmstudio/{name}").pieces))


class TestOllamaAsAnOpenAICompatibleServer:
    async def test_its_thinking_has_another_name_there(self) -> None:
        with WireServer([cassette("ollama/v1_chat")], models=("qwen3:8b",)) as server:
            told = await ask(openai(server.url))
        assert told.message == AssistantMessage("Paris", thinking="Okay, ...")
        assert (told.usage.prompt_tokens, told.usage.completion_tokens, told.usage.cached_tokens) == (136, 15, 0)
        assert not told.usage.estimated

    async def test_a_missing_model_names_those_there_are(self) -> None:
        with WireServer([cassette("ollama/v1_err_404")], models=("qwen3:4b",)) as server:
            error = await failure(openai(server.url))
        assert (error.key, error.params["available"]) == ("llm_model_not_found", "qwen3:4b")


async def test_an_answer_of_llama_cpp_that_came_whole_and_was_cut_by_its_limit() -> None:
    with WireServer([cassette("llamacpp/tools_required_cut_by_max_tokens")]) as server:
        told = await ask(openai(server.url))
    assert (told.message.text, told.finish_reason) == ("search_", "length")
    assert (told.usage.prompt_tokens, told.usage.completion_tokens, told.usage.cached_tokens) == (617, 12, 616)


class TestOllamaItself:
    async def test_an_answer_held_to_a_schema(self) -> None:
        schema = json.loads((FIXTURES / "ollama/chat_format_schema.json").read_text("utf-8"))["req"]["json"]["format"]
        with WireServer([cassette("ollama/chat_format_schema")]) as server:
            provider = Ollama(server.url, timeout=5, idle_timeout=5)
            request = CompletionRequest(model="qwen3:8b", messages=HELLO, schema=schema)
            chunks = [chunk async for chunk in provider.stream(request)]
            await provider.aclose()
        text = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))
        assert json.loads(text) == {"age": 22, "available": False}
        assert server.bodies()[-1]["format"] == schema

    async def test_embeddings(self) -> None:
        with WireServer([cassette("ollama/embed")], routes={}) as server:
            provider = Ollama(server.url, timeout=5, idle_timeout=5)
            assert isinstance(provider, Embedding)
            told = await provider.embed(["one", "two"], "all-minilm")
            await provider.aclose()
        assert (told.vectors, told.tokens) == (((0.01, -0.002, 0.05), (0.02, 0.001, -0.03)), 8)

    async def test_it_is_known_by_its_version_and_its_list(self) -> None:
        told = {"/api/version": "ollama/version", "/api/tags": "ollama/tags", "/api/ps": "ollama/ps"}

        async def answers(path: str) -> Answer:
            reply = cassette(told[path]) if path in told else Reply((b"404 page not found",), 404)
            return Answer(reply.status, reply.headers, b"".join(reply.pieces))

        found = await recognise(answers, "ollama")
        assert (found.provider, found.software, found.state) == ("ollama", "Ollama", "ready")
        assert [(model.id, model.context_window) for model in found.models] == [("qwen3:8b", 4096)]


async def test_a_list_that_goes_on_without_an_end_is_no_list() -> None:
    async def answers(path: str) -> Answer:
        listed = b'{"object": "list", "data": []}' + b" " * 100
        return Answer(200 if path == "/v1/models" else 404, {}, listed, whole=False)

    assert (await recognise(answers, "openai")).state == "foreign"


WIRES = sorted(file.relative_to(FIXTURES) for pattern in ("*/*.json", "*/*.http") for file in FIXTURES.glob(pattern))


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """All tests there are."""
    return [file.read_text("utf-8") for file in TESTS.rglob("*.py")]


@each("wire", WIRES, ids=str)
def test_every_wire_is_played_by_a_test(wire: Path, texts: list[str]) -> None:
    """By its whole name, or by its own in a file that puts its folder's before it."""
    by_itself = (f'"{wire.stem}"' in text and f'"{wire.parent.name}/{{' in text for text in texts)
    assert any(f'{wire.parent.name}/{wire.stem}"' in text for text in texts) or any(by_itself)
