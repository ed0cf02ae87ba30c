"""A run that goes through the history of a real repository, and what is said if it does not come back."""

import subprocess
from pathlib import Path

import pytest

from tests.support.agents import call
from tests.unit.agent.test_run_endings import agent_for, remarks

pytestmark = pytest.mark.anyio


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four commits on main, and a line that is not committed."""
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@example.org")
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "--quiet", "--template=", "--initial-branch=main")
    git(root, "config", "user.name", "A")
    git(root, "config", "user.email", "a@example.org")
    for number in range(4):
        (root / "a.py").write_text(f"x = {number}\n")
        git(root, "add", ".")
        git(root, "commit", "--quiet", "-m", f"Set {number}")
    (root / "b.py").write_text("y = 1\n")
    git(root, "add", ".")
    return root


def run(command: str) -> dict[str, object]:
    return call("run_command", command=command)


BISECT = "git bisect start && git bisect bad HEAD && git bisect good HEAD~3"


@pytest.mark.parametrize(
    ("request_", "command", "answer", "told", "reasons"),
    [
        (
            "Which commit broke a.py? Use git bisect.",
            BISECT,
            "The first bad commit is Set 2.",
            "[A bisect is in progress. Put it back as it was (git bisect reset), or tell the user of it.]",
            ["a bisect is in progress"],
        ),
        (
            "What was x two commits ago?",
            "git checkout -q HEAD~2 && cat a.py",
            "x was 1.",
            ", not on main. Put it back as it was (git checkout main), or tell the user of it.]",
            ["HEAD is detached at {}, not on main"],
        ),
        (
            "2 つ前のコミットの x の値は?",
            "git stash -q && git checkout -q HEAD~2 && cat a.py",
            "x は 1 でした。",
            ". Changes of the user are in the stash. Put it back as it was (git checkout main; git stash pop), or",
            ["HEAD is detached at {}, not on main", "changes are in git's stash"],
        ),
    ],
)
async def test_what_is_left_is_told(
    project: Path, request_: str, command: str, answer: str, told: str, reasons: list[str]
) -> None:
    agent = agent_for(project, run(command), answer, answer)
    result = await agent.execute_query(request_)
    assert len(remarks(agent)) == 1
    assert told in remarks(agent)[0]
    commit = git(project, "rev-parse", "--short=8", "HEAD")
    assert [*map(str, result.unverified)] == [one.format(commit) for one in reasons]


@pytest.mark.parametrize(
    ("request_", "command", "answer"),
    [
        ("Which commit broke a.py?", f"{BISECT} && git bisect reset", "The first bad commit is Set 2."),
        ("Start a git bisect between HEAD~3 and HEAD.", BISECT, "It stands at Set 1: is it good?"),
        ("Check out HEAD~2.", "git checkout -q HEAD~2", "Done."),
        ("2 つ前のコミットをチェックアウトして", "git checkout -q HEAD~2", "しました。"),
        ("What was x?", "git checkout -q HEAD~2", "x was 1. The project is still on that commit: git checkout main."),
        ("What was x?", "git stash -q && git checkout -q HEAD~2 && git checkout -q main && git stash pop", "x was 1."),
        ("Stash my changes.", "git stash -q", "Done."),
        ("Make a branch.", "git checkout -q -b new", "I made it."),
    ],
)
async def test_of_what_is_back_or_was_ordered_nothing_is_said(
    project: Path, request_: str, command: str, answer: str
) -> None:
    agent = agent_for(project, run(command), answer, answer)
    result = await agent.execute_query(request_)
    assert (remarks(agent), [*result.unverified]) == ([], [])
