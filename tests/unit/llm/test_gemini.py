"""The Gemini provider against abridged and documented answers, over real connections."""

import json
from typing import Any

import pytest

from localllm.base.errors import ConfigurationError, LLMConnectionError
from localllm.base.events import ToolCall
from localllm.base.i18n import set_language
from localllm.llm.client import LLMClient
from localllm.llm.messages import (
    AssistantMessage,
    Completion,
    CompletionRequest,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from localllm.llm.providers.base import ModelInfo, ToolCallChunk
from localllm.llm.providers.gemini import Gemini, gemini_root, resource_name
from localllm.llm.providers.gemini_format import PLACEHOLDER
from tests.support.wire_server import FIXTURES, Reply, WireServer, cassette

pytestmark = pytest.mark.anyio

HELLO = (SystemMessage("You help."), UserMessage("Hello"))
MODEL = {
    "name": "models/gemini-3-flash",
    "inputTokenLimit": 1_048_576,
    "supportedGenerationMethods": ["generateContent", "countTokens"],
    "thinking": True,
}
DESCRIBED = {"/v1beta/models/gemini-3-flash": Reply((json.dumps(MODEL).encode(),))}
NO_SIGNATURE = cassette("gemini/err_400_signature")
SIGNATURE = "EpwICpkIAXLI2nxlU6gsWZaZHRYkX1orzuM8vSUFwaAt1JRx"
READ_BY_SDK: dict[str, str | None] = json.loads((FIXTURES / "sdk_reads.json").read_text(encoding="utf-8"))
"""The text an official client reads from the same bytes; null where it raises."""


def gemini(url: str, **options: Any) -> Gemini:
    return Gemini(url, **({"timeout": 5, "idle_timeout": 5, "api_key": "k"} | options))


def frames(*told: dict[str, Any]) -> Reply:
    """A stream of these frames."""
    return Reply(tuple(f"data: {json.dumps(frame, ensure_ascii=False)}\r\n\r\n".encode() for frame in told))


def candidate(*parts: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    told = {"content": {"role": "model", "parts": parts}, **fields}
    return {"candidates": [told | ({"finishReason": finish} if finish else {})]}


def says(text: str) -> Reply:
    return frames(candidate({"text": text}, finish="STOP"))


def fails(status: int, message: str, **fields: Any) -> Reply:
    error = {"code": status, "message": message, **fields}
    return Reply((json.dumps({"error": error}).encode(),), status, {"content-type": "application/json"})


async def ask(*replies: Reply, retries: int = 0, routes: dict[str, Reply] | None = None) -> Completion:
    with WireServer(replies, routes=DESCRIBED | (routes or {})) as server:
        client = LLMClient(gemini(server.url), model="gemini-3-flash", max_retries=retries)
        try:
            return await client.complete(HELLO)
        finally:
            await client.aclose()


async def failure(*replies: Reply, retries: int = 0, routes: dict[str, Reply] | None = None) -> LLMConnectionError:
    with pytest.raises(LLMConnectionError) as caught:
        await ask(*replies, retries=retries, routes=routes)
    for language in ("ja", "en"):
        set_language(language)
        assert caught.value.what
        assert caught.value.fix
    return caught.value


class TestAnswers:
    async def test_a_stream_whose_counts_come_with_every_frame(self) -> None:
        answer = await ask(cassette("gemini/stream"))
        assert answer.message == AssistantMessage("The capital")
        assert answer.finish_reason == "stop"
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (29, 212)
        assert not answer.usage.estimated

    async def test_an_answer_that_comes_whole_or_as_a_list(self) -> None:
        whole = cassette("gemini/generate")
        assert (await ask(whole)).message.text == "Paris."
        assert (await ask(Reply((b"[", *whole.pieces, b",\r\n", *whole.pieces, b"]")))).message.text == "Paris.Paris."

    async def test_every_size_of_piece(self) -> None:
        whole = b"".join(cassette("gemini/stream_thoughts").pieces)
        for size in (1, 7, 100):
            pieces = tuple(whole[at : at + size] for at in range(0, len(whole), size))
            assert (await ask(Reply(pieces))).message == AssistantMessage("42", thinking="**Plan** ...")

    async def test_calls_get_an_id_where_they_have_none_and_end_as_calls(self) -> None:
        answer = await ask(cassette("gemini/stream_tool_thought_signature"))
        (call,) = answer.message.tool_calls
        assert (call.name, call.arguments, answer.finish_reason) == ("get_country", "{}", "tool_calls")
        assert call.id.startswith("call_")

    async def test_calls_of_one_and_of_several_frames(self) -> None:
        def call(name: str, **fields: Any) -> dict[str, Any]:
            return {"functionCall": {"name": name, **fields}}

        both = candidate({"text": "I look."}, call("a", id="x", args={"p": "語"}), call("a", args=None))
        reply = frames(both, candidate(call("b", args={"q": 1})), candidate(finish="STOP"))
        with WireServer([reply]) as server:
            provider = gemini(server.url)
            chunks = [chunk async for chunk in provider.stream(request(*HELLO))]
            await provider.aclose()
        assert [chunk.index for chunk in chunks if isinstance(chunk, ToolCallChunk)] == [0, 1, 2]
        answer = await ask(reply)
        calls = answer.message.tool_calls
        assert [(call.name, call.arguments) for call in calls] == [("a", '{"p":"語"}'), ("a", "{}"), ("b", '{"q":1}')]
        assert calls[0].id == "x"
        assert len({call.id for call in calls}) == 3
        assert answer.message.text == "I look."

    async def test_the_limit(self) -> None:
        answer = await ask(cassette("gemini/stream_max_tokens"))
        assert (answer.message.text, answer.finish_reason) == ("cut", "length")

    async def test_cached_tokens(self) -> None:
        usage = {"promptTokenCount": 9, "candidatesTokenCount": 2, "cachedContentTokenCount": 7}
        answer = await ask(frames(candidate({"text": "x"}, finish="STOP"), {"usageMetadata": usage}))
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.cached_tokens) == (9, 2, 7)

    async def test_counts_that_cannot_be_read_are_estimated(self) -> None:
        told = candidate({"text": "x"}, finish="STOP") | {"usageMetadata": {"promptTokenCount": "many"}}
        assert (await ask(frames(told))).usage.estimated

    async def test_what_was_said_before_the_filter_stepped_in_is_kept(self) -> None:
        answer = await ask(frames(candidate({"text": "How"}), candidate(finish="RECITATION")))
        assert (answer.message.text, answer.finish_reason) == ("How", "content_filter")

    async def test_a_call_gemini_could_not_read_goes_back_to_the_model_with_its_words(self) -> None:
        answer = await ask(cassette("gemini/malformed_function_call"))
        (call,) = answer.message.tool_calls
        assert (call.name, answer.finish_reason) == ("x", "tool_calls")
        assert "print(default_api.x(" in call.arguments
        with pytest.raises(json.JSONDecodeError):
            json.loads(call.arguments)


class TestFailures:
    @pytest.mark.parametrize(
        ("name", "key", "status"),
        [
            ("err_400_ctx", "llm_context_overflow", None),
            ("err_400_key", "llm_unauthorized", 400),
            ("err_400_signature", "llm_no_signature", None),
            ("err_403_no_key", "llm_unauthorized", 403),
            ("err_404_model", "llm_model_not_found", None),
            ("err_429", "llm_rate_limited", None),
            ("err_500", "llm_server_failed", 500),
            ("err_503", "llm_server_failed", 503),
            ("err_stream_array", "llm_rate_limited", None),
            ("midstream_error", "llm_server_failed", 503),
            ("prompt_blocked", "llm_filtered", None),
            ("stream_safety", "llm_filtered", None),
            ("truncated_stream", "llm_cut", None),
        ],
    )
    async def test_failures_get_their_meaning(self, name: str, key: str, status: int | None) -> None:
        error = await failure(cassette(f"gemini/{name}"))
        assert (error.key, error.params.get("status")) == (key, status)

    async def test_a_filter_names_what_it_found(self) -> None:
        assert (await failure(cassette("gemini/prompt_blocked"))).why == "PROHIBITED_CONTENT."
        assert (await failure(cassette("gemini/stream_safety"))).why == "SAFETY: HARM_CATEGORY_HARASSMENT (HIGH)."

    async def test_a_bad_key_names_its_variable(self) -> None:
        assert "GEMINI_API_KEY" in (await failure(cassette("gemini/err_400_key"))).fix

    async def test_a_missing_model_names_the_nearest_there_are(self) -> None:
        models = [MODEL | {"name": f"models/{name}"} for name in ("zeta", "gemini-3-pro", "gemini-3.1-flash")]
        listed = Reply((json.dumps({"models": models}).encode(),))
        routes = {"/v1beta/models?pageSize=1000": listed}
        error = await failure(cassette("gemini/err_404_model"), routes=routes)
        assert error.params["available"] == "gemini-3.1-flash, gemini-3-pro, zeta"

    async def test_the_wait_is_read_from_the_details_or_the_message(self) -> None:
        assert (await failure(cassette("gemini/err_429"))).retry_after == pytest.approx(0.539477544)
        assert (await failure(fails(429, "Slow down. Please retry in 1m2.5s."))).retry_after == 62.5
        assert (await failure(fails(429, "Slow down."))).retry_after is None

    async def test_the_quota_of_a_day_is_not_waited_for(self) -> None:
        quota = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
        error = await failure(fails(429, "You exceeded your quota.", details=[quota, {"retryDelay": "20s"}]))
        assert (error.key, error.retryable) == ("llm_quota_spent", False)

    @pytest.mark.parametrize("details", [None, "x", [1], [{"violations": 3}], [{"retryDelay": None}], [{"reason": 5}]])
    async def test_details_of_another_form_do_no_harm(self, details: object) -> None:
        assert (await failure(fails(429, "Slow down.", details=details))).key == "llm_rate_limited"
        assert (await failure(fails(400, "No.", details=details))).key == "llm_bad_request"

    async def test_a_call_gemini_could_not_read_and_does_not_name_is_asked_for_again(self) -> None:
        unread = frames({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]})
        assert (await failure(unread)).key == "llm_bad_call"
        assert (await ask(unread, says("well"), retries=1)).message.text == "well"

    async def test_nothing_said_and_nonsense(self) -> None:
        assert (await failure(frames(candidate(finish="STOP")))).key == "llm_empty"
        assert (await failure(Reply((b"{}",)))).key == "llm_malformed"
        assert (await failure(Reply((b"data: {oops\r\n\r\n",)))).key == "llm_malformed"
        assert (await failure(Reply((b"<html>hello</html>",)))).key == "llm_malformed"

    async def test_a_model_without_tools_says_so(self) -> None:
        error = await failure(fails(400, "Function calling is not enabled for models/gemma-3-27b-it"))
        assert error.key == "llm_no_tools"

    async def test_an_api_that_cannot_be_reached(self) -> None:
        with WireServer([says("x")]) as server:
            url = server.url
        client = LLMClient(gemini(url), model="m", max_retries=0)
        with pytest.raises(LLMConnectionError) as caught:
            await client.complete(HELLO)
        await client.aclose()
        assert caught.value.key == "llm_unreachable"

    def test_a_missing_key_is_named_unless_a_proxy_may_have_it(self) -> None:
        with pytest.raises(ConfigurationError, match="GEMINI_API_KEY"):
            Gemini(timeout=5, idle_timeout=5)
        assert "x-goog-api-key" not in gemini("localhost:1", api_key="").prepare(request(*HELLO)).headers


def request(*messages: Message, model: str = "gemini-3-flash") -> CompletionRequest:
    return CompletionRequest(model=model, messages=messages)


def signatures(body: dict[str, Any]) -> list[str | None]:
    """The signature of each call in a request that was sent."""
    parts = [part for turn in body["contents"] for part in turn["parts"]]
    return [part.get("thoughtSignature") for part in parts if "functionCall" in part]


def asked_after(server: WireServer) -> list[list[str | None]]:
    return [signatures(body) for body in server.bodies()]


class TestThoughtSignatures:
    CALLED = (
        *HELLO,
        AssistantMessage("", (ToolCall("old", "get_country", "{}"),)),
        ToolMessage("old", "get_country", "fr"),
    )

    async def test_the_signature_of_a_call_comes_back_with_it(self) -> None:
        replies = [cassette("gemini/stream_tool_thought_signature"), says("France")]
        with WireServer(replies, routes=DESCRIBED) as server:
            client = LLMClient(gemini(server.url), model="gemini-3-flash", max_retries=0)
            called = (await client.complete(HELLO)).message
            answered = (*HELLO, called, ToolMessage(called.tool_calls[0].id, "get_country", "fr"))
            assert (await client.complete(answered)).message.text == "France"
            await client.aclose()
        first, second = server.requests
        assert asked_after(server) == [[], [SIGNATURE]]
        assert second.startswith(first.removesuffix(b"]}"))

    async def test_a_signature_is_kept_from_other_models(self) -> None:
        replies = [cassette("gemini/stream_tool_thought_signature"), says("France")]
        with WireServer(replies, routes=DESCRIBED) as server:
            client = LLMClient(gemini(server.url), model="gemini-3-flash", max_retries=0)
            called = (await client.complete(HELLO)).message
            client.model = "gemini-2.5-pro"
            await client.complete((*HELLO, called, ToolMessage(called.tool_calls[0].id, "get_country", "fr")))
            await client.aclose()
        assert asked_after(server) == [[], [None]]

    async def test_a_missing_one_is_filled_in_once_the_model_insists_and_from_then_on(self) -> None:
        replies = [NO_SIGNATURE, says("one"), says("two")]
        with WireServer(replies, routes=DESCRIBED) as server:
            client = LLMClient(gemini(server.url), model="gemini-3-flash", max_retries=0)
            assert [(await client.complete(self.CALLED)).message.text for _ in range(2)] == ["one", "two"]
            await client.aclose()
        assert asked_after(server) == [[None], [PLACEHOLDER], [PLACEHOLDER]]

    async def test_one_that_is_no_longer_accepted_is_replaced(self) -> None:
        corrupted = fails(400, "Corrupted thought signature.")
        replies = [cassette("gemini/stream_tool_thought_signature"), corrupted, corrupted, says("France")]
        with WireServer(replies, routes=DESCRIBED) as server:
            client = LLMClient(gemini(server.url), model="gemini-3-flash", max_retries=0)
            called = (await client.complete(HELLO)).message
            await client.complete((*HELLO, called, ToolMessage(called.tool_calls[0].id, "get_country", "fr")))
            await client.aclose()
        assert asked_after(server) == [[], [SIGNATURE], [SIGNATURE], [PLACEHOLDER]]

    async def test_a_model_that_says_so_at_the_end_is_asked_again_too(self) -> None:
        missing = frames({"candidates": [{"finishReason": "MISSING_THOUGHT_SIGNATURE"}]})
        assert (await ask(missing, says("well"))).message.text == "well"

    async def test_a_failure_after_the_first_word_is_told(self) -> None:
        begun = frames(candidate({"text": "How"}), {"candidates": [{"finishReason": "MISSING_THOUGHT_SIGNATURE"}]})
        assert (await failure(begun, says("not asked"))).key == "llm_no_signature"

    async def test_a_model_that_refuses_the_placeholder_too_is_not_asked_for_ever(self) -> None:
        assert (await failure(NO_SIGNATURE)).key == "llm_no_signature"


class TestRequests:
    async def test_the_key_is_in_a_header_and_not_in_the_address(self) -> None:
        with WireServer([says("hi")], routes=DESCRIBED) as server:
            client = LLMClient(gemini(server.url, api_key="sk-SECRET"), model="gemini-3-flash")
            await client.complete(HELLO)
            await client.aclose()
        assert server.asked == [
            "GET /v1beta/models/gemini-3-flash",
            "POST /v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse",
        ]
        assert all(headers["x-goog-api-key"] == "sk-SECRET" for headers in server.headers)

    async def test_a_model_that_thinks_is_asked_for_its_thoughts(self) -> None:
        with WireServer([says("hi")], routes=DESCRIBED) as server:
            client = LLMClient(gemini(server.url), model="gemini-3-flash")
            await client.complete(HELLO)
            await client.aclose()
        assert server.bodies()[0]["generationConfig"] == {"thinkingConfig": {"includeThoughts": True}}

    async def test_a_model_that_does_not_think_after_all_is_asked_without(self) -> None:
        refused = fails(400, "Thinking is not enabled for models/gemini-3-flash")
        with WireServer([refused, says("hi")], routes=DESCRIBED) as server:
            client = LLMClient(gemini(server.url), model="gemini-3-flash", max_retries=0)
            assert (await client.complete(HELLO)).message.text == "hi"
            await client.provider.describe("gemini-3-flash")
            await client.complete(HELLO)
            await client.aclose()
        assert ["generationConfig" in body for body in server.bodies()] == [True, False, False]

    @pytest.mark.parametrize(
        ("base_url", "root"),
        [
            ("https://generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com/v1beta"),
            ("generativelanguage.googleapis.com/", "https://generativelanguage.googleapis.com/v1beta"),
            ("https://generativelanguage.googleapis.com/v1", "https://generativelanguage.googleapis.com/v1"),
            (
                "https://generativelanguage.googleapis.com/v1beta/models/x:generateContent?key=k",
                "https://generativelanguage.googleapis.com/v1beta",
            ),
            (
                "https://generativelanguage.googleapis.com/v1beta/openai/",
                "https://generativelanguage.googleapis.com/v1beta",
            ),
            ("localhost:4000/gemini", "http://localhost:4000/gemini/v1beta"),
        ],
    )
    def test_the_address_in_every_form(self, base_url: str, root: str) -> None:
        assert gemini_root(base_url) == root

    @pytest.mark.parametrize(
        ("model", "name"),
        [
            ("gemini-3-flash", "models/gemini-3-flash"),
            ("models/gemini-3-flash", "models/gemini-3-flash"),
            ("tunedModels/mine", "tunedModels/mine"),
            ("a b?c", "models/a%20b%3Fc"),
        ],
    )
    def test_the_name_in_every_form(self, model: str, name: str) -> None:
        assert resource_name(model) == name


class TestModels:
    async def test_those_that_answer_in_text_from_all_pages(self) -> None:
        def model(name: str, *methods: str) -> dict[str, Any]:
            return MODEL | {"name": name, "supportedGenerationMethods": methods}

        first = [model("models/gemini-3-flash-tts", "generateContent"), model("models/embedding-1", "embedContent")]
        second = [model("models/gemma-4", "generateContent"), {"name": "models/aqa"}]
        routes = {
            "/v1beta/models?pageSize=1000": Reply(
                (json.dumps({"models": [*first, MODEL], "nextPageToken": "a/b="}).encode(),)
            ),
            "/v1beta/models?pageSize=1000&pageToken=a%2Fb%3D": Reply((json.dumps({"models": second}).encode(),)),
        }
        with WireServer([says("x")], routes=routes) as server:
            provider = gemini(server.url)
            models = await provider.list_models()
            await provider.aclose()
        assert models == [
            ModelInfo("gemini-3-flash", context_window=1_048_576, abilities=frozenset({"tools", "vision", "thinking"})),
            ModelInfo("gemma-4", context_window=1_048_576),
        ]

    async def test_the_documented_list(self) -> None:
        with WireServer([says("x")], list_replies=[cassette("gemini/models")]) as server:
            provider = gemini(server.url)
            models = await provider.list_models()
            await provider.aclose()
        assert [info.id for info in models] == ["gemini-3-flash"]

    async def test_a_list_that_never_ends_is_left(self) -> None:
        endless = Reply((json.dumps({"models": [MODEL], "nextPageToken": "again"}).encode(),))
        routes = {"/v1beta/models?pageSize=1000": endless, "/v1beta/models?pageSize=1000&pageToken=again": endless}
        with WireServer([says("x")], routes=routes) as server:
            provider = gemini(server.url)
            assert len(await provider.list_models()) == 10
            await provider.aclose()

    async def test_one_model_is_described_under_the_name_it_was_asked_by(self) -> None:
        with WireServer([says("x")], routes=DESCRIBED) as server:
            provider = gemini(server.url)
            told = await provider.describe("models/gemini-3-flash")
            await provider.aclose()
        assert (told.id, told.context_window) == ("models/gemini-3-flash", 1_048_576)
        assert server.asked == ["GET /v1beta/models/gemini-3-flash"]


STRICTER = {"gemini/malformed_function_call", "gemini/prompt_blocked", "gemini/stream_safety"}
"""Where an official client reads an empty answer, and we a call or a failure."""


@pytest.mark.parametrize("name", [name for name in READ_BY_SDK if name.startswith("gemini/") and name not in STRICTER])
async def test_an_official_client_reads_the_same(name: str) -> None:
    try:
        text = (await ask(cassette(name))).message.text
    except LLMConnectionError:
        text = None
    assert text == READ_BY_SDK[name]
