"""What OpenAI-compatible servers tell of their models, over real connections."""

import json

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.messages import CompletionRequest, UserMessage
from localllm.llm.providers.base import ModelInfo
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.wire_server import Reply, WireServer, cassette, fails, says

pytestmark = pytest.mark.anyio


def provider(url: str) -> OpenAICompatible:
    return OpenAICompatible("openai", url, timeout=5, idle_timeout=5)


class TestModels:
    async def described(self, model: str, listed: Reply, props: Reply | None = None) -> tuple[ModelInfo, list[str]]:
        """What is told of it, and what was asked."""
        routes = {"/v1/models": listed} | ({"/props": props} if props else {})
        with WireServer([says("hi")], routes=routes) as server:
            served = provider(server.url)
            try:
                return await served.describe(model), server.asked
            finally:
                await served.aclose()

    async def test_llama_cpp_tells_the_window_of_a_slot_and_its_templates_abilities(self) -> None:
        told = cassette("llamacpp/get_models"), cassette("llamacpp/get_props")
        info, asked = await self.described("tiny-random", *told)
        assert info == ModelInfo(
            "tiny-random",
            4096,
            32_768,
            loaded=True,
            abilities=frozenset({"tools"}),
            parameters="0.144M",
            quantization="all F32",
        )
        assert asked == ["GET /v1/models", "GET /props"]
        info, _ = await self.described("it ignores names", *told)
        assert (info.id, info.context_window) == ("it ignores names", 4096)

    @pytest.mark.parametrize(
        ("props", "window", "abilities"),
        [
            ({"default_generation_settings": {"n_ctx": 2048}}, 2048, None),
            ({"default_generation_settings": {"n_ctx": 0}}, 4096, None),
            ({"modalities": {"vision": True}, "chat_template_caps": {}}, 4096, frozenset({"vision"})),
            ({"chat_template_caps": {"supports_tool_calls": True}}, 4096, frozenset({"tools"})),
            ("nonsense", 4096, None),
        ],
    )
    async def test_props_go_before_the_list(self, props: object, window: int, abilities: object) -> None:
        info, _ = await self.described("m", cassette("llamacpp/get_models"), Reply((json.dumps(props).encode(),)))
        assert (info.context_window, info.abilities) == (window, abilities)

    @pytest.mark.parametrize("refusal", [fails(401), fails(404), fails(501), Reply((b"<html>",))])
    async def test_props_that_are_kept_back_leave_what_the_list_tells(self, refusal: Reply) -> None:
        info, _ = await self.described("tiny-random", cassette("llamacpp/get_models"), refusal)
        assert (info.context_window, info.max_context_window) == (4096, 32_768)

    async def test_of_several_models_llama_cpp_says_which_are_loaded(self) -> None:
        def entry(name: str, state: str) -> dict[str, object]:
            return {"id": name, "owned_by": "llamacpp", "status": {"value": state}}

        body = json.dumps({"data": [entry("a", "unloaded"), entry("b", "loaded")]}).encode()
        with WireServer([says("hi")], routes={"/v1/models": Reply((body,))}) as server:
            served = provider(server.url)
            assert [(info.id, info.loaded) for info in await served.list_models()] == [("b", True), ("a", False)]
            await served.aclose()

    async def test_vllm_tells_the_window_in_its_list(self) -> None:
        body = b'{"object": "list", "data": [{"id": "qwen", "owned_by": "vllm", "max_model_len": 32768}]}'
        info, asked = await self.described("qwen", Reply((body,)))
        assert info == ModelInfo("qwen", 32_768)
        assert asked == ["GET /v1/models"]

    async def test_a_server_that_tells_names_only(self) -> None:
        listed = Reply((b'{"data": [{"id": "a"}, {"id": "b"}]}',))
        for name, others in (("a", ()), ("unknown", ("a", "b"))):
            info, asked = await self.described(name, listed)
            assert (info, len(asked)) == (ModelInfo(name, instead_of_it=others), 1)

    @pytest.mark.parametrize("body", [b'{"models": []}', b"{}", b'{"error": "no"}', b"[]"])
    async def test_what_is_no_list_is_told(self, body: bytes) -> None:
        with pytest.raises(LLMConnectionError) as caught:
            await self.described("m", Reply((body,)))
        assert caught.value.key == "llm_malformed"
        assert "llm.openai.base_url" in caught.value.fix


class TestSlots:
    """Where llama.cpp keeps several conversations in memory."""

    async def asked(self, slots: Reply, count: int = 2, slot: int | None = None) -> tuple[int | None, list[str], bytes]:
        """The free slot, what was asked, and a chat request into `slot`."""
        props = Reply((json.dumps({"total_slots": count}).encode(),))
        routes = {"/v1/models": cassette("llamacpp/get_models"), "/props": props, "/slots": slots}
        with WireServer([says("hi")], routes=routes) as server:
            served = provider(server.url)
            request = CompletionRequest(model="tiny", messages=(UserMessage("Hello"),), slot=slot)
            try:
                await served.describe("tiny")
                free = await served.free_slot()
                async for _chunk in served.stream(request):
                    pass
                return free, server.asked, server.requests[0]
            finally:
                await served.aclose()

    @pytest.mark.parametrize(("recorded", "free"), [("get_slots", 0), ("slots_while_busy", 1)])
    async def test_the_free_one_is_that_which_was_used_longest_ago(self, recorded: str, free: int) -> None:
        assert (await self.asked(cassette(f"llamacpp/{recorded}")))[0] == free

    @pytest.mark.parametrize(
        "slots",
        [
            Reply((b'[{"id": 0, "id_task": 3, "is_processing": true}, {"id": 1, "id_task": 9}]',)),
            Reply((b'[{"id": 0, "id_task": 3}]',)),
            Reply((b'{"error": {"code": 501}}',), 501),
            Reply((b"[]",)),
        ],
    )
    async def test_there_is_none_where_all_are_taken_or_the_server_does_not_tell(self, slots: Reply) -> None:
        assert (await self.asked(slots))[0] is None

    async def test_a_server_with_one_is_not_asked(self) -> None:
        free, asked, _ = await self.asked(cassette("llamacpp/get_slots"), count=1)
        assert free is None
        assert "GET /slots" not in asked

    @pytest.mark.parametrize(("slot", "sent"), [(None, None), (1, 1), (2, None)])
    async def test_a_request_names_only_one_that_there_is(self, slot: int | None, sent: int | None) -> None:
        _, _, body = await self.asked(cassette("llamacpp/get_slots"), slot=slot)
        assert json.loads(body).get("id_slot") == sent
