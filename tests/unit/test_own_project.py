"""The settings and the memory of localllm's own repository hold as they stand, and bother no newcomer."""

import re
import tomllib
from pathlib import Path

import pytest

from localllm.config.loader import load
from localllm.memory.document import Document
from localllm.memory.external_memory import digest
from localllm.tui.commands.builtin import COMMANDS
from localllm.tui.commands.registry import SlashRegistry

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "settings" / "localllm.toml"


def tables(file: Path) -> list[str]:
    return re.findall(r"^\[(.+?)\]", file.read_text("utf-8"), re.MULTILINE)


def test_it_has_the_sections_that_the_papers_show() -> None:
    assert tables(ROOT / "localllm.toml") == tables(EXAMPLE)


@pytest.mark.parametrize("trusted", [True, False])
def test_a_newcomer_is_not_bothered_by_it(tmp_path: Path, trusted: bool) -> None:
    loaded = load(ROOT, environ={"LOCALLLM_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path)}, trusted=trusted)
    assert loaded.settings.llm.provider == "auto"
    assert (loaded.warnings, loaded.withheld, loaded.held_back) == ((), (), None)


def test_no_alias_has_the_name_of_a_command() -> None:
    aliases = tomllib.loads((ROOT / "localllm.toml").read_text("utf-8"))["commands"]["aliases"]
    assert aliases
    assert SlashRegistry(COMMANDS, aliases).conflicts == []


def test_a_model_is_told_of_the_project_and_its_style() -> None:
    told = digest(Document((ROOT / "LOCALLLM.md").read_text("utf-8")), 2_000)
    assert "Language: Python 3.11+" in told
    assert "Type hints everywhere" in told
    assert "Research, the knowledge base" in told


def test_both_readmes_name_the_same_pages_and_commands() -> None:
    english, japanese = ((ROOT / name).read_text("utf-8") for name in ("README.md", "README.ja.md"))
    for pattern in (r"\]\(((?:docs/|evals|examples)[^)#]*)", r"`(/[a-z]+)`", r"`--[a-z-]*sandbox`"):
        assert {*re.findall(pattern, english)} <= {*re.findall(pattern, japanese)}
