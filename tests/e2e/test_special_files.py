"""The program in a project whose files are pipes, devices, loops or endless: it does not hang, and takes no memory."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.test_oneshot import environment
from tests.support.in_time import LIMIT
from tests.support.special_files import KINDS, NAMES, plant

SCRIPT = """
[[turn]]
calls = [
  { name = "list_files", arguments = { } },
  { name = "search_files", arguments = { pattern = "total" } },
  { name = "analyze_code", arguments = { path = "." } },
  { name = "read_file", arguments = { file_path = "AGENTS.md" } },
  { name = "read_file", arguments = { file_path = "notes.ipynb" } },
  { name = "read_file", arguments = { file_path = "paper.pdf" } },
  { name = "read_file", arguments = { file_path = "picture.png" } },
]
[[turn]]
calls = [
  { name = "run_command", arguments = { command = "echo done > made.txt" } },
  { name = "edit_file", arguments = { file_path = "kept.txt", old_string = "a", new_string = "b" } },
  { name = "edit_file", arguments = { file_path = "main.py", old_string = "a", new_string = "b" } },
  { name = "write_file", arguments = { file_path = "README.md", content = "a" } },
  { name = "git_status", arguments = { } },
]
[[turn]]
text = "Done; README.md could not be changed."
"""
MEMORY = 3 << 30  # bytes of addresses: less than one of the files


def within_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "localllm", *arguments],
        cwd=root,
        env=environment(root),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        preexec_fn=within_memory,
    )


@pytest.fixture(params=KINDS)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = tmp_path / "given"
    root.mkdir()
    plant(root, request.param)
    (root / "kept.txt").write_text("a\n")
    return root


def test_a_request_is_done(project: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    done = run(project, "--provider", "scripted", "--script", str(script), "--yes", "-p", "look at @AGENTS.md and go")
    assert done.stdout == "Done; README.md could not be changed.\n", done.stderr
    assert (project / "kept.txt").read_text() == "b\n"
    assert (project / "made.txt").read_text() == "done\n"


@pytest.mark.parametrize(
    "command", [("init",), ("doctor",), ("history", "list"), ("history", "search", "x"), ("config", "list")]
)
def test_a_command_ends(project: Path, command: tuple[str, ...]) -> None:
    assert "Traceback" not in run(project, *command).stderr


def test_the_embedded_engine_ends(project: Path) -> None:
    assert "Traceback" not in run(project, "--provider", "embedded", "-p", "What does this project do?").stderr


@pytest.mark.parametrize("name", ["localllm.toml", ".git", ".git/HEAD", ".git/config", ".git/info/exclude"])
def test_what_the_start_reads_is_read_without_waiting(tmp_path: Path, name: str) -> None:
    root = tmp_path / "given"
    root.mkdir()
    plant(root, "pipe", [name])
    assert "Traceback" not in run(root, "--provider", "embedded", "-p", "What does this project do?").stderr


def test_a_pipe_where_a_work_tree_would_be_is_not_waited_for(tmp_path: Path) -> None:
    root = tmp_path / "given"
    plant(root, "pipe", ["data/worktrees/x/gitdir"])
    (root / ".git").write_text("gitdir: data/worktrees/x\n")
    script = tmp_path / "script.toml"
    command = '{ name = "run_command", arguments = { command = "true" } }'
    script.write_text(f'[[turn]]\ncalls = [{command}]\n[[turn]]\ntext = "Done."\n')
    done = run(root, "--provider", "scripted", "--script", str(script), "--yes", "-p", "go")
    assert done.stdout == "Done.\n", done.stderr


def test_all_names_are_planted(project: Path) -> None:
    assert all((project / name).is_symlink() or (project / name).exists() for name in NAMES)
