"""A configuration that is saved again and again while requests are answered: each sees one of them, whole."""

import asyncio
import json
import re
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from localllm.base.files import atomic_write
from localllm.ensemble.config_watch import ConfigWatch
from localllm.ensemble.server.options import ServerOptions
from localllm.ensemble.server.port import listen, url_of
from localllm.ensemble.server.running_ensemble import RunningEnsemble
from tests.ensemble_servers import OllamaServers, Play
from tests.support.ensemble_server import checks_in

_CLIENTS = 3


def _configuration(number: int, url: str) -> bytes:
    """A configuration in which every name has the same number; its workers are more or fewer from one to the next."""
    whole = {
        "reviewer_agent": {"name": f"R{number}", "api_url": url, "model": "reviewer"},
        "worker_agents": [
            {"name": f"W{number}.{place}", "api_url": url, "model": "worker", "system": f"{number}"}
            for place in range(1 + number % 4)
        ],
    }
    return json.dumps(whole).encode()


def _check(body: dict[str, object]) -> int:
    """The number of the configuration that a result has come from."""
    names = [one["agent_name"] for one in body["worker_responses"]]  # type: ignore[index, union-attr]
    said = {one["response"] for one in body["worker_responses"]}  # type: ignore[index, union-attr]
    number = int(names[0][1:].partition(".")[0])
    assert names == [f"W{number}.{place}" for place in range(1 + number % 4)]
    assert said == {f"by {number}"}
    assert body["final_answer"] == f"merged by {number}"
    return number


def _played() -> dict[str, Play]:
    """A worker that says by whose system message it was asked, and a reviewer that says whose answers it was given."""

    def answer(body: dict[str, list[dict[str, str]]]) -> str:
        return f"by {body['messages'][0]['content']}"

    def review(body: dict[str, list[dict[str, str]]]) -> str:
        given = sorted(set(re.findall(r"by (\d+)", body["messages"][-1]["content"])))
        return f"## Evaluation\nAll alike.\n\n## Final answer\nmerged by {', '.join(given)}"

    return {"worker": Play(answer=answer), "reviewer": Play(answer=review)}


async def _reload(file: Path, url: str, times: int) -> list[int]:
    """Change the configuration so many times under load; the numbers that requests have seen."""
    file.write_bytes(_configuration(0, url))
    watch = ConfigWatch(file)
    running = RunningEnsemble(watch, {}, file.parent, checks_in(file.parent), ServerOptions(), None)
    listening = listen("127.0.0.1", 0)
    address = url_of(listening)
    seen: list[int] = []
    started = asyncio.Event()

    async def ask(client: httpx.AsyncClient) -> None:
        while True:
            answered = await client.post(f"{address}/generate", json={"prompt": "What is it?"})
            assert answered.status_code == 200, answered.text
            seen.append(_check(answered.json()))

    serving = asyncio.create_task(running.serve(listening, started.set))
    following = asyncio.create_task(watch.follow(0.005))
    await started.wait()
    async with httpx.AsyncClient(timeout=30) as client:
        asking = [asyncio.create_task(ask(client)) for _ in range(_CLIENTS)]
        tasks = (*asking, following, serving)
        for number in range(1, times + 1):
            save = atomic_write if number % 2 else Path.write_bytes
            save(file, _configuration(number, url))
            while watch.current.reviewer_agent.name != f"R{number}":
                for task in tasks:
                    assert not task.done(), task
                await asyncio.sleep(0.005)
        while max(seen, default=0) != times:
            await asyncio.sleep(0.01)
        for task in (*asking, following):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    running.stop()
    await serving
    return seen


@pytest.mark.parametrize("times", [20, pytest.param(1_000, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_no_request_sees_half_of_a_configuration(tmp_path: Path, times: int) -> None:
    with OllamaServers() as servers:
        seen = asyncio.run(_reload(tmp_path / "config.json", servers.add(_played()).url, times))
    assert len(set(seen)) > 1
