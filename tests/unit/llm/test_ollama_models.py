"""What Ollama tells of its models, and the one window that is chosen from it."""

import asyncio
from typing import Any

import pytest

from localllm.base import offline
from localllm.base.errors import LLMConnectionError
from localllm.llm.client import LLMClient
from localllm.llm.messages import CompletionRequest
from localllm.llm.providers.base import ModelInfo
from localllm.llm.providers.ollama import Ollama
from tests.support.ollama_wire import HELLO, NOT_THERE, TOLD, all_chunks, answer, closing, ollama, says
from tests.support.wire_server import HANG_UP, Reply, WireServer, cassette

pytestmark = pytest.mark.anyio


def ps(window: int, name: str = "qwen3:8b") -> Reply:
    return answer({"models": [{"name": name, "context_length": window}]})


def show(maximum: int | None = 40_960, parameters: str = "") -> Reply:
    info = {"general.architecture": "qwen3", "qwen3.context_length": maximum} if maximum else {}
    return answer({"parameters": parameters, "model_info": info, "capabilities": ["completion", "tools"]})


NO_PS = answer({"models": []})


class TestWindow:
    @pytest.mark.parametrize(
        ("wanted", "shown", "running", "window"),
        [
            (0, show(), NO_PS, 16_384),  # the default
            (0, show(8_000), NO_PS, 8_000),  # never more than the model was made for
            (0, show(), ps(32_768), 32_768),  # as it is loaded
            (0, show(), ps(8_192), 8_192),
            (0, show(), ps(4_096), 16_384),  # loaded with too little
            (0, show(), ps(32_768, "other:8b"), 16_384),  # another is loaded
            (0, show(parameters="stop x\nnum_ctx 12000"), NO_PS, 12_000),  # as its Modelfile sets it
            (0, show(parameters="num_ctx 2048"), NO_PS, 16_384),
            (0, show(parameters="num_ctx 9000"), ps(32_768), 32_768),
            (0, show(10_000, parameters="num_ctx 12000"), NO_PS, 10_000),
            (6_000, show(parameters="num_ctx 12000"), ps(32_768), 6_000),  # as the user wants it
            (100_000, show(), NO_PS, 40_960),
            (100_000, show(None), NO_PS, 100_000),
            (0, show(None), NO_PS, 16_384),
            (0, NOT_THERE, NOT_THERE, 16_384),  # nothing is told
            (0, NOT_THERE, ps(32_768), 32_768),
            (0, show(8_000), answer({"error": "out of luck"}, 500), 8_000),
            (0, answer("nonsense"), HANG_UP, 16_384),
        ],
    )
    async def test_how_it_is_chosen(self, wanted: int, shown: Reply, running: Reply, window: int) -> None:
        with WireServer([says()], routes={"/api/show": shown, "/api/ps": running}) as server:
            async with closing(ollama(server.url, num_ctx=wanted)) as provider:
                info = await provider.describe("qwen3:8b")
                await all_chunks(provider)
        assert (info.id, info.context_window) == ("qwen3:8b", window)
        assert server.bodies()[0]["options"]["num_ctx"] == window

    async def test_a_server_slow_to_tell_does_not_hold_the_request_up(self) -> None:
        slow = Reply((b"{", b"}"), hold_before=1)
        with WireServer([says()], routes={"/api/show": slow}) as server:
            async with closing(Ollama(server.url, timeout=0.2, idle_timeout=5, num_ctx=9_000)) as provider:
                await all_chunks(provider)
        assert server.bodies()[0]["options"]["num_ctx"] == 9_000

    async def test_it_never_changes(self) -> None:
        with WireServer([says()], routes={"/api/show": show(), "/api/ps": NO_PS}) as server:
            async with closing(ollama(server.url)) as provider:
                await all_chunks(provider)
                server.routes["/api/ps"] = ps(32_768)
                assert (await provider.describe("qwen3:8b")).context_window == 16_384
                await all_chunks(provider)
                assert (await provider.describe("another")).context_window == 16_384
        assert [body["options"]["num_ctx"] for body in server.bodies()] == [16_384, 16_384]

    async def test_a_name_with_and_without_its_tag_has_one_window(self) -> None:
        routes = {"/api/show": show(), "/api/ps": ps(20_000, "registry/qwen3:latest")}
        with WireServer([says()], routes=routes) as server:
            async with closing(ollama(server.url)) as provider:
                for name in ("registry/qwen3", "registry/qwen3:latest"):
                    await all_chunks(provider, CompletionRequest(model=name, messages=HELLO))
        assert [body["options"]["num_ctx"] for body in server.bodies()] == [20_000, 20_000]
        assert server.asked.count("POST /api/show") == 1

    async def test_first_requests_at_the_same_time_have_one_window(self) -> None:
        with WireServer([says()], routes={"/api/show": show(), "/api/ps": ps(9_000)}) as server:
            async with closing(ollama(server.url)) as provider:
                await asyncio.gather(*(all_chunks(provider) for _ in range(4)))
        assert [body["options"]["num_ctx"] for body in server.bodies()] == [9_000] * 4
        assert server.asked.count("POST /api/show") == 1

    async def test_a_server_that_is_not_there_yet_leaves_it_open(self) -> None:
        with WireServer([says()]) as server:
            url = server.url
        async with closing(ollama(url)) as provider:
            with pytest.raises(LLMConnectionError) as caught:
                await provider.describe("qwen3:8b")
            assert caught.value.key == "llm_refused"

    async def test_the_client_stays_under_it(self) -> None:
        with WireServer([says()], routes=TOLD) as server:
            client = LLMClient(ollama(server.url, num_ctx=100_000), model="qwen3:8b", context_window=100_000)
            await client.complete(HELLO)
            await client.aclose()
        assert client.context_window == 40_960


def tag(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **more}


class TestModels:
    async def listed(self, tags: Reply, running: Reply = NO_PS, *, num_ctx: int = 0) -> list[ModelInfo]:
        with WireServer([says()], routes={"/api/tags": tags, "/api/ps": running}) as server:
            async with closing(ollama(server.url, num_ctx=num_ctx)) as provider:
                return await provider.list_models()

    QWEN = ModelInfo(
        "qwen3:8b",
        context_window=4096,
        max_context_window=40_960,
        loaded=True,
        abilities=frozenset({"tools", "thinking"}),
        parameters="8.2B",
        quantization="Q4_K_M",
    )

    async def test_as_documented(self) -> None:
        assert await self.listed(cassette("ollama/tags"), cassette("ollama/ps")) == [self.QWEN]

    async def test_described_as_documented(self) -> None:
        with WireServer([says()], routes=TOLD) as server:
            async with closing(ollama(server.url)) as provider:
                info = await provider.describe("qwen3:8b")
        assert info == ModelInfo(
            "qwen3:8b", 8192, 40_960, True, frozenset({"tools", "thinking"}), parameters="8.2B", quantization="Q4_K_M"
        )

    async def test_of_one_that_runs_elsewhere_it_is_known_whatever_its_name(self) -> None:
        tags = answer({"models": [tag("big", remote_host="https://ollama.com:443"), tag("mine", remote_model=None)]})
        assert [model.is_remote for model in await self.listed(tags)] == [True, False]

    async def test_the_loaded_ones_come_first_and_embedding_models_not_at_all(self) -> None:
        tags = answer(
            {
                "models": [
                    tag("bare"),
                    tag("nomic-embed-text"),
                    tag("minilm", details={"family": "bert"}),
                    tag("arctic", details={"family": "nomic-bert"}, capabilities=["completion"]),
                    tag("hidden", capabilities=["embedding"]),
                    tag("loaded", details=None, capabilities=["completion", "vision"]),
                ]
            }
        )
        models = await self.listed(tags, ps(0, "loaded:latest"))
        assert [model.id for model in models] == ["loaded", "bare", "arctic"]
        assert [model.loaded for model in models] == [True, False, False]
        assert [model.abilities for model in models] == [frozenset({"vision"}), None, frozenset()]

    @pytest.mark.parametrize(
        ("maximum", "wanted", "window"),
        [(40_960, 0, 16_384), (4_000, 0, 4_000), (40_960, 20_000, 20_000), (4_000, 20_000, 4_000), (None, 20_000, 0)],
    )
    async def test_the_window_of_one_that_is_not_loaded(self, maximum: int | None, wanted: int, window: int) -> None:
        tags = answer({"models": [tag("m", details={"context_length": maximum})]})
        [model] = await self.listed(tags, num_ctx=wanted)
        assert (model.context_window, model.max_context_window) == (window, maximum or 0)

    async def test_without_ps_it_is_unknown_what_is_loaded(self) -> None:
        [model] = await self.listed(cassette("ollama/tags"), NOT_THERE)
        assert (model.loaded, model.context_window) == (None, 16_384)

    async def test_a_window_that_is_chosen_is_listed(self) -> None:
        routes = {"/api/show": show(parameters="num_ctx 9000"), "/api/ps": NO_PS, "/api/tags": cassette("ollama/tags")}
        with WireServer([says()], routes=routes) as server:
            async with closing(ollama(server.url)) as provider:
                await all_chunks(provider)
                [model] = await provider.list_models()
        assert model.context_window == 9_000

    @pytest.mark.parametrize(
        ("tags", "key"),
        [
            (answer({"error": "Unexpected endpoint or method. (GET /api/tags)"}), "llm_malformed"),
            (Reply((b"<html>",)), "llm_malformed"),
            (answer({"error": "unauthorized"}, 401), "llm_unauthorized"),
        ],
    )
    async def test_what_is_no_list_is_told(self, tags: Reply, key: str) -> None:
        with pytest.raises(LLMConnectionError) as caught:
            await self.listed(tags)
        assert caught.value.key == key

    async def test_null_for_a_list_is_an_empty_one(self) -> None:
        assert await self.listed(answer({"models": None})) == []


BIG = {"/api/tags": answer({"models": [tag("big", remote_host="https://ollama.com:443"), tag("qwen3:8b")]})}
SLOW = Reply((b"{", b"}"), hold_before=1)


class TestModelsElsewhere:
    """A model that the server runs on its maker's machines, under a name that does not say so."""

    async def refused(self, *, is_named: bool = True) -> list[str]:
        """Why requests to it and to a model that runs here, and embeddings, are not sent; /api/show is slow."""
        found: list[str] = []
        with WireServer([says()], routes={"/api/ps": NO_PS, "/api/show": SLOW, **BIG}) as server:
            async with closing(Ollama(server.url, timeout=0.2, idle_timeout=5, is_named=is_named)) as provider:
                for name in ("big", "qwen3:8b"):
                    request = CompletionRequest(model=name, messages=HELLO)
                    for work in (all_chunks(provider, request), provider.embed(["a"], name)):
                        before = len(server.asked)
                        try:
                            await work
                        except LLMConnectionError as error:
                            if not {"POST /api/chat", "POST /api/embed"} & set(server.asked[before:]):
                                found.append(f"{name}: {error.key}")
        return found

    async def test_named_by_the_user_it_may_be_used(self) -> None:
        assert await self.refused() == []

    async def test_named_by_a_project_it_is_not(self) -> None:
        assert await self.refused(is_named=False) == ["big: llm_model_elsewhere"] * 2

    async def test_in_one_s_own_network_alone_it_is_not(self) -> None:
        with offline.own_network_only():
            assert await self.refused() == ["big: llm_model_elsewhere"] * 2

    async def test_offline_it_is_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(offline, "is_on", lambda: True)
        assert await self.refused() == ["big: llm_offline_model"] * 2

    async def test_none_is_taken_for_embedding(self) -> None:
        models = [tag("bge", capabilities=["embedding"]), tag("far", capabilities=["embedding"], remote_model="x")]
        with WireServer([says()], routes={"/api/tags": answer({"models": models})}) as server:
            async with closing(ollama(server.url)) as provider:
                assert await provider.list_embedding_models() == ["bge"]
