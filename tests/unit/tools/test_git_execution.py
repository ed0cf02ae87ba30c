"""How git is run outside the sandbox."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from localllm.base import paths
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


def test_the_search_path_is_looked_through_few_times_in_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, project, home = tmp_path / "programs", tmp_path / "project", tmp_path / "home"
    programs.mkdir()
    home.mkdir()
    git = shutil.which("git")
    assert git
    (programs / "git").symlink_to(git)
    (programs / "cat").symlink_to("/bin/cat")
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    settings = "".join(f"\t{name} = cat %f\n" for name in ("clean", "smudge", "process"))
    (home / ".gitconfig").write_text(f'[filter "one"]\n{settings}[filter "two"]\n{settings}')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    asked: list[Path] = []
    is_project = paths.is_project

    def counted(folder: Path) -> bool:
        asked.append(folder)
        return is_project(folder)

    monkeypatch.setattr(paths, "is_project", counted)
    status = Question(("status", "--porcelain"))
    assert [one.code for one in UnsandboxedGit(project, project).ask_now([status, status, status])] == [0, 0, 0]
    assert 0 < asked.count(programs) <= 4 + 2  # 2 for the git-lfs that the settings of a machine may name


def test_a_commit_is_shown_as_it_is_stored_whatever_the_commit_graph_says(tmp_path: Path) -> None:
    project = tmp_path / "project"

    def git(*arguments: str) -> str:
        names = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(["git", *names, *arguments], cwd=project, check=True, capture_output=True).stdout.decode()

    project.mkdir()
    git("init", "-q")
    for name in ("a", "b"):
        (project / name).touch()
        git("add", name)
        git("commit", "-q", "-m", name)
    git("commit-graph", "write", "--reachable")
    now, before = (bytes.fromhex(git("rev-parse", f"{commit}^{{tree}}")) for commit in ("HEAD", "HEAD~1"))
    graph = project / ".git/objects/info/commit-graph"
    forged = graph.read_bytes()[:-20].replace(now, before)
    graph.unlink()
    graph.write_bytes(forged + hashlib.sha1(forged, usedforsecurity=False).digest())
    assert git("log", "-1", "--name-only", "--format=") == ""
    [listed] = UnsandboxedGit(project, project).ask_now([Question(("log", "-1", "--name-only", "--format="))])
    assert listed.output == b"b\n"
