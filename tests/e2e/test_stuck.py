"""A run that goes round in circles, as a person meets it: a real process, a model that plays a script."""

import json
from pathlib import Path

import pytest

from tests.e2e.test_oneshot import BUG, FIXED, localllm, project

__all__ = ["project"]

MISS = """
[[turn]]
calls = [{ name = "edit_file", arguments = { file_path = "prices.py", old_string = "return price", new_string = "x" } }]
"""
MEND = """
[[turn]]
[[turn.calls]]
name = "edit_file"
arguments = { file_path = "prices.py", old_string = "* discount", new_string = "* (1 - discount)" }
"""
ALONE = {"LOCALLLM_AGENTS_PANEL_ENABLED": "false"}
"""Without advisers: they would be asked of the same script."""


def script(tmp_path: Path, *turns: str) -> tuple[str, ...]:
    file = tmp_path / "script.toml"
    file.write_text("\n".join(turns))
    return "--provider", "scripted", "--script", str(file), "--yes"


def test_the_person_sees_each_rung_and_the_run_goes_on(project: Path, tmp_path: Path) -> None:
    plan = script(tmp_path, *[MISS] * 4, MEND, '[[turn]]\ntext = "Mended."')
    run = localllm(project, *plan, "-p", "fix the discount", **ALONE)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "Mended.\n"
    assert (project / "prices.py").read_text() == FIXED
    assert "3 edits of prices.py did not match the file" in " ".join(run.stderr.split())
    assert "step back" in run.stderr


@pytest.mark.parametrize(("language", "words"), [("C.UTF-8", "Goal:"), ("ja_JP.UTF-8", "目標:")])
def test_one_that_stays_stuck_ends_with_the_report(project: Path, tmp_path: Path, language: str, words: str) -> None:
    plan = script(tmp_path, *[MISS] * 20)
    run = localllm(project, *plan, "-p", "fix the discount", LANG=language, **ALONE)
    assert run.returncode == 3, run.stderr
    assert f"{words} fix the discount" in run.stdout
    assert "edit_file prices.py" in run.stdout
    assert (project / "prices.py").read_text() == BUG


def test_a_program_reads_that_it_was_stuck(project: Path, tmp_path: Path) -> None:
    plan = script(tmp_path, *[MISS] * 20)
    run = localllm(project, *plan, "-p", "fix the discount", "--output", "json", **ALONE)
    assert run.returncode == 3
    told = json.loads(run.stdout)
    assert told["status"] == "stuck"
    assert told["success"] is False
