"""What a configuration may ask for that its user has not named, and what a change of one that he has."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.base import offline
from localllm.base.errors import ConfigurationError
from localllm.ensemble.config import AgentConfig, EnsembleConfig, SystemSettings
from localllm.ensemble.config_reach import (
    is_near,
    is_on_this_machine,
    is_safe_in,
    lies_in,
    refuse_far_reach,
    refuse_more_reach,
    refuse_unnamed_servers,
)
from tests.support.each import each

FILE = Path("config.json")
NEAR = AgentConfig(name="A", api_url="http://192.168.1.101:11434/api/chat", model="llama3:8b")


def config(*, check: str = "", **worker: Any) -> EnsembleConfig:
    """A reviewer and a worker of the own network, with changes of the worker."""
    return EnsembleConfig(
        reviewer_agent=msgspec.structs.replace(NEAR, name="R"),
        worker_agents=(msgspec.structs.replace(NEAR, **worker),),
        system_settings=SystemSettings(check=check),
    )


FAR: list[tuple[dict[str, Any], str]] = [
    ({"api_key_env": "OTHER_TOKEN"}, "OTHER_TOKEN"),
    ({"api_url": "https://models.example.com"}, "models.example.com"),
    ({"check": "pytest"}, "check"),
    ({"api_url": "", "provider": "gguf", "model": "m.gguf"}, "model file"),
    ({"api_url": "", "provider": "scripted", "model": "/dev/zero"}, "scripted"),
    ({"model": "m:671b-cloud"}, "m:671b-cloud"),
]


@each(("changes", "word"), FAR)
def test_a_file_that_was_only_found_may_not_reach_far(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        refuse_far_reach(config(**changes), FILE)
    assert caught.value.key == "ensemble_config_unnamed"
    assert word in caught.value.why


@each(
    ("changes", "word"),
    [
        *FAR,
        ({"api_key_env": "MY_KEY", "api_url": "http://192.168.1.66"}, "MY_KEY"),
        ({"api_url": "http://gpu.lan:8080"}, "gpu.lan"),
        ({"api_url": "http://ai"}, "http://ai"),
    ],
)
def test_a_file_that_has_changed_may_not_reach_further_than_it_did(changes: dict[str, Any], word: str) -> None:
    first = config(api_key_env="MY_KEY", check="make test")
    with pytest.raises(ConfigurationError) as caught:
        refuse_more_reach(config(**changes), first, FILE)
    assert caught.value.key == "ensemble_config_reaches_further"
    assert word in caught.value.why


@each("address", ["http://192.168.1.66", "localhost:9", "http://127.0.0.1", "http://[::1]:9", "fd00::1"])
def test_a_change_may_ask_more_servers_by_their_addresses(address: str) -> None:
    refuse_more_reach(config(api_url=address), config(), FILE)


@each(("changes", "word"), [*FAR, ({"api_url": "http://gpu.lan:8080"}, "gpu.lan")])
def test_what_the_user_has_named_may_stay_and_go(changes: dict[str, Any], word: str) -> None:
    first = config(**changes)
    refuse_more_reach(first, first, FILE)
    refuse_more_reach(config(), first, FILE)
    refuse_more_reach(config(**{"name": word, "system": "Be brief.", **changes}), first, FILE)


@each(
    "address",
    [
        *("http://192.168.1.4:11434", "localhost", "http://[::1]:1234", "gpu", "GPU_2:8080", "gpu.local", "fd00::1"),
        *(
            "http://169.254.1.2:11434",
            "http://[fe80::1]",
            "http://gpu.home.arpa/v1",
            "a.b.internal",
            "http://[::ffff:10.0.0.1]",
            "https://3090ti",
        ),
    ],
)
def test_the_own_network_is_near(address: str) -> None:
    assert is_near(AgentConfig(name="A", api_url=address, model="m").base_url)


@each(
    "address",
    [
        *("http://8.8.8.8:11434", "http://[2001:db8::1]", "https://example.com", "http://example.com.", "http://gpu."),
        *("http://134744072", "http://0x08080808", "http://0x8.8.8", "http://127.1", "http://0", "http://gpu.0x7f"),
        *("http://evil\u3002example", "http://evil\uff0eexample", "http://8\uff618\uff618\uff618", "http://ｇｐｕ"),
        *(
            "http://169.254.169.254",
            "http://169.254.170.2",
            "http://[fd00:ec2::254]",
            "http://[::ffff:169.254.169.254]",
        ),
        *("http://240.0.0.1", "http://198.18.0.1", "http://255.255.255.255", "http://100.100.100.200"),
        *("http://me@gpu", "http://gpu\\@evil.example", "http://gpu?x=.local", "http://evil.example#.local"),
        *("http://gpu%2eexample", "http://.local", "http://a..local", "ftp://gpu", "http://[::ffff:8.8.8.8]", ""),
    ],
)
def test_other_addresses_are_not(address: str) -> None:
    assert not is_near(address)


@each(
    ("changes", "is_here"),
    [
        ({"api_url": "localhost"}, True),
        ({"api_url": "", "provider": "gguf", "model": "m.gguf"}, True),
        ({"api_url": "localhost", "model": "m:cloud"}, False),
        ({"api_url": "http://192.168.1.4"}, False),
    ],
)
def test_who_is_on_this_machine(changes: dict[str, Any], is_here: bool) -> None:
    (worker,) = config(**changes).worker_agents
    assert is_on_this_machine(EnsembleConfig(reviewer_agent=worker, worker_agents=(worker,))) is is_here


def test_a_file_lies_in_a_folder_by_its_path_and_by_where_links_lead(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    (root / "sub").mkdir(parents=True)
    other.mkdir()
    (root / "out.json").symlink_to(other / "x.json")
    (other / "in.json").symlink_to(root / "x.json")
    (tmp_path / "name").symlink_to(root)
    for inside in (root / "x.json", root / "out.json", other / "in.json", other / "../root/x", tmp_path / "name/x"):
        assert lies_in(inside, root), inside
        assert lies_in(inside, tmp_path / "name") or inside == root / "out.json", inside
    assert not lies_in(other / "x.json", root)
    assert not lies_in(root / "../x.json", root)


def test_a_file_is_safe_in_a_folder_only_by_its_path_and_by_where_links_lead(tmp_path: Path) -> None:
    own, project = tmp_path / "own", tmp_path / "project"
    own.mkdir()
    project.mkdir()
    (own / "out.json").symlink_to(project / "x.json")
    (own / "other.json").symlink_to(own / "x.json")
    (project / "in.json").symlink_to(own / "x.json")
    (tmp_path / "name").symlink_to(own)
    for safe in (own / "x.json", own / "other.json"):
        assert is_safe_in(own, safe, project), safe
        assert is_safe_in(tmp_path / "name", safe, project), safe
        assert not is_safe_in(own, safe, tmp_path), "commands of a project that holds the folder can write there"
    for open_to_others in (own / "out.json", project / "in.json", project / "x.json", tmp_path / "name/x.json"):
        assert not is_safe_in(own, open_to_others, project), open_to_others


def test_offline_a_change_may_not_ask_servers_that_were_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = config(api_url="http://192.168.1.9")
    refuse_unnamed_servers(moved, FILE)
    named = ["http://192.168.1.101:11434"]
    monkeypatch.setattr(offline.__dict__["_Process"], "guard", offline.Guard(named))
    refuse_unnamed_servers(config(), FILE)
    refuse_unnamed_servers(config(api_url="localhost:4000"), FILE)
    refuse_unnamed_servers(config(api_url="", provider="gguf", model="m.gguf"), FILE)
    with pytest.raises(ConfigurationError) as caught:
        refuse_unnamed_servers(moved, FILE)
    assert caught.value.code == "E1116"
    assert "192.168.1.9" in caught.value.why
