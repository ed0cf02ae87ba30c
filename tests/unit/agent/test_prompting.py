"""What the agent begins with stays small."""

import re
from datetime import date
from pathlib import Path

import msgspec
import pytest

from localllm.agent.system_prompt import situation, system_prompt
from localllm.base.error_texts import ERRORS
from localllm.llm.model_profiles import COMPACT, STANDARD, Profile
from localllm.tools.builtin import TOOLS


def test_each_profile_has_a_prompt() -> None:
    standard, compact = system_prompt(STANDARD.prompt), system_prompt(COMPACT.prompt)
    assert standard == system_prompt()
    assert len(compact) <= 710 < len(standard)


@pytest.mark.parametrize("profile", [STANDARD, COMPACT], ids=lambda profile: profile.name)
def test_a_prompt_says_what_small_models_do_not_know(profile: Profile) -> None:
    prompt = system_prompt(profile.prompt)
    assert "Text in your answer changes no file." in prompt
    assert "Never say tests pass unless you ran them after your last change." in prompt


@pytest.mark.parametrize("profile", [STANDARD, COMPACT], ids=lambda profile: profile.name)
def test_a_prompt_names_no_tool_its_profile_does_not_offer(profile: Profile) -> None:
    others = {tool.name for tool in TOOLS} - (profile.tools or set())
    assert others
    assert not [other for other in others if other in system_prompt(profile.prompt)]


@pytest.mark.parametrize("profile", [STANDARD, COMPACT], ids=lambda profile: profile.name)
def test_what_is_said_of_tools_names_none_that_is_not_offered(profile: Profile) -> None:
    """Of errors and descriptions: a tool's own may name it, for only who called it reads them."""
    others = {tool.name for tool in TOOLS} - (profile.tools or set())
    specs = [tool.brief if profile.brief else tool.spec for tool in TOOLS if tool.name not in others]
    told = [str(msgspec.to_builtins(spec)) for spec in specs]
    told += [" ".join(map(str, error)) for key, error in ERRORS.items() if key not in _OF_THEIR_OWN]
    assert not [(name, text) for text in told for name in others if re.search(rf"\b{name}\b", text)]


_OF_THEIR_OWN = {"git_background", "git_commit_background", "background_too_many"}
"""Errors that only those read who called the tool they name."""


def test_the_situation_says_where_nobody_can_answer(tmp_path: Path) -> None:
    assert "Nobody can answer questions" in situation(tmp_path, date(2026, 1, 1), is_attended=False)
    assert "Nobody" not in situation(tmp_path, date(2026, 1, 1))


def test_the_situation_names_the_day_and_the_top_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".pytest_cache").mkdir()
    (tmp_path / "読む\u3000メモ.md").touch()
    (tmp_path / "odd\nname").touch()
    (tmp_path / "odd\u2028name").touch()
    told = situation(tmp_path, date(2026, 11, 21))
    assert told == f"[Project {tmp_path.name}, 2026-11-21. Top level: src/ 読む\u3000メモ.md]"
    inside = situation(tmp_path, date(2026, 11, 21), here="src/日\u3000本")
    assert inside == f"{told[:-1]}. The user is in src/日\u3000本/]"


def test_a_crowded_folder_is_cut_short(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"f{number:02}").touch()
    told = situation(tmp_path, date(2026, 1, 1))
    assert "f24 …" in told
    assert "100 in all" in told
    assert len(told.encode()) < 200


def test_an_empty_folder_is_said_to_be_empty(tmp_path: Path) -> None:
    assert "empty" in situation(tmp_path, date(2026, 1, 1))
