"""Where the user saves a file that is closed to commands while one runs, as editors and git do: by a rename.

The mount over it falls off then, and what has taken its place lay open.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from localllm.sandbox.backend import Level
from localllm.sandbox.launcher import bubblewrap
from localllm.sandbox.runner import CommandResult, SandboxRunner
from tests.support.sandbox_world import World, until

pytestmark = pytest.mark.anyio

READS = "touch started; while sleep 0.001; do cat closed.txt 2>/dev/null; done"
WRITES = "touch started; while sleep 0.01; do printf '[core]\\nfsmonitor = evil\\n' >> .git/config; done"


@pytest.fixture(params=["namespaces", "bubblewrap"])
def level(request: pytest.FixtureRequest) -> Level:
    if request.param == "bubblewrap" and not bubblewrap.program():
        pytest.skip("bubblewrap is not installed")
    return request.param


def save(file: Path, text: str) -> None:
    file.with_suffix(".new").write_text(text)
    file.with_suffix(".new").rename(file)


async def run_while(world: World, level: Level, command: str, act: Callable[[], object]) -> CommandResult:
    (world.project / "closed.txt").write_text("old secret\n")
    runner = SandboxRunner(world.project, unreadable=[world.project / "closed.txt"], levels=(level,))
    running = asyncio.ensure_future(runner.run(command, cwd=world.project, timeout=20))
    await until((world.project / "started").exists)
    act()
    result = await running
    runner.close()
    return result


async def test_one_that_would_read_it_ends_and_what_it_wrote_is_not_shown(world: World, level: Level) -> None:
    result = await run_while(world, level, READS, lambda: save(world.project / "closed.txt", "new secret\n"))
    assert (result.excess, result.stdout, result.return_code) == ("replaced", "", -9)
    assert result.execution_time < 10
    assert (world.project / "closed.txt").read_text() == "new secret\n"


async def test_one_that_would_change_it_ends_and_nothing_stays(repository: World, level: Level) -> None:
    config = repository.project / ".git/config"
    before = config.read_text()
    result = await run_while(repository, level, WRITES, lambda: save(config, before))
    assert result.excess == "replaced"
    assert config.read_text() == before


@pytest.mark.parametrize("way", ["in place", "deleted", "another"])
async def test_what_opens_nothing_ends_none(world: World, level: Level, way: str) -> None:
    closed, other = world.project / "closed.txt", world.project / "other.txt"
    ways: Mapping[str, Callable[[], object]] = {
        "in place": lambda: closed.write_text("new secret\n"),
        "deleted": closed.unlink,
        "another": lambda: save(other, "text"),
    }
    result = await run_while(world, level, "touch started; sleep 0.4; cat *.txt; echo done", ways[way])
    assert result.excess == ""
    assert result.stdout.endswith("done\n")
    assert "secret" not in result.stdout


async def test_one_that_is_deleted_and_made_anew_ends_it(world: World, level: Level) -> None:
    closed = world.project / "closed.txt"

    def act() -> None:
        closed.unlink()
        closed.write_text("new secret\n")

    result = await run_while(world, level, READS, act)
    assert (result.excess, result.stdout) == ("replaced", "")


@pytest.mark.parametrize("closed", ["secrets", "secrets/key"])
async def test_a_folder_that_is_renamed_and_made_anew_ends_it(world: World, level: Level, closed: str) -> None:
    folder = world.project / "secrets"
    folder.mkdir()
    (folder / "key").write_text("old secret\n")
    runner = SandboxRunner(world.project, unreadable=[world.project / closed], levels=(level,))
    command = "touch started; while sleep 0.01; do cat secrets/key 2>/dev/null; done"
    running = asyncio.ensure_future(runner.run(command, cwd=world.project, timeout=20))
    await until((world.project / "started").exists)
    folder.rename(world.project / "old")
    folder.mkdir()
    (folder / "key").write_text("new secret\n")
    result = await running
    runner.close()
    assert (result.excess, result.stdout) == ("replaced", "")
    assert result.execution_time < 10
