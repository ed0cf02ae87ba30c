"""A project that nobody can write to: questions are answered, commands run, and what was said is found again."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.test_oneshot import environment, kept_sessions
from tests.e2e.test_oneshot import localllm as writable
from tests.support.read_only import read_only

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mount namespaces are of Linux")

WORK = """
[[turn]]
calls = [{ name = "read_file", arguments = { file_path = "a.py" } }]
[[turn]]
calls = [{ name = "edit_file", arguments = { file_path = "a.py", old_string = "1", new_string = "2" } }]
[[turn]]
calls = [{ name = "todo", arguments = { action = "add", text = "test it" } }]
[[turn]]
calls = [{ name = "run_command", arguments = { command = "touch made; seq 1 30000" } }]
[[turn]]
text = "Looked; a.py could not be changed."
"""
AGAIN = '[[turn]]\ntext = "Again."\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n")
    (root / "LOCALLLM.md").write_text("# Shop\n\n## TODO\n\n- [ ] ship it\n")
    return root


def localllm(root: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "localllm", *arguments]
    done = read_only(root, command, environment(root) | {"COLUMNS": "400"} | variables)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def played(tmp_path: Path, script: str) -> list[str]:
    (tmp_path / "turns.toml").write_text(script)
    return ["--script", str(tmp_path / "turns.toml"), "--yes", "--output", "json"]


def test_it_is_worked_in_and_found_again(tmp_path: Path, project: Path) -> None:
    done = localllm(project, *played(tmp_path, WORK), "-p", "look around")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "Read-only file system" in line and "✗" not in line]
    assert ".localllm cannot be used here" in line
    assert [tool["success"] for tool in json.loads(done.stdout)["tools"]] == [True, False, True, True]
    (log,) = kept_sessions(project)
    text = log.read_text()
    for said in (
        "ship it",
        "Show the change in the answer",
        "touch: cannot touch",
        "tool-output/run_command-",
    ):
        assert said in text
    assert sorted(path.name for path in project.iterdir()) == ["LOCALLLM.md", "a.py"]

    assert localllm(project, "history", "list").stdout.startswith(log.stem)
    done = localllm(project, *played(tmp_path, AGAIN), "-c", "-p", "and now?")
    assert json.loads(done.stdout)["session_id"] == log.stem
    assert "read-only" in localllm(project, "doctor").stdout


def test_where_nothing_at_all_can_be_kept_that_is_said_once(tmp_path: Path, project: Path) -> None:
    (project / "state").mkdir()
    state = {"LOCALLLM_STATE_DIR": str(project / "state")}
    done = localllm(project, *played(tmp_path, AGAIN), "-p", "hello", **state)
    assert (done.returncode, json.loads(done.stdout)["answer"]) == (0, "Again."), done.stderr
    assert done.stderr.count("Nothing of this session is saved") == 1
    assert "not being saved" not in done.stderr
    assert localllm(project, "-c", "-p", "x", **state).returncode == 2


def test_long_output_is_read_again_when_the_project_can_be_written_to(tmp_path: Path, project: Path) -> None:
    work = '[[turn]]\ncalls = [{ name = "run_command", arguments = { command = "seq 1 30000" } }]\n' + AGAIN
    assert localllm(project, *played(tmp_path, work), "-p", "count").returncode == 0
    (kept,) = (tmp_path / "home" / "state" / "projects").glob("*/tool-output/*.txt")
    call = f'name = "read_file", arguments = {{ file_path = ".localllm/tool-output/{kept.name}", start_line = 20000 }}'
    script = played(tmp_path, f"[[turn]]\ncalls = [{{ {call} }}]\n{AGAIN}")
    done = writable(project, *script, "-c", "-p", "and the rest?")
    assert [tool["success"] for tool in json.loads(done.stdout)["tools"]] == [True], done.stdout
