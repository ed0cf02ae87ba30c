"""What the agent begins with stays small."""

from datetime import date
from pathlib import Path

from localllm.agent.system_prompt import situation, system_prompt
from localllm.llm.model_profiles import COMPACT, STANDARD
from localllm.tools.builtin import TOOLS


def test_each_profile_has_a_prompt() -> None:
    standard, compact = system_prompt(STANDARD.prompt), system_prompt(COMPACT.prompt)
    assert standard == system_prompt()
    assert len(compact) <= 650 < len(standard)


def test_a_prompt_names_no_tool_its_profile_does_not_offer() -> None:
    others = {tool.name for tool in TOOLS} - (COMPACT.tools or set())
    assert not [other for other in others if other in system_prompt(COMPACT.prompt)]


def test_the_situation_names_the_day_and_the_top_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "読む.md").touch()
    (tmp_path / "odd\nname").touch()
    told = situation(tmp_path, date(2026, 11, 21))
    assert told == f"[Project {tmp_path.name}, 2026-11-21. Top level: src/ 読む.md]"


def test_a_crowded_folder_is_cut_short(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"f{number:02}").touch()
    told = situation(tmp_path, date(2026, 1, 1))
    assert "f39" in told
    assert "f40" not in told
    assert "100 in all" in told


def test_an_empty_folder_is_said_to_be_empty(tmp_path: Path) -> None:
    assert "empty" in situation(tmp_path, date(2026, 1, 1))
