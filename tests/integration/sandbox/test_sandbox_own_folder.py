"""Our own folder in a project is in no command's way, at any level: neither of git nor of a change to all files."""

import subprocess
from pathlib import Path

import pytest

from localllm.base.kept_outputs import keep_output
from tests.support.sandbox_world import World

pytestmark = pytest.mark.anyio

COMMAND = ".localllm/commands/rename.md"


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(world: World) -> Path:
    """One that tracks a command of the user's, and in which long output was kept."""
    root = world.project
    (root / COMMAND).parent.mkdir(parents=True)
    (root / COMMAND).write_text("Rename get_cfg.\n")
    (root / ".localllm/.gitignore").write_text("*\n")
    for number in range(20):
        (root / f"file{number}.py").write_text("get_cfg()\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "add", "-f", COMMAND)
    git(root, "-c", "user.name=t", "-c", "user.email=t@t.example", "commit", "-qm", "start")
    keep_output(root / ".localllm/tool-output", "run_command", "get_cfg\n" * 1_000)
    return root


async def test_git_tells_the_same_inside_and_outside(world: World, project: Path) -> None:
    (project / COMMAND).write_text("Rename it.\n")
    (project / "new.py").touch()
    inside = await world.run("git status --porcelain --ignored; git diff")
    outside = git(project, "status", "--porcelain", "--ignored") + git(project, "diff")
    assert inside.stdout == outside
    assert COMMAND in outside


async def test_a_change_to_all_files_comes_to_its_end(world: World, project: Path) -> None:
    done = await world.run("grep -rl get_cfg . | xargs sed -i s/get_cfg/get_setting/g")
    assert (done.return_code, done.stderr) == (0, "")
    assert all(file.read_text() == "get_setting()\n" for file in project.glob("*.py"))
    assert (project / COMMAND).read_text() == "Rename get_cfg.\n", "it is protected"
    assert COMMAND in done.reverted, "and that is said"
    assert (await world.run("git status --porcelain")).stdout == git(project, "status", "--porcelain")


async def test_commands_read_long_output_also_what_has_come_since(world: World, project: Path) -> None:
    folder = project / ".localllm/tool-output"
    assert (await world.run("cat .localllm/tool-output/*")).stdout == "get_cfg\n" * 1_000
    later = keep_output(folder, "grep", "later\n")
    assert (await world.run(f"cat .localllm/tool-output/{later.name}")).stdout == "later\n"


async def test_what_is_put_there_does_not_stay(world: World, project: Path) -> None:
    done = await world.run("echo evil > .localllm/commands/new.md; ln -s /etc .localllm/link")
    assert ".localllm/commands/new.md" in done.reverted
    assert sorted(path.name for path in (project / ".localllm").iterdir()) == [".gitignore", "commands", "tool-output"]
    assert (await world.run("ls .localllm .localllm/commands")).stdout.split() == [
        *(".localllm:", "commands", "tool-output"),
        *(".localllm/commands:", "rename.md"),
    ]
