"""What the doctor says of a folder with the configuration of an ensemble."""

import json
from pathlib import Path

import pytest

from localllm.integrations.doctor.ensemble_setup import ensemble
from localllm.integrations.doctor.inputs import Finding
from tests.ensemble_servers import OllamaServers, Play
from tests.support.doctor_world import surroundings
from tests.support.serving import NOWHERE, configuration

pytestmark = pytest.mark.anyio


async def found(folder: Path, data: object) -> list[Finding]:
    here = surroundings(folder)
    text = data if isinstance(data, str) else json.dumps(data)
    (here.project / "config.json").write_text(text)
    return await ensemble(here)


async def test_nothing_is_said_where_there_is_none(tmp_path: Path) -> None:
    assert await ensemble(surroundings(tmp_path)) == []
    assert await found(tmp_path, '{"compilerOptions": {}}') == []
    assert await found(tmp_path, "{") == []


async def test_a_wrong_one_is_a_problem(tmp_path: Path) -> None:
    (finding,) = await found(tmp_path, {"reviewer_agent": {}, "worker_agents": []})
    assert finding.status == "problem"
    assert "reviewer_agent.name" in finding.what
    assert finding.fix


async def test_agents_that_answer_are_as_they_should_be(tmp_path: Path) -> None:
    with OllamaServers() as servers:
        url = servers.add(Play()).url
        (finding,) = await found(tmp_path, configuration(url, url, url))
    assert (finding.name, finding.status) == ("ensemble", "ok")


async def test_who_does_not_answer_and_what_is_not_there_is_named(tmp_path: Path) -> None:
    with OllamaServers() as servers:
        url = servers.add(Play()).url
        data = configuration(url, NOWHERE, url)
        data["worker_agents"][1]["model"] = "no-such-model"
        findings = await found(tmp_path, data)
    assert [finding.status for finding in findings] == ["warning", "warning"]
    said = " ".join(finding.what for finding in findings)
    assert "W0" in said
    assert "no-such-model" in said
    (unreachable,) = (finding for finding in findings if "no-such-model" not in finding.what)
    assert "api_url" in unreachable.fix, "what is to be corrected stands in the configuration, not in the settings"


async def test_nothing_is_sent_where_the_file_would_have_to_be_named(tmp_path: Path) -> None:
    with OllamaServers() as servers:
        server = servers.add(Play())
        data = configuration(server.url, server.url)
        data["worker_agents"][0] |= {"api_key_env": "HOME", "provider": "openai"}
        (finding,) = await found(tmp_path, data)
        assert server.connections == 0
    assert (finding.name, finding.status) == ("ensemble", "warning")
    assert "--config" in finding.fix
