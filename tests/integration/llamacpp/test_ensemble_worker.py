"""A real llama.cpp server as a worker of an ensemble, beside loopback ones that speak Ollama's protocol."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from localllm.ensemble.config import AgentConfig
from localllm.ensemble.config_watch import FixedConfig
from tests.ensemble_servers import OllamaServers, Play
from tests.ensemble_servers.asking import REVIEW, config_of
from tests.support.ensemble_server import ServerInThread, modelled
from tests.support.llama import Served

KEY = "LLAMA_TEST_KEY"
TALK = {"prompt": "What is six times seven?"}


@contextmanager
def ensemble(served: Served, **fields: Any) -> Iterator[tuple[ServerInThread, Any]]:
    """An ensemble server whose first worker is llama.cpp's, and the loopback server of its reviewer."""
    with OllamaServers() as servers:
        reviewer = servers.add(Play(answer=REVIEW))
        config = config_of(reviewer, [servers.add(Play(answer="It is 42."))])
        llama = AgentConfig(
            name="llama.cpp", api_url=served.address, model="tiny", provider="openai", api_key_env=KEY, **fields
        )
        config = msgspec.structs.replace(config, worker_agents=(llama, *config.worker_agents))
        with modelled(FixedConfig(config), environ={KEY: served.process.api_key}) as server:
            yield server, reviewer


def test_its_answer_stands_beside_the_others_and_reaches_the_reviewer(talker: Served) -> None:
    with ensemble(talker, max_tokens=24, temperature=0.0) as (server, reviewer):
        body = server.client.post("/generate", json=TALK, timeout=60).json()
    said = body["worker_responses"][0]
    assert said["agent_name"] == "llama.cpp"
    assert said["response"].strip()
    assert not said["response"].startswith("Error")
    assert body["final_answer"] == "It is 42."
    assert body["metadata"]["successful_workers"] == 2
    [asked] = reviewer.chats
    assert said["response"].strip()[:20] in asked["messages"][-1]["content"]


def test_its_tokens_are_streamed_as_they_come(talker: Served) -> None:
    with ensemble(talker, max_tokens=24, temperature=0.0) as (server, _reviewer):
        lines = server.client.post("/generate/stream", json=TALK, timeout=60).text.splitlines()
    pieces = [line for line in lines if line.startswith('data: {"worker":0,"text"')]
    assert len(pieces) > 1


def test_a_wrong_key_is_its_error_alone(talker: Served) -> None:
    with OllamaServers() as servers:
        config = config_of(servers.add(Play(answer=REVIEW)), [servers.add(Play(answer="It is 42."))])
        llama = AgentConfig(name="llama.cpp", api_url=talker.address, model="tiny", provider="openai", api_key_env=KEY)
        config = msgspec.structs.replace(config, worker_agents=(llama, *config.worker_agents))
        with modelled(FixedConfig(config), environ={KEY: "wrong"}) as server:
            response = server.client.post("/generate", json=TALK, timeout=60)
    body = response.json()
    assert response.status_code == 200
    assert body["worker_responses"][0]["response"].startswith("Error: ")
    assert KEY in body["worker_responses"][0]["response"] or "key" in body["worker_responses"][0]["response"]
    assert body["final_answer"] == "It is 42."


def test_the_window_and_the_model_of_the_server_are_shown(talker: Served) -> None:
    with ensemble(talker) as (server, _reviewer):
        hosts = server.client.get("/agents", timeout=60).json()["runtime"]["hosts"]
    models = next(host["models"] for host in hosts if "llama.cpp" in host["agents"])
    assert models[0]["window"] == talker.window
