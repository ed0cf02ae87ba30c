"""Roles of the panel that are ensembles: the chat's own process, `localllm serve`, and models on loopback."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from localllm.base.events import Consulted
from localllm.sessions.log import read_session
from tests.ensemble_servers import OllamaServer, OllamaServers, Play
from tests.support.serving import NOWHERE, ServeWorld, configuration
from tests.support.wire_server import Reply, WireServer, calls, says

MERGED = "Only the reviewer of the ensemble says: mind the comma."
PLAN: dict[str, Any] = {
    "verdict": "old_string was guessed",
    "next_action": "edit the line return sum(prices) * 0",
    "avoid": "the same edit again",
    "check": "read prices.py",
    "confidence": 0.9,
}
READ = ("read_file", {"file_path": "prices.py"})
FAILING = ("edit_file", {"file_path": "prices.py", "old_string": "return sum(p) * rate - 1", "new_string": "x"})


class Model(WireServer):
    """A model that reads a file and then repeats an edit that fails, until a text of its prompt holds `advice`."""

    def __init__(self, advice: str) -> None:
        super().__init__([])
        self._advice = advice

    def next_reply(self, body: bytes) -> Reply:
        self.requests.append(body)
        messages: Sequence[dict[str, Any]] = json.loads(body)["messages"]
        if any(self._advice in str(said["content"]) for said in messages):
            return says("I will mind it.")
        return calls(FAILING if any(said.get("tool_calls") for said in messages) else READ)


class Panel:
    """A user with an ensemble that runs, whose reviewer writes `answer`, and a panel of which one role is that."""

    def __init__(self, world: ServeWorld, servers: OllamaServers, answer: str) -> None:
        review = f"## Evaluation\nBoth are right.\n\n## Final answer\n{answer}"
        self.reviewer: OllamaServer = servers.add(Play(answer=review))
        self.workers = [servers.add(Play(answer=f"Worker {number} is of another mind.")) for number in range(2)]
        world.configure(configuration(self.reviewer.url, *(worker.url for worker in self.workers)))
        self.world = world

    def run(self, model: WireServer, **roles: str) -> list[Consulted]:
        """Have the model work, with the roles at these addresses; what the panel has said."""
        lines = ["[llm]", 'provider = "openai"', "max_retries = 0", f'openai.base_url = "{model.url}"']
        for role, url in roles.items():
            lines += [f"[agents.panel.{role}]", 'provider = "openai"', 'model = "ensemble"', f'base_url = "{url}"']
        self.world.write_settings("\n".join(lines))
        (self.world.project / "prices.py").write_text("def total(prices):\n    return sum(prices) * 0\n")
        done = self.world.run("-p", "Fix the total", "--yes")
        assert "Traceback" not in done.stderr, done.stderr
        (log,) = (self.world.folder / "home" / "state" / "sessions").glob("*/*.jsonl")
        return [event for event in read_session(log).events if isinstance(event, Consulted)]


Made = Callable[[str], Panel]


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[Made]:
    with OllamaServers() as servers:
        yield lambda answer: Panel(ServeWorld(tmp_path), servers, answer)


def test_an_adviser_may_be_an_ensemble(panel: Made) -> None:
    """Its merged answer is an opinion, which the judge is shown; every agent was asked once for it."""
    asked = panel(MERGED)
    plan = json.dumps(PLAN)
    with Model(PLAN["next_action"]) as model, WireServer([says(plan)]) as judge, asked.world.serving() as serving:
        (said, *_) = asked.run(model, conservative=NOWHERE, progressive=serving.url, judge=judge.url, boss=NOWHERE)
    opinion = next(one for one in said.opinions if one.role == "progressive")
    assert (opinion.model, opinion.text) == ("ensemble", MERGED)
    assert MERGED in judge.bodies()[0]["messages"][1]["content"]
    assert PLAN["next_action"] in said.plan
    dossier = str(asked.workers[0].chats[0]["messages"])
    assert all(part in dossier for part in ("Fix the total", "old_string", "return sum(prices) * 0"))
    assert [len(agent.chats) for agent in (asked.reviewer, *asked.workers)] == [1, 1, 1]


@pytest.mark.parametrize("role", ["judge", "boss"])
def test_whoever_decides_may_be_an_ensemble(panel: Made, role: str) -> None:
    """It is asked for JSON of a schema, which an ensemble does not promise: its text is read as a verdict."""
    asked = panel(f"Here is the plan.\n\n{json.dumps({**PLAN, 'verdict': MERGED})}")
    unsure = says(json.dumps({**PLAN, "next_action": "look again", "confidence": 0.2}))
    with Model(PLAN["next_action"]) as model, WireServer([unsure]) as others, asked.world.serving() as serving:
        roles = dict.fromkeys(("conservative", "progressive", "judge", "boss"), others.url) | {role: serving.url}
        said = asked.run(model, **roles)
    (decided,) = [one for event in said for one in event.opinions if one.role == role]
    assert (decided.model, decided.text) == ("ensemble", MERGED)
    assert PLAN["next_action"] in said[-1].plan
    assert [len(agent.chats) for agent in (asked.reviewer, *asked.workers)] == [1, 1, 1]
