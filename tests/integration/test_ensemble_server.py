"""The test cases TC1 to TC9 of the design paper, and what clients of other kinds see: real HTTP on both sides.

The workers are loopback servers that speak Ollama's protocol. (TC7, a wrong config.json, is the command line's:
tests/integration/test_serve.py.)
"""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import openai
import pytest

from localllm.base.errors import LLMConnectionError
from localllm.config.schema import LLMSettings, OpenAISettings
from localllm.ensemble.config_watch import FixedConfig
from localllm.ensemble.server.options import ServerOptions
from localllm.llm.factory import make_client
from localllm.llm.messages import UserMessage
from tests.ensemble_servers import Gate, OllamaServer, OllamaServers, Play
from tests.ensemble_servers.asking import REVIEW, agent, config_of
from tests.support.ensemble_server import modelled, until

PROMPT = "What is six times seven?"
JSON = {"prompt": PROMPT}


@pytest.fixture
def servers() -> Iterator[OllamaServers]:
    with OllamaServers() as running:
        yield running


def reviewer(servers: OllamaServers, **fields: Any) -> OllamaServer:
    return servers.add(Play(**{"answer": REVIEW} | fields))


def serving(
    servers: OllamaServers, workers: list[OllamaServer], review: OllamaServer | None = None, **settings: Any
) -> Any:
    """A server of these workers."""
    options = ServerOptions(stop_seconds=0.2, max_runs=settings.pop("max_runs", 32))
    return modelled(FixedConfig(config_of(review or reviewer(servers), workers, **settings)), options)


def data_of(text: str) -> list[Any]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


# TC1 to TC9


def test_tc1_everybody_answers(servers: OllamaServers) -> None:
    workers = [servers.add(Play(answer=f"Answer {number}.")) for number in range(3)]
    review = reviewer(servers)
    with serving(servers, workers, review) as server:
        response = server.client.post("/generate", json=JSON)
    body = response.json()
    assert response.status_code == 200
    assert body["final_answer"] == "It is 42."
    assert body["review_comment"] in {f"Worker {number + 1} is right." for number in range(3)}  # a label's name
    assert body["worker_responses"] == [
        {"agent_name": f"Worker {number + 1}", "response": f"Answer {number}."} for number in range(3)
    ]
    metadata = body["metadata"]
    assert metadata.pop("processing_time_seconds") > 0
    assert metadata == {"total_workers": 3, "successful_workers": 3, "failed_workers": 0}
    [asked] = review.chats
    assert all(part in asked["messages"][-1]["content"] for part in (PROMPT, "Answer 0.", "Answer 1.", "Answer 2."))


@pytest.mark.parametrize("prompt", ["", " \n\t", "　"])
def test_tc2_an_empty_prompt_asks_nobody(servers: OllamaServers, prompt: str) -> None:
    worker, review = servers.add(Play()), reviewer(servers)
    with serving(servers, [worker], review) as server:
        response = server.client.post("/generate", json={"prompt": prompt})
    assert response.status_code == 422
    assert response.json()["error"]["code"] == "E1160"
    assert worker.asked == review.asked == []


def test_tc3_one_request_after_another(servers: OllamaServers) -> None:
    """Connections to the workers are kept: the fifth request opens none."""
    workers = [servers.add(Play(answer=lambda body: body["messages"][-1]["content"])) for _ in range(2)]
    with serving(servers, workers) as server:
        for number in range(5):
            body = server.client.post("/generate", json={"prompt": f"question {number}"}).json()
            assert {one["response"] for one in body["worker_responses"]} == {f"question {number}"}
            assert body["final_answer"] == "It is 42."
    assert [len(worker.chats) for worker in workers] == [5, 5]
    assert max(worker.connections for worker in workers) <= 2


def test_tc4_a_worker_that_takes_too_long_is_left_behind(servers: OllamaServers) -> None:
    slow, quick = servers.add(Play(gate=Gate())), servers.add(Play())
    review = reviewer(servers)
    with serving(servers, [slow, quick], review, timeout=0.4, max_retries=0) as server:
        response = server.client.post("/generate", json=JSON)
        until(lambda: slow.aborted == 1)
    body = response.json()
    assert response.status_code == 200
    assert body["final_answer"] == "It is 42."
    assert body["worker_responses"][0]["response"].startswith("Error: ")
    assert body["worker_responses"][1]["response"] == "An answer."
    assert body["metadata"]["failed_workers"] == 1
    assert "error" in review.chats[0]["messages"][-1]["content"]


def test_tc5_nobody_answers(servers: OllamaServers) -> None:
    gone, failing, review = servers.add(Play()), servers.add(Play(fails=-1, status=503)), reviewer(servers)
    servers.stop(gone)
    with serving(servers, [gone, failing], review, max_retries=0) as server:
        response = server.client.post("/generate", json=JSON)
        after = server.client.get("/health")
    body = response.json()
    assert (response.status_code, after.status_code) == (502, 200)
    assert body["final_answer"] == ""
    assert all(one["response"].startswith("Error: ") for one in body["worker_responses"])
    assert all(name in body["error"]["message"] for name in ("Worker 1", "Worker 2"))
    assert review.chats == []


def test_tc6_the_reviewer_fails_and_the_answers_stay(servers: OllamaServers) -> None:
    workers = [servers.add(Play(answer="It is 42.")), servers.add(Play(answer="It is 42.")), servers.add(Play())]
    with serving(servers, workers, reviewer(servers, fails=-1), max_retries=0) as server:
        response = server.client.post("/generate", json=JSON)
    body = response.json()
    assert response.status_code == 500
    assert [one["response"] for one in body["worker_responses"]] == ["It is 42.", "It is 42.", "An answer."]
    assert body["final_answer"] == "It is 42."
    assert body["runtime"]["fallback"]
    assert body["review_comment"].startswith("Error: ")
    assert body["error"]["message"]


def test_tc8_ten_workers_are_asked_at_once(servers: OllamaServers) -> None:
    """None is answered before all have been asked."""
    gate = Gate()
    workers = [servers.add(Play(gate=gate)) for _ in range(10)]
    with serving(servers, workers) as server, ThreadPoolExecutor() as pool:
        asked = pool.submit(server.client.post, "/generate", json=JSON)
        gate.wait_until_it_holds(10)
        gate.open()
        body = asked.result(20).json()
    assert body["metadata"]["successful_workers"] == 10


def test_tc9_many_clients_at_once(servers: OllamaServers) -> None:
    """All their requests are with the workers before one is answered, and each gets its own answer."""
    gate = Gate()
    workers = [servers.add(Play(gate=gate, answer=lambda body: body["messages"][-1]["content"])) for _ in range(3)]
    clients = 12
    with serving(servers, workers) as server, ThreadPoolExecutor(clients) as pool:
        questions = [{"prompt": f"q{number}"} for number in range(clients)]
        asked = [pool.submit(server.client.post, "/generate", json=question) for question in questions]
        gate.wait_until_it_holds(3 * clients)
        gate.open()
        answered = [one.result(20) for one in asked]
    assert {response.status_code for response in answered} == {200}
    for number, response in enumerate(answered):
        assert {one["response"] for one in response.json()["worker_responses"]} == {f"q{number}"}


# clients


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/generate", JSON),
        ("/generate/stream", JSON),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": PROMPT}]}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": PROMPT}], "stream": True}),
    ],
)
@pytest.mark.parametrize("stage", ["workers", "reviewer"])
def test_a_client_that_leaves_cancels_every_request_to_an_agent(
    servers: OllamaServers, path: str, body: dict[str, Any], stage: str
) -> None:
    gate = Gate()
    held = Play(gate=gate)
    workers = [servers.add(held if stage == "workers" else Play()) for _ in range(3)]
    review = reviewer(servers) if stage == "workers" else reviewer(servers, gate=gate)
    asked = workers if stage == "workers" else [review]
    with serving(servers, workers, review) as server:
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(content)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port)) as leaving:
            leaving.sendall(head.encode() + content)
            gate.wait_until_it_holds(len(asked))
        until(lambda: all(one.aborted == 1 for one in asked))
        until(lambda: server.app.state.gate.running == 0)


def test_the_stream_tells_of_every_piece(servers: OllamaServers) -> None:
    workers = [servers.add(Play(answer="one two three", pieces=3)), servers.add(Play(fails=-1))]
    with serving(servers, workers, max_retries=1) as server:
        text = server.client.post("/generate/stream", json=JSON).text
    names = [line[7:] for line in text.splitlines() if line.startswith("event: ")]
    assert names[0] == "start"
    assert names[-1] == "result"
    assert {"worker_text", "worker_end", "worker_retry", "worker_error", "review_start", "review_text"} <= {*names}
    events = data_of(text)
    said = "".join(event["text"] for event in events if event.keys() == {"worker", "text"} and event["worker"] == 0)
    assert said == "one two three"
    reviewed = [event for event in events if "text" in event and "worker" not in event]
    assert "".join(event["text"] for event in reviewed) == REVIEW
    assert "".join(event.get("answer", "") for event in reviewed) == "It is 42."
    assert events[-1]["final_answer"] == "It is 42."


def test_the_official_client_works_on_real_agents(servers: OllamaServers) -> None:
    worker = servers.add(Play(answer=lambda body: " | ".join(one["content"] for one in body["messages"])))
    said: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": PROMPT},
    ]
    with serving(servers, [worker, worker]) as server:
        http = openai.DefaultHttpxClient(trust_env=False, verify=False)
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", http_client=http) as client:
            whole = client.chat.completions.create(model="ensemble", messages=said)
            with client.chat.completions.create(model="ensemble", messages=said, stream=True) as stream:
                pieces = [choice.delta.content or "" for chunk in stream for choice in chunk.choices]
    assert whole.choices[0].message.content == "".join(pieces) == "It is 42."
    assert whole.usage is not None
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens > 0
    roles = [[message["role"] for message in body["messages"]] for body in worker.chats]
    assert set(map(tuple, roles)) == {("system", "user", "assistant", "user")}


@pytest.mark.anyio
@pytest.mark.parametrize("failing", ["worker", "reviewer"])
async def test_our_own_client_asks_no_ensemble_again_that_has_failed(servers: OllamaServers, failing: str) -> None:
    """Each time would cost a whole run, whose agents were asked again already."""
    worker, review = servers.add(Play()), reviewer(servers)
    (worker if failing == "worker" else review).play.fails = -1
    with serving(servers, [worker], review, max_retries=0) as server:
        settings = LLMSettings(provider="openai", model="ensemble", openai=OpenAISettings(base_url=server.url))
        client = make_client(settings, Path(), {})
        with pytest.raises(LLMConnectionError) as raised:
            await client.complete([UserMessage(PROMPT)])
        assert not await client.may_ask_again(raised.value, 1, lambda error, seconds: None)
        await client.aclose()
    assert raised.value.key == "llm_server_failed"
    assert (len(worker.chats), len(review.chats)) == (1, int(failing == "reviewer"))


@pytest.mark.parametrize("stream", [True, False])
def test_an_ensemble_asks_another_no_more_often(servers: OllamaServers, stream: bool) -> None:
    failing = servers.add(Play(fails=-1))
    with serving(servers, [failing], max_retries=0) as inner:
        source = FixedConfig(config_of(reviewer(servers), [failing], max_retries=3, provider="openai"))
        named = agent("Inner", failing, api_url=inner.url, provider="openai", model="ensemble")
        source.current = msgspec.structs.replace(source.current, worker_agents=(named,))
        with modelled(source) as outer:
            response = outer.client.post("/generate/stream" if stream else "/generate", json=JSON)
    assert "HTTP" in response.text
    assert len(failing.chats) == 1


def test_what_a_check_prints_is_not_told_to_clients(servers: OllamaServers) -> None:
    workers = [servers.add(Play(answer=f"Answer {number}.")) for number in range(2)]
    prints = "echo of the project; echo of the project >&2; exit "
    for status, holds in (("1", False), ("0", True)):
        with serving(servers, workers, check=prints + status, strategy="best") as server:
            response = server.client.post("/generate", json=JSON)
        assert response.json()["runtime"]["check"]["Worker 1"] == {"holds": holds}
        assert "of the project" not in response.text


@pytest.mark.parametrize("strategy", ["review", "vote", "self", "best", "rank"])
def test_what_is_streamed_is_the_answer_whatever_the_strategy(servers: OllamaServers, strategy: str) -> None:
    workers = [servers.add(Play(answer=f"Long prose number {number} about a matter of taste.")) for number in range(3)]
    asked = {"model": f"ensemble:{strategy}", "messages": [{"role": "user", "content": PROMPT}]}
    chosen = "## Evaluation\nA is right.\nBest: A"
    review = reviewer(servers, answer=chosen if strategy == "best" else REVIEW)
    with serving(servers, workers, review) as server:
        whole = server.client.post("/v1/chat/completions", json=asked).json()
        streamed = data_of(server.client.post("/v1/chat/completions", json=asked | {"stream": True}).text)
    pieces = [choice["delta"].get("content", "") for chunk in streamed for choice in chunk["choices"]]
    answers = {f"Long prose number {number} about a matter of taste." for number in range(3)} | {"It is 42."}
    assert "".join(pieces) in answers
    assert whole["choices"][0]["message"]["content"] in answers


def test_agents_tells_hosts_and_windows(servers: OllamaServers) -> None:
    shared, gone = servers.add({"qwen3:8b": Play(window=8_192)}), servers.add(Play())
    review = reviewer(servers)
    servers.stop(gone)
    with serving(servers, [shared, shared, gone], review) as server:
        body = server.client.get("/agents").json()
    assert body["reviewer"] == {"name": "Reviewer", "model": "qwen3:8b", "api_url": f"{review.url}/api/chat"}
    assert [worker["name"] for worker in body["workers"]] == ["Worker 1", "Worker 2", "Worker 3"]
    hosts = {tuple(host["agents"]): host for host in body["runtime"]["hosts"]}
    assert hosts["Worker 1", "Worker 2"]["models"][0]["window"] == 8_192
    assert hosts["Worker 1", "Worker 2"]["address"] in shared.url
    assert hosts["Worker 3",]["error"]["code"]


def test_an_ensemble_among_its_own_workers_is_noticed(servers: OllamaServers) -> None:
    """The loop is ended by 508, and the other worker's answer is there."""
    review, other = reviewer(servers), servers.add(Play())
    source = FixedConfig(config_of(review, [other]))
    with modelled(source) as server:
        itself = agent("Itself", other, api_url=f"{server.url}/v1", provider="openai", model="ensemble")
        config = source.current
        source.current = type(config)(
            reviewer_agent=config.reviewer_agent,
            worker_agents=(*config.worker_agents, itself),
            system_settings=config.system_settings,
        )
        response = server.client.post("/generate", json=JSON)
    body = response.json()
    assert response.status_code == 200
    assert body["worker_responses"][1]["response"].startswith("Error: ")
    assert "calling itself" in body["worker_responses"][1]["response"]
    assert body["final_answer"] == "It is 42."
    assert len(other.chats) <= 2
