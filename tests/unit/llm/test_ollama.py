"""The Ollama provider against the documented answers, over real connections."""

import asyncio
import itertools
import json
import threading
from contextlib import aclosing
from typing import Any

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.base.events import ToolCall
from localllm.base.i18n import set_language
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, Completion, CompletionRequest, ToolMessage
from localllm.llm.providers.base import FinishChunk, TextChunk, ToolCallChunk, UsageChunk
from tests.support.ollama_wire import (
    HELLO,
    NOT_THERE,
    REQUEST,
    TOLD,
    TOOLS,
    all_chunks,
    answer,
    calls,
    closing,
    lines,
    ollama,
    says,
)
from tests.support.wire_server import Reply, WireServer, cassette

pytestmark = pytest.mark.anyio


async def ask(*replies: Reply, routes: dict[str, Reply] | None = None, model: str = "qwen3:8b") -> Completion:
    """The answer of a client to the replies of a server."""
    with WireServer(replies, routes=TOLD | (routes or {})) as server:
        client = LLMClient(ollama(server.url), model=model, max_retries=0)
        try:
            return await client.complete(HELLO)
        finally:
            await client.aclose()


async def failure(*replies: Reply, model: str = "qwen3:8b", routes: dict[str, Reply] | None = None):
    with pytest.raises(LLMConnectionError) as caught:
        await ask(*replies, model=model, routes=routes)
    for language in ("ja", "en"):
        set_language(language)
        assert caught.value.what
        assert caught.value.fix
    return caught.value


class TestAnswers:
    @pytest.mark.parametrize("name", ["chat_stream", "chat"])
    async def test_streamed_or_whole(self, name: str) -> None:
        told = await ask(cassette(f"ollama/{name}"))
        assert told.message.text in ("Hello", "Hello!")
        assert told.finish_reason == "stop"
        assert (told.usage.prompt_tokens, told.usage.completion_tokens, told.usage.estimated) == (169, 15, False)

    async def test_thinking_is_kept_apart(self) -> None:
        told = await ask(cassette("ollama/chat_stream_thinking"))
        assert told.message == AssistantMessage("42", thinking="Let me see")

    async def test_tool_calls(self) -> None:
        told = await ask(cassette("ollama/chat_stream_tools"))
        assert told.message.tool_calls == (
            ToolCall("call_ab12cd34", "read_file", '{"path":"a.py"}'),
            ToolCall("call_zz12cd34", "read_file", '{"path":"b.py"}'),
        )
        assert told.finish_reason == "tool_calls"

    async def test_calls_without_ids_and_with_one_index_stay_apart(self) -> None:
        reply = calls({"name": "look", "arguments": {"a": "語"}}, {"name": "look", "arguments": None}, {"name": "look"})
        told = await ask(reply)
        assert [call.arguments for call in told.message.tool_calls] == ['{"a":"語"}', "{}", "{}"]
        assert len({call.id for call in told.message.tool_calls}) == 3

    async def test_calls_in_one_line_with_the_end(self) -> None:
        both = [{"function": {"name": name, "arguments": {}}} for name in ("one", "two")]
        told = await ask(Reply(lines({"message": {"tool_calls": both}, "done": True})))
        assert [call.name for call in told.message.tool_calls] == ["one", "two"]
        assert told.finish_reason == "tool_calls"

    async def test_an_answer_cut_by_its_limit_says_so(self) -> None:
        told = await ask(cassette("ollama/chat_length"))
        assert (told.message.text, told.finish_reason) == ("cut of", "length")

    @pytest.mark.parametrize("count", [{}, {"prompt_eval_count": None}, {"prompt_eval_count": 0}])
    async def test_a_prompt_that_was_not_counted_is_estimated(self, count: dict[str, Any]) -> None:
        told = await ask(Reply(lines({"message": {"content": "hi"}, "done": True, "eval_count": 7, **count})))
        assert told.usage.estimated
        assert told.usage.prompt_tokens > 0

    async def test_a_prompt_that_filled_the_window_is_counted_as_it_was_read(self) -> None:
        told = await ask(cassette("ollama/truncated_by_server_silently"))
        assert (told.message.text, told.usage.prompt_tokens) == ("...", 4096)

    @pytest.mark.parametrize("name", ["load_empty_messages", "unload_keepalive_0"])
    async def test_an_end_without_words_is_no_answer(self, name: str) -> None:
        assert (await failure(cassette(f"ollama/{name}"))).key == "llm_empty"

    async def test_bytes_in_any_pieces(self) -> None:
        whole = b"\xef\xbb\xbf\n" + b"".join(cassette("ollama/chat_stream_tools").pieces).rstrip()
        cut_up = Reply(tuple(whole[i : i + 7] for i in range(0, len(whole), 7)))
        assert len((await ask(cut_up)).message.tool_calls) == 2

    async def test_the_chunks_in_their_order(self) -> None:
        with WireServer([cassette("ollama/chat_stream")], routes=TOLD) as server:
            async with closing(ollama(server.url)) as provider:
                assert await all_chunks(provider) == [
                    TextChunk("Hel"),
                    TextChunk("lo"),
                    FinishChunk("stop"),
                    UsageChunk(169, 15, generation_seconds=0.115959084),
                    FinishChunk(""),
                ]

    async def test_calls_are_numbered_across_lines(self) -> None:
        reply = calls({"name": "a", "arguments": {}}, {"name": "b", "arguments": {}})
        with WireServer([reply], routes=TOLD) as server:
            async with closing(ollama(server.url)) as provider:
                chunks = await all_chunks(provider)
        assert [chunk.index for chunk in chunks if isinstance(chunk, ToolCallChunk)] == [0, 1]


class TestFailures:
    @pytest.mark.parametrize(
        ("name", "key", "retryable"),
        [
            ("err_400_bad_json", "llm_bad_request", False),
            ("err_400_ctx_truncate_false", "llm_context_overflow", False),
            ("err_400_empty", "llm_bad_request", False),
            ("err_400_no_chat", "llm_bad_request", False),
            ("err_400_no_model", "llm_bad_request", False),
            ("err_400_no_tools", "llm_no_tools", False),
            ("err_401_cloud", "llm_unauthorized", False),
            ("err_404_model", "llm_model_not_found", False),
            ("err_404_model_sched", "llm_model_not_found", False),
            ("err_429_cloud", "llm_rate_limited", True),
            ("err_499_cancelled", "llm_server_failed", True),
            ("err_500_runner", "llm_server_failed", True),
            ("err_502_cloud", "llm_server_failed", True),
            ("err_503_busy", "llm_server_failed", True),
            ("err_midstream", "llm_server_failed", True),
            ("truncated_stream", "llm_cut", True),
        ],
    )
    async def test_failures_get_their_meaning(self, name: str, key: str, retryable: bool) -> None:
        error = await failure(cassette(f"ollama/{name}"))
        assert (error.key, error.retryable) == (key, retryable)

    @pytest.mark.parametrize(
        ("words", "key"),
        [
            ("the request exceeds the available context size. try increasing it", "llm_context_overflow"),
            ("the input length exceeds the context length", "llm_context_overflow"),
            ("model 'x' not found", "llm_model_not_found"),
            ("out of memory", "llm_server_failed"),
        ],
    )
    async def test_an_error_line_in_a_stream(self, words: str, key: str) -> None:
        assert (await failure(Reply(lines({"error": words})))).key == key

    async def test_a_stream_that_ends_early_is_cut(self) -> None:
        assert (await failure(Reply(lines({"message": {"content": "half"}})))).key == "llm_cut"

    @pytest.mark.parametrize(
        "line", [b"{nonsense\n", b"[1]\n", b'{"a": 1}\n', b'{"message": 3}\n', b"data: x\n", b"<html>hello</html>"]
    )
    async def test_what_is_no_answer_is_malformed(self, line: bytes) -> None:
        error = await failure(Reply((line,)))
        assert error.key == "llm_malformed"
        assert "llm.ollama.base_url" in error.fix

    async def test_a_break_after_the_end_takes_nothing_away(self) -> None:
        whole = b"".join(says("x").pieces)
        assert (await ask(Reply((whole, b"{nonsense\n"), cut=True))).message.text == "x"

    async def test_a_missing_model_names_those_there_are_nearest_first(self) -> None:
        tags = answer({"models": [{"name": name} for name in ("zeta", "qwen3:8b", "qwen3:14b")]})
        error = await failure(cassette("ollama/err_404_model"), model="qwen3:9b", routes={"/api/tags": tags})
        assert error.params["available"] == "qwen3:8b, qwen3:14b, zeta"
        assert "qwen3:9b" in error.what

    async def test_a_model_without_tools_names_those_that_have_them(self) -> None:
        error = await failure(cassette("ollama/err_400_no_tools"), model="gemma:2b")
        assert (error.params["available"], error.code) == ("qwen3:8b", "E2017")
        assert "gemma:2b" in error.what
        error = await failure(cassette("ollama/err_400_no_tools"), routes={"/api/tags": NOT_THERE})
        assert error.params["available"] == "—"

    async def test_where_to_sign_in_is_told(self) -> None:
        error = await failure(cassette("ollama/err_401_cloud"))
        assert "https://ollama.com/connect" in error.why
        assert "OLLAMA_API_KEY" in error.fix

    async def test_nobody_listens(self) -> None:
        with WireServer([says()]) as server:
            url = server.url
        async with closing(ollama(url)) as provider:
            with pytest.raises(LLMConnectionError) as caught:
                await all_chunks(provider)
        assert caught.value.key == "llm_refused"
        assert "ollama serve" in caught.value.fix
        assert "LM Studio" not in caught.value.fix

    async def test_silence_is_noticed_in_the_middle_but_not_before_the_first_word(self) -> None:
        words = lines({"message": {"content": ""}}, {"message": {"content": "a"}}, {"message": {}, "done": True})
        with WireServer([Reply(words, hold_before=2)], routes=TOLD) as server:
            async with closing(ollama(server.url, idle_timeout=0.1)) as provider:
                with pytest.raises(LLMConnectionError) as caught:
                    await all_chunks(provider)
        assert caught.value.key == "llm_idle"
        with WireServer([Reply((words[0], b"".join(words[1:])), hold_before=1)], routes=TOLD) as server:
            async with closing(ollama(server.url, idle_timeout=0.1)) as provider:
                threading.Timer(0.5, server.released.set).start()
                assert TextChunk("a") in await all_chunks(provider)

    async def test_closing_the_stream_closes_the_connection(self) -> None:
        endless = Reply(lines(*[{"message": {"content": "a"}}] * 50), hold_before=1)
        with WireServer([endless], routes=TOLD) as server:
            async with closing(ollama(server.url)) as provider:
                async with aclosing(provider.stream(REQUEST)) as chunks:
                    assert await anext(chunks) == TextChunk("a")
                assert server.disconnected.wait(5)


class TestRequests:
    def body(self, request: CompletionRequest, **settings: Any) -> dict[str, Any]:
        return json.loads(ollama("h").prepare(request, **{"num_ctx": 8192} | settings).body)

    def test_its_form(self) -> None:
        request = CompletionRequest(model="m", messages=HELLO, tools=TOOLS, max_tokens=9, temperature=0.1)
        prepared = ollama("h").prepare(request, num_ctx=8192, think=False)
        assert (prepared.method, prepared.url) == ("POST", "http://h/api/chat")
        body = json.loads(prepared.body)
        assert [*body] == ["model", "stream", "truncate", "shift", "options", "think", "tools", "messages"]
        assert body["options"] == {"num_ctx": 8192, "temperature": 0.1, "num_predict": 9}
        assert (body["stream"], body["truncate"], body["shift"], body["think"]) == (True, False, False, False)
        assert [*self.body(REQUEST)] == ["model", "stream", "truncate", "shift", "options", "messages"]

    @pytest.mark.parametrize("choice", ["none", "required"])
    def test_a_tool_choice_changes_nothing(self, choice: Any) -> None:
        request = CompletionRequest(model="m", messages=HELLO, tools=TOOLS)
        chosen = CompletionRequest(model="m", messages=HELLO, tools=TOOLS, tool_choice=choice)
        assert self.body(chosen) == self.body(request)

    def test_messages(self) -> None:
        call = ToolCall("c1", "look", '{"a": "語"}')
        broken = ToolCall("c2", "look", '{"a": ')
        messages = (*HELLO, AssistantMessage("…", (call, broken), "hm"), ToolMessage("c1", "look", "seen"))
        assert self.body(CompletionRequest(model="m", messages=messages))["messages"] == [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": "Hello"},
            {
                "role": "assistant",
                "content": "…",
                "thinking": "hm",
                "tool_calls": [
                    {"id": "c1", "function": {"name": "look", "arguments": {"a": "語"}}},
                    {"id": "c2", "function": {"name": "look", "arguments": {"malformed": '{"a": '}}},
                ],
            },
            {"role": "tool", "content": "seen", "tool_name": "look", "tool_call_id": "c1"},
        ]

    def test_each_request_begins_with_the_bytes_of_the_one_before(self) -> None:
        messages = [*HELLO]
        bodies: list[bytes] = []
        for turn in range(20):
            request = CompletionRequest(model="m", messages=tuple(messages), tools=TOOLS, max_tokens=9, temperature=0.1)
            bodies.append(ollama("h").prepare(request, num_ctx=8192, think="low").body)
            call = ToolCall(f"c{turn}", "look", '{"b": 1, "a": "語"}')
            messages += [AssistantMessage("…", (call,)), ToolMessage(call.id, "look", f"result {turn}")]
        for earlier, later in itertools.pairwise(bodies):
            assert later.startswith(earlier.removesuffix(b"]}"))

    async def test_a_key_is_sent_only_where_there_is_one(self) -> None:
        with WireServer([says()], routes=TOLD) as server:
            for key in ("", "k"):
                async with closing(ollama(server.url, key=key)) as provider:
                    await all_chunks(provider)
        sent = [headers.get("authorization") for headers in server.headers]
        assert sent == [None] * 3 + ["Bearer k"] * 3

    @pytest.mark.parametrize("path", ["", "/", "/v1", "/api", "/api/chat", "/api/chat/", "/v1/chat/completions"])
    async def test_the_address_in_every_form(self, path: str) -> None:
        with WireServer([says()], routes=TOLD) as server:
            async with closing(ollama(server.url.removeprefix("http://") + path)) as provider:
                assert provider.address == server.url
                await all_chunks(provider)
                await provider.list_models()
        assert set(server.asked) == {"POST /api/show", "GET /api/ps", "POST /api/chat", "GET /api/tags"}


class TestThinking:
    @pytest.mark.parametrize(("setting", "sent"), [("off", False), ("on", True), ("low", "low"), ("high", "high")])
    async def test_the_setting_is_sent(self, setting: str, sent: Any) -> None:
        with WireServer([says()], routes=TOLD) as server:
            async with closing(ollama(server.url, think=setting)) as provider:
                await all_chunks(provider)
        assert server.bodies()[0]["think"] == sent

    @pytest.mark.parametrize(
        "refusal",
        [
            cassette("ollama/err_400_no_thinking"),
            answer({"error": 'think value "low" is not supported for this model'}, 400),
        ],
    )
    async def test_a_model_that_cannot_is_asked_again_without_and_remembered(self, refusal: Reply) -> None:
        with WireServer([refusal, says()], routes=TOLD) as server:
            async with closing(ollama(server.url, think="low")) as provider:
                for _ in range(2):
                    assert TextChunk("hi") in await all_chunks(provider)
        assert [body.get("think") for body in server.bodies()] == ["low", None, None]

    async def test_it_is_asked_again_once_only(self) -> None:
        with WireServer([cassette("ollama/err_400_no_thinking")], routes=TOLD) as server:
            async with closing(ollama(server.url, think="on")) as provider:
                with pytest.raises(LLMConnectionError) as caught:
                    await all_chunks(provider)
        assert (caught.value.key, len(server.requests)) == ("llm_no_thinking", 2)

    async def test_requests_at_the_same_time_are_each_asked_again(self) -> None:
        both_are_there = threading.Barrier(2)

        class Unthinking(WireServer):
            def next_reply(self, body: bytes) -> Reply:
                if b'"think"' not in body:
                    return says()
                both_are_there.wait(5)
                return cassette("ollama/err_400_no_thinking")

        with Unthinking([], routes=TOLD) as server:
            async with closing(ollama(server.url, think="on")) as provider:
                both = await asyncio.gather(all_chunks(provider), all_chunks(provider))
        assert all(TextChunk("hi") in chunks for chunks in both)
