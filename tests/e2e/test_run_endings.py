"""How a one-shot run ends for who reads its screen, its JSON and its exit code; a model that plays a script."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_oneshot import BUG, FIXED, TEST, localllm, project

__all__ = ["project"]

EDIT = """
[[turn]]
[[turn.calls]]
name = "edit_file"
arguments = { file_path = "prices.py", old_string = "* discount", new_string = "* (1 - discount)" }
"""
RUN_TESTS = """
[[turn]]
calls = [{ name = "run_command", arguments = { command = "python3 -B -m unittest -q 2>&1 | tail -2" } }]
"""
LANGUAGES = ("C.UTF-8", "ja_JP.UTF-8")


def says(text: str) -> str:
    return f"[[turn]]\ntext = {json.dumps(text)}\n"


def script(tmp_path: Path, *turns: str) -> tuple[str, ...]:
    file = tmp_path / "script.toml"
    file.write_text("\n".join(turns))
    return "--provider", "scripted", "--script", str(file), "--yes", "-p", "Fix the discount in prices.py"


def report(text: str) -> dict[str, Any]:
    return json.loads(text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_done_and_verified(project: Path, tmp_path: Path, language: str) -> None:
    plan = script(tmp_path, EDIT, RUN_TESTS, says("The discount is right now, and all tests pass."))
    run = localllm(project, *plan, "--output", "json", LANG=language)
    told = report(run.stdout)
    assert (run.returncode, told["status"], told["verified"], told["unverified"]) == (0, "done", True, [])
    assert (project / "prices.py").read_text() == FIXED
    assert "! " not in run.stderr


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (LANGUAGES[0], "! Not verified: nothing was run after prices.py changed.\n"),
        (LANGUAGES[1], "! 未確認：prices.py を変更したあと、何も実行されていません。\n"),
    ],
)
def test_done_and_not_verified(project: Path, tmp_path: Path, language: str, words: str) -> None:
    plan = script(tmp_path, EDIT, says("The discount is right now."))
    run = localllm(project, *plan, LANG=language)
    assert (run.returncode, run.stdout) == (0, "The discount is right now.\n")
    assert words in run.stderr
    (project / "prices.py").write_text(BUG)
    told = report(localllm(project, *plan, "--output", "json", LANG=language).stdout)
    assert (told["success"], told["status"], told["verified"], len(told["unverified"])) == (True, "done", False, 1)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (LANGUAGES[0], "Not finished: the last test run failed (python3 -B -m unittest -q 2>&1 | tail -2)."),
        (LANGUAGES[1], "未完了：最後のテストは失敗しました（python3 -B -m unittest -q 2>&1 | tail -2）。"),
    ],
)
def test_not_done(project: Path, tmp_path: Path, language: str, words: str) -> None:
    (project / "test_prices.py").write_text(TEST.replace(", 3)", ", 4)"))
    lie = says("I fixed the discount. All tests pass now.")
    plan = script(tmp_path, EDIT, RUN_TESTS, lie, lie)
    run = localllm(project, *plan, LANG=language)
    assert run.returncode == 3
    assert run.stdout == f"I fixed the discount. All tests pass now.\n\n{words}\n"
    (project / "prices.py").write_text(BUG)
    run = localllm(project, *plan, "--output", "json", LANG=language)
    told = report(run.stdout)
    assert (run.returncode, told["success"], told["status"], told["verified"]) == (3, False, "incomplete", False)
    assert told["unverified"]


def test_a_command_as_the_whole_answer_is_run(project: Path, tmp_path: Path) -> None:
    block = says("```bash\nsed -i 's/\\* discount/* (1 - discount)/' prices.py\n```")
    run = localllm(project, *script(tmp_path, block, RUN_TESTS, says("Fixed; the tests pass.")))
    assert (run.returncode, run.stdout) == (0, "Fixed; the tests pass.\n")
    assert (project / "prices.py").read_text() == FIXED
    assert "The model wrote out a step instead of calling a tool: it is run as run_command." in " ".join(
        run.stderr.split()
    )
