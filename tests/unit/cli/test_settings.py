"""The settings as the command line names them."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from localllm.base.errors import ConfigurationError
from localllm.cli.settings import load_here, overrides, print_error, take_back

NONE = dict.fromkeys(["script", "base_url", "provider", "model", "mode", "offline"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {}),
        ({"offline": True}, {"offline": True}),
        ({"mode": "plan"}, {"safety.mode": "plan", "safety.require_confirmation": True}),
        ({"mode": "auto"}, {"safety.mode": "auto", "safety.require_confirmation": False}),
        ({"base_url": "http://h"}, {"llm.provider": "openai", "llm.openai.base_url": "http://h"}),
        (
            {"base_url": "http://h", "provider": "ollama", "model": "m"},
            {"llm.provider": "ollama", "llm.model": "m", "llm.ollama.base_url": "http://h"},
        ),
        ({"script": "/a.toml"}, {"llm.provider": "scripted", "llm.scripted.file": "/a.toml"}),
    ],
)
def test_an_address_or_a_script_implies_its_provider(options: dict[str, str], expected: dict[str, str]) -> None:
    assert overrides({**NONE, **options}) == expected


@pytest.mark.parametrize("written", ["m.gguf", "./m.gguf", "M.GGUF", "~/m.gguf"])
def test_a_model_file_that_is_there_implies_its_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("m.gguf", "M.GGUF"):
        (tmp_path / name).touch()
    file = str(tmp_path / Path(written).name)
    assert overrides({**NONE, "model": written}) == {"llm.provider": "gguf", "llm.gguf.file": file}


def test_a_path_means_a_file_even_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = {"llm.provider": "gguf", "llm.gguf.file": str(tmp_path / "models" / "m.gguf")}
    assert overrides({**NONE, "model": "models/m.gguf"}) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"model": "m.gguf"}, {"llm.model": "m.gguf"}),
        ({"model": "qwen/qwen3-8b"}, {"llm.model": "qwen/qwen3-8b"}),
        ({"model": "there.gguf", "provider": "openai"}, {"llm.provider": "openai", "llm.model": "there.gguf"}),
        (
            {"model": "there.gguf", "base_url": "http://h"},
            {"llm.provider": "openai", "llm.model": "there.gguf", "llm.openai.base_url": "http://h"},
        ),
    ],
)
def test_other_names_are_models_of_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str], expected: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.gguf").touch()
    assert overrides({**NONE, **options}) == expected


def test_with_the_provider_gguf_every_name_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = {"llm.provider": "gguf", "llm.gguf.file": str(tmp_path / "m.bin")}
    assert overrides({**NONE, "model": "m.bin", "provider": "gguf"}) == expected


KILLED = """
import os, signal, sys
from pathlib import Path
from localllm.sandbox.protect.revert import ProtectedFiles
root, quarantine = map(Path, sys.argv[1:])
ProtectedFiles(root, quarantine, coarse=50_000_000).begin()
(root / "localllm.toml").unlink()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_settings_that_a_killed_command_took_away_are_back_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, state = (tmp_path / "project").resolve(), tmp_path / "state"
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / "localllm.toml").write_text('[safety]\ndeny = ["read_file(secret.txt)"]\n')
    monkeypatch.chdir(root)
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(state))
    subprocess.run([sys.executable, "-c", KILLED, root, state / "quarantine"], check=False)
    assert not (root / "localllm.toml").exists()
    context = click.Context(click.Command("localllm"))
    context.params = {**NONE, "trust_project": False, "lang": None}
    assert load_here(context)[1].settings.safety.deny == ("read_file(secret.txt)",)
    assert take_back(root) == 0


LINKED = """
import os, signal, sys
from pathlib import Path
from localllm.sandbox.protect.revert import ProtectedFiles
root, quarantine = map(Path, sys.argv[1:])
ProtectedFiles(root, quarantine).begin()
(root / "node_modules").symlink_to(root.parent / "Documents")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_link_to_the_home_that_a_killed_command_left_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, state = (tmp_path / "home/project").resolve(), tmp_path / "state"
    subprocess.run(["git", "init", "-q", root], check=True)
    (root.parent / "Documents").mkdir()
    monkeypatch.setenv("HOME", str(root.parent))
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(state))
    subprocess.run([sys.executable, "-c", LINKED, root, state / "quarantine"], check=False)
    assert (root / "node_modules").is_symlink()
    assert take_back(root) == 1
    assert not (root / "node_modules").is_symlink()


def test_no_part_of_an_error_begins_a_line_of_the_programs(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(ConfigurationError("config_unreadable", file="a\nlocalllm: forged", reason="b\nlocalllm: forged"))
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.startswith("localllm: E")
    assert rest
    assert all(line.startswith("  ") for line in rest)
