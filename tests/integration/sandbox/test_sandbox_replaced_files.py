"""Where the user saves a file that is closed to commands while one runs, as editors and git do: by a rename.

The mount over it falls off then, and what has taken its place lies open till it is covered anew or the command ended.
"""

import asyncio
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

from localllm.sandbox.backend import Level
from localllm.sandbox.launcher.bwrap_program import find_bwrap
from localllm.sandbox.runner import CommandResult, SandboxRunner
from tests.support.sandbox_world import World, until

pytestmark = pytest.mark.anyio

TRIES = """
    import ctypes, os
    libc = ctypes.CDLL(None, use_errno=True)
    for line in open("/proc/self/status"):
        if line.startswith("Cap"):
            print(line.split()[0], "refused" if int(line.split()[1], 16) == 0 else "held")
    for name in ("mem", "environ", "root", "cwd", "exe", "maps", "fd/3", "ns/mnt"):
        try:
            os.close(os.open(f"/proc/1/{name}", os.O_RDONLY))
        except OSError:
            print(name, "refused")
        else:
            print(name, "opened")
    for name, number in (("attach", 16), ("seize", 0x4206)):
        print(name, "refused" if libc.ptrace(number, 1, 0, 0) < 0 else "done")
    print("umount", "refused" if libc.umount2(b"closed.txt", 2) < 0 else "done")
    print("mount", "refused" if libc.mount(b"tmpfs", b"/", b"tmpfs", 0, None) < 0 else "done")
"""
READS = "touch started; while sleep 0.001; do cat closed.txt 2>/dev/null; done"
WRITES = "touch started; while sleep 0.01; do printf '[core]\\nfsmonitor = evil\\n' >> .git/config; done"


@pytest.fixture(params=["namespaces", "bubblewrap"])
def level(request: pytest.FixtureRequest) -> Level:
    if request.param == "bubblewrap" and not find_bwrap():
        pytest.skip("bubblewrap is not installed")
    return request.param


def save(file: Path, text: str) -> None:
    file.with_suffix(".new").write_text(text)
    file.with_suffix(".new").rename(file)


def check_out(file: Path, text: str) -> None:
    file.unlink()
    file.write_text(text)


in_namespaces = pytest.mark.parametrize("level", ["namespaces"])
in_bubblewrap = pytest.mark.parametrize("level", ["bubblewrap"], indirect=True)


async def run_while(world: World, level: Level, command: str, act: Callable[[], object]) -> CommandResult:
    (world.project / "closed.txt").write_text("old secret\n")
    runner = SandboxRunner(world.project, unreadable=[world.project / "closed.txt"], levels=(level,))
    running = asyncio.ensure_future(runner.run(command, cwd=world.project, timeout=20))
    await until((world.project / "started").exists)
    act()
    result = await running
    runner.close()
    return result


@in_bubblewrap
async def test_one_that_would_read_it_ends_where_nothing_can_be_mounted(world: World, level: Level) -> None:
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


@in_bubblewrap
async def test_one_that_is_deleted_and_made_anew_ends_it_without_mounts(world: World, level: Level) -> None:
    act = partial(check_out, world.project / "closed.txt", "new secret\n")
    result = await run_while(world, level, READS, act)
    assert (result.excess, result.stdout) == ("replaced", "")


class Server:
    """A command that waits, and prints what it can read of a name each time it is asked."""

    command = """
        touch started
        for turn in 1 2 3; do until [ -e go$turn ]; do sleep 0.01; done; cat {name} {name}/* 2>&1; touch done$turn; done
    """

    def __init__(self, world: World, name: str) -> None:
        self.file = world.project / name
        self._project = world.project
        self._runner = SandboxRunner(world.project, unreadable=[self.file], levels=("namespaces",))
        self._turn = 0

    async def start(self) -> None:
        command = textwrap.dedent(self.command).format(name=self.file.relative_to(self._project))
        self._running = asyncio.ensure_future(self._runner.run(command, cwd=self._project, timeout=30))
        await until((self._project / "started").exists)

    async def read(self) -> None:
        await asyncio.sleep(0.3)  # far longer than the moment for which a new file is open
        self._turn += 1
        (self._project / f"go{self._turn}").touch()
        await until((self._project / f"done{self._turn}").exists)

    async def end(self) -> CommandResult:
        while self._turn < 3:
            await self.read()
        result = await self._running
        self._runner.close()
        return result


@in_namespaces
@pytest.mark.parametrize("way", [save, check_out])
async def test_one_goes_on_and_reads_nothing_of_what_is_saved(world: World, way: Callable[[Path, str], None]) -> None:
    server = Server(world, "closed.txt")
    server.file.write_text("old secret\n")
    await server.start()
    for number in range(2):
        way(server.file, f"new secret {number}\n")
        await server.read()
    result = await server.end()
    assert (result.excess, result.return_code) == ("", 0)
    assert "secret" not in result.stdout
    assert server.file.read_text() == "new secret 1\n"


@in_namespaces
@pytest.mark.parametrize("name", ["closed.txt", "conf/deep/closed.txt", "closed"])
async def test_what_is_first_made_meanwhile_is_closed_as_well(world: World, name: str) -> None:
    server = Server(world, name)
    await server.start()
    if name == "closed":
        server.file.mkdir()
    else:
        server.file.parent.mkdir(parents=True, exist_ok=True)
    (server.file / "key" if name == "closed" else server.file).write_text("secret\n")
    await server.read()
    result = await server.end()
    assert (result.excess, result.return_code) == ("", 0)
    assert "secret\n" not in result.stdout


@in_namespaces
async def test_what_comes_with_a_folder_is_closed_as_well(world: World) -> None:
    server = Server(world, "conf/closed.txt")
    (world.project / "new").mkdir()
    (world.project / "new/closed.txt").write_text("secret\n")
    await server.start()
    (world.project / "new").rename(world.project / "conf")
    result = await server.end()
    assert (result.excess, result.return_code) == ("", 0)
    assert "secret\n" not in result.stdout


@in_namespaces
async def test_a_command_may_make_a_closed_file_itself(world: World) -> None:
    closed = world.project / "closed.txt"
    runner = SandboxRunner(world.project, unreadable=[closed], levels=("namespaces",))
    result = await runner.run("(echo a; sleep 0.3; echo b) > closed.txt; cat closed.txt", cwd=world.project, timeout=20)
    runner.close()
    assert (result.excess, result.stdout) == ("", "")
    assert closed.read_text() == "a\nb\n"


@in_namespaces
async def test_no_command_gets_at_the_right_to_mount(world: World) -> None:
    (world.project / "closed.txt").write_text("secret\n")
    runner = SandboxRunner(world.project, unreadable=[world.project / "closed.txt"], levels=("namespaces",))
    (world.project / "tries.py").write_text(textwrap.dedent(TRIES))
    result = await runner.run("grep ^Cap /proc/1/status; python3 tries.py", cwd=world.project, timeout=20)
    runner.close()
    lines = result.stdout.splitlines()
    assert lines[1:3] == ["CapPrm:\t0000000000200000", "CapEff:\t0000000000200000"]  # process 1: to mount, nothing else
    assert [line for line in lines[5:] if not line.endswith("refused")] == []
    assert len(lines) > 10


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


async def test_a_command_may_rename_a_folder_that_holds_a_protected_file(world: World, level: Level) -> None:
    (world.project / "part").mkdir()
    (world.project / "part/.envrc").write_text("export A=1\n")
    runner = SandboxRunner(world.project, levels=(level,))
    command = "mv part old; mkdir part; cp old/.envrc part/; echo evil >> part/.envrc; sleep 0.2; echo copied"
    result = await runner.run(command, cwd=world.project, timeout=20)
    runner.close()
    assert (result.excess, result.stdout) == ("", "copied\n")
    assert not (world.project / "part/.envrc").exists() or (world.project / "part/.envrc").read_text() == "export A=1\n"
