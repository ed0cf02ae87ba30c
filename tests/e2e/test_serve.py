"""`localllm serve`: the start and its refusals, changes while it runs, and its end."""

import json
import re
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from localllm.ensemble.config_file import read_config
from tests.ensemble_servers import Gate, OllamaServer, OllamaServers, Play
from tests.support.each import each
from tests.support.serving import NOWHERE, ServeWorld, configuration

EXAMPLE = Path(__file__).parents[2] / "examples" / "ensemble"
REVIEW = "## Evaluation\nBoth are right.\n\n## Final answer\n42"
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \[(INFO|WARNING|ERROR)\] \[[A-Z]+\] \S.*")


@pytest.fixture
def world(tmp_path: Path) -> ServeWorld:
    return ServeWorld(tmp_path)


class Agents:
    """A reviewer and two workers on loopback."""

    def __init__(self, servers: OllamaServers) -> None:
        self.servers = servers
        self.reviewer = servers.add(Play(answer=REVIEW))
        self.workers = [servers.add(Play(answer=f"answer {number}")) for number in range(2)]

    @property
    def urls(self) -> tuple[str, ...]:
        return self.reviewer.url, *(worker.url for worker in self.workers)


@pytest.fixture
def agents() -> Iterator[Agents]:
    with OllamaServers() as servers:
        yield Agents(servers)


def test_without_a_configuration_it_does_not_start(world: ServeWorld) -> None:
    ended = world.run("serve")
    assert (ended.returncode, ended.stdout) == (2, "")
    for way in ("--config", "config.json", "--auto"):
        assert way in ended.stderr


@each(
    ("text", "named"),
    [
        ("{", "config.json:1:2"),
        ('{"reviewer_agent": 1, "worker_agents": []}', "reviewer_agent"),
        (json.dumps(configuration(NOWHERE, NOWHERE)).replace('"api_url"', '"url"'), "api_url"),
        (json.dumps(configuration(NOWHERE, NOWHERE, strategy="none")), "system_settings.strategy"),
        (json.dumps(configuration("https://models.example.com", NOWHERE)), "--config config.json"),
    ],
)
def test_a_wrong_configuration_is_told_by_file_and_field(
    text: str, named: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    world = ServeWorld(tmp_path_factory.mktemp("wrong"))
    world.configure(text)
    ended = world.run("serve", "--port", "0")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert named in ended.stderr
    assert "config.json" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_it_answers_and_says_what_it_does(world: ServeWorld, agents: Agents) -> None:
    world.configure(configuration(*agents.urls))
    with world.serving() as serving:
        for text in (f"R · qwen3:8b · {agents.urls[0]}", f"W1 · qwen3:8b · {agents.urls[2]}"):
            assert any(text in line for line in serving.said)
        answered = serving.ask("What is 6 times 7?")
        assert answered.status_code == 200
        body = answered.json()
        assert (body["final_answer"], body["review_comment"]) == ("42", "Both are right.")
        assert [one["response"] for one in body["worker_responses"]] == ["answer 0", "answer 1"]
        serving.wait_for("200")
        serving.signal()
        assert serving.end() == 130
    logged = [line for line in serving.said if LINE.fullmatch(line)]
    for text in ("POST /generate", "W0", "W1", "R"):
        assert any(text in line for line in logged)
    assert not any("6 times 7" in line for line in serving.said)
    assert serving.printed == ""


def test_what_is_said_and_answered_stands_in_the_log_unless_it_may_not(world: ServeWorld, agents: Agents) -> None:
    world.configure(configuration(*agents.urls))
    for option in ("--no-log", None):
        with world.serving(*[option] if option else []) as serving:
            serving.ask("What is 6 times 7?")
            serving.signal(signal.SIGTERM)
            assert serving.end() == 0
        kept = b"".join(file.read_bytes() for file in world.work.rglob("*.sqlite*"))
        assert (b"6 times 7" in kept) is (option is None)


def test_a_request_whose_client_leaves_is_logged_as_far_as_it_came(world: ServeWorld, agents: Agents) -> None:
    gate = agents.workers[1].play.gate = Gate()
    world.configure(configuration(*agents.urls))
    with world.serving() as serving:
        with httpx.stream("POST", f"{serving.url}/generate/stream", json={"prompt": "What is it?"}) as leaving:
            events = leaving.iter_lines()
            while "worker_end" not in next(events):
                pass
            gate.wait_until_it_holds(1)
        runs: list[dict[str, Any]] = []
        while not runs:
            runs = json.loads(world.run("serve", "--history", "--json").stdout)["runs"]
    (run,) = runs
    assert (run["outcome"], run["prompt"], run["final_answer"]) == ("broken_off", "What is it?", "")
    assert [(one["model"], one["text"], one["error_code"]) for one in run["answers"]] == [
        ("qwen3:8b", "answer 0", ""),
        ("qwen3:8b", "", "E1148"),
    ]
    counted = world.json("serve", "--stats", "--json")
    assert counted["outcomes"] == {"broken_off": 1}
    assert [(one["answered"], one["skipped"]) for one in counted["workers"]] == [(1, 0), (0, 1)]


def test_a_key_that_a_change_of_the_file_brings_is_masked_in_the_log(tmp_path: Path, agents: Agents) -> None:
    key = "a few plain words"  # no form of a key gives it away
    world = ServeWorld(tmp_path, more={"KEY_OF_W1": key})
    before = configuration(*agents.urls)
    with_key = {**before["worker_agents"][1], "api_key_env": "KEY_OF_W1"}
    agents.workers[1].play.answer = f"I was asked with: {key}"
    own = world.folder / "home" / "config" / "agents.json"  # where a change may name a key: nobody else writes there
    own.write_text(json.dumps(before))
    with world.serving("--config", str(own)) as serving:
        own.write_text(json.dumps({**before, "worker_agents": [before["worker_agents"][0], with_key]}))
        serving.wait_for("agents.json")
        assert key in serving.ask().text
        serving.signal(signal.SIGTERM)
        assert serving.end() == 0
    assert agents.workers[1].heads[0]["authorization"] == f"Bearer {key}"
    (run,) = world.json("serve", "--history", "--json")["runs"]
    assert run["answers"][1]["text"] == "I was asked with: ***"
    assert not [file for file in world.work.rglob("requests.*") if key.encode() in file.read_bytes()]


def test_a_change_of_the_file_holds_for_the_next_question(world: ServeWorld, agents: Agents) -> None:
    world.configure(configuration(*agents.urls))
    with world.serving() as serving:
        world.configure(configuration(*agents.urls, agents.urls[1]))
        serving.wait_for("config.json")
        serving.wait_for("W2 ·")
        assert serving.ask().json()["metadata"]["total_workers"] == 3
        world.configure('{"reviewer_agent": ')
        serving.wait_for("config.json:1:20")
        assert serving.ask().json()["metadata"]["total_workers"] == 3
        world.configure(configuration(agents.urls[0], agents.urls[1]))
        serving.wait_for("W0 ·")
        assert serving.ask().json()["metadata"]["total_workers"] == 1
    assert sum("config.json:1:20" in line for line in serving.said) == 1


def test_a_change_that_reaches_further_than_the_start_is_refused(world: ServeWorld, agents: Agents) -> None:
    before = configuration(*agents.urls)
    after = json.loads(json.dumps(before))
    after["worker_agents"][1] |= {"provider": "openai", "api_key_env": "HOME"}
    world.configure(before)
    with world.serving("--config", "config.json") as serving:
        world.configure(after)
        serving.wait_for("restart the server")
        assert serving.ask().json()["metadata"]["successful_workers"] == 2
    assert agents.workers[1].answered == 1
    own = world.folder / "home" / "config" / "config.json"
    own.write_text(json.dumps(before))
    with world.serving("--config", str(own)) as serving:
        own.write_text(json.dumps(after))
        serving.wait_for("W1 ·")
        assert serving.ask().json()["metadata"]["total_workers"] == 2
    world.configure(before)
    own.unlink()
    own.symlink_to(world.project / "config.json")
    with world.serving("--config", str(own)) as serving:
        world.configure(after)
        serving.wait_for("restart the server")


def _held(agents: Agents) -> Gate:
    gate = Gate()
    agents.reviewer.play.gate = gate
    return gate


def test_ctrl_c_lets_a_request_finish(world: ServeWorld, agents: Agents) -> None:
    gate = _held(agents)
    world.configure(configuration(*agents.urls))
    answers: list[httpx.Response] = []
    with world.serving() as serving:
        asking = threading.Thread(target=lambda: answers.append(serving.ask()))
        asking.start()
        gate.wait_until_it_holds(1)
        serving.signal()
        serving.wait_for("Ctrl+C again")
        gate.open()
        asking.join()
        assert serving.end() == 130
    assert answers[0].json()["final_answer"] == "42"


def test_a_second_one_ends_it_at_once(world: ServeWorld, agents: Agents) -> None:
    gate = _held(agents)
    world.configure(configuration(*agents.urls))
    answers: list[object] = []

    def ask() -> None:
        try:
            answers.append(serving.ask().status_code)
        except httpx.HTTPError as error:
            answers.append(error)

    with world.serving() as serving:
        asking = threading.Thread(target=ask)
        asking.start()
        gate.wait_until_it_holds(1)
        serving.signal()
        serving.wait_for("Ctrl+C again")
        serving.signal()
        assert serving.end() == 130
        asking.join()
    assert answers[0] != 200
    assert agents.reviewer.answered == 0


def test_whoever_has_the_port_is_named(world: ServeWorld, agents: Agents) -> None:
    world.configure(configuration(*agents.urls))
    with world.serving() as serving:
        for taken, name in ((serving.url, "localllm"), (agents.urls[0], "Ollama")):
            ended = world.run("serve", "--port", taken.rpartition(":")[2])
            assert ended.returncode == 1
            assert name in ended.stderr
            assert re.search(r"--port [1-9]", ended.stderr)


def _several(agents: Agents) -> OllamaServer:
    return agents.servers.add(
        {
            "small": Play(answer="one", parameters="4.3B"),
            "medium": Play(answer="two", parameters="8.2B"),
            "large": Play(answer=REVIEW, parameters="32.8B"),
        }
    )


def test_auto_takes_the_models_that_are_there(world: ServeWorld, agents: Agents) -> None:
    world.settle(ollama=_several(agents).url)
    with world.serving("--auto") as serving:
        assert serving.ask().json()["final_answer"] == "42"
        serving.signal()
        serving.end()
    made = json.loads(serving.printed)
    assert made["reviewer_agent"]["model"] == "large"
    assert sorted(worker["model"] for worker in made["worker_agents"]) == ["medium", "small"]
    assert not (world.project / "config.json").exists()


def test_auto_without_a_model_says_how_to_get_one(world: ServeWorld) -> None:
    ended = world.run("serve", "--auto")
    assert (ended.returncode, ended.stdout) == (5, "")
    assert "Ollama" in ended.stderr


def test_a_configuration_is_written_only_where_none_is(world: ServeWorld, agents: Agents) -> None:
    world.settle(ollama=_several(agents).url)
    file = world.project / "config.json"
    written = world.run("serve", "--write-config")
    assert written.returncode == 0
    assert read_config(file).reviewer_agent.model == "large"
    file.write_text("mine")
    refused = world.run("serve", "--write-config")
    assert refused.returncode == 2
    assert file.read_text() == "mine"
    assert world.run("serve", "--write-config", "--config", "other.json").returncode == 0
    assert read_config(world.project / "other.json").reviewer_agent.model == "large"
    assert world.run("serve", "--write-config", "--force").returncode == 0
    assert read_config(file).reviewer_agent.model == "large"


def test_others_of_the_network_need_a_token(tmp_path: Path, agents: Agents) -> None:
    without = ServeWorld(tmp_path / "without")
    without.configure(configuration(*agents.urls))
    ended = without.run("serve", "--port", "0", "--host", "0.0.0.0")
    assert ended.returncode == 2
    assert "LOCALLLM_SERVE_TOKEN" in ended.stderr
    token = "t0ken-of-some-length"
    world = ServeWorld(tmp_path / "with", more={"LOCALLLM_SERVE_TOKEN": token})
    world.configure(configuration(*agents.urls))
    with world.serving("--host", "0.0.0.0") as serving:
        assert serving.ask().status_code == 401
        assert serving.ask(Authorization=f"Bearer {token}").status_code == 200
    assert token not in "\n".join(serving.said)


def test_a_guessable_token_is_refused(tmp_path: Path) -> None:
    world = ServeWorld(tmp_path, more={"LOCALLLM_SERVE_TOKEN": "hunter2"})
    world.configure(configuration(NOWHERE, NOWHERE))
    ended = world.run("serve", "--port", "0")
    assert ended.returncode == 2
    assert "hunter2" not in ended.stderr


def test_the_token_may_be_in_another_variable(tmp_path: Path, agents: Agents) -> None:
    token = "t0ken-of-some-length"
    world = ServeWorld(tmp_path, more={"MY_TOKEN": token, "LOCALLLM_SERVE_TOKEN": "another-of-some-length"})
    world.configure(configuration(*agents.urls))
    with world.serving("--token-env", "MY_TOKEN") as serving:
        assert serving.ask(Authorization="Bearer another-of-some-length").status_code == 401
        assert serving.ask(Authorization=f"Bearer {token}").status_code == 200
    assert any("MY_TOKEN" in line for line in serving.said)
    ended = world.run("serve", "--port", "0", "--token-env", "NOT_SET")
    assert ended.returncode == 2
    assert "NOT_SET" in ended.stderr


def test_its_limits_can_be_set(world: ServeWorld, agents: Agents) -> None:
    gate = _held(agents)
    world.configure(configuration(*agents.urls))
    with world.serving("--max-runs", "1", "--max-body", "1000", "--max-seconds", "0.5") as serving:
        assert serving.ask("x" * 2_000).status_code == 413
        asking = threading.Thread(target=serving.ask)
        asking.start()
        gate.wait_until_it_holds(1)
        busy = serving.ask()
        asking.join()
        assert serving.ask().status_code == 504
        assert busy.status_code == 429
        gate.open()
        assert serving.ask().status_code == 200


def test_a_key_that_is_not_set_is_named(world: ServeWorld) -> None:
    data = configuration(NOWHERE, NOWHERE)
    data["worker_agents"][0]["api_key_env"] = "NO_SUCH_KEY"
    world.configure(data)
    ended = world.run("serve", "--config", "config.json", "--port", "0")
    assert ended.returncode == 2
    assert "NO_SUCH_KEY" in ended.stderr


def test_in_japanese(tmp_path: Path) -> None:
    world = ServeWorld(tmp_path, "ja_JP.UTF-8")
    world.configure("[]")
    ended = world.run("serve")
    assert ended.returncode == 2
    assert "設定" in ended.stderr


def test_the_example_runs(world: ServeWorld) -> None:
    shutil.copytree(EXAMPLE, world.project / "ensemble")
    with world.serving("--config", "ensemble/config.json") as serving:
        for _ in range(2):
            body = serving.ask("What is the capital of Australia?").json()
            assert body["final_answer"].startswith("Canberra")
            assert body["metadata"]["failed_workers"] == 1
        asked = {"model": "ensemble", "messages": [{"role": "user", "content": "What is the capital?"}]}
        answered = httpx.post(f"{serving.url}/v1/chat/completions", json=asked, timeout=30).json()
        assert answered["choices"][0]["message"]["content"].startswith("Canberra")


def test_under_nohup_it_outlives_its_terminal(world: ServeWorld, agents: Agents) -> None:
    world.configure(configuration(*agents.urls))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with world.serving() as serving:
            serving.signal(signal.SIGHUP)
            assert serving.ask().json()["final_answer"] == "42"
            serving.signal(signal.SIGTERM)
            assert serving.end() == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_hang_up_ends_it_otherwise(world: ServeWorld, agents: Agents) -> None:
    world.configure(configuration(*agents.urls))
    with world.serving() as serving:
        serving.signal(signal.SIGHUP)
        assert serving.end() == 128 + signal.SIGHUP


def test_a_reader_that_has_gone_does_not_end_it(world: ServeWorld, agents: Agents) -> None:
    world.configure(configuration(*agents.urls))
    process = world.begin("serve", "--port", "0")
    try:
        assert process.stderr is not None
        said = ""
        while "Ctrl+C" not in said:
            said += process.stderr.readline()
        found = re.search(r"http://[\d.:]+", said)
        assert found
        process.stderr.close()
        world.configure(configuration(agents.urls[0], agents.urls[1]))
        workers = 0
        while workers != 1:
            answered = httpx.post(f"{found[0]}/generate", json={"prompt": "What is it?"}, timeout=30)
            workers = answered.json()["metadata"]["total_workers"]
    finally:
        process.kill()
        process.communicate()
