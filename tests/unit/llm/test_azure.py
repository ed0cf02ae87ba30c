"""The Azure provider against abridged and documented answers, over real connections."""

import itertools
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
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from localllm.llm.providers.azure import Azure
from localllm.llm.providers.base import ModelInfo
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.wire_server import FIXTURES, Reply, WireServer, cassette, delta, fails, says, sse

pytestmark = pytest.mark.anyio

HELLO = (SystemMessage("You help."), UserMessage("Hello"))
BY_DATE = "POST /openai/deployments/my-gpt/chat/completions?api-version=2024-10-21"
V1 = "POST /openai/v1/chat/completions"
NO_MAX_TOKENS = cassette("azure/err_400_max_tokens")
READ_BY_SDK: dict[str, str | None] = json.loads((FIXTURES / "sdk_reads.json").read_text(encoding="utf-8"))
"""The text an official client reads from the same bytes; null where it raises."""


def azure(url: str, **options: Any) -> Azure:
    return Azure(url, **({"timeout": 5, "idle_timeout": 5, "deployment": "my-gpt", "api_key": "k"} | options))


def unsupported(parameter: str) -> Reply:
    """How a reasoning model refuses a value, as Azure words it."""
    message = f"Unsupported value: '{parameter}' does not support 0.1 with this model. Only the default (1) value is"
    return fails(400, f"{message} supported.")


async def ask(*replies: Reply, waits: list[float] | None = None, **options: Any) -> Completion:
    """The answer of a client to the replies of a server. It tries again once where the waits are asked for."""
    noted = [] if waits is None else waits

    def note(_: LLMConnectionError, seconds: float) -> None:
        noted.append(seconds)

    retries = 0 if waits is None else 1
    with WireServer(replies) as server:
        client = LLMClient(azure(server.url, **options), max_tokens=9, temperature=0.1, max_retries=retries)
        try:
            return await client.complete(HELLO, on_retry=note)
        finally:
            await client.aclose()


async def failure(*replies: Reply, **options: Any) -> LLMConnectionError:
    with pytest.raises(LLMConnectionError) as caught:
        await ask(*replies, **options)
    for language in ("ja", "en"):
        set_language(language)
        assert caught.value.what
        assert caught.value.fix
    return caught.value


class TestAnswers:
    async def test_a_first_chunk_without_choices(self) -> None:
        answer = await ask(cassette("azure/chat_stream"))
        assert answer.message.text == "The capital"
        assert (answer.finish_reason, answer.usage.prompt_tokens, answer.usage.completion_tokens) == ("stop", 14, 9)

    async def test_an_answer_that_comes_whole(self) -> None:
        assert (await ask(cassette("azure/chat"))).message.text == "The capital of France is **Paris**."

    async def test_verdicts_of_the_asynchronous_filter_are_passed_over(self) -> None:
        answer = await ask(cassette("azure/stream_async_filter"))
        assert (answer.message.text, answer.finish_reason) == ("Hi", "stop")

    async def test_what_was_said_before_the_filter_stepped_in_is_kept(self) -> None:
        answer = await ask(cassette("azure/stream_content_filter"))
        assert (answer.message.text, answer.finish_reason) == ("How", "content_filter")


class TestFailures:
    @pytest.mark.parametrize(
        ("name", "key"),
        [
            ("err_400_content_filter", "llm_filtered"),
            ("err_400_ctx", "llm_context_overflow"),
            ("err_401", "llm_unauthorized"),
            ("err_404_deployment", "llm_no_deployment"),
            ("err_404_resource", "llm_azure_no_v1"),
            ("err_429", "llm_rate_limited"),
            ("err_500", "llm_server_failed"),
            ("err_503_html", "llm_server_failed"),
            ("truncated_stream", "llm_cut"),
        ],
    )
    async def test_failures_get_their_meaning(self, name: str, key: str) -> None:
        assert (await failure(cassette(f"azure/{name}"))).key == key

    @pytest.mark.parametrize(
        "inner",
        [
            {"innererror": {"content_filter_result": {"violence": {"filtered": True, "severity": "medium"}}}},
            {"inner_error": {"content_filter_results": {"violence": {"filtered": True, "severity": "medium"}}}},
        ],
    )
    async def test_a_filtered_prompt_names_what_was_found(self, inner: dict[str, Any]) -> None:
        told = {"error": {"message": "The response was filtered.", "code": "content_filter", **inner}}
        error = await failure(Reply((json.dumps(told).encode(),), 400))
        assert error.why == "violence (medium): The response was filtered."
        assert (await failure(cassette("azure/err_400_content_filter"))).why.startswith("violence (medium): ")

    async def test_an_answer_filtered_before_its_first_word_names_what_was_found(self) -> None:
        found = {"hate": {"filtered": False, "severity": "safe"}, "jailbreak": {"filtered": True, "detected": True}}
        choice = {"index": 0, "delta": {}, "finish_reason": "content_filter", "content_filter_results": found}
        error = await failure(Reply(sse(delta(role="assistant", content=""), {"choices": [choice]}, "[DONE]")))
        assert (error.key, error.why) == ("llm_filtered", "jailbreak.")

    async def test_a_missing_deployment_names_the_setting(self) -> None:
        error = await failure(cassette("azure/err_404_deployment"))
        assert "my-gpt" in error.what
        assert "llm.azure.deployment_name" in error.fix

    @pytest.mark.parametrize("reply", [cassette("azure/err_404_resource"), Reply((b"",), 404), fails(404, "No route")])
    async def test_who_does_not_know_the_v1_address_may_know_the_dated_ones(self, reply: Reply) -> None:
        error = await failure(reply)
        assert error.key == "llm_azure_no_v1"
        assert "llm.azure.api_version, such as 2024-10-21" in error.fix
        assert "llm.azure.endpoint" in error.fix

    async def test_a_resource_that_is_not_there_under_a_date_either_is_another(self) -> None:
        error = await failure(cassette("azure/err_404_resource"), api_version="2024-10-21")
        assert error.key == "llm_azure_address"

    async def test_a_version_that_does_not_have_the_model_names_the_setting(self) -> None:
        message = "Model {modelName} is enabled only for api versions 2024-12-01-preview and later"
        error = await failure(fails(400, message))
        assert error.key == "llm_azure_version"
        assert "2024-12-01-preview" in error.why
        assert "llm.azure.api_version" in error.fix

    async def test_a_refused_key_names_its_variable(self) -> None:
        refused = cassette("azure/err_401")
        assert "AZURE_OPENAI_API_KEY" in (await failure(refused)).fix
        assert "AZURE_OPENAI_AD_TOKEN" in (await failure(refused, ad_token="t")).fix

    @pytest.mark.parametrize("reply", [Reply((b"<html>Azure AI</html>",)), Reply((b"",), 302, {"location": "/login"})])
    async def test_an_address_that_is_no_resource_names_the_setting(self, reply: Reply) -> None:
        error = await failure(reply)
        assert error.key == "llm_azure_address"
        assert "llm.azure.endpoint" in error.fix

    async def test_a_resource_that_cannot_be_reached(self) -> None:
        with WireServer([says("x")]) as server:
            url = server.url
        client = LLMClient(azure(url), max_retries=0)
        with pytest.raises(LLMConnectionError) as caught:
            await client.complete(HELLO)
        await client.aclose()
        assert caught.value.key == "llm_unreachable"
        assert "llama-server" not in caught.value.fix

    def test_what_is_missing_is_named(self) -> None:
        with pytest.raises(ConfigurationError, match=r"llm\.azure\.endpoint"):
            azure(" ")
        for endpoint in ("https://r openai", "ftp://r.openai.azure.com", "https://[oops"):
            with pytest.raises(ConfigurationError, match=r"llm\.azure\.endpoint"):
                azure(endpoint)
        with pytest.raises(ConfigurationError, match="AZURE_OPENAI_API_KEY"):
            azure("https://r.openai.azure.com", api_key="")

    async def test_without_a_deployment_it_asks_for_its_name(self) -> None:
        error = await failure(deployment="")
        assert "llm.azure.deployment_name" in error.fix


class TestWaits:
    @pytest.mark.parametrize(
        ("headers", "wait"),
        [
            ({"retry-after-ms": "20", "retry-after": "3600", "x-ratelimit-reset-tokens": "3600"}, 0.02),
            ({"retry-after": "0.02", "x-ratelimit-reset-tokens": "3600"}, 0.02),
            ({"x-ratelimit-reset-tokens": "0.02"}, 0.02),
            ({"x-ratelimit-reset-tokens": "20ms"}, 0.02),
            ({"x-ratelimit-reset-tokens": "0h0m0.02s"}, 0.02),
        ],
    )
    async def test_the_most_exact_header_wins(self, headers: dict[str, str], wait: float) -> None:
        waits: list[float] = []
        assert (await ask(fails(429, "slow down", headers), says("well"), waits=waits)).message.text == "well"
        assert waits == [wait]

    async def test_the_answer_of_an_issue_asks_for_600_milliseconds(self) -> None:
        assert (await failure(cassette("azure/err_429"))).retry_after == 0.6

    @pytest.mark.parametrize("value", ["soon", "", "1.2.3s"])
    async def test_a_header_that_cannot_be_read_is_none(self, value: str) -> None:
        assert (await failure(fails(429, "no", {"x-ratelimit-reset-tokens": value}))).retry_after is None

    @pytest.mark.parametrize("year", ["99999999999 00:00:00 GMT", "2026 00:00:00 +999999999999999999"])
    async def test_a_date_that_is_out_of_range_is_none(self, year: str) -> None:
        assert (await failure(fails(429, "no", {"retry-after": f"Mon, 01 Jan {year}"}))).retry_after is None


class TestReasoningModels:
    async def test_what_a_model_refuses_is_left_out_from_then_on(self) -> None:
        replies = [NO_MAX_TOKENS, unsupported("temperature"), says("one"), says("two")]
        with WireServer(replies) as server:
            client = LLMClient(azure(server.url), max_tokens=9, temperature=0.1, max_retries=0)
            assert [(await client.complete(HELLO)).message.text for _ in range(2)] == ["one", "two"]
            await client.aclose()
        sent = [{name for name in body if "m" in name and name != "messages"} for body in server.bodies()]
        assert sent == [
            {"model", "stream", "stream_options", "max_tokens", "temperature"},
            {"model", "stream", "stream_options", "max_completion_tokens", "temperature"},
            {"model", "stream", "stream_options", "max_completion_tokens"},
            {"model", "stream", "stream_options", "max_completion_tokens"},
        ]
        assert server.bodies()[-1]["max_completion_tokens"] == 9

    async def test_an_old_version_goes_without_usage_and_limit(self) -> None:
        def unknown(name: str) -> Reply:
            return fails(400, f"Unrecognized request argument supplied: {name}")

        replies = [unknown("stream_options"), NO_MAX_TOKENS, unknown("max_completion_tokens"), says("well")]
        with WireServer(replies) as server:
            client = LLMClient(azure(server.url), max_tokens=9, max_retries=0)
            assert (await client.complete(HELLO)).message.text == "well"
            await client.aclose()
        assert set(server.bodies()[-1]) == {"model", "stream", "messages"}

    async def test_a_parameter_that_is_refused_again_or_needed_is_told(self) -> None:
        error = await failure(NO_MAX_TOKENS, NO_MAX_TOKENS)
        assert (error.key, error.params["parameter"]) == ("llm_parameter_refused", "max_tokens")
        error = await failure(unsupported("messages[0].role"))
        assert "messages" in error.what

    async def test_a_model_without_tools_says_so(self) -> None:
        message = "Unsupported parameter: 'tools' is not supported with this model."
        assert (await failure(fails(400, message))).key == "llm_no_tools"


class TestRequests:
    @pytest.mark.parametrize(
        ("options", "asked"),
        [
            ({}, V1),
            ({"api_version": "2024-10-21"}, BY_DATE),
            ({"api_version": "2025-01-01-preview"}, BY_DATE.replace("2024-10-21", "2025-01-01-preview")),
            ({"api_version": "v1"}, V1),
        ],
    )
    async def test_both_kinds_of_address(self, options: dict[str, str], asked: str) -> None:
        with WireServer([says("hi")]) as server:
            client = LLMClient(azure(server.url, **options))
            await client.complete(HELLO)
            await client.aclose()
        assert server.asked == [asked]
        assert server.bodies()[0]["model"] == "my-gpt"
        assert server.headers[0]["api-key"] == "k"
        assert "authorization" not in server.headers[0]

    async def test_a_token_is_sent_as_bearer_and_wins_over_the_key(self) -> None:
        with WireServer([says("hi")]) as server:
            client = LLMClient(azure(server.url, ad_token="t"))
            await client.complete(HELLO)
            await client.aclose()
        assert server.headers[0]["authorization"] == "Bearer t"
        assert "api-key" not in server.headers[0]

    async def test_a_model_that_is_named_is_the_deployment(self) -> None:
        with WireServer([says("hi")]) as server:
            client = LLMClient(azure(server.url, api_version="2024-10-21"), model="another")
            await client.complete(HELLO)
            await client.aclose()
            client = LLMClient(azure(server.url), model="another")
            await client.complete(HELLO)
            await client.aclose()
        assert "/deployments/another/" in server.asked[0]
        assert server.asked[1:] == [V1]
        assert [body["model"] for body in server.bodies()] == ["another", "another"]

    async def test_the_models_are_the_deployment_of_the_settings_or_of_the_address(self) -> None:
        pasted = "https://r.openai.azure.com/openai/deployments/pasted/chat/completions?api-version=2024-10-21"
        assert await azure(pasted, deployment="").list_models() == [ModelInfo("pasted")]
        assert await azure(pasted).list_models() == [ModelInfo("my-gpt")]
        assert await azure(pasted).describe("other") == ModelInfo("other")

    @pytest.mark.parametrize("refused", [frozenset[str](), frozenset({"max_tokens", "temperature"})])
    def test_each_request_begins_with_the_bytes_of_the_one_before(self, refused: frozenset[str]) -> None:
        tools = (ToolSpec("look", "Look.", {"type": "object", "properties": {}}),)
        messages = [*HELLO]
        bodies: list[bytes] = []
        provider = azure("https://r.openai.azure.com")
        for turn in range(10):
            request = CompletionRequest(
                model="my-gpt", messages=tuple(messages), tools=tools, max_tokens=9, temperature=0.1
            )
            bodies.append(provider.prepare(request, refused=refused).body)
            call = ToolCall(f"c{turn}", "look", '{"a": "語"}')
            messages += [AssistantMessage("…", (call,)), ToolMessage(call.id, "look", f"result {turn}")]
        for earlier, later in itertools.pairwise(bodies):
            assert later.startswith(earlier.removesuffix(b"]}"))


@pytest.mark.parametrize("name", [name for name in READ_BY_SDK if not name.startswith("gemini/")])
async def test_an_official_client_reads_the_same(name: str) -> None:
    with WireServer([cassette(name)]) as server:
        provider = (
            azure(server.url)
            if name.startswith("azure/")
            else OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5)
        )
        client = LLMClient(provider, model="my-gpt", max_retries=0)
        try:
            text = (await client.complete(HELLO)).message.text
        except LLMConnectionError:
            text = None
        finally:
            await client.aclose()
    assert text == READ_BY_SDK[name]
