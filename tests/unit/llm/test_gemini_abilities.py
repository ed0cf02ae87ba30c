"""The Gemini provider: embeddings, answers held to a schema, and pictures, in the documented form."""

import json
from typing import Any

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, Completion, Image, SystemMessage, ToolSpec, UserMessage
from localllm.llm.providers.base import Embedding, Embeddings
from localllm.llm.providers.gemini import Gemini
from localllm.llm.tool_calling.router import Speaking
from localllm.llm.tool_calling.structured import step_schema
from tests.support.wire_server import Reply, WireServer, cassette

pytestmark = pytest.mark.anyio

HELLO = (SystemMessage("You help."), UserMessage("Hello"))
MODEL = {
    "name": "models/gemini-3-flash",
    "inputTokenLimit": 1_048_576,
    "supportedGenerationMethods": ["generateContent", "countTokens"],
    "thinking": True,
}


def gemini(url: str) -> Gemini:
    return Gemini(url, timeout=5, idle_timeout=5, api_key="k")


def says(text: str) -> Reply:
    frame = {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}]}
    return Reply((f"data: {json.dumps(frame)}\r\n\r\n".encode(),))


def fails(status: int, message: str) -> Reply:
    body = {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
    return Reply((json.dumps(body).encode(),), status, {"content-type": "application/json"})


EMBEDDED = {"embeddings": [{"values": [0.25, -1.0]}, {"values": [0, 2.5]}], "usageMetadata": {"promptTokenCount": 7}}
"""The form the reference of batchEmbedContents documents."""

EMBEDDER = MODEL | {"name": "models/gemini-embedding-001", "supportedGenerationMethods": ["embedContent"]}


def answer(body: dict[str, Any]) -> Reply:
    return Reply((json.dumps(body).encode(),), headers={"content-type": "application/json"})


def listing(*models: dict[str, Any]) -> dict[str, Reply]:
    return {"/v1beta/models?pageSize=1000": answer({"models": models})}


class TestEmbeddings:
    async def embedded(self, texts: list[str], *replies: Reply, model: str = "gemini-embedding-001"):
        """The vectors, and the server that was asked for them."""
        routes = listing(MODEL, EMBEDDER, EMBEDDER | {"name": "models/both"})
        with WireServer(replies, routes=routes) as server:
            provider = gemini(server.url)
            try:
                return await provider.embed(texts, model), server
            finally:
                await provider.aclose()

    async def failing(self, *replies: Reply, texts: tuple[str, ...] = ("a", "b"), model: str = "m"):
        with pytest.raises(LLMConnectionError) as caught:
            await self.embedded(list(texts), *replies, model=model)
        assert caught.value.fix
        return caught.value

    async def test_texts_as_documented(self) -> None:
        told, server = await self.embedded(["one", "語"], answer(EMBEDDED))
        assert told == Embeddings(((0.25, -1.0), (0.0, 2.5)), 7)
        assert server.asked == ["POST /v1beta/models/gemini-embedding-001:batchEmbedContents"]
        assert server.headers[0]["x-goog-api-key"] == "k"
        assert server.bodies() == [
            {
                "requests": [
                    {"model": "models/gemini-embedding-001", "content": {"parts": [{"text": text}]}}
                    for text in ("one", "語")
                ]
            }
        ]

    async def test_more_than_a_request_may_have_are_sent_in_several(self) -> None:
        def vectors(start: int, count: int) -> Reply:
            return answer({"embeddings": [{"values": [number + 1.0]} for number in range(start, start + count)]})

        texts = [str(number) for number in range(201)]
        told, server = await self.embedded(texts, vectors(0, 100), vectors(100, 100), vectors(200, 1))
        assert [vector[0] for vector in told.vectors] == [float(text) + 1 for text in texts]
        assert told.tokens == 0
        assert [len(body["requests"]) for body in server.bodies()] == [100, 100, 1]

    async def test_nothing_to_embed_is_not_asked_for(self) -> None:
        told, server = await self.embedded([], answer(EMBEDDED))
        assert (told, server.asked) == (Embeddings(()), [])

    @pytest.mark.parametrize(
        ("body", "why"),
        [
            ({"embeddings": [{"values": [1.0]}]}, "1 vectors came for 2 texts"),
            ({"embeddings": [{"values": [1.0]}] * 3}, "3 vectors came for 2 texts"),
            ({"embeddings": []}, "0 vectors came for 2 texts"),
            ({}, "embeddings"),
            ({"embeddings": [{"values": [1.0]}, {}]}, "an empty vector"),
            ({"embeddings": [{"values": [1.0]}, {"values": [1.0, 2.0]}]}, "different lengths came: 1, 2"),
            ({"embeddings": [{"values": ["x"]}, {"values": [1.0]}]}, "float"),
        ],
    )
    async def test_what_is_not_one_vector_a_text_is_refused(self, body: dict[str, Any], why: str) -> None:
        error = await self.failing(answer(body))
        assert error.key == "llm_bad_vectors"
        assert why in error.why

    async def test_portions_of_several_lengths_are_refused(self) -> None:
        first = answer({"embeddings": [{"values": [1.0]}] * 100})
        second = answer({"embeddings": [{"values": [1.0, 2.0]}]})
        error = await self.failing(first, second, texts=("x",) * 101)
        assert (error.key, "different lengths came: 1, 2" in error.why) == ("llm_bad_vectors", True)

    async def test_a_model_that_makes_none_names_those_that_do(self) -> None:
        refusal = "models/gemini-3-flash is not found for API version v1beta, or is not supported for embedContent."
        error = await self.failing(fails(404, refusal), model="gemini-3-flash")
        assert (error.key, error.params["available"]) == ("llm_model_not_found", "gemini-embedding-001, both")

    @pytest.mark.parametrize(
        ("name", "key"),
        [("err_400_key", "llm_unauthorized"), ("err_429", "llm_rate_limited"), ("err_500", "llm_server_failed")],
    )
    async def test_failures_mean_what_they_mean_elsewhere(self, name: str, key: str) -> None:
        assert (await self.failing(cassette(f"gemini/{name}"))).key == key

    async def test_those_that_can_are_told_by_their_methods(self) -> None:
        batch = EMBEDDER | {"name": "models/old", "supportedGenerationMethods": ["batchEmbedContents"]}
        with WireServer([says("x")], routes=listing(MODEL, EMBEDDER, batch, {"name": "models/aqa"})) as server:
            provider = gemini(server.url)
            assert isinstance(provider, Embedding)
            assert await provider.list_embedding_models() == ["gemini-embedding-001", "old"]
            await provider.aclose()


DESCRIBED = {"/v1beta/models/gemini-3-flash": answer(MODEL)}


class TestSchemasAndPictures:
    GEMMA = MODEL | {"name": "models/gemma-3-27b-it", "thinking": False}
    NO_TOOLS = fails(400, "Function calling is not enabled for models/gemma-3-27b-it")
    NO_SCHEMA = fails(400, "JSON mode is not enabled for models/gemma-3-27b-it")

    async def asked(self, *replies: Reply) -> tuple[Completion, list[dict[str, Any]]]:
        look = ToolSpec("look", "Look.", {"type": "object", "properties": {}})
        routes = {"/v1beta/models/gemma-3-27b-it": answer(self.GEMMA)}
        with WireServer(replies, routes=routes) as server:
            client = LLMClient(gemini(server.url), model="gemma-3-27b-it", max_retries=0, speaking=Speaking())
            try:
                return await client.complete(HELLO, tools=(look,)), server.bodies()
            finally:
                await client.aclose()

    async def test_a_model_without_functions_is_held_to_steps(self) -> None:
        step = json.dumps({"thought": "I see.", "action": {"name": "look", "arguments": {}}})
        completion, bodies = await self.asked(self.NO_TOOLS, says(step))
        assert [call.name for call in completion.message.tool_calls] == ["look"]
        assert bodies[1]["generationConfig"]["responseMimeType"] == "application/json"
        assert bodies[1]["generationConfig"]["responseJsonSchema"] == step_schema(
            (ToolSpec("look", "Look.", {"type": "object", "properties": {}}),)
        )
        assert "tools" not in bodies[1]

    async def test_one_that_cannot_be_held_to_a_schema_either_is_asked_in_text(self) -> None:
        completion, bodies = await self.asked(self.NO_TOOLS, self.NO_SCHEMA, says("Hello."))
        assert completion.message.text == "Hello."
        assert ["responseJsonSchema" in body.get("generationConfig", {}) for body in bodies] == [False, True, False]
        assert "stopSequences" in bodies[2]["generationConfig"]

    async def test_a_picture_a_model_cannot_see_is_told_it_as_a_line(self) -> None:
        blind = fails(400, "Image input modality is not enabled for models/gemma-3-1b-it")
        messages = (*HELLO, AssistantMessage("Hi."), UserMessage("Look.", (Image("image/png", b"x"),)))
        with WireServer([blind, says("well")], routes=DESCRIBED) as server:
            client = LLMClient(gemini(server.url), model="gemini-3-flash", max_retries=0)
            assert (await client.complete(messages)).message.text == "well"
            await client.aclose()
        parts = [[list(part) for part in body["contents"][-1]["parts"]] for body in server.bodies()]
        assert parts == [[["inlineData"], ["text"]], [["text"]]]

    def test_it_is_known_to_hold_answers_to_a_schema(self) -> None:
        assert gemini("http://127.0.0.1:9").constrains
