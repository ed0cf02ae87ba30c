"""What the providers send of a schema, of stop words and of thinking, and whom they know to keep to a schema."""

import json
from contextlib import aclosing
from typing import Any

import pytest

from localllm.llm.client import LLMClient
from localllm.llm.http.transport import HttpRequest
from localllm.llm.messages import AssistantMessage, CompletionRequest, Message, UserMessage
from localllm.llm.providers.azure import Azure
from localllm.llm.providers.base import Provider
from localllm.llm.providers.lmstudio import LMStudio
from localllm.llm.providers.ollama import Ollama
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.tool_calling.dialect import DialectName
from localllm.llm.tool_calling.router import Speaking
from tests.support.call_count import calls_in
from tests.support.wire_server import Reply, WireServer, fails, says

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:9"
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
HELLO: tuple[Message, ...] = (UserMessage("Hello"),)


def openai(url: str = URL) -> OpenAICompatible:
    return OpenAICompatible("openai", url, timeout=5, idle_timeout=5)


def prepared(provider: OpenAICompatible | Ollama, request: CompletionRequest) -> HttpRequest:
    return provider.prepare(request, num_ctx=4096) if isinstance(provider, Ollama) else provider.prepare(request)


def body(provider: OpenAICompatible | Ollama, **fields: Any) -> dict[str, Any]:
    return json.loads(prepared(provider, CompletionRequest(model="m", messages=HELLO, **fields)).body)


def test_openai_compatible_servers_and_lm_studio() -> None:
    for provider in (openai(), LMStudio(URL, timeout=5, idle_timeout=5)):
        sent = body(provider, schema=SCHEMA, stop=("\nObservation:",))
        assert sent["response_format"] == {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
        }
        assert sent["stop"] == ["\nObservation:"]
        assert {"response_format", "stop"}.isdisjoint(body(provider))


def test_ollama() -> None:
    provider = Ollama(URL, timeout=5, idle_timeout=5)
    sent = body(provider, schema=SCHEMA, stop=("\nObservation:",))
    assert (sent["format"], sent["options"]["stop"]) == (SCHEMA, ["\nObservation:"])
    assert "format" not in body(provider)
    assert "stop" not in body(provider)["options"]


@pytest.mark.parametrize("provider", [openai(), Ollama(URL, timeout=5, idle_timeout=5)], ids=["openai", "ollama"])
def test_what_was_sent_before_is_not_encoded_again(provider: OpenAICompatible | Ollama) -> None:
    def cost(conversation: list[Message]) -> int:
        request = CompletionRequest(model="m", messages=tuple(conversation))
        return calls_in(lambda: prepared(provider, request))

    answers: list[Message] = [AssistantMessage(f"{provider.name} {number}") for number in range(500)]
    first = cost(answers)
    assert cost([*answers, UserMessage("More")]) < 0.6 * first


@pytest.mark.parametrize("provider", [openai(), Ollama(URL, timeout=5, idle_timeout=5)], ids=["openai", "ollama"])
def test_the_next_request_begins_with_the_bytes_of_this_one(provider: OpenAICompatible | Ollama) -> None:
    longer = (*HELLO, AssistantMessage("Hi", thinking="Hm"), *HELLO)
    one, two = (
        prepared(provider, CompletionRequest(model="m", messages=messages, schema=SCHEMA, stop=("x",))).body
        for messages in (HELLO, longer)
    )
    assert two.startswith(one.removesuffix(b"]}"))


def test_thinking_goes_back_under_the_servers_own_name() -> None:
    messages = (*HELLO, AssistantMessage("Hi", thinking="Hm"))
    for provider, name in ((openai(), "reasoning_content"), (Ollama(URL, timeout=5, idle_timeout=5), "thinking")):
        sent = json.loads(prepared(provider, CompletionRequest(model="m", messages=messages)).body)
        assert sent["messages"][1] == {"role": "assistant", "content": "Hi", name: "Hm"}


async def test_a_model_that_refuses_stop_words_does_without() -> None:
    refusal = "Unsupported parameter: 'stop' is not supported with this model."
    with WireServer([fails(400, refusal), says("ok")]) as server:
        async with aclosing(openai(server.url)) as provider:
            request = CompletionRequest(model="m", messages=HELLO, stop=("x",))
            assert [chunk async for chunk in provider.stream(request)]
    assert ["stop" in sent for sent in server.bodies()] == [True, False]


@pytest.mark.parametrize(
    ("owner", "constrains"),
    [
        ("llamacpp", True),
        ("vllm", True),
        ("sglang", True),
        ("organization_owner", False),
        ("openai", False),
        (None, False),
    ],
)
async def test_who_keeps_to_a_schema_says_who_it_is(owner: str | None, *, constrains: bool) -> None:
    listed = json.dumps({"object": "list", "data": [{"id": "m", "owned_by": owner}]}).encode()
    with WireServer([], list_replies=[Reply((listed,), headers={"content-type": "application/json"})] * 2) as server:
        async with aclosing(openai(server.url)) as provider:
            assert not provider.constrains
            await provider.describe("m")
            assert provider.constrains is constrains


def test_these_are_known_to() -> None:
    azure = Azure("https://x.openai.azure.com", timeout=1, idle_timeout=1, deployment="d", api_key="k")
    known: list[Provider] = [
        azure,
        LMStudio(URL, timeout=1, idle_timeout=1),
        Ollama(URL, timeout=1, idle_timeout=1),
        openai("https://api.openai.com/v1"),
    ]
    assert [provider.constrains for provider in known] == [True] * 4


@pytest.mark.parametrize("dialect", ["native", "structured", "text"])
async def test_a_callers_schema_is_sent_in_every_dialect(dialect: DialectName) -> None:
    """`complete(schema=)` needs no tools, and no dialect puts its own in the place."""
    with WireServer([says('{"a": "x"}')]) as server:
        client = LLMClient(openai(server.url), model="m", max_retries=0, speaking=Speaking(dialect))
        completion = await client.complete(HELLO, schema=SCHEMA, max_tokens=77)
        await client.aclose()
    (sent,) = server.bodies()
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert sent["max_tokens"] == 77
    assert len(sent["messages"]) == 1
    assert "tools" not in sent
    assert completion.message.text == '{"a": "x"}'
    assert completion.message.tool_calls == ()


@pytest.mark.parametrize("dialect", ["native", "structured", "text"])
async def test_a_server_that_refuses_a_callers_schema_is_asked_without_one_from_then_on(dialect: DialectName) -> None:
    refusal = fails(400, "'response_format' of type 'json_schema' is not supported with this model")
    with WireServer([refusal, says("no JSON"), says("again")]) as server:
        notices: list[str] = []
        client = LLMClient(openai(server.url), model="m", max_retries=0, speaking=Speaking(dialect))
        texts = [(await client.complete(HELLO, schema=SCHEMA, on_notice=notices.append)).message.text for _ in range(2)]
        await client.aclose()
    assert texts == ["no JSON", "again"]
    assert ["response_format" in body for body in server.bodies()] == [True, False, False]
    assert notices == []


UNREADABLE = fails(500, "Failed to parse input at pos 12: <tool_call>")


async def test_a_slip_under_a_callers_schema_does_not_switch_schemas_off() -> None:
    replies = [UNREADABLE, says('{"a": "x"}'), UNREADABLE, says('{"a": "y"}'), UNREADABLE, UNREADABLE, says("as text")]
    with WireServer(replies) as server:
        client = LLMClient(openai(server.url), model="m", max_retries=1, pause=no_pause)
        texts = [(await client.complete(HELLO, schema=SCHEMA)).message.text for _ in range(3)]
        await client.aclose()
    assert texts == ['{"a": "x"}', '{"a": "y"}', "as text"]
    assert ["response_format" in body for body in server.bodies()] == [True] * 6 + [False], "two in a row do"


async def no_pause(_seconds: float) -> None:
    """Try again at once."""
