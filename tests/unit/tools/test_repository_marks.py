"""What is said of locks that a command has left in a repository, and of a history that it has cut."""

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.base.events import AgentEvent, Notice
from localllm.sandbox.runner import CommandResult
from localllm.tools.shell import run_command
from tests.support.tools import make_context, put, use

pytestmark = pytest.mark.anyio

IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.org")


class Shell:
    """A runner without a sandbox."""

    level = "landlock"

    async def run(self, command: str, *, cwd: Path, **_more: Any) -> CommandResult:
        code = subprocess.run(["bash", "-c", command], cwd=cwd, check=False).returncode
        return CommandResult(stdout="", stderr="", return_code=code, execution_time=0.1, level="landlock")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    subprocess.run(["git", "init", "-q", "-b", "main", project], check=True)
    for name in ("one", "two"):
        subprocess.run(["git", *IDENTITY, "commit", "-q", "--allow-empty", "-m", name], cwd=project, check=True)
    return project


async def told(project: Path, command: str) -> tuple[str, list[str]]:
    events: list[AgentEvent] = []
    context = msgspec.structs.replace(make_context(project), runner=Shell(), emit=events.append)
    done = await use(run_command, context, command=command)
    return done.for_model, [event.text for event in events if isinstance(event, Notice)]


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "refs/heads/main.lock"])
async def test_a_lock_that_is_left_is_told_once(project: Path, name: str) -> None:
    model, user = await told(project, f"touch .git/{name}")
    assert len(user) == 1
    assert f"left locks in the repository ({name})" in user[0]
    assert f"[{user[0]} Tell the user.]" in model
    assert (await told(project, "true"))[1] == []


async def test_a_history_that_is_cut_is_told_once(project: Path) -> None:
    model, user = await told(project, "git rev-parse HEAD > .git/shallow")
    assert len(user) == 1
    assert ".git/shallow" in user[0]
    assert user[0] in model
    assert (await told(project, "git log --oneline > log; rm .git/shallow"))[1] == []


async def test_what_git_does_itself_is_not_told(project: Path) -> None:
    put(project / "a", "x")
    git = f"git {' '.join(IDENTITY)}"
    assert (await told(project, f"git add a && {git} commit -qm x && git gc -q && git checkout -q -b other"))[1] == []


async def test_without_a_repository_nothing_is_told(tmp_path: Path) -> None:
    assert (await told(tmp_path, "mkdir .git; touch .git/index.lock .git/shallow"))[1] == []
