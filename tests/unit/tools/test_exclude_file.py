"""What is said of patterns that a command has added to `.git/info/exclude`."""

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.base.events import AgentEvent, Notice
from localllm.sandbox.runner import CommandResult
from localllm.tools.exclude_file import excluded, remarks_on_excluded
from localllm.tools.shell import run_command
from tests.support.tools import make_context, put, use

pytestmark = pytest.mark.anyio


class Shell:
    """A runner without a sandbox."""

    level = "landlock"

    async def run(self, command: str, *, cwd: Path, **_more: Any) -> CommandResult:
        code = subprocess.run(["bash", "-c", command], cwd=cwd, check=False).returncode
        return CommandResult(stdout="", stderr="", return_code=code, execution_time=0.1, level="landlock")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path / "project"], check=True)
    put(tmp_path / "project/.git/info/exclude", "# what git wrote\n*.log\n")
    return tmp_path / "project"


async def told(project: Path, command: str) -> tuple[str, list[str]]:
    events: list[AgentEvent] = []
    context = msgspec.structs.replace(make_context(project), runner=Shell(), emit=events.append)
    done = await use(run_command, context, command=command)
    return done.for_model, [event.text for event in events if isinstance(event, Notice)]


async def test_model_and_user_are_told_of_new_patterns(project: Path) -> None:
    model, user = await told(project, "printf '# x\\n/secret\\n*.log\\n\\n' >> .git/info/exclude")
    assert user == ["The command has git leave out what .git/info/exclude lists now: /secret."]
    assert f"[{user[0]} Tell the user.]" in model


async def test_nobody_is_told_of_old_or_removed_ones(project: Path) -> None:
    assert (await told(project, "touch x; sed -i 's/^# what/# that/' .git/info/exclude"))[1] == []
    assert (await told(project, "rm .git/info/exclude"))[1] == []
    assert (await told(project, "rm -r .git; git init -q"))[1] == []


def test_also_of_the_repository_of_a_linked_work_tree(project: Path) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", "x"], cwd=project, check=True)
    subprocess.run(["git", "worktree", "add", "-q", "../linked"], cwd=project, check=True)
    linked = project.parent / "linked"
    before = excluded(linked)
    put(project / ".git/info/exclude", "made\n")
    assert before == {"*.log"}
    assert [str(remark) for remark in remarks_on_excluded(linked, before)]


def test_one_that_is_too_large_to_be_read_counts_as_changed(project: Path) -> None:
    before = excluded(project)
    put(project / ".git/info/exclude", "#" * 2_000_000)
    assert [remark.english.partition(": ")[2] for remark in remarks_on_excluded(project, before)] == ["…."]
