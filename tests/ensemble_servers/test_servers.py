"""The loopback workers, as another client than ours sees them."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from tests.ensemble_servers import MODEL, Gate, OllamaServer, OllamaServers, Play
from tests.ensemble_servers.play import until

pytestmark = pytest.mark.anyio

ASKED = {"model": MODEL, "messages": [{"role": "user", "content": "What is six times seven?"}]}


async def chat(server: OllamaServer, **more: Any) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.post(f"{server.url}/api/chat", json=ASKED | more)


def streamed(response: httpx.Response) -> str:
    return "".join(json.loads(line)["message"]["content"] for line in response.text.splitlines())


async def test_answers_streamed_and_whole() -> None:
    with OllamaServers() as servers:
        server = servers.add(Play(answer=lambda body: body["messages"][-1]["content"].upper(), pieces=4))
        pieces = await chat(server)
        whole = await chat(server, stream=False)
    assert streamed(pieces) == "WHAT IS SIX TIMES SEVEN?" == whole.json()["message"]["content"]
    assert len(pieces.text.splitlines()) == 5
    assert json.loads(pieces.text.splitlines()[-1])["done"] is whole.json()["done"] is True
    assert (server.answered, server.aborted, server.in_flight) == (2, 0, 0)


async def test_tells_what_ollama_tells() -> None:
    with OllamaServers() as servers:
        server = servers.add({"small": Play(window=4_096), "large": Play(is_loaded=False, parameters="70B")})
        async with httpx.AsyncClient(base_url=server.url) as client:
            tags = (await client.get("/api/tags")).json()["models"]
            running = (await client.get("/api/ps")).json()["models"]
            shown = (await client.post("/api/show", json={"model": "large"})).json()
            version = (await client.get("/api/version")).json()
            unknown = await client.post("/api/chat", json=ASKED | {"model": "huge"})
    assert [entry["name"] for entry in tags] == ["small", "large"]
    assert [(entry["name"], entry["context_length"]) for entry in running] == [("small", 4_096)]
    assert shown["details"]["parameter_size"] == "70B"
    assert version["version"]
    assert (unknown.status_code, unknown.json()) == (404, {"error": "model 'huge' not found"})


async def test_a_gate_holds_all_and_clients_that_leave_are_counted() -> None:
    gate = Gate()
    with OllamaServers() as servers:
        one, other = servers.add(Play(gate=gate)), servers.add(Play(gate=gate))
        asked = [asyncio.create_task(chat(server)) for server in (one, other)]
        await gate.holds(2)
        asked[0].cancel()
        await until(lambda: one.aborted == 1)
        gate.open()
        assert streamed(await asked[1]) == "An answer."
        assert (other.answered, other.aborted) == (1, 0)
        assert one.open_connections == 0


@pytest.mark.parametrize("stream", [True, False])
async def test_breaks_off(stream: bool) -> None:
    with OllamaServers() as servers:
        for play in (Play(cut_after=1), Play(ends_after=1)):
            with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
                await chat(servers.add(play), stream=stream)
        stopped = servers.add(Play())
        servers.stop(stopped)
        with pytest.raises(httpx.ConnectError):
            await chat(stopped, stream=stream)


async def test_other_faults() -> None:
    with OllamaServers() as servers:
        failing = servers.add(Play(fails=1, status=503, error="server busy"))
        assert (await chat(failing)).json() == {"error": "server busy"}
        assert streamed(await chat(failing)) == "An answer."
        assert "error" in (await chat(servers.add(Play(error_after=1)))).text.splitlines()[-1]
        assert (await chat(servers.add(Play(raw=b"<garbage>")))).text == "<garbage>"
        moved = await chat(servers.add(Play(location="http://127.0.0.1:9/api/chat")))
        assert (moved.status_code, moved.headers["location"]) == (307, "http://127.0.0.1:9/api/chat")
        dripping = await chat(servers.add(Play(answer="ab", drip=0.0001)), stream=False)
        assert dripping.json()["message"]["content"] == "ab"


@pytest.mark.parametrize("stream", [True, False])
async def test_a_huge_answer_is_valid(stream: bool) -> None:
    with OllamaServers() as servers:
        answer = await chat(servers.add(Play(filler=1_000_000)), stream=stream)
    text = streamed(answer) if stream else answer.json()["message"]["content"]
    assert len(text) >= 1_000_000
    assert set(text) == {"x"}
