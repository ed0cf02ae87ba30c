"""How git is run outside the sandbox."""

import os
import subprocess
from pathlib import Path

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.tools import git_execution
from localllm.tools.git_execution import Question, UnsandboxedGit, program_of


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_git_that_takes_too_long_is_killed_by_no_program_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, programs = tmp_path / "project", tmp_path / "project" / "bin"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    programs.mkdir()
    for name in ("pgrep", "ps"):
        (programs / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (programs / name).chmod(0o755)
    os.mkfifo(project / ".gitattributes")
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.setattr(git_execution, "_SECONDS", 1.0)
    git = UnsandboxedGit(project, project)
    with pytest.raises(ToolExecutionError, match="did not answer"):
        git.ask_now([Question(("check-attr", "--all", "a.py"))])
    assert not (tmp_path / "ran").exists()


def test_a_git_that_lies_in_a_project_is_not_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for folder, key in ((program.parent, "git_passed_over"), (tmp_path / "none", "git_missing")):
        monkeypatch.setenv("PATH", str(folder))
        with pytest.raises(ToolExecutionError) as raised:
            program_of(tmp_path)
        assert raised.value.key == key
        assert (str(program) in raised.value.what) == (key == "git_passed_over")
