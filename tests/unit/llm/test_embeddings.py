"""Embeddings: what each server is asked, how its vectors are read, and which are refused."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import set_language
from localllm.llm.gguf.provider import Gguf
from localllm.llm.messages import CompletionRequest, UserMessage
from localllm.llm.providers.azure import Azure
from localllm.llm.providers.base import Embedding, Embeddings
from localllm.llm.providers.embedding import EmbeddingProvider
from localllm.llm.providers.lmstudio import LMStudio
from localllm.llm.providers.ollama import Ollama
from localllm.llm.providers.ollama_models import TagEntry
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.providers.openai_models import is_embedding_name, makes_vectors
from tests.support.ollama_wire import TOLD, says
from tests.support.wire_server import Reply, WireServer, cassette

pytestmark = pytest.mark.anyio

KINDS = ("openai", "lmstudio", "azure", "ollama")
V0, V1 = "/api/v0/models", "/api/v1/models"


def provider(kind: str, url: str, **options: Any) -> EmbeddingProvider:
    match kind:
        case "openai":
            return OpenAICompatible("openai", url, timeout=5, idle_timeout=5)
        case "lmstudio":
            return LMStudio(url, timeout=5, idle_timeout=5)
        case "azure":
            return Azure(url, timeout=5, idle_timeout=5, api_key="k", **options)
        case _:
            return Ollama(url, timeout=5, idle_timeout=5)


@asynccontextmanager
async def asked(
    kind: str, *replies: Reply, routes: dict[str, Reply] | None = None, **options: Any
) -> AsyncIterator[Any]:
    with WireServer(replies, routes=TOLD | (routes or {}), models=("m", "text-embedding-3-small")) as server:
        made = provider(kind, server.url, **options)
        try:
            yield made, server
        finally:
            await made.aclose()


def answer(body: Any, status: int = 200) -> Reply:
    return Reply((body if isinstance(body, bytes) else json.dumps(body).encode(),), status)


def data(*vectors: Any, indexes: list[int] | None = None, **more: Any) -> dict[str, Any]:
    numbers = range(len(vectors)) if indexes is None else indexes
    items = [{"object": "embedding", "embedding": v, "index": n} for v, n in zip(vectors, numbers, strict=True)]
    return {"object": "list", "data": items, "model": "m", **more}


def vectors(kind: str, *told: Any) -> Reply:
    return answer({"model": "m", "embeddings": told} if kind == "ollama" else data(*told))


async def refusal(kind: str, reply: Reply, **options: Any) -> LLMConnectionError:
    async with asked(kind, reply, **options) as (made, _):
        with pytest.raises(LLMConnectionError) as caught:
            await made.embed(["one", "two"], "m")
    for language in ("ja", "en"):
        set_language(language)
        assert caught.value.what
        assert caught.value.fix
    return caught.value


@pytest.mark.parametrize("kind", ["openai", "lmstudio"])
async def test_openai_s_form(kind: str) -> None:
    usage = {"prompt_tokens": 8, "total_tokens": 8}
    async with asked(kind, answer(data([0.5, -1], [2, 0.25], indexes=[1, 0], usage=usage))) as (made, server):
        assert isinstance(made, Embedding)
        assert await made.embed(("one", "two"), "nomic") == Embeddings(((2.0, 0.25), (0.5, -1.0)), 8)
        assert server.asked == ["POST /v1/embeddings"]
        assert server.bodies() == [{"model": "nomic", "encoding_format": "float", "input": ["one", "two"]}]


@pytest.mark.parametrize("usage", [{}, {"usage": None}, {"usage": {"prompt_tokens": "many"}}])
async def test_vectors_without_a_bill_that_can_be_read(usage: dict[str, Any]) -> None:
    async with asked("openai", answer(data([1.0], **usage))) as (made, _):
        assert await made.embed(["one"], "m") == Embeddings(((1.0,),), 0)


async def test_vectors_without_indexes_are_in_order() -> None:
    async with asked("openai", answer({"data": [{"embedding": [1]}, {"embedding": [2]}]})) as (made, _):
        assert (await made.embed(["one", "two"], "m")).vectors == ((1.0,), (2.0,))


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"api_version": "2024-10-21"}, "/openai/deployments/emb%20one/embeddings?api-version=2024-10-21"),
        ({"api_version": "v1"}, "/openai/v1/embeddings"),
        ({"api_version": "preview"}, "/openai/v1/embeddings?api-version=preview"),
    ],
)
async def test_azure(options: dict[str, str], path: str) -> None:
    async with asked("azure", answer(data([1.0])), **options) as (made, server):
        assert (await made.embed(["one"], "emb one")).vectors == ((1.0,),)
        assert server.asked == [f"POST {path}"]
        assert server.headers[0]["api-key"] == "k"


async def test_ollama_as_documented() -> None:
    async with asked("ollama", cassette("ollama/embed")) as (made, server):
        told = await made.embed(["one", "two"], "all-minilm")
        assert told == Embeddings(((0.01, -0.002, 0.05), (0.02, 0.001, -0.03)), 8)
        assert server.asked == ["POST /api/embed"]
        assert server.bodies() == [{"model": "all-minilm", "truncate": False, "input": ["one", "two"]}]


async def test_ollama_keeps_a_chat_model_loaded_as_it_is() -> None:
    async with asked("ollama", says(), vectors("ollama", [1.0])) as (made, server):
        request = CompletionRequest(model="qwen3:8b", messages=(UserMessage("hi"),))
        assert [chunk async for chunk in made.stream(request)]
        await made.embed(["one"], "qwen3:8b")
        chat, embed = server.bodies()
        assert embed["options"] == {"num_ctx": chat["options"]["num_ctx"]}


@pytest.mark.parametrize("kind", KINDS)
async def test_no_texts_are_no_request(kind: str) -> None:
    async with asked(kind, answer({}, 500)) as (made, server):
        assert await made.embed([], "m") == Embeddings(())
        assert server.asked == []


@pytest.mark.parametrize("kind", ["openai", "ollama"])
@pytest.mark.parametrize(
    ("told", "why"),
    [
        ([[1.0]], "1 vectors came for 2 texts"),
        ([[1.0], [2.0], [3.0]], "3 vectors came for 2 texts"),
        ([], "0 vectors came for 2 texts"),
        ([[1.0], []], "an empty vector"),
        ([[1.0, 2.0], [1.0]], "different lengths came: 1, 2"),
        ([[1.0], None], "got `null`"),
        ([[1.0], [None]], "got `null`"),
        ([[1.0], ["x"]], "got `str`"),
        ([[1.0], "AACAPw=="], "got `str`"),
        ([[1.0], [1e999]], "JSON is malformed"),
        ([[1.0], [0.0]], "all zeros"),
        ([[1.0], [-1e308]], "too large"),
        ([[1.0] * 70_000] * 2, "70,000 numbers"),
    ],
)
async def test_vectors_that_cannot_be_used(kind: str, told: list[Any], why: str) -> None:
    error = await refusal(kind, vectors(kind, *told))
    assert error.key == "llm_bad_vectors"
    assert why in error.why
    assert "m" in error.what


@pytest.mark.parametrize("kind", ["openai", "ollama"])
async def test_a_number_beyond_all_numbers(kind: str) -> None:
    reply = vectors(kind, [1.0], [7777.5])
    overflowing = Reply((reply.pieces[0].replace(b"7777.5", b"1e999"),))
    assert (await refusal(kind, overflowing)).key == "llm_bad_vectors"


@pytest.mark.parametrize("indexes", [[0, 0], [1, 2], [0, None]])
async def test_indexes_that_are_not_those_of_the_texts(indexes: list[int]) -> None:
    error = await refusal("openai", answer(data([1.0], [2.0], indexes=indexes)))
    assert error.key == "llm_bad_vectors"
    assert "numbered" in error.why


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"data": null}', b"OK", b'{"embeddings": {}}'])
@pytest.mark.parametrize("kind", ["openai", "ollama"])
async def test_what_holds_no_vectors(kind: str, body: bytes) -> None:
    assert (await refusal(kind, answer(body))).key == "llm_bad_vectors"


NOT_THESE = [
    ("openai", 501, "This server does not support embeddings. Start it with `--embeddings`"),
    ("openai", 400, "Pooling type 'none' is not OAI compatible. Please use a different pooling type"),
    ("openai", 400, "The model does not support Embeddings API"),
    ("openai", 403, "You are not allowed to generate embeddings from this model"),
    ("openai", 404, "Not Found"),
    ("openai", 405, "Method Not Allowed"),
    ("lmstudio", 404, 'Failed to load model "m". Error: Model is not embedding.'),
    ("azure", 400, "The embeddings operation does not work with the specified model, gpt-4o. Please choose different"),
    ("ollama", 500, "this model does not support embeddings"),
]


@pytest.mark.parametrize(("kind", "status", "message"), NOT_THESE)
async def test_who_makes_none(kind: str, status: int, message: str) -> None:
    body = {"error": message} if kind in ("ollama", "lmstudio") else {"error": {"message": message}}
    error = await refusal(kind, answer(body, status), **({"api_version": "2024-10-21"} if kind == "azure" else {}))
    assert error.key == "llm_no_embeddings"
    assert message[:20] in error.why
    assert "“m”" in error.what
    assert not error.retryable
    if kind == "openai":
        assert "text-embedding-3-small" in error.fix


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("openai", "input (9003 tokens) is too large to process. increase the physical batch size (current: 512)"),
        ("openai", "Invalid 'input[0]': maximum input length is 8192 tokens."),
        ("openai", "This model's maximum context length is 8192 tokens, however you requested 9000 tokens"),
        ("ollama", "the input length exceeds the context length"),
        ("ollama", "input length exceeds maximum context length"),
    ],
)
@pytest.mark.parametrize("status", [400, 500])
async def test_a_text_that_is_too_long(kind: str, message: str, status: int) -> None:
    error = await refusal(kind, answer({"error": message}, status))
    assert error.key == "llm_text_too_long"
    assert message[:20] in error.why


@pytest.mark.parametrize(
    ("reply", "key"),
    [
        (answer({"error": "Unexpected endpoint or method. (POST /v1/embeddings)"}), "llm_malformed"),
        (answer({"error": {"message": "boom"}}), "llm_server_failed"),
        (answer(b"<html><body>Hello</body></html>"), "llm_malformed"),
        (answer({"error": "boom"}, 500), "llm_server_failed"),
        (answer({"error": "no"}, 401), "llm_unauthorized"),
        (Reply((b'{"data": [',), cut=True), "llm_cut"),
    ],
)
async def test_other_failures_are_what_they_are(reply: Reply, key: str) -> None:
    assert (await refusal("openai", reply)).key == key


async def test_a_model_that_is_not_there_is_named_with_those_that_are() -> None:
    error = await refusal("ollama", cassette("ollama/err_404_model"), routes={"/api/tags": TAGS})
    assert error.key == "llm_model_not_found"
    assert "bge-m3" in error.fix


TAGS = answer(
    {
        "models": [
            {"name": "qwen3:8b", "capabilities": ["completion"]},
            {"name": "bge-m3:latest", "capabilities": ["embedding"]},
            {"name": "gemma3:4b", "capabilities": ["completion", "embedding"]},
            {"name": "old-nomic:latest", "details": {"family": "nomic-bert"}},
            {"name": "old-llama:latest", "details": {"family": "llama"}},
        ]
    }
)


@pytest.mark.parametrize(
    ("kind", "routes", "options", "names"),
    [
        ("openai", {}, {}, ["text-embedding-3-small"]),
        ("lmstudio", {V0: cassette("lmstudio/v0_models")}, {}, ["text-embedding-nomic-embed-text-v1.5"]),
        (
            "lmstudio",
            {
                V0: answer({"error": "Unexpected endpoint or method."}),
                V1: answer({"models": [{"key": "a", "type": "llm"}, {"key": "b", "type": "embedding"}]}),
            },
            {},
            ["b"],
        ),
        ("lmstudio", {V0: answer({}, 404), V1: answer({}, 404)}, {}, ["text-embedding-3-small"]),
        ("ollama", {"/api/tags": TAGS}, {}, ["bge-m3:latest", "gemma3:4b", "old-nomic:latest"]),
        ("azure", {}, {"deployment": "my-embedding"}, ["my-embedding"]),
        ("azure", {}, {"deployment": "my-gpt"}, []),
    ],
)
async def test_who_can(kind: str, routes: dict[str, Reply], options: dict[str, str], names: list[str]) -> None:
    async with asked(kind, answer({}), routes=routes, **options) as (made, _):
        assert await made.list_embedding_models() == names


@pytest.mark.parametrize(
    ("name", "embeds"),
    [
        ("text-embedding-3-small", True),
        ("BAAI/bge-m3", True),
        ("all-minilm:latest", True),
        ("intfloat/multilingual-e5-large", True),
        ("gte-Qwen2-7B-instruct", True),
        ("qwen3:8b", False),
        ("llama3.2", False),
        ("phi-3.5e52", False),
    ],
)
def test_names_that_tell(name: str, embeds: bool) -> None:
    assert is_embedding_name(name) == makes_vectors(name) == embeds
    assert TagEntry(name).embeds == embeds


def test_a_model_file_makes_none() -> None:
    """See docs/providers.md, and tests/integration/llamacpp/test_embeddings.py for the reason."""
    assert not issubclass(Gguf, Embedding)


def test_a_reranker_neither_answers_nor_makes_vectors() -> None:
    assert is_embedding_name("bge-reranker-v2-m3")
    assert not makes_vectors("bge-reranker-v2-m3")
    assert not TagEntry("bge-reranker-v2-m3").embeds
