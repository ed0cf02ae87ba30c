"""LM Studio: the window its own lists tell, and what is done where a server has none of them."""

import json
from typing import Any

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.client import LLMClient
from localllm.llm.messages import UserMessage
from localllm.llm.providers.base import ModelInfo
from localllm.llm.providers.lmstudio import LMStudio, parse_native_models
from tests.support.wire_server import Reply, WireServer, cassette, fails, says

pytestmark = pytest.mark.anyio

V0, V1 = "/api/v0/models", "/api/v1/models"
JSON = {"content-type": "application/json"}


def answer(body: Any, status: int = 200) -> Reply:
    return Reply((json.dumps(body).encode(),), status, JSON)


UNEXPECTED = answer({"error": "Unexpected endpoint or method. (GET /api/v0/models)"})


def v0(**model: Any) -> Reply:
    return answer({"object": "list", "data": [{"id": "m", "type": "llm", "state": "loaded", **model}]})


async def listed(routes: dict[str, Reply], *, path: str = "", models: tuple[str, ...] = ("a", "b")):
    """The models, and what was asked."""
    with WireServer([says("hi")], models=models, routes=routes) as server:
        provider = LMStudio(server.url + path, timeout=5, idle_timeout=5)
        try:
            return await provider.list_models(), server.asked
        finally:
            await provider.aclose()


async def test_the_documented_list_with_its_windows() -> None:
    models, asked = await listed({V0: cassette("lmstudio/v0_models")})
    assert models == [ModelInfo("qwen/qwen3-8b", 4096, 40_960, loaded=True, quantization="Q4_K_M")]
    assert asked == [f"GET {V0}"]


def test_the_documented_list_of_the_newer_interface() -> None:
    [model] = parse_native_models(b"".join(cassette("lmstudio/v1_api_models").pieces))
    assert model == ModelInfo(
        "google/gemma-4-26b-a4b",
        4096,
        262_144,
        loaded=True,
        abilities=frozenset({"tools", "thinking", "vision"}),
        parameters="26B-A4B",
        quantization="Q4_K_M",
    )


def test_of_several_instances_the_smallest_window_counts() -> None:
    instances = [{"config": {"context_length": 9000}}, {"config": {"context_length": 5000}}, {"config": None}]
    models = [
        {"key": "idle", "loaded_instances": [], "capabilities": {"vision": False, "reasoning": None}},
        {"key": "busy", "loaded_instances": instances},
        {"key": "vectors", "type": "embedding"},
    ]
    parsed = parse_native_models(json.dumps({"models": models}).encode())
    assert [(model.id, model.context_window, model.loaded) for model in parsed] == [
        ("busy", 5000, True),
        ("idle", 0, False),
    ]
    assert [model.abilities for model in parsed] == [None, frozenset()]


@pytest.mark.parametrize(
    ("told", "abilities"),
    [
        ({}, None),
        ({"capabilities": ["tool_use"]}, frozenset({"tools"})),
        ({"capabilities": []}, frozenset()),
        ({"capabilities": ["tool_use"], "type": "vlm"}, frozenset({"tools", "vision"})),
        ({"type": "vlm"}, None),
    ],
)
async def test_abilities_are_what_is_told(told: dict[str, Any], abilities: frozenset[str] | None) -> None:
    [model], _ = await listed({V0: v0(loaded_context_length=1, **told)})
    assert model.abilities == abilities


async def test_the_loaded_ones_come_first_and_embedding_models_not_at_all() -> None:
    data = [
        {"id": "a", "state": "not-loaded"},
        {"id": "vectors", "type": "embeddings", "capabilities": ["tool_use"]},
        {"id": "text-embedding-x"},
        {"id": "b", "state": "loaded", "loaded_context_length": 4096},
    ]
    models, _ = await listed({V0: answer({"data": data})})
    assert [(model.id, model.loaded) for model in models] == [("b", True), ("a", False)]


class TestOtherVersions:
    @pytest.mark.parametrize(
        "missing", [UNEXPECTED, cassette("llamacpp/get_v0_models_404"), fails(405), Reply((b"<html>404</html>",), 404)]
    )
    async def test_without_its_own_list_the_names_are_all_there_is(self, missing: Reply) -> None:
        models, asked = await listed({V0: missing, V1: missing})
        assert models == [ModelInfo("a"), ModelInfo("b")]
        assert asked == [f"GET {V0}", f"GET {V1}", "GET /v1/models"]

    @pytest.mark.parametrize("missing", [UNEXPECTED, fails(404)])
    async def test_the_newer_list_stands_in_for_the_older_once_that_is_gone(self, missing: Reply) -> None:
        models, asked = await listed({V0: missing, V1: cassette("lmstudio/v1_api_models")})
        assert [(model.id, model.context_window, model.loaded) for model in models] == [
            ("google/gemma-4-26b-a4b", 4096, True)
        ]
        assert asked == [f"GET {V0}", f"GET {V1}"]

    async def test_a_newer_list_that_fails_is_told(self) -> None:
        with pytest.raises(LLMConnectionError) as caught:
            await listed({V0: UNEXPECTED, V1: cassette("lmstudio/err_401_token")})
        assert caught.value.key == "llm_unauthorized"

    async def test_a_window_left_out_is_asked_of_the_newer_interface(self) -> None:
        newer = answer({"models": [{"key": "m", "loaded_instances": [{"config": {"context_length": 6000}}]}]})
        models, asked = await listed({V0: v0(), V1: newer})
        assert [(model.id, model.context_window) for model in models] == [("m", 6000)]
        assert asked == [f"GET {V0}", f"GET {V1}"]

    @pytest.mark.parametrize("newer", [UNEXPECTED, fails(404), fails(500)])
    async def test_one_that_nobody_tells_stays_unknown(self, newer: Reply) -> None:
        models, asked = await listed({V0: v0(), V1: newer})
        assert [(model.id, model.context_window) for model in models] == [("m", 0)]
        assert len(asked) == 2

    @pytest.mark.parametrize(
        ("reply", "key"),
        [(cassette("lmstudio/err_401_token"), "llm_unauthorized"), (fails(500), "llm_server_failed")],
    )
    async def test_a_failure_is_told_and_not_asked_around(self, reply: Reply, key: str) -> None:
        with pytest.raises(LLMConnectionError) as caught:
            await listed({V0: reply})
        assert caught.value.key == key


class TestDescribe:
    async def described(self, model: str, reply: Reply) -> ModelInfo:
        with WireServer([says("hi")], routes={V0: reply}) as server:
            provider = LMStudio(server.url, timeout=5, idle_timeout=5)
            try:
                return await provider.describe(model)
            finally:
                await provider.aclose()

    async def test_the_window_it_is_loaded_with(self) -> None:
        info = await self.described("qwen/qwen3-8b", cassette("lmstudio/v0_models"))
        assert (info.context_window, info.max_context_window) == (4096, 40_960)

    async def test_an_unknown_name_is_answered_by_the_one_model_that_is_loaded(self) -> None:
        info = await self.described("gpt-4", cassette("lmstudio/v0_models"))
        assert (info.id, info.context_window) == ("gpt-4", 4096)

    async def test_an_unknown_name_among_several_is_only_a_name(self) -> None:
        several = [{"id": name, "state": "loaded", "loaded_context_length": 9} for name in ("a", "b")]
        assert await self.described("c", answer({"data": several})) == ModelInfo("c", instead_of_it=("a", "b"))

    async def test_the_client_stays_under_it(self) -> None:
        with WireServer([says("hi")], routes={V0: cassette("lmstudio/v0_models")}) as server:
            client = LLMClient(LMStudio(server.url, timeout=5, idle_timeout=5), context_window=32_768)
            await client.complete([UserMessage("Hello")])
            await client.complete([UserMessage("Hello")])
            await client.aclose()
        assert (client.model, client.context_window) == ("qwen/qwen3-8b", 4096)
        assert server.asked.count(f"GET {V0}") == 1  # which model there is, and what it is


@pytest.mark.parametrize("path", ["", "/", "/v1", "/api/v0", "/api/v1", "/api/v1/models", "/v1/chat/completions"])
async def test_the_address_in_every_form(path: str) -> None:
    with WireServer([says("hi")], routes={V0: cassette("lmstudio/v0_models")}) as server:
        client = LLMClient(LMStudio(server.url + path, timeout=5, idle_timeout=5))
        assert (await client.complete([UserMessage("Hello")])).message.text == "hi"
        await client.aclose()
    assert set(server.asked) == {f"GET {V0}", "POST /v1/chat/completions"}


async def test_nobody_listens() -> None:
    with WireServer([says("x")]) as server:
        url = server.url
    provider = LMStudio(url, timeout=5, idle_timeout=5)
    with pytest.raises(LLMConnectionError) as caught:
        await provider.list_models()
    await provider.aclose()
    assert caught.value.key == "llm_refused"
    assert "Start Server" in caught.value.fix
    assert "ollama" not in caught.value.fix.lower()
