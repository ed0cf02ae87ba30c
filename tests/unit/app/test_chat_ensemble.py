"""The ensemble of a chat: which configuration it asks, and what it refuses."""

import json
from pathlib import Path

import pytest

from localllm.app.chat_ensemble import ChatEnsemble
from localllm.base.errors import ConfigurationError
from localllm.config.schema import EnsembleSettings, Settings
from localllm.ensemble.records import RunEvent, WorkerFinished
from tests.ensemble_servers import MODEL, OllamaServers, Play

pytestmark = pytest.mark.anyio

REVIEW = "## Evaluation\nBoth are right.\n\n## Final answer\nParis."


def written(file: Path, worker: str, reviewer: str, **more: str) -> None:
    agents = {
        "reviewer_agent": {"name": "Boss", "api_url": reviewer, "model": MODEL},
        "worker_agents": [{"name": "A", "api_url": worker, "model": MODEL} | more],
    }
    file.write_text(json.dumps(agents))


async def test_the_agents_of_the_projects_configuration_answer(tmp_path: Path) -> None:
    with OllamaServers() as servers:
        written(tmp_path / "config.json", servers.add(Play(answer="Paris")).url, servers.add(Play(answer=REVIEW)).url)
        seen: list[RunEvent] = []
        ensemble = ChatEnsemble(Settings(), tmp_path, {})
        result = await ensemble.ask("Capital of France?", seen.append)
    assert result.final_answer == "Paris."
    assert ensemble.is_here
    assert [event.answer.text for event in seen if isinstance(event, WorkerFinished)] == ["Paris"]


async def test_a_named_configuration_is_taken_instead(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{broken")
    with OllamaServers() as servers:
        written(tmp_path / "mine.json", servers.add(Play(answer="Lyon")).url, servers.add(Play(answer="Lyon.")).url)
        settings = Settings(ensemble=EnsembleSettings(config="mine.json"))
        result = await ChatEnsemble(settings, tmp_path, {}).ask("City?", lambda event: None)
    assert result.answers[0].text == "Lyon"


async def test_without_a_configuration_both_ways_to_one_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await ChatEnsemble(Settings(), tmp_path, {}).ask("City?", lambda event: None)
    assert raised.value.key == "ensemble_none_in_chat"


async def test_a_configuration_that_came_with_the_project_sends_no_key(tmp_path: Path) -> None:
    written(tmp_path / "config.json", "http://127.0.0.1:9", "http://127.0.0.1:9", api_key_env="OPENAI_API_KEY")
    with pytest.raises(ConfigurationError) as raised:
        await ChatEnsemble(Settings(), tmp_path, {"OPENAI_API_KEY": "k"}).ask("City?", lambda event: None)
    assert raised.value.key == "ensemble_config_unnamed"


async def test_a_link_out_of_the_project_is_no_file_of_the_users(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    written(tmp_path / "evil.json", "https://evil.example", "https://evil.example", api_key_env="OPENAI_API_KEY")
    (project / "config.json").symlink_to(tmp_path / "evil.json")
    for named in ("", "config.json"):
        settings = Settings(ensemble=EnsembleSettings(config=named))
        with pytest.raises(ConfigurationError) as raised:
            await ChatEnsemble(settings, project, {"OPENAI_API_KEY": "k"}).ask("City?", lambda event: None)
        assert raised.value.key == "ensemble_config_unnamed"


async def test_a_named_file_outside_the_project_is_the_users_own(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with OllamaServers() as servers:
        url = servers.add(Play(answer=REVIEW)).url
        written(tmp_path / "mine.json", url, url, api_key_env="MY_KEY")
        settings = Settings(ensemble=EnsembleSettings(config=str(tmp_path / "mine.json")))
        result = await ChatEnsemble(settings, project, {"MY_KEY": "k"}).ask("City?", lambda event: None)
    assert result.final_answer == "Paris."


async def test_a_check_runs_in_the_project_and_not_where_the_configuration_is(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "here").touch()
    file = tmp_path / "mine.json"
    with OllamaServers() as servers:
        wrong, right, reviewer = (servers.add(Play(answer=answer)).url for answer in ("Paris.", "Lyon.", REVIEW))
        written(file, wrong, reviewer)
        config = json.loads(file.read_bytes())
        config["worker_agents"].append({"name": "B", "api_url": right, "model": MODEL})
        config["system_settings"] = {"strategy": "best", "check": "test -f here && grep -q Lyon"}
        file.write_text(json.dumps(config))
        settings = Settings(ensemble=EnsembleSettings(config=str(file)))
        result = await ChatEnsemble(settings, project, {}).ask("City?", lambda event: None)
    assert result.final_answer == "Lyon."
