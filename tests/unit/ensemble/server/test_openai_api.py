"""The ensemble as a model of an OpenAI-compatible server: with OpenAI's own client, with ours, and over bare HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from localllm.base.errors import LLMConnectionError
from localllm.ensemble.server.options import ServerOptions
from localllm.llm.client import LLMClient
from localllm.llm.discovery.servers import ENSEMBLE_OWNER
from localllm.llm.messages import AssistantMessage, SystemMessage, ToolSpec, UserMessage
from localllm.llm.providers.base import Chunk, TextChunk, ThinkingChunk
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.each import each
from tests.support.ensemble_server import WORKERS, ScriptedEnsemble, ServerInThread, refused, scripted

PATH = "/v1/chat/completions"
ASKED: dict[str, Any] = {"model": "ensemble", "messages": [{"role": "user", "content": "Capital of France?"}]}


@pytest.fixture
def ensemble() -> ScriptedEnsemble:
    return ScriptedEnsemble()


@pytest.fixture
def server(ensemble: ScriptedEnsemble) -> Iterator[ServerInThread]:
    with scripted(ensemble) as running:
        yield running


def official(server: ServerInThread, **more: Any) -> openai.OpenAI:
    http = openai.DefaultHttpxClient(trust_env=False, verify=False)
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", http_client=http, **more)


def ours(server: ServerInThread, **more: Any) -> LLMClient:
    provider = OpenAICompatible("openai", server.url, timeout=10, idle_timeout=10, **more)
    return LLMClient(provider, model="ensemble", max_retries=0)


def chunks_of(response: httpx.Response) -> list[Any]:
    """The data of a stream's events, the last one [DONE]."""
    data = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    assert data[-1] == "[DONE]"
    return [json.loads(one) for one in data[:-1]]


def contents(chunks: list[Any]) -> list[str]:
    """The pieces of the answer."""
    pieces = [choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"]]
    return [piece for piece in pieces if piece]


# OpenAI's own client


def test_the_official_client_asks_whole(server: ServerInThread, ensemble: ScriptedEnsemble) -> None:
    with official(server) as client:
        answer = client.chat.completions.create(**ASKED)
    assert answer.object == "chat.completion"
    assert answer.model == "ensemble"
    [choice] = answer.choices
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", "Paris.", "stop")
    assert choice.message.model_extra == {"reasoning_content": "Both are right."}
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (20, 10, 30)
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 8
    assert [(question.prompt, question.stream) for question in ensemble.questions] == [("Capital of France?", False)]


@pytest.mark.parametrize("wants_usage", [True, False])
def test_the_official_client_streams(server: ServerInThread, ensemble: ScriptedEnsemble, wants_usage: bool) -> None:
    more: dict[str, Any] = {"stream_options": {"include_usage": True}} if wants_usage else {}
    with official(server) as client, client.chat.completions.create(**ASKED, stream=True, **more) as stream:
        chunks = list(stream)
    assert len({chunk.id for chunk in chunks}) == 1
    pieces = [choice for chunk in chunks for choice in chunk.choices]
    assert pieces[0].delta.role == "assistant"
    assert "".join(piece.delta.content or "" for piece in pieces) == "Paris."
    reasoning = "".join((piece.delta.model_extra or {}).get("reasoning_content", "") for piece in pieces)
    assert all(name in reasoning for name in WORKERS)
    assert reasoning.rstrip().endswith("Both are right.")
    assert [piece.finish_reason for piece in pieces if piece.finish_reason] == ["stop"]
    usages = [chunk.usage for chunk in chunks if chunk.usage]
    assert [usage.total_tokens for usage in usages] == ([30] if wants_usage else [])
    assert [question.stream for question in ensemble.questions] == [True]


def test_the_official_client_lists_the_models(server: ServerInThread) -> None:
    with official(server) as client:
        models = list(client.models.list())
    assert models[0].id == "ensemble"
    assert [model.id for model in models[1:]] == [
        f"ensemble:{strategy}" for strategy in ("review", "vote", "self", "best", "rank")
    ]
    assert {model.owned_by for model in models} == {ENSEMBLE_OWNER}


def test_the_official_client_understands_refusals(server: ServerInThread, ensemble: ScriptedEnsemble) -> None:
    tool: Any = {"type": "function", "function": {"name": "f", "parameters": {}}}
    with official(server) as client:
        with pytest.raises(openai.BadRequestError) as no_tools:
            client.chat.completions.create(**ASKED, tools=[tool])
        with pytest.raises(openai.BadRequestError) as one_choice:
            client.chat.completions.create(**ASKED, n=2)
        with pytest.raises(openai.NotFoundError) as no_model:
            client.chat.completions.create(**ASKED | {"model": "gpt-5"})
    assert (no_tools.value.param, no_tools.value.code) == ("tools", "unsupported_parameter")
    assert one_choice.value.param == "n"
    assert (no_model.value.param, no_model.value.code) == ("model", "model_not_found")
    assert ensemble.questions == []


@pytest.mark.parametrize(
    ("failing", "status"),
    [(ScriptedEnsemble(errors=(refused(), refused())), 502), (ScriptedEnsemble(reviewer_error=refused()), 500)],
)
def test_the_official_client_is_told_of_a_failed_run_once(failing: ScriptedEnsemble, status: int) -> None:
    with scripted(failing) as server, official(server) as client:
        with pytest.raises(openai.InternalServerError) as whole:
            client.chat.completions.create(**ASKED)
        assert len(failing.questions) == 1
        with pytest.raises(openai.APIError) as streamed, client.chat.completions.create(**ASKED, stream=True) as stream:
            list(stream)
    assert whole.value.status_code == status
    assert whole.value.code
    assert streamed.value.code == whole.value.code
    assert len(failing.questions) == 2


def test_the_official_client_brings_the_token() -> None:
    with scripted(options=ServerOptions(token="s3cret-token", stop_seconds=0.2)) as server:
        with official(server) as client, pytest.raises(openai.AuthenticationError):
            client.chat.completions.create(**ASKED)
        with official(server) as client:
            client.api_key = "s3cret-token"
            assert client.chat.completions.create(**ASKED).choices[0].message.content == "Paris."


# our own client


@pytest.mark.anyio
async def test_our_client_asks_it_as_a_model(server: ServerInThread, ensemble: ScriptedEnsemble) -> None:
    client, shown = ours(server), list[Chunk]()
    completion = await client.complete([SystemMessage("Be brief."), UserMessage("Capital?")], on_chunk=shown.append)
    await client.provider.aclose()
    assert completion.message.text == "Paris."
    assert "Both are right." in completion.message.thinking
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (20, 10)
    assert not completion.usage.estimated
    assert completion.finish_reason == "stop"
    assert {type(chunk) for chunk in shown} >= {TextChunk, ThinkingChunk}
    [question] = ensemble.questions
    assert (question.system, question.prompt) == ("Be brief.", "Capital?")


@pytest.mark.anyio
async def test_our_client_learns_what_the_ensemble_cannot(server: ServerInThread) -> None:
    """It asks again without what was refused: calls of tools are written as text from then on."""
    client = ours(server)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    tool = ToolSpec("look", "Look.", {"type": "object", "properties": {}})
    messages = [SystemMessage("s"), UserMessage("Capital?")]
    with_tools = await client.complete(messages, [tool])
    with_schema = await client.complete(messages, schema=schema)
    await client.provider.aclose()
    assert with_tools.message.text == with_schema.message.text == "Paris."


@pytest.mark.anyio
async def test_our_client_understands_failures() -> None:
    for failing in (ScriptedEnsemble(errors=(refused(), refused())), ScriptedEnsemble(crash=RuntimeError("no"))):
        with scripted(failing) as server:
            client = ours(server)
            with pytest.raises(LLMConnectionError):
                await client.complete([UserMessage("Capital?")])
            await client.provider.aclose()


# bare HTTP


@each(
    "messages, system, history, prompt",
    [
        ([("system", "s"), ("user", "q")], "s", [], "q"),
        ([("developer", "s"), ("system", "t"), ("user", "q")], "s\n\nt", [], "q"),
        (
            [("user", "q1"), ("assistant", "a1"), ("user", "q2")],
            "",
            [UserMessage("q1"), AssistantMessage("a1")],
            "q2",
        ),
        ([("user", "q1"), ("user", "q2")], "", [], "q1\n\nq2"),
        (
            [("user", "q1"), ("assistant", None), ("assistant", ""), ("user", "q2")],
            "",
            [],
            "q1\n\nq2",
        ),
        ([("user", "q1"), ("assistant", "a1")], "", [UserMessage("q1"), AssistantMessage("a1")], "Go on."),
        ([("user", [{"type": "text", "text": "q"}, {"type": "text", "text": "r"}])], "", [], "q\nr"),
        ([("user", "q1"), ("user", " ")], "", [], "q1"),
    ],
)
def test_a_conversation_becomes_a_question(
    messages: list[tuple[str, Any]], system: str, history: list[Any], prompt: str
) -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble) as server:
        said = [{"role": role, "content": content} for role, content in messages]
        response = server.client.post(PATH, json={"model": "ensemble", "messages": said})
    assert response.status_code == 200, response.text
    [question] = ensemble.questions
    assert (question.system, list(question.history), question.prompt) == (system, history, prompt)


@each(
    "body, param",
    [
        (b"", None),
        (b'{"messages": "a"}', "messages"),
        ({"messages": []}, "messages"),
        ({"model": "ensemble"}, None),
        ({"messages": [{"role": "user", "content": " "}]}, "messages"),
        ({"messages": [{"role": "system", "content": "s"}]}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages[0]"),
        ({"messages": [{"role": "tool", "content": "q", "tool_call_id": "1"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": []}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": "q"}] * 10_001}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "q"}] * 10_001}]}, "messages"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]},
            "messages[0].content[0].type",
        ),
        (ASKED | {"stream": "yes"}, "stream"),
        (ASKED | {"response_format": {"type": "json_object"}}, "response_format.type"),
        (ASKED | {"functions": [{"name": "f"}]}, "functions"),
    ],
)
def test_what_is_no_conversation_is_refused_in_openais_words(body: Any, param: str | None) -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble) as server:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        response = server.client.post(PATH, content=content)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert ensemble.questions == []


def test_what_says_nothing_of_the_answers_kind_is_ignored(server: ServerInThread) -> None:
    ignored = {"temperature": 0.2, "max_tokens": 5, "top_p": 1, "stop": ["x"], "seed": 1, "user": "me", "tools": []}
    also = {"n": 1, "tool_choice": "auto", "response_format": {"type": "text"}, "stream": None, "logprobs": False}
    assert server.client.post(PATH, json=ASKED | ignored | also).status_code == 200


def test_each_strategy_is_a_model(server: ServerInThread, ensemble: ScriptedEnsemble) -> None:
    for model in ("ensemble:vote", "ensemble"):
        assert server.client.post(PATH, json=ASKED | {"model": model}).json()["model"] == model
    assert [question.strategy for question in ensemble.questions] == ["vote", None]


def test_an_answer_that_was_cut_off_says_so() -> None:
    with scripted(ScriptedEnsemble(finish_reason="length")) as server:
        whole = server.client.post(PATH, json=ASKED).json()
        streamed = chunks_of(server.client.post(PATH, json=ASKED | {"stream": True}))
    assert whole["choices"][0]["finish_reason"] == "length"
    assert streamed[-1]["choices"][0]["finish_reason"] == "length"


def test_the_answer_streams_while_the_reviewer_writes() -> None:
    answer = "\n\n".join(f"Paragraph {number} of an answer that is long enough to be shown." for number in range(20))
    with scripted(ScriptedEnsemble(answer=answer, pieces=200)) as server:
        streamed = chunks_of(server.client.post(PATH, json=ASKED | {"stream": True}))
        chosen = chunks_of(server.client.post(PATH, json=ASKED | {"stream": True, "model": "ensemble:best"}))
    pieces = contents(streamed)
    assert "".join(pieces) == answer
    assert len(pieces) > 50
    assert contents(chosen) == [answer]


def test_a_fault_in_the_middle_ends_a_stream_with_an_error() -> None:
    with scripted(ScriptedEnsemble(crash=RuntimeError("secret detail"))) as server:
        streamed = chunks_of(server.client.post(PATH, json=ASKED | {"stream": True}))
        whole = server.client.post(PATH, json=ASKED)
    assert streamed[-1]["error"]["code"] == whole.json()["error"]["code"] == "E1090"
    assert whole.status_code == 500
    assert whole.headers["x-should-retry"] == "false"
    assert "secret detail" not in whole.text
