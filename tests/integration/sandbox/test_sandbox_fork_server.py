"""The process that commands are forked from: whatever becomes of it, no command is lost, doubled or left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from localllm.sandbox.runner import SandboxRunner
from tests.support.sandbox_world import World, open_descriptors, processes_with, unlike_any_other, until

pytestmark = pytest.mark.anyio


def children_of(pid: int | str) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    found: list[int] = []
    with suppress(OSError):
        for task in tasks.iterdir():
            with suppress(OSError):  # a thread that has ended
                found += map(int, (task / "children").read_text().split())
    return found


_EARLIER = set[int]()


@pytest.fixture(autouse=True)
def note_earlier_servers() -> None:
    """Other tests of this process may have left some, which end by themselves."""
    _EARLIER.clear()
    _EARLIER.update(servers())


def servers() -> list[int]:
    """The fork servers of this process that the test has started: interpreters that were given their code and a
    socket."""
    return [pid for pid in children_of("self") if len(arguments_of(pid)) == 8 and pid not in _EARLIER]


def arguments_of(pid: int) -> list[bytes]:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return line.split(b"\0")[:-1] if b"fork_server" in line else []


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def test_one_process_starts_all_commands(world: World) -> None:
    before = servers()
    await world.run("true")
    (server,) = set(servers()) - set(before)
    await world.run("true")
    assert set(servers()) - set(before) == {server}
    world.runner.close()
    assert set(servers()) == set(before)


async def test_it_is_started_when_there_is_time(world: World) -> None:
    before = servers()
    world.runner.prepare()
    await until(lambda: set(servers()) - set(before))  # for a moment after its start it has no command line
    (server,) = set(servers()) - set(before)
    assert (await world.run("echo works")).stdout == "works\n"
    assert server in servers()


async def test_killed_between_commands_it_is_replaced(world: World) -> None:
    await world.run("true")
    for _ in range(3):
        (server,) = servers()
        os.kill(server, signal.SIGKILL)
        assert (await world.run("echo works; exit 3")).return_code == 3
        assert (await world.run("echo works")).stdout == "works\n"
        assert server not in servers()


async def test_killed_during_a_command_it_is_not_missed(world: World) -> None:
    await world.run("true")
    running = asyncio.ensure_future(
        world.run("echo begun | tee begun; sleep 0.5; echo done; echo once >> times; exit 7")
    )
    await until((world.project / "begun").exists)
    (server,) = servers()
    os.kill(server, signal.SIGKILL)
    done = await running
    assert (done.return_code, done.stdout) == (7, "begun\ndone\n")
    assert (world.project / "times").read_text() == "once\n"
    assert (await world.run("echo works")).stdout == "works\n"


async def test_a_command_can_be_cancelled_when_it_is_gone(world: World) -> None:
    seconds = unlike_any_other()
    await world.run("true")
    running = asyncio.ensure_future(world.run(f"touch begun; setsid sleep {seconds} & sleep {seconds}"))
    await until((world.project / "begun").exists)
    os.kill(servers()[0], signal.SIGKILL)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: not processes_with(seconds))


async def test_killed_while_many_commands_are_being_started(world: World) -> None:
    await world.run("true")
    (server,) = servers()
    running = [asyncio.ensure_future(world.run(f"echo x >> {number}; echo {number}")) for number in range(12)]
    await until(lambda: any(world.project.glob("[0-9]*")))
    os.kill(server, signal.SIGKILL)
    for number, done in enumerate(await asyncio.gather(*running)):
        assert (done.return_code, done.stdout) == (0, f"{number}\n")
        assert (world.project / str(number)).read_text() == "x\n", "it was run twice"


async def test_fifty_at_once_leave_nothing_behind(world: World) -> None:
    await world.run("true")
    (server,) = servers()
    await until(lambda: not children_of(server))
    descriptors = open_descriptors()
    theirs = len(list(Path(f"/proc/{server}/fd").iterdir()))
    done = await asyncio.gather(*(world.run(f"echo {number}; exit {number}", 60) for number in range(50)))
    assert [one.return_code for one in done] == list(range(50))
    assert [one.stdout for one in done] == [f"{number}\n" for number in range(50)]
    await until(lambda: not children_of(server))
    await until(lambda: open_descriptors() <= descriptors)  # the scratch folder is removed later
    await until(lambda: len(list(Path(f"/proc/{server}/fd").iterdir())) <= theirs)  # some may have been in use before
    assert [pid for pid in children_of("self") if state_of(pid) == "Z"] == []


@pytest.mark.parametrize("moment", [0.0, 0.001, 0.003, 0.006, 0.01, 0.02, 0.05])
async def test_cancelled_at_any_moment_nothing_is_left(world: World, moment: float) -> None:
    seconds = unlike_any_other()
    await world.run("true")
    (server,) = servers()
    descriptors = open_descriptors()
    running = asyncio.ensure_future(world.run(f"sleep {seconds} & setsid -w sleep {seconds}"))
    await asyncio.sleep(moment)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not processes_with(seconds)
    await until(lambda: not children_of(server))
    await until(lambda: open_descriptors() <= descriptors)  # the scratch folder is removed later
    assert servers() == [server]


async def test_a_long_command_fits(world: World) -> None:
    await world.run("true")
    before = servers()
    done = await world.run(f"true {'x' * 120_000}; echo works")
    assert done.stdout == "works\n"
    assert servers() == before


PROGRAM = """
import asyncio, sys
from pathlib import Path
from localllm.sandbox.runner import SandboxRunner
root, seconds = Path(sys.argv[1]), sys.argv[2]
runner = SandboxRunner(root, levels=sys.argv[3:])
async def main():
    await runner.run("true", cwd=root, timeout=60)
    begun = await runner.begin(f"setsid -w sleep {seconds}", cwd=root)
    await runner.run(f"touch begun; sleep {seconds} & sleep {seconds}", cwd=root, timeout=60)
asyncio.run(main())
"""


async def test_killed_with_the_program_nothing_survives(world: World) -> None:
    seconds = unlike_any_other()
    asking = subprocess.Popen([sys.executable, "-c", PROGRAM, str(world.project), seconds, *world.levels])
    await until((world.project / "begun").exists)
    (server,) = [pid for pid in children_of(asking.pid) if arguments_of(pid)]
    asking.kill()
    asking.wait()
    await until(lambda: not processes_with(seconds) and not arguments_of(server))


async def test_it_holds_nothing_of_the_environment(world: World) -> None:
    await world.run("true")
    (server,) = servers()
    assert Path(f"/proc/{server}/environ").read_bytes().strip(b"\0") == b""
    assert str(Path(f"/proc/{server}/cwd").readlink()) == "/"


def test_several_event_loops_one_after_another(tmp_path: Path) -> None:
    runner = SandboxRunner(tmp_path)
    try:
        for number in range(3):
            done = asyncio.run(runner.run(f"echo {number}", cwd=tmp_path, timeout=20))
            assert done.stdout == f"{number}\n"
    finally:
        runner.close()


def test_a_program_that_does_not_close_it_ends_it_all_the_same(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import asyncio
        from pathlib import Path
        from localllm.sandbox.runner import SandboxRunner
        root = Path({str(tmp_path)!r})
        runner = SandboxRunner(root)
        asyncio.run(runner.run("true", cwd=root, timeout=20))
        print(runner._server.pid)
    """)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert not done.stderr
    assert not arguments_of(int(done.stdout))
