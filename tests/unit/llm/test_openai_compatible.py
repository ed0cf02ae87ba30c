"""The OpenAI-compatible provider against answers in the form of several servers, over real connections."""

import itertools
import json
import threading
import traceback
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.base.events import ToolCall
from localllm.config.schema import LLMSettings, OpenAISettings
from localllm.llm.client import LLMClient
from localllm.llm.messages import (
    AssistantMessage,
    Completion,
    CompletionRequest,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from localllm.llm.providers.openai_compatible import OpenAICompatible, make
from localllm.llm.providers.openai_errors import nearest_names
from tests.support.wire_server import HANG_UP, Reply, WireServer, cassette, delta, fails, says, sse

pytestmark = pytest.mark.anyio

HELLO = (SystemMessage("You help."), UserMessage("Hello"))


def provider(url: str, *, timeout: float = 5, idle_timeout: float = 5, key: str = "") -> OpenAICompatible:
    return OpenAICompatible(
        "lmstudio", url, timeout=timeout, idle_timeout=idle_timeout, api_key=key, key_variable="LMSTUDIO_API_KEY"
    )


async def ask(*replies: Reply, retries: int = 0, waits: list[float] | None = None) -> Completion:
    """The answer of a client to the replies of a server."""
    with WireServer(replies) as server:
        client = LLMClient(provider(server.url), model="m", max_retries=retries)
        try:
            return await client.complete(
                HELLO, on_retry=lambda _, seconds: (waits if waits is not None else []).append(seconds)
            )
        finally:
            await client.aclose()


async def failure(*replies: Reply, retries: int = 0) -> LLMConnectionError:
    with pytest.raises(LLMConnectionError) as caught:
        await ask(*replies, retries=retries)
    assert caught.value.what
    assert caught.value.fix
    assert "{" not in str(caught.value).replace('{"', "")
    return caught.value


class TestAnswers:
    async def test_llama_cpp_stream_with_usage(self) -> None:
        answer = await ask(cassette("llamacpp/chat_stream_usage"))
        assert answer.message == AssistantMessage("ead")
        assert answer.finish_reason == "stop"
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.cached_tokens) == (39, 2, 38)
        assert not answer.usage.estimated

    async def test_llama_cpp_tool_calls(self) -> None:
        answer = await ask(cassette("llamacpp/tools_required_stream"))
        assert answer.finish_reason == "tool_calls"
        for call in answer.message.tool_calls:
            assert call.id
            assert isinstance(json.loads(call.arguments), dict)
        assert answer.message.tool_calls

    async def test_lm_studio_tool_call_in_pieces(self) -> None:
        answer = await ask(cassette("lmstudio/chat_stream_tools"))
        assert answer.message.tool_calls == (
            ToolCall("814890118", "get_current_weather", '{"location":"San Francisco"}'),
        )

    async def test_a_call_of_gemini_ends_with_stop(self) -> None:
        answer = await ask(cassette("gemini_oai/chat_stream_tool"))
        assert answer.message.tool_calls == (ToolCall("function-call-1", "get_country", "{}"),)
        assert answer.finish_reason == "stop"

    async def test_lm_studio_thinking_is_kept_apart(self) -> None:
        answer = await ask(cassette("lmstudio/chat_stream_reasoning"))
        assert answer.message == AssistantMessage("Hi", thinking="Hmm")

    async def test_an_answer_that_comes_whole_is_understood(self) -> None:
        answer = await ask(cassette("lmstudio/chat_v0"))
        assert answer.message.text == "Hi"
        assert answer.usage.completion_tokens == 53

    async def test_without_reported_usage_the_tokens_are_estimated(self) -> None:
        answer = await ask(Reply(sse(delta(content="four words are here"), delta("stop"), "[DONE]")))
        assert answer.usage.estimated
        assert answer.usage.prompt_tokens > 0
        assert answer.usage.completion_tokens > 0

    async def test_a_stream_that_ends_with_done_alone_is_whole(self) -> None:
        assert (await ask(Reply(sse(delta(content="x"), "[DONE]")))).message.text == "x"

    async def test_calls_that_share_an_index_or_lack_an_id_stay_apart(self) -> None:
        def call(call_id: str | None, name: str) -> dict[str, object]:
            return delta(tool_calls=[{"index": 0, "id": call_id, "function": {"name": name, "arguments": "{}"}}])

        answer = await ask(Reply(sse(call("a", "one"), call("b", "two"), delta("tool_calls"))))
        assert [(c.id, c.name, c.arguments) for c in answer.message.tool_calls] == [
            ("a", "one", "{}"),
            ("b", "two", "{}"),
        ]
        answer = await ask(Reply(sse(call(None, "one"), delta("tool_calls"))))
        assert answer.message.tool_calls[0].id

    async def test_a_password_in_the_address_is_sent_and_not_shown(self) -> None:
        with WireServer([fails(500)]) as server:
            client = LLMClient(provider(server.url.replace("//", "//name:pass%40word@")), model="m", max_retries=0)
            with pytest.raises(LLMConnectionError) as caught:
                await client.complete(HELLO)
            await client.aclose()
        assert "word" not in f"{client.provider.address} {caught.value}"
        assert {sent["authorization"] for sent in server.headers} == {"Basic bmFtZTpwYXNzQHdvcmQ="}

    async def test_a_key_is_sent_only_where_there_is_one(self) -> None:
        request = CompletionRequest(model="m", messages=HELLO)
        assert "authorization" not in provider("localhost:1").prepare(request).headers
        assert provider("localhost:1", key="k").prepare(request).headers["authorization"] == "Bearer k"


class TestFailures:
    @pytest.mark.parametrize(
        ("name", "key"),
        [
            ("lmstudio/err_200_wrong_endpoint", "llm_malformed"),
            ("lmstudio/err_400_ctx", "llm_context_overflow"),
            ("lmstudio/err_401_token", "llm_unauthorized"),
            ("lmstudio/err_404_model", "llm_model_not_found"),
            ("lmstudio/err_crash_stream", "llm_server_failed"),
            ("lmstudio/err_stream_ctx", "llm_context_overflow"),
            ("lmstudio/err_stream_empty", "llm_empty"),
            ("llamacpp/err_ctx_overflow", "llm_context_overflow"),
            ("llamacpp/error_in_stream", "llm_bad_call"),
            ("openai/err_401", "llm_unauthorized"),
            ("openai/err_404_model", "llm_model_not_found"),
            ("openai/err_429_quota", "llm_quota_spent"),
            ("openai/err_429_tpm", "llm_context_overflow"),
            ("gemini_oai/err_400", "llm_no_signature"),
            ("gemini_oai/err_429", "llm_rate_limited"),
        ],
    )
    async def test_failures_get_their_meaning(self, name: str, key: str) -> None:
        assert (await failure(cassette(name))).key == key

    async def test_a_missing_model_names_the_nearest_there_are(self) -> None:
        with WireServer([cassette("lmstudio/err_404_model")], models=["zeta", "qwen3-8b", "qwen3-14b"]) as server:
            client = LLMClient(provider(server.url), model="qwen3-9b")
            with pytest.raises(LLMConnectionError) as caught:
                await client.complete(HELLO)
            await client.aclose()
        assert caught.value.params["available"] == "qwen3-8b, qwen3-14b, zeta"
        assert "qwen3-9b" in caught.value.what

    def test_of_a_list_of_models_without_end_the_beginning_is_compared(self) -> None:
        offered = ["qwen3-9b" * 1_000, "qwen3-8b", *(f"m{number}" for number in range(5_000)), "qwen3-9b-it"]
        assert nearest_names("qwen3-9b", offered, 1) == ["qwen3-8b"]

    async def test_an_html_error_page_is_told_in_words(self) -> None:
        page = b"<html><style>x{}</style><body><h1>502 Bad Gateway</h1>nginx</body></html>"
        error = await failure(Reply((page,), 502, {"content-type": "text/html"}))
        assert error.key == "llm_server_failed"
        assert "502 Bad Gateway nginx." in error.why

    async def test_nobody_listens(self) -> None:
        with WireServer([says("x")]) as server:
            url = server.url
        client = LLMClient(provider(url), model="m")
        with pytest.raises(LLMConnectionError) as caught:
            await client.complete(HELLO)
        assert caught.value.key == "llm_refused"
        assert url in caught.value.what
        assert "LM Studio: Developer → Start Server" in caught.value.fix
        assert "llama-server" not in caught.value.fix

    async def test_malformed_events(self) -> None:
        error = await failure(Reply((b"data: {not json\n\n",)))
        assert error.key == "llm_malformed"
        error = await failure(Reply(sse({"choices": "no list"})))
        assert error.key == "llm_malformed"

    @pytest.mark.parametrize("depth", [*range(900, 1000, 9), 100_000])
    @pytest.mark.parametrize("form", [b"%b", b'{"error": %b}', b'{"error": {"message": %b}}', b'{"detail": %b}'])
    async def test_an_error_may_be_nested_as_deep_as_it_likes(self, form: bytes, depth: int) -> None:
        body = form % (b"[" * depth + b"]" * depth)
        assert (await failure(Reply((body,), status=400))).key == "llm_bad_request"
        assert (await failure(Reply((body,)))).code

    @pytest.mark.parametrize("reply", [Reply(sse(delta(content="half")), cut=True), Reply(sse(delta(content="half")))])
    async def test_a_stream_that_breaks_off_is_not_taken_for_an_answer(self, reply: Reply) -> None:
        assert (await failure(reply, says("not asked"), retries=2)).key == "llm_cut"

    async def test_silence_in_the_middle_is_noticed_but_not_before_the_first_token(self) -> None:
        silent = Reply(sse(delta(role="assistant"), delta(content="a"), delta(content="b")), hold_before=2)
        with WireServer([silent]) as server:
            client = LLMClient(provider(server.url, idle_timeout=0.1), model="m")
            with pytest.raises(LLMConnectionError) as caught:
                await client.complete(HELLO)
            await client.aclose()
        assert caught.value.key == "llm_idle"

        begun, *rest = sse(delta(role="assistant"), delta(content="a"), delta("stop"))
        slow = Reply((begun, b"".join(rest)), hold_before=1)
        with WireServer([slow]) as server:
            client = LLMClient(provider(server.url, idle_timeout=0.1), model="m")
            threading.Timer(0.5, server.released.set).start()
            assert (await client.complete(HELLO)).message.text == "a"
            await client.aclose()

    async def test_a_key_never_stands_in_an_error(self) -> None:
        with WireServer([says("x")]) as server:
            client = LLMClient(provider(server.url, key="sk-SECRET\n"), model="m")
            with pytest.raises(LLMConnectionError) as caught:
                await client.complete(HELLO)
            await client.aclose()
        assert "SECRET" not in "".join(traceback.format_exception(caught.value))
        assert not caught.value.retryable

    async def test_a_body_that_is_not_what_its_encoding_says(self) -> None:
        error = await failure(Reply((b"plain",), headers={"content-encoding": "gzip"}))
        assert error.key == "llm_malformed"

    async def test_a_web_page_is_named(self) -> None:
        error = await failure(Reply((b"\n <!doctype html>", b"<h1>Welcome</h1>")))
        assert error.key == "llm_malformed"
        assert "HTML" in error.why
        assert not error.retryable

    async def test_a_redirect_names_where_it_points(self) -> None:
        error = await failure(Reply((b"",), 307, {"location": "https://else.example/v1"}))
        assert error.key == "llm_malformed"
        assert "https://else.example/v1" in error.why
        assert not error.retryable

    @pytest.mark.parametrize(
        "body",
        [
            b'{"object": "error", "message": "out of luck", "code": 50}',
            b'{"error": {"message": "out of luck"}}',
            b'{"detail": "out of luck"}',
            b'data: {"object": "error", "message": "out of luck"}\n\n',
            b"event: error\ndata: out of luck\n\n",
        ],
    )
    async def test_an_error_is_read_in_every_form_and_place(self, body: bytes) -> None:
        error = await failure(Reply((body,), headers={"content-type": "text/plain"}))
        assert error.key == "llm_server_failed"
        assert "out of luck." in error.why

    async def test_words_of_truncation_are_no_overflow(self) -> None:
        assert (await failure(fails(500, "log line truncated"))).key == "llm_server_failed"

    async def test_an_error_that_does_not_end_is_told_all_the_same(self) -> None:
        with WireServer([Reply((b"out of luck", b" and"), 500, hold_before=1)]) as server:
            client = LLMClient(provider(server.url, timeout=0.5), model="m", max_retries=0)
            with pytest.raises(LLMConnectionError) as caught:
                await client.complete(HELLO)
            await client.aclose()
        assert (caught.value.key, caught.value.why) == ("llm_server_failed", "out of luck.")

    @pytest.mark.parametrize(
        ("delta_fields", "finish", "key"),
        [
            ({"reasoning_content": "Hm"}, "length", "llm_thinking_cut"),
            ({"reasoning_content": "Hm"}, "stop", "llm_only_thought"),
            ({}, "content_filter", "llm_filtered"),
        ],
    )
    async def test_an_answer_without_words_says_why(self, delta_fields: dict[str, str], finish: str, key: str) -> None:
        assert (await failure(Reply(sse(delta(**delta_fields), delta(finish), "[DONE]")))).key == key

    async def test_a_missing_model_told_in_a_stream_names_those_there_are(self) -> None:
        body = b'event: error\ndata: {"error": "model not found"}\n\n'
        assert (await failure(Reply((body,)))).params["available"] == "m"

    async def test_a_model_without_tools_says_so(self) -> None:
        error = await failure(fails(400, "registry.ollama.ai/library/gemma:2b does not support tools"))
        assert (error.key, error.params["model"]) == ("llm_no_tools", "m")


class TestAfterTheEnd:
    WHOLE = b"".join(sse(delta(content="x"), delta("stop")))
    DONE = b"".join(sse(delta(content="x"), "[DONE]"))

    @pytest.mark.parametrize("begin", [WHOLE, DONE])
    @pytest.mark.parametrize("cut", [True, False])
    async def test_what_breaks_after_it_takes_nothing_away(self, begin: bytes, cut: bool) -> None:
        assert (await ask(Reply((begin, b"data: {nonsense\n\n"), cut=cut))).message.text == "x"
        assert (await ask(Reply((begin,), cut=cut))).message.text == "x"

    async def test_a_line_kept_open_after_done_is_not_waited_for(self) -> None:
        assert (await ask(Reply((self.DONE, b"\n"), hold_before=1))).message.text == "x"

    async def test_silence_after_the_finish_is_the_end(self) -> None:
        with WireServer([Reply((self.WHOLE, b"\n"), hold_before=1)]) as server:
            client = LLMClient(provider(server.url, idle_timeout=0.1), model="m")
            assert (await client.complete(HELLO)).message.text == "x"
            await client.aclose()

    async def test_a_failure_the_server_tells_of_is_told(self) -> None:
        failed = b"".join(sse({"error": {"message": "out of luck"}}))
        assert (await failure(Reply((self.WHOLE, failed)))).key == "llm_server_failed"


class TestCarelessServers:
    @pytest.mark.parametrize("content_type", ["text/plain", "application/json", "text/event-stream"])
    @pytest.mark.parametrize("name", ["lmstudio/chat_v0", "lmstudio/chat_stream_reasoning"])
    async def test_the_label_of_a_body_decides_nothing(self, name: str, content_type: str) -> None:
        reply = cassette(name)
        mislabelled = Reply((b"\xef\xbb\xbf", b" \n", *reply.pieces), headers={"content-type": content_type})
        assert (await ask(mislabelled)).message.text == "Hi"

    @pytest.mark.parametrize(
        "usage", [{"prompt_tokens": None, "completion_tokens": None}, "many", {"prompt_tokens": "x"}]
    )
    async def test_usage_that_cannot_be_read_is_estimated(self, usage: object) -> None:
        events = sse(delta(content="x"), delta("stop"), {"choices": None, "usage": usage, "timings": 3}, "[DONE]")
        answer = await ask(Reply(events))
        assert answer.message.text == "x"
        assert answer.usage.estimated

    async def test_usage_told_in_part_is_taken(self) -> None:
        counted = {
            "choices": [],
            "usage": {"prompt_tokens": 7, "completion_tokens": None},
            "timings": {"cache_n": None},
        }
        answer = await ask(Reply(sse(delta(content="x"), delta("stop"), counted)))
        assert (answer.usage.prompt_tokens, answer.usage.estimated) == (7, False)

    async def test_a_piece_of_a_call_without_its_function(self) -> None:
        call = {"index": 0, "id": "a", "function": {"name": "one", "arguments": "{}"}}
        events = sse(delta(tool_calls=[call]), delta(tool_calls=[{"index": 0}, {"index": 1}]), delta("tool_calls"))
        answer = await ask(Reply(events))
        assert [(c.name, c.arguments) for c in answer.message.tool_calls] == [("one", "{}")]


class TestRetries:
    async def test_a_failure_before_the_first_token_is_tried_again(self) -> None:
        waits: list[float] = []
        assert (await ask(fails(500), says("well"), retries=1, waits=waits)).message.text == "well"
        assert len(waits) == 1

    async def test_retry_after_is_honoured(self) -> None:
        waits: list[float] = []
        busy = fails(429, headers={"retry-after": "0.05"})
        assert (await ask(busy, busy, says("well"), retries=3, waits=waits)).message.text == "well"
        assert waits == [0.05, 0.05]

    async def test_a_wait_that_is_too_long_is_told_instead(self) -> None:
        error = await failure(fails(429, headers={"Retry-After": "3600"}), says("not asked"), retries=3)
        assert error.key == "llm_rate_limited"
        assert "3,600" in error.fix

    async def test_it_gives_up_after_the_retries(self) -> None:
        with WireServer([fails(503, headers={"retry-after": "0"})]) as server:
            client = LLMClient(provider(server.url), model="m", max_retries=2)
            with pytest.raises(LLMConnectionError):
                await client.complete(HELLO)
            await client.aclose()
        assert len(server.requests) == 3

    @pytest.mark.parametrize("refusal", [fails(400), cassette("openai/err_429_quota")])
    async def test_what_will_not_get_better_is_not_tried_again(self, refusal: Reply) -> None:
        with WireServer([refusal]) as server:
            client = LLMClient(provider(server.url), model="m", max_retries=3)
            with pytest.raises(LLMConnectionError):
                await client.complete(HELLO)
            await client.aclose()
        assert len(server.requests) == 1


def of_settings(url: str, key: str = "k") -> OpenAICompatible:
    settings = LLMSettings(provider="openai", openai=OpenAISettings(base_url=url))
    return make(settings, Path(), {"OPENAI_API_KEY": key})


class TestRequests:
    async def test_the_first_model_offered_is_asked_where_none_is_named(self) -> None:
        with WireServer([says("hi")], models=["text-embedding-x", "first", "second"]) as server:
            client = LLMClient(provider(server.url))
            await client.complete(HELLO)
            await client.aclose()
        assert server.bodies()[0]["model"] == "first"

    @pytest.mark.parametrize("refused", [0, 1])
    async def test_in_clear_a_key_is_sent_only_to_a_server_that_has_asked_for_one(self, refused: int) -> None:
        wanted = [fails(401, "no key")] * refused
        with WireServer([*wanted, says("hi")]) as server:
            client = LLMClient(of_settings(server.url, "sk-of-another"), model="m")
            await client.complete(HELLO)
            await client.complete(HELLO)
            await client.aclose()
        sent = [headers.get("authorization") for headers in server.headers]
        assert set(sent) == ({None, "Bearer sk-of-another"} if refused else {None})
        assert (sent[0], sent[-1]) == (None, "Bearer sk-of-another" if refused else None)

    async def test_nor_for_the_list_and_for_embeddings(self) -> None:
        with WireServer([says("hi")], list_replies=[fails(403, "no")]) as server:
            one = of_settings(server.url)
            assert [info.id for info in await one.list_models()] == ["m"]
            await one.aclose()
        assert [headers.get("authorization") for headers in server.headers] == [None, "Bearer k"]
        vectors = Reply((b'{"data": [{"index": 0, "embedding": [1.0]}]}',))
        replies = iter([fails(401, "no"), vectors])
        with WireServer([*replies]) as server:
            one = of_settings(server.url)
            assert (await one.embed(["a"], "m")).vectors
            await one.aclose()
        assert [headers.get("authorization") for headers in server.headers] == [None, "Bearer k"]

    def test_by_https_it_is_sent_at_once(self) -> None:
        request = CompletionRequest(model="m", messages=())
        for address, sent in (("https://far.example", "Bearer k"), ("http://far.example", None), ("far:1", None)):
            assert of_settings(address).prepare(request).headers.get("authorization") == sent

    async def test_none_that_runs_elsewhere_is_asked_without_its_name(self) -> None:
        with WireServer([says("hi")], models=["gpt-oss:120b-cloud", "second"]) as server:
            client = LLMClient(provider(server.url))
            await client.complete(HELLO)
            await client.aclose()
        assert server.bodies()[0]["model"] == "second"
        with WireServer([says("hi")], models=["gpt-oss:120b-cloud"]) as server:
            client = LLMClient(provider(server.url))
            with pytest.raises(LLMConnectionError) as caught:
                await client.complete(HELLO)
            await client.aclose()
            assert (caught.value.key, server.bodies()) == ("llm_models_elsewhere", [])
            client = LLMClient(provider(server.url), model="gpt-oss:120b-cloud")
            await client.complete(HELLO)
            await client.aclose()

    async def test_a_server_without_models_says_so(self) -> None:
        with WireServer([says("hi")], models=[]) as server:
            client = LLMClient(provider(server.url))
            with pytest.raises(LLMConnectionError) as caught:
                await client.complete(HELLO)
            await client.aclose()
        assert caught.value.key == "llm_no_models"

    async def test_null_for_a_list_of_models_is_an_empty_one(self) -> None:
        with WireServer([says("hi")], list_replies=[Reply((b'{"data": null}',))]) as server:
            client = LLMClient(provider(server.url))
            with pytest.raises(LLMConnectionError) as caught:
                await client.resolve_model()
            await client.aclose()
        assert caught.value.key == "llm_no_models"

    async def test_a_server_that_is_still_loading_is_asked_again_for_its_models(self) -> None:
        loading = fails(503, "Loading model", {"retry-after": "0"})
        waits: list[float] = []

        async def pause(seconds: float) -> None:
            waits.append(seconds)

        with WireServer([says("hi")], list_replies=[loading]) as server:
            client = LLMClient(provider(server.url), max_retries=1, pause=pause)
            assert (await client.complete(HELLO)).message.text == "hi"
            await client.aclose()
        assert len(waits) == 1

    async def test_the_window_is_as_set_else_as_told_else_assumed(self) -> None:
        listed = cassette("llamacpp/get_models")
        with WireServer([says("hi")], list_replies=[listed, listed]) as server:
            told, fixed = LLMClient(provider(server.url)), LLMClient(provider(server.url), context_window=2000)
            assert told.context_window == 8192
            await told.resolve_model()
            await fixed.resolve_model()
            assert (told.context_window, fixed.context_window) == (4096, 2000)
            told.model = "another"
            assert told.context_window == 8192
            await told.aclose()
            await fixed.aclose()

    def test_each_request_begins_with_the_bytes_of_the_one_before(self) -> None:
        tools = (ToolSpec("look", "Look.", {"type": "object", "properties": {}}),)
        messages = [*HELLO]
        bodies: list[bytes] = []
        for turn in range(20):
            request = CompletionRequest(model="m", messages=tuple(messages), tools=tools, max_tokens=9, temperature=0.1)
            bodies.append(provider("h").prepare(request).body)
            call = ToolCall(f"c{turn}", "look", '{"a": "語"}')
            messages += [AssistantMessage("…", (call,)), ToolMessage(call.id, "look", f"result {turn}")]
        for earlier, later in itertools.pairwise(bodies):
            assert later.startswith(earlier.removesuffix(b"]}"))

    def test_malformed_arguments_are_replayed_as_json(self) -> None:
        message = AssistantMessage("", (ToolCall("c", "look", '{"a": '), ToolCall("d", "look", "[1]")))
        request = CompletionRequest(model="m", messages=(*HELLO, message))
        sent = json.loads(provider("h").prepare(request).body)["messages"][-1]["tool_calls"]
        assert [json.loads(call["function"]["arguments"]) for call in sent] == [
            {"malformed": '{"a": '},
            {"malformed": "[1]"},
        ]

    async def test_a_connection_the_server_closed_meanwhile_is_opened_again_unnoticed(self) -> None:
        with WireServer([says("one"), HANG_UP, says("two")]) as server:
            client = LLMClient(provider(server.url), model="m", max_retries=0)
            assert (await client.complete(HELLO)).message.text == "one"
            assert (await client.complete(HELLO)).message.text == "two"
            await client.aclose()
        assert (len(server.requests), server.connections) == (3, 2)

    async def test_a_new_connection_that_is_closed_without_an_answer_is_a_failure(self) -> None:
        with WireServer([HANG_UP, says("not asked")], list_replies=[HANG_UP]) as server:
            client = LLMClient(provider(server.url), model="m", max_retries=0)
            with pytest.raises(LLMConnectionError) as caught:
                await client.complete(HELLO)
            await client.aclose()
        assert caught.value.key == "llm_cut"
        assert len(server.requests) == 1

    async def test_closing_the_stream_closes_the_connection(self) -> None:
        endless = Reply(sse(delta(content="a"), *[delta(content="b")] * 50), hold_before=1)
        with WireServer([endless]) as server:
            client = LLMClient(provider(server.url), model="m")
            chunks = await client.chat_completion([{"role": "user", "content": "hello"}])
            assert isinstance(chunks, AsyncGenerator)
            assert await anext(chunks) == "a"
            await chunks.aclose()
            assert server.disconnected.wait(5)
            await client.aclose()
