"""What the agent begins with stays small."""

from datetime import date
from pathlib import Path

import msgspec

from localllm.agents.prompting import situation, system_prompt
from localllm.llm.providers.openai_compatible import tool_json
from localllm.tools.builtin import BUILTIN_TOOLS

LARGEST_FIRST_REQUEST = 6_000
"""Bytes of system prompt and tools: what a model reads before the user's first word."""


def test_the_first_request_is_small() -> None:
    tools = msgspec.json.encode([tool_json(tool.spec) for tool in BUILTIN_TOOLS])
    assert len(system_prompt().encode()) + len(tools) <= LARGEST_FIRST_REQUEST


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
