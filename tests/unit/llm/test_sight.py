"""Pictures on the wire, and what is sent to models that cannot see them."""

import asyncio
import json
import threading
from base64 import b64encode
from typing import Any

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.base.i18n import set_language
from localllm.llm.messages import CompletionRequest, Image, Message, SystemMessage, UserMessage
from localllm.llm.providers.azure import Azure
from localllm.llm.providers.lmstudio import LMStudio
from localllm.llm.providers.ollama import Ollama
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support import ollama_wire, wire_server
from tests.support.ollama_wire import NOT_THERE, TOLD
from tests.support.pictures import JPEG, PNG, WEBP
from tests.support.wire_server import Reply, WireServer, cassette

pytestmark = pytest.mark.anyio

BEFORE = SystemMessage("You help.")
LINE = "[a picture (image/png, 1 kB) that this model cannot see]"
NOT_TOLD = TOLD | {"/api/show": NOT_THERE}


def asking(*images: Image, text: str = "What is this?") -> CompletionRequest:
    return CompletionRequest(model="m", messages=(BEFORE, UserMessage(text, images)))


def made(kind: str, url: str) -> OpenAICompatible | Ollama:
    match kind:
        case "ollama":
            return Ollama(url, timeout=5, idle_timeout=5)
        case "azure":
            return Azure(url, timeout=5, idle_timeout=5, api_key="k")
        case "lmstudio":
            return LMStudio(url, timeout=5, idle_timeout=5)
        case _:
            return OpenAICompatible("openai", url, timeout=5, idle_timeout=5)


def says(kind: str) -> Reply:
    return ollama_wire.says() if kind == "ollama" else wire_server.says("hi")


def refuses(message: str, status: int = 400) -> Reply:
    return Reply((json.dumps({"error": message}).encode(),), status, {"content-type": "application/json"})


async def sent(kind: str, *requests: CompletionRequest, replies: tuple[Reply, ...], **options: Any) -> list[Any]:
    """The last message of each body that was sent."""
    routes = NOT_TOLD | options.get("routes", {}) if kind == "ollama" else options.get("routes")
    with WireServer(replies, routes=routes) as server:
        provider = made(kind, server.url)
        try:
            if options.get("describe"):
                await provider.describe("m")
            for request in requests:
                assert [chunk async for chunk in provider.stream(request)]
        finally:
            await provider.aclose()
        return [body["messages"][-1] for body in server.bodies()]


def url(image: Image) -> str:
    return f"data:{image.media_type};base64,{b64encode(image.data).decode()}"


@pytest.mark.parametrize("kind", ["openai", "lmstudio", "azure"])
async def test_openai_s_parts_the_text_first(kind: str) -> None:
    [message] = await sent(kind, asking(PNG, JPEG), replies=(says(kind),))
    assert message["content"] == [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": url(PNG)}},
        {"type": "image_url", "image_url": {"url": url(JPEG)}},
    ]


async def test_pictures_without_a_word() -> None:
    [message] = await sent("openai", asking(PNG, text=""), replies=(says("openai"),))
    assert message["content"] == [{"type": "image_url", "image_url": {"url": url(PNG)}}]


async def test_ollama_s_list() -> None:
    [message] = await sent("ollama", asking(PNG, JPEG), replies=(says("ollama"),))
    assert message["content"] == "What is this?"
    assert message["images"] == [b64encode(image.data).decode() for image in (PNG, JPEG)]


@pytest.mark.parametrize("kind", ["openai", "ollama"])
async def test_without_pictures_nothing_is_different(kind: str) -> None:
    [message] = await sent(kind, asking(), replies=(says(kind),))
    assert message == {"role": "user", "content": "What is this?"}


REFUSALS = [
    ("openai", 500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    ("openai", 500, "image input is not supported by this server"),
    ("openai", 400, "Invalid content type. image_url is only supported by certain models."),
    ("openai", 400, "facebook/opt-125m is not a multimodal model None"),
    ("openai", 400, "At most 0 image(s) may be provided in one request."),
    ("openai", 404, "No endpoints found that support image input"),
    ("openai", 422, "messages[1]: unknown variant `image_url`, expected `text` at line 1 column 90"),
    ("lmstudio", 400, "Model does not support images. Please use a model that does."),
    ("lmstudio", 200, "Model does not support images. Please use a model that does."),
    ("ollama", 500, "Failed to create new sequence: this model is missing data required for image input"),
    ("ollama", 400, "This model does not support images"),
    ("ollama", 400, "this model does not support image input"),
]


@pytest.mark.parametrize(("kind", "status", "words"), REFUSALS)
async def test_who_was_refused_does_not_show_pictures_again(kind: str, status: int, words: str) -> None:
    seen = await sent(kind, asking(PNG), asking(PNG, JPEG), replies=(refuses(words, status), says(kind)))
    first, again, later = seen
    assert first["content"] != again["content"] or "images" in first
    assert again == {"role": "user", "content": f"What is this?\n{LINE}"}
    assert later["content"] == f"What is this?\n{LINE}\n[a picture (image/jpeg, 2 kB) that this model cannot see]"
    assert "images" not in later


@pytest.mark.parametrize(
    "words", ["Failed to load image or audio file", "image: unknown format", "Failed to get loaded image state for"]
)
async def test_a_picture_that_cannot_be_read_takes_the_common_ones_not_with_it(words: str) -> None:
    replies = (refuses(words), says("openai"))
    first, again, later = await sent("openai", asking(WEBP, PNG), asking(PNG), replies=replies)
    assert len(first["content"]) == 3
    line = "[a picture (image/webp, 12 kB) that this model cannot see]"
    assert again["content"][0] == {"type": "text", "text": f"What is this?\n{line}"}
    assert [part["type"] for part in again["content"]] == ["text", "image_url"]
    assert later["content"][1]["image_url"]["url"] == url(PNG)


async def test_where_not_even_those_can_be_read_none_is_shown() -> None:
    unreadable = refuses("Failed to load image or audio file")
    *_, last = await sent("openai", asking(WEBP, PNG), replies=(unreadable, unreadable, says("openai")))
    assert last["content"].count("cannot see") == 2


@pytest.mark.parametrize("kind", ["openai", "ollama"])
async def test_requests_at_the_same_time_are_each_asked_again(kind: str) -> None:
    both_are_there = threading.Barrier(2)

    class Blind(WireServer):
        def next_reply(self, body: bytes) -> Reply:
            if b"cannot see" in body:
                return says(kind)
            both_are_there.wait(5)
            return refuses("this model does not support images")

    with Blind([], routes=NOT_TOLD if kind == "ollama" else None) as server:
        provider = made(kind, server.url)

        async def ask() -> int:
            return len([chunk async for chunk in provider.stream(asking(PNG))])

        try:
            assert all(await asyncio.gather(ask(), ask()))
        finally:
            await provider.aclose()


async def test_a_refusal_without_a_picture_is_an_error_with_its_fix() -> None:
    with pytest.raises(LLMConnectionError) as caught:
        await sent("openai", asking(), replies=(refuses("image input is not supported"),))
    assert caught.value.key == "llm_no_images"
    for language in ("ja", "en"):
        set_language(language)
        assert "--mmproj" in caught.value.fix


def props(vision: bool) -> dict[str, Reply]:
    told = {"chat_template_caps": {"supports_tools": True}, "modalities": {"vision": vision}}
    models = {"data": [{"id": "m", "owned_by": "llamacpp"}]}
    return {
        "/v1/models": Reply((json.dumps(models).encode(),)),
        "/props": Reply((json.dumps(told).encode(),)),
    }


def native(capability: str, kind: str) -> dict[str, Reply]:
    model = {"id": "m", "type": kind, "state": "loaded", "loaded_context_length": 9, "capabilities": [capability]}
    return {"/api/v0/models": Reply((json.dumps({"data": [model]}).encode(),))}


def shown(*capabilities: str) -> dict[str, Reply]:
    return {"/api/show": Reply((json.dumps({"capabilities": capabilities}).encode(),))}


@pytest.mark.parametrize(
    ("kind", "routes", "sees"),
    [
        ("openai", props(vision=False), False),
        ("openai", props(vision=True), True),
        ("openai", {}, True),
        ("lmstudio", native("tool_use", "llm"), False),
        ("lmstudio", native("tool_use", "vlm"), True),
        ("lmstudio", {"/api/v0/models": cassette("lmstudio/v0_models")}, True),
        ("ollama", shown("completion", "tools"), False),
        ("ollama", shown("completion", "vision"), True),
        ("ollama", {}, True),
    ],
)
async def test_who_is_told_to_be_blind_is_not_even_tried(kind: str, routes: dict[str, Reply], sees: bool) -> None:
    [message] = await sent(kind, asking(PNG), replies=(says(kind),), routes=routes, describe=True)
    assert (LINE in json.dumps(message)) is not sees


async def test_a_server_that_can_see_by_now_is_shown_pictures_again() -> None:
    refusal = refuses("image input is not supported", 500)
    with WireServer([refusal, says("openai")], routes=props(vision=True)) as server:
        provider = made("openai", server.url)
        try:
            for _ in range(2):
                assert [chunk async for chunk in provider.stream(asking(PNG))]
            await provider.describe("m")
            assert [chunk async for chunk in provider.stream(asking(PNG))]
        finally:
            await provider.aclose()
        bodies = server.bodies()
    assert ["image_url" in json.dumps(body) for body in bodies] == [True, False, False, True]


async def test_a_conversation_goes_on_with_the_bytes_it_began_with() -> None:
    """With pictures in its history, seen or not, what was sent is the beginning of what is sent next."""
    begun = asking(PNG)
    longer: tuple[Message, ...] = (*begun.messages, *asking(text="And now?").messages[1:])
    with WireServer([says("openai")]) as server:
        provider = made("openai", server.url)
        try:
            for messages in (begun.messages, longer):
                request = CompletionRequest(model="m", messages=messages)
                assert [chunk async for chunk in provider.stream(request)]
        finally:
            await provider.aclose()
        first, second = server.requests
    assert second.startswith(first.removesuffix(b"]}"))
