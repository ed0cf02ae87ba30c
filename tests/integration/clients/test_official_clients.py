"""The official clients of OpenAI and Ollama read our wires as we do, and take our requests for what they would send."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import ollama
import openai
import pytest
from ollama import _types as ollama_types
from openai.types import EmbeddingCreateParams
from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionContentPartParam,
    ChatCompletionSystemMessageParam,
    ChatCompletionToolMessageParam,
    ChatCompletionToolParam,
    ChatCompletionUserMessageParam,
)
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming, ResponseFormat
from pydantic import TypeAdapter

from localllm.base.errors import LLMConnectionError
from localllm.base.events import ToolCall
from localllm.llm.client import LLMClient
from localllm.llm.messages import (
    AssistantMessage,
    Completion,
    CompletionRequest,
    Image,
    Message,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from localllm.llm.providers.base import Provider
from localllm.llm.providers.ollama import Ollama
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.wire_server import Reply, WireServer, cassette

pytestmark = pytest.mark.anyio

HELLO = [{"role": "user", "content": "Hello"}]
Calls = list[tuple[str, dict[str, Any]]]
Counts = tuple[int, int, int] | None
"""Tokens read, written, and read from a cache."""

Read = tuple[str, str, Calls, str, Counts]
"""Text, thinking, calls, why it ended, what it cost."""


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy, key or address of the machine's own reaches the clients."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("OPENAI_LOG", "OPENAI_PROJECT_ID", "OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def openai_client(url: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with httpx2.AsyncClient(trust_env=False) as http:
        yield openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0, timeout=5, http_client=http)


@asynccontextmanager
async def ollama_client(url: str) -> AsyncIterator[ollama.AsyncClient]:
    async with ollama.AsyncClient(url, trust_env=False, timeout=5) as client:
        yield client


def openai_compatible(url: str) -> OpenAICompatible:
    return OpenAICompatible("openai", url, timeout=5, idle_timeout=5)


def our_ollama(url: str) -> Ollama:
    return Ollama(url, timeout=5, idle_timeout=5, num_ctx=4096)


async def complete(provider: Provider) -> Completion:
    client = LLMClient(provider, model="m", max_retries=0)
    try:
        return await client.complete([UserMessage("Hello")])
    finally:
        await client.aclose()


async def ours(provider: Provider) -> Read:
    told = await complete(provider)
    counts = (told.usage.prompt_tokens, told.usage.completion_tokens, told.usage.cached_tokens)
    calls = [(call.name, json.loads(call.arguments)) for call in told.message.tool_calls]
    return (
        told.message.text,
        told.message.thinking,
        calls,
        told.finish_reason,
        None if told.usage.estimated else counts,
    )


async def our_failure(provider: Provider) -> LLMConnectionError:
    with pytest.raises(LLMConnectionError) as caught:
        await complete(provider)
    return caught.value


# --- OpenAI's client: its answers


def thinking_in(delta: Any) -> str:
    more = delta.model_extra or {}
    return more.get("reasoning_content") or more.get("reasoning") or ""


def counted(usage: Any) -> Counts:
    if usage is None:
        return None
    details = usage.prompt_tokens_details
    return usage.prompt_tokens, usage.completion_tokens, (details and details.cached_tokens) or 0


async def streamed_by_openai(client: openai.AsyncOpenAI) -> Read:
    text, thinking, finish, counts = "", "", "", None
    calls: dict[int, list[str]] = {}
    async for chunk in await client.chat.completions.create(model="m", messages=HELLO, stream=True):
        counts = counted(chunk.usage) or counts
        for choice in chunk.choices:
            text += (choice.delta and choice.delta.content) or ""
            thinking += thinking_in(choice.delta) if choice.delta else ""
            finish = choice.finish_reason or finish
            for call in (choice.delta and choice.delta.tool_calls) or ():
                name, arguments = calls.setdefault(call.index, ["", ""])
                calls[call.index] = [name + (call.function.name or ""), arguments + (call.function.arguments or "")]
    return text, thinking, [(name, json.loads(arguments)) for name, arguments in calls.values()], finish, counts


async def whole_by_openai(client: openai.AsyncOpenAI) -> Read:
    answer = await client.chat.completions.create(model="m", messages=HELLO)
    (choice,) = answer.choices
    message = choice.message
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
    return message.content or "", thinking_in(message), calls, choice.finish_reason, counted(answer.usage)


class TestOpenAI:
    @pytest.mark.parametrize(
        "wire",
        [
            "azure/chat_stream",
            "azure/stream_async_filter",
            "azure/stream_content_filter",
            "gemini_oai/chat_stream_tool",
            "llamacpp/chat_stream_usage",
            "llamacpp/tools_required_stream",
            "lmstudio/chat_stream_reasoning",
            "lmstudio/chat_stream_tools",
        ],
    )
    async def test_streams(self, wire: str) -> None:
        with WireServer([cassette(wire)]) as server:
            async with openai_client(server.url) as client:
                official = await streamed_by_openai(client)
            assert await ours(openai_compatible(server.url)) == official

    @pytest.mark.parametrize(
        "wire", ["azure/chat", "lmstudio/chat_v0", "llamacpp/tools_required_cut_by_max_tokens", "ollama/v1_chat"]
    )
    async def test_whole_answers(self, wire: str) -> None:
        with WireServer([cassette(wire)]) as server:
            async with openai_client(server.url) as client:
                official = await whole_by_openai(client)
            assert await ours(openai_compatible(server.url)) == official

    @pytest.mark.parametrize(
        ("wire", "theirs", "key"),
        [
            ("openai/err_401", openai.AuthenticationError, "llm_unauthorized"),
            ("openai/err_404_model", openai.NotFoundError, "llm_model_not_found"),
            ("openai/err_429_quota", openai.RateLimitError, "llm_quota_spent"),
            (
                "openai/err_429_tpm",
                openai.RateLimitError,
                "llm_context_overflow",
            ),  # more than a minute's tokens at once
            ("llamacpp/err_ctx_overflow", openai.BadRequestError, "llm_context_overflow"),
            ("lmstudio/err_401_token", openai.AuthenticationError, "llm_unauthorized"),
            ("azure/err_400_content_filter", openai.BadRequestError, "llm_filtered"),
            ("azure/err_500", openai.InternalServerError, "llm_server_failed"),
            ("ollama/v1_err_404", openai.NotFoundError, "llm_model_not_found"),
            ("llamacpp/error_in_stream", openai.APIError, "llm_bad_call"),
        ],
    )
    async def test_errors(self, wire: str, theirs: type[openai.APIError], key: str) -> None:
        with WireServer([cassette(wire)]) as server:
            async with openai_client(server.url) as client:
                with pytest.raises(theirs) as caught:
                    await streamed_by_openai(client)
            error = await our_failure(openai_compatible(server.url))
        assert error.key == key
        match caught.value.body:
            case {"message": str(message)}:
                assert message[:20] in str(error.params["reason"])
            case _:
                assert not isinstance(caught.value, openai.APIStatusError)

    @pytest.mark.parametrize("wire", ["azure/truncated_stream"])
    async def test_a_stream_that_is_cut(self, wire: str) -> None:
        with WireServer([cassette(wire)]) as server:
            async with openai_client(server.url) as client:
                with pytest.raises((openai.APIConnectionError, httpx2.TransportError)):
                    await streamed_by_openai(client)
            assert (await our_failure(openai_compatible(server.url))).key == "llm_cut"

    async def test_embeddings(self) -> None:
        data = [{"object": "embedding", "index": index, "embedding": [0.5, -index - 1.0]} for index in (1, 0)]
        body = {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 4, "total_tokens": 4}}
        reply = Reply((json.dumps(body).encode(),), headers={"content-type": "application/json"})
        with WireServer([reply]) as server:
            async with openai_client(server.url) as client:
                official = await client.embeddings.create(model="m", input=["a", "b"], encoding_format="float")
            provider = openai_compatible(server.url)
            told = await provider.embed(["a", "b"], "m")
            await provider.aclose()
            theirs, own = server.bodies()
        assert {item.index: tuple(item.embedding) for item in official.data} == dict(enumerate(told.vectors))
        assert told.tokens == official.usage.prompt_tokens
        assert own == theirs
        TypeAdapter(EmbeddingCreateParams).validate_python(own)


# --- Ollama's client: its answers


async def read_by_ollama(client: ollama.AsyncClient, *, stream: bool) -> Read:
    answer = await client.chat("m", HELLO, stream=stream)
    parts = [part async for part in answer] if stream else [answer]
    calls = [
        (call.function.name, dict(call.function.arguments)) for part in parts for call in part.message.tool_calls or ()
    ]
    last = parts[-1]
    assert last.done
    finish = "tool_calls" if calls and last.done_reason == "stop" else last.done_reason  # as everybody else says it
    return (
        "".join(part.message.content or "" for part in parts),
        "".join(part.message.thinking or "" for part in parts),
        calls,
        finish,
        (last.prompt_eval_count, last.eval_count, 0),
    )


TOLD = {"/api/tags": cassette("ollama/tags"), "/api/ps": cassette("ollama/ps"), "/api/show": cassette("ollama/show")}


class TestOllama:
    @pytest.mark.parametrize(
        ("wire", "stream"),
        [
            ("chat", False),
            ("chat_format_schema", False),
            ("chat_length", True),
            ("chat_stream", True),
            ("chat_stream_thinking", True),
            ("chat_stream_tools", True),
        ],
    )
    async def test_answers(self, wire: str, *, stream: bool) -> None:
        with WireServer([cassette(f"ollama/{wire}")], routes=TOLD) as server:
            async with ollama_client(server.url) as client:
                official = await read_by_ollama(client, stream=stream)
            assert await ours(our_ollama(server.url)) == official

    @pytest.mark.parametrize(
        ("wire", "status", "key"),
        [
            ("err_400_ctx_truncate_false", 400, "llm_context_overflow"),
            ("err_400_no_tools", 400, "llm_no_tools"),
            ("err_401_cloud", 401, "llm_unauthorized"),
            ("err_404_model", 404, "llm_model_not_found"),
            ("err_429_cloud", 429, "llm_rate_limited"),
            ("err_500_runner", 500, "llm_server_failed"),
            ("err_503_busy", 503, "llm_server_failed"),
            ("err_midstream", -1, "llm_server_failed"),
        ],
    )
    async def test_errors(self, wire: str, status: int, key: str) -> None:
        """A status of -1 is how their client says that the error came inside an answer."""
        with WireServer([cassette(f"ollama/{wire}")], routes=TOLD) as server:
            async with ollama_client(server.url) as client:
                with pytest.raises(ollama.ResponseError) as caught:
                    await read_by_ollama(client, stream=True)
            error = await our_failure(our_ollama(server.url))
        assert (caught.value.status_code, error.key) == (status, key)
        assert caught.value.error[:20] in str(error.params["reason"])

    async def test_embeddings(self) -> None:
        with WireServer([cassette("ollama/embed")]) as server:
            async with ollama_client(server.url) as client:
                official = await client.embed("all-minilm", ["a", "b"])
            provider = our_ollama(server.url)
            told = await provider.embed(["a", "b"], "all-minilm")
            await provider.aclose()
            own = server.bodies()[-1]
        assert [list(vector) for vector in told.vectors] == [list(vector) for vector in official.embeddings]
        assert told.tokens == official.prompt_eval_count
        assert ollama_types.EmbedRequest.model_validate(own).model_dump(exclude_none=True) == own

    async def test_the_models_and_what_is_told_of_one(self) -> None:
        with WireServer([cassette("ollama/chat")], routes=TOLD) as server:
            async with ollama_client(server.url) as client:
                listed, running = (await client.list()).models, (await client.ps()).models
                shown = await client.show("qwen3:8b")
            provider = Ollama(server.url, timeout=5, idle_timeout=5)
            (info,) = await provider.list_models()
            told = await provider.describe("qwen3:8b")
            await provider.aclose()
        (theirs,) = listed
        assert theirs.details is not None
        assert (info.id, info.parameters) == (theirs.model, theirs.details.parameter_size)
        assert info.quantization == theirs.details.quantization_level
        assert (info.loaded, info.context_window) == (True, running[0].context_length)
        assert shown.modelinfo is not None
        assert told.max_context_window == shown.modelinfo["qwen3.context_length"]
        assert told.abilities == frozenset(shown.capabilities or ()) - {"completion"}


# --- our requests, as the clients' own types have them

TOOL = ToolSpec(
    "look",
    "Look.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "where", "enum": ["a.py", "b.py"]},
            "lines": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["path"],
    },
)
TALK: tuple[Message, ...] = (
    SystemMessage("You help."),
    UserMessage("What is this?", (Image("image/png", b"\x89PNG"),)),
    AssistantMessage("I look.", (ToolCall("c1", "look", '{"path": "a.py"}'),), thinking="Hm."),
    ToolMessage("c1", "look", "nothing"),
    AssistantMessage("", (ToolCall("c2", "look", "{oops"),)),
    ToolMessage("c2", "look", "no JSON"),
    UserMessage("Go on."),
)
NATIVE = CompletionRequest(
    model="m", messages=TALK, tools=(TOOL,), tool_choice="required", max_tokens=9, temperature=0.5, stop=("x",)
)
CONSTRAINED = CompletionRequest(model="m", messages=TALK, schema=TOOL.parameters)


def validated(kind: Any, value: Any) -> Any:
    """`value` as the type `kind` has it: what that does not know is missing."""
    adapter = TypeAdapter(kind)
    return json.loads(adapter.dump_json(adapter.validate_python(value), exclude_none=True))


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name not in names}


OPENAI_MESSAGES = {
    "system": ChatCompletionSystemMessageParam,
    "user": ChatCompletionUserMessageParam,
    "assistant": ChatCompletionAssistantMessageParam,
    "tool": ChatCompletionToolMessageParam,
}


def assert_it_is_openais(message: dict[str, Any]) -> None:
    """Thinking is no part of OpenAI's interface: the servers for whom it is sent take it under this name."""
    message = without(message, "reasoning_content")
    if isinstance(message["content"], list):
        assert validated(list[ChatCompletionContentPartParam], message["content"]) == message["content"]
        message["content"] = "the parts are looked at above: a union of their types reads them only once"
    assert validated(OPENAI_MESSAGES[message["role"]], message) == message


@pytest.mark.parametrize("request_of_ours", [NATIVE, CONSTRAINED], ids=["native", "constrained"])
def test_openais_types_take_our_requests(request_of_ours: CompletionRequest) -> None:
    body = json.loads(openai_compatible("http://127.0.0.1:9").prepare(request_of_ours).body)
    assert (
        set(body)
        <= CompletionCreateParamsStreaming.__required_keys__ | CompletionCreateParamsStreaming.__optional_keys__
    )
    scalars = without(body, "messages", "tools", "response_format")
    assert validated(CompletionCreateParamsStreaming, body).items() >= scalars.items()
    for message in body["messages"]:
        assert_it_is_openais(message)
    assert validated(list[ChatCompletionToolParam], body.get("tools", [])) == body.get("tools", [])
    if "response_format" in body:
        assert validated(ResponseFormat, body["response_format"]) == body["response_format"]


@pytest.mark.parametrize("request_of_ours", [NATIVE, CONSTRAINED], ids=["native", "constrained"])
def test_ollamas_types_take_our_requests(request_of_ours: CompletionRequest) -> None:
    body = json.loads(our_ollama("http://127.0.0.1:9").prepare(request_of_ours, num_ctx=4096, think=True).body)
    # Of these the server knows (they keep it from dropping the beginning of a conversation), its client does not.
    assert (body.pop("truncate"), body.pop("shift")) == (False, False)
    told = ollama_types.ChatRequest.model_validate(body).model_dump(exclude_none=True)
    assert without(told, "tools", "messages") == without(body, "tools", "messages")
    assert validated(list[ollama_types.Tool], body.get("tools", [])) == body.get("tools", [])
    # The server's ids of calls are younger than its client's types.
    messages = [without(message, "tool_call_id") for message in body["messages"]]
    for message in messages:
        if calls := message.get("tool_calls"):
            message["tool_calls"] = [without(call, "id") for call in calls]
    assert validated(list[ollama_types.Message], [as_their_user_writes(message) for message in messages]) == messages


def as_their_user_writes(message: dict[str, Any]) -> dict[str, Any]:
    """What the client's user gives it for a picture becomes the text we send."""
    pictures = [ollama_types.Image(value=base64.b64decode(picture)) for picture in message.get("images", ())]
    return message | ({"images": pictures} if pictures else {})
