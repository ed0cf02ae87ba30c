"""config.json: the paper's example loads as it is; everything wrong is an error with file, field and fix."""

import json
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.base.errors import ConfigurationError
from localllm.ensemble.config import AgentConfig, SystemSettings
from localllm.ensemble.config_file import as_json, parse_config, read_config, write_config
from localllm.ensemble.config_reach import refuse_far_reach
from tests.support.each import each

FILE = Path("config.json")
DOCUMENT = Path(__file__).parents[3] / "docs" / "ensemble.md"

EXAMPLE = """{
  "reviewer_agent": {
    "name": "Reviewer (Llama 3 70B)",
    "api_url": "http://192.168.1.100:11434/api/chat",
    "model": "llama3:70b",
    "timeout": 120
  },
  "worker_agents": [
    {
      "name": "Worker A (Llama 3 8B)",
      "api_url": "http://192.168.1.101:11434/api/chat",
      "model": "llama3:8b",
      "timeout": 60
    },
    {
      "name": "Worker B (DeepSeek Coder)",
      "api_url": "http://192.168.1.102:11434/api/chat",
      "model": "deepseek-coder",
      "timeout": 60
    }
  ],
  "system_settings": {
    "max_retries": 1,
    "default_timeout": 60,
    "stream": false
  }
}
"""
"""The form the paper gives."""


def changed(path: str, value: Any) -> str:
    """The example with one value changed; `...` leaves it out."""
    data: Any = json.loads(EXAMPLE)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = data
    for part in parents:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(data)


def fault(text: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        parse_config(text, FILE)
    error = caught.value
    assert str(FILE) in error.what
    assert error.fix
    assert error.exit_code == 2
    return error


def test_the_papers_example_loads_as_it_is() -> None:
    config = parse_config(EXAMPLE, FILE)
    assert config.reviewer_agent.name == "Reviewer (Llama 3 70B)"
    assert config.reviewer_agent.timeout == 120
    assert [agent.model for agent in config.worker_agents] == ["llama3:8b", "deepseek-coder"]
    assert {agent.provider for agent in config.worker_agents} == {"ollama"}
    assert config.worker_agents[0].api_url == "http://192.168.1.101:11434/api/chat"
    assert config.system_settings.max_retries == 1


@each(
    ("path", "value", "key", "named"),
    [
        ("reviewer_agent", ..., "ensemble_config_lacks", "reviewer_agent"),
        ("worker_agents", ..., "ensemble_config_lacks", "worker_agents"),
        ("worker_agents", [], "ensemble_config_lacks", "worker_agents"),
        ("worker_agents", {}, "config_wrong_type", "worker_agents"),
        ("worker_agents.1", "llama3", "config_wrong_type", "worker_agents[1]"),
        ("worker_agents.1.name", ..., "ensemble_config_lacks", "worker_agents[1].name"),
        ("worker_agents.1.api_url", ..., "ensemble_config_lacks", "worker_agents[1].api_url"),
        ("worker_agents.1.model", " ", "ensemble_config_lacks", "worker_agents[1].model"),
        ("reviewer_agent.model", ..., "ensemble_config_lacks", "reviewer_agent.model"),
        ("worker_agents.1.name", "Worker A (Llama 3 8B)", "ensemble_config_same_name", "worker_agents[1].name"),
        ("worker_agents.1.name", "a\nb", "config_wrong_type", "worker_agents[1].name"),
        ("worker_agents.1.name", {}, "config_wrong_type", "worker_agents[1].name"),
        ("worker_agents.1.api_url", "http://", "ensemble_config_bad_address", "worker_agents[1].api_url"),
        ("worker_agents.1.api_url", "localhost:port", "ensemble_config_bad_address", "worker_agents[1].api_url"),
        ("worker_agents.1.api_url", "ftp://host", "ensemble_config_bad_address", "worker_agents[1].api_url"),
        ("worker_agents.1.api_url", "http://me:pw-1@host", "ensemble_config_secret", "worker_agents[1].api_url"),
        ("worker_agents.1.provider", "anthropic", "config_wrong_type", "worker_agents[1].provider"),
        ("worker_agents.1.provider", "gguf", "ensemble_config_needless_address", "worker_agents[1].api_url"),
        ("worker_agents.1.timeout", -5, "config_wrong_type", "worker_agents[1].timeout"),
        ("worker_agents.1.timeout", 0, "config_wrong_type", "worker_agents[1].timeout"),
        ("worker_agents.1.timeout", "60", "config_wrong_type", "worker_agents[1].timeout"),
        ("worker_agents.1.timeout", True, "config_wrong_type", "worker_agents[1].timeout"),
        ("worker_agents.1.timeout", 10**400, "config_wrong_type", "worker_agents[1].timeout"),
        ("worker_agents.1.weight", -1, "config_wrong_type", "worker_agents[1].weight"),
        ("worker_agents.1.weight", None, "config_wrong_type", "worker_agents[1].weight"),
        ("worker_agents.1.when", "(", "ensemble_config_bad_pattern", "worker_agents[1].when"),
        ("worker_agents.1.api_key_env", "sk-abc", "ensemble_config_bad_variable", "worker_agents[1].api_key_env"),
        ("worker_agents.1.api_key", "sk-abc", "ensemble_config_secret", "worker_agents[1].api_key"),
        ("worker_agents.1.apiKey", "sk-abc", "ensemble_config_secret", "worker_agents[1].apiKey"),
        ("worker_agents.1.tiemout", 5, "ensemble_config_unknown_key", "worker_agents[1].tiemout"),
        ("system_settings", [], "config_wrong_type", "system_settings"),
        ("system_settings.max_retries", -1, "config_wrong_type", "system_settings.max_retries"),
        ("system_settings.stream", "false", "config_wrong_type", "system_settings.stream"),
        ("system_settings.strategy", "vot", "config_wrong_type", "system_settings.strategy"),
        ("system_settings.quorum", 1.5, "config_wrong_type", "system_settings.quorum"),
        ("workers", [], "ensemble_config_unknown_key", "workers"),
    ],
)
def test_a_wrong_value_is_told_with_its_place(path: str, value: Any, key: str, named: str) -> None:
    error = fault(changed(path, value))
    assert error.key == key
    assert f"“{named}”" in error.what
    assert "sk-abc" not in str(error)
    assert "pw-1" not in str(error)


@each(
    ("path", "near"),
    [
        ("worker_agents.0.tiemout", "timeout"),
        ("worker_agents.0.url", "api_url"),
        ("system_settings.timeout", "default_timeout"),
        ("workers", "worker_agents"),
        ("settings", "system_settings"),
        ("strategy", "system_settings.strategy"),
    ],
)
def test_an_unknown_key_leads_to_the_nearest_known_one(path: str, near: str) -> None:
    assert f"“{near}”" in fault(changed(path, 1)).fix


@each(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("\n{\n", 3, 1),
        (EXAMPLE[:-3], 26, 4),
        (EXAMPLE.replace('"stream": false', '"stream": false,'), 25, 20),
        (EXAMPLE.replace('"max_retries": 1,', '"max_retries": 1'), 24, 5),
        (EXAMPLE.replace('"max_retries": 1,', '"max_retries": 1, // once'), 23, 23),
        (EXAMPLE.replace('"max_retries": 1,', '"max_retries": NaN,'), 23, 20),
        (EXAMPLE.replace('"max_retries": 1,', f'"max_retries": {"9" * 5000},'), 23, 20),
        (EXAMPLE.replace('"llama3:8b"', "'llama3:8b'"), 12, 16),
        (EXAMPLE.replace('"llama3:8b"', '"llama3:8b'), 12, 27),
        (EXAMPLE.replace('"llama3:8b"', '"C:\\models"'), 12, 19),
        (EXAMPLE.replace('"llama3:8b"', '"\\ud83d"'), 12, 17),
        ("[" * 100_000, 1, 1),
    ],
    ids=lambda value: str(value)[-30:],
)
def test_broken_json_is_told_with_line_and_column(text: str, line: int, column: int) -> None:
    error = fault(text)
    assert error.key == "ensemble_config_bad_json"
    assert (error.params["line"], error.params["column"]) == (line, column)


def test_a_key_that_stands_twice_is_refused() -> None:
    error = fault(EXAMPLE.replace('"model": "llama3:8b",', '"model": "llama3:8b", "model": "llama3:70b",'))
    assert error.key == "ensemble_config_repeated_key"
    assert error.params["place"] == "Worker A (Llama 3 8B)"


def test_a_provider_without_a_server_needs_no_address() -> None:
    text = changed("worker_agents.1", {"name": "B", "provider": "scripted", "model": "turns.toml"})
    assert parse_config(text, FILE).worker_agents[1].base_url == ""


@each("data", [b"\xef\xbb\xbf" + EXAMPLE.encode(), EXAMPLE.replace("\n", "\r\n").encode()])
def test_what_editors_add_is_no_fault(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(data)
    assert len(read_config(tmp_path / "config.json").worker_agents) == 2


@each("data", [EXAMPLE.encode("utf-16"), b'{"name": "\xe9"}', EXAMPLE.encode() + b" " * 50_000_000])
def test_what_is_no_text_of_a_sensible_size_is_refused(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(data)
    with pytest.raises(ConfigurationError) as caught:
        read_config(file)
    assert caught.value.key == "ensemble_config_unreadable"
    assert str(file) in caught.value.what


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for place in (tmp_path, tmp_path / "pipe", tmp_path / "link"):
        with pytest.raises(ConfigurationError) as caught:
            read_config(place)
        assert caught.value.key == "ensemble_config_unreadable"
    with pytest.raises(ConfigurationError) as caught:
        read_config(tmp_path / "none.json")
    assert caught.value.key == "ensemble_config_missing"


def test_a_written_configuration_is_read_as_the_same() -> None:
    more = changed("worker_agents.1.temperature", 0.5).replace('"stream": false', '"stream": true, "quorum": 2')
    config = parse_config(more, FILE)
    assert parse_config(as_json(config), FILE) == config
    assert "weight" not in as_json(config)


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    victim, link = tmp_path / ".bashrc", tmp_path / "config.json"
    victim.write_text("mine")
    link.symlink_to(victim)
    for overwrite in (True, False):
        with pytest.raises(ConfigurationError) as caught:
            write_config(parse_config(EXAMPLE, FILE), link, overwrite=overwrite)
        assert caught.value.key == ("ensemble_config_unwritable" if overwrite else "ensemble_config_exists")
    assert victim.read_text() == "mine"
    link.unlink()
    for overwrite in (False, True):
        write_config(parse_config(EXAMPLE, FILE), link, overwrite=overwrite)
        assert read_config(link) == parse_config(EXAMPLE, FILE)


@each(
    ("provider", "written", "address"),
    [
        ("ollama", "192.168.1.1", "http://192.168.1.1:11434"),
        ("ollama", "gpu:1", "http://gpu:1"),
        ("ollama", "::1", "http://[::1]:11434"),
        ("ollama", "0.0.0.0", "http://127.0.0.1:11434"),
        ("ollama", "http://gpu:11434/api/chat", "http://gpu:11434"),
        ("ollama", "https://gpu.example", "https://gpu.example"),
        ("openai", "gpu", "http://gpu:8080"),
        ("openai", "http://gpu:8000/api/chat", "http://gpu:8000"),
        ("openai", "http://gpu:8000/v1", "http://gpu:8000/v1"),
        ("openai", "http://gpu:8000/api/chat/completions", "http://gpu:8000/api/chat/completions"),
        ("lmstudio", "gpu", "http://gpu:1234"),
        ("gemini", "generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com"),
        ("azure", "name.openai.azure.com", "https://name.openai.azure.com"),
    ],
)
def test_an_address_is_completed_as_its_provider_takes_it(provider: str, written: str, address: str) -> None:
    assert AgentConfig(name="A", model="m", provider=provider, api_url=written).base_url == address


def test_the_document_has_every_key_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", DOCUMENT.read_text("utf-8"), re.MULTILINE))
    for section in (AgentConfig, SystemSettings):
        for field in msgspec.structs.fields(section):
            shown = rows[field.name].strip().partition(":")[0].strip('`"')
            match field.default:
                case msgspec.NODEFAULT:
                    assert shown.startswith("required")
                case bool() as value:
                    assert shown == str(value).lower()
                case int() | float() as value:
                    assert float(shown) == value
                case str() as value if value:
                    assert shown == value
                case _:
                    assert shown


def test_the_document_s_example_loads() -> None:
    example = next(text for text in re.findall(r"```json\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL))
    config = parse_config(example, FILE)
    refuse_far_reach(config, FILE)
    assert config.worker_agents[1].base_url == "http://192.168.1.102:11434"
