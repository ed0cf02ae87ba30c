"""Ctrl+Z stops what runs in the sandbox as well, after what it must not leave has been taken away."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.sandbox.backend import LEVELS
from localllm.sandbox.launcher.limits import read
from tests.support.sandbox_world import World, until

pytestmark = pytest.mark.anyio

PROGRAM = """
import asyncio, sys
from pathlib import Path
from localllm.sandbox import command_job
from localllm.sandbox.runner import SandboxRunner
command_job._UNTIL_FIRST_LOOK = 600.0
root = Path(sys.argv[1])
runner = SandboxRunner(root, state_folder=root.parent / "state", levels=sys.argv[4:])
async def main():
    if sys.argv[2] == "background":
        begun = await runner.begin((root / "command").read_text(), cwd=root)
        result = await begun.ended()
    else:
        result = await runner.run((root / "command").read_text(), cwd=root, timeout=float(sys.argv[3]))
    print(result.return_code, result.timed_out, *result.reverted, flush=True)
asyncio.run(main())
"""

COMMAND = """
echo evil > .envrc
i=0
while [ ! -e enough ]; do i=$((i + 1)); echo $i > count; sleep 0.01; done
exit 7
"""


WOKEN = """
cat > program.py << 'end'
import ctypes, itertools, pathlib, signal, time
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("rest", ctypes.c_int * 13)]
signal.signal(signal.SIGCONT, lambda *_: None)  # the kernel sends a signal that is ignored only once
libc, timer = ctypes.CDLL(None, use_errno=True), ctypes.c_void_p()
event, each_second = Event(None, 18), (ctypes.c_long * 4)(1, 0, 1, 0)  # SIGCONT, as the kernel sends it to orphans
assert not libc.timer_create(1, ctypes.byref(event), ctypes.byref(timer))
assert not libc.timer_settime(timer, 0, each_second, None)
for i in itertools.count():
    pathlib.Path("next").write_text(str(i))
    pathlib.Path("next").rename("count")
    if pathlib.Path("enough").exists():
        break
    time.sleep(0.01)
end
python3 program.py
exit 7
"""


def state_of(pid: int) -> str:
    return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0].decode()


def start(world: World, kind: str, timeout: int = 120, command: str = COMMAND) -> "subprocess.Popen[str]":
    (world.project / "command").write_text(command)
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(world.project), kind, str(timeout), *world.levels],
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,  # with a parent in the same session, as under a shell: else the kernel ignores the signal
    )


@pytest.fixture(params=["foreground", "background"])
def program(request: pytest.FixtureRequest, world: World) -> Iterator["subprocess.Popen[str]"]:
    started = start(world, request.param)
    yield started
    started.kill()
    started.communicate()


async def test_a_command_stops_with_the_program_and_goes_on_with_it(
    world: World, program: "subprocess.Popen[str]"
) -> None:
    count = world.project / "count"
    await until(count.exists, 30)
    assert (world.project / ".envrc").exists()
    program.send_signal(signal.SIGTSTP)
    await until(lambda: state_of(program.pid) == "T")
    assert not (world.project / ".envrc").exists()
    before = count.read_text()
    time.sleep(0.5)
    assert count.read_text() == before
    (world.project / "enough").touch()
    program.send_signal(signal.SIGCONT)
    said, _ = program.communicate(timeout=30)
    assert said == "7 False .envrc\n"


@pytest.mark.parametrize("level", LEVELS[:1])
async def test_the_time_in_between_does_not_count(world: World) -> None:
    program = start(world, "foreground", timeout=8)
    await until((world.project / "count").exists, 30)
    program.send_signal(signal.SIGTSTP)
    await until(lambda: state_of(program.pid) == "T")
    time.sleep(9)
    (world.project / "enough").touch()
    program.send_signal(signal.SIGCONT)
    assert program.communicate(timeout=30)[0] == "7 False .envrc\n"


async def test_it_can_be_stopped_again(world: World, program: "subprocess.Popen[str]") -> None:
    await until((world.project / "count").exists, 30)
    for _ in range(3):
        program.send_signal(signal.SIGTSTP)
        await until(lambda: state_of(program.pid) == "T")
        os.kill(program.pid, signal.SIGCONT)
    (world.project / "enough").touch()
    assert program.communicate(timeout=30)[0].startswith("7 False")


async def test_a_process_that_is_woken_is_stopped_again(world: World) -> None:
    count = world.project / "count"
    program = start(world, "background", command=WOKEN)
    try:
        await until(count.exists, 30)
        program.send_signal(signal.SIGTSTP)
        await until(lambda: state_of(program.pid) == "T")
        before = count.read_text()
        await until(lambda: count.read_text() != before)

        def stands_still() -> bool:
            now = count.read_text()
            time.sleep(0.4)
            return count.read_text() == now

        await until(stands_still)
        (world.project / "enough").touch()
        program.send_signal(signal.SIGCONT)
        assert program.communicate(timeout=30)[0] == "7 False\n"
    finally:
        program.kill()
        program.communicate()


ENDLESS = """
import asyncio
from localllm.sandbox.suspension import suspended_with_program
class Command:
    async def suspend(self):
        print("looking", flush=True)
        await asyncio.sleep(3600)
    def resume(self):
        print("resumed", flush=True)
async def main():
    with suspended_with_program(Command()):
        print("running", flush=True)
        await asyncio.sleep(0.5)
asyncio.run(main())
"""


async def test_a_second_time_stops_at_once() -> None:
    program = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True, process_group=0)
    assert program.stdout
    assert program.stdout.readline() == "running\n"
    program.send_signal(signal.SIGTSTP)
    assert program.stdout.readline() == "looking\n"
    program.send_signal(signal.SIGTSTP)
    await until(lambda: state_of(program.pid) == "T")
    program.send_signal(signal.SIGCONT)
    assert program.communicate(timeout=30)[0] == "resumed\n"
    assert program.returncode == 0


async def test_where_no_shell_could_let_it_go_on_nothing_stops(world: World, tmp_path: Path) -> None:
    (world.project / "command").write_text(COMMAND)
    with (tmp_path / "said").open("w") as said:
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(world.project), "foreground", "120", *world.levels],
            stdout=said,
            start_new_session=True,
        )
    await until((world.project / "count").exists, 30)
    program.send_signal(signal.SIGTSTP)
    await until(lambda: not (world.project / ".envrc").exists())
    before = (world.project / "count").read_text()
    await until(lambda: (world.project / "count").read_text() not in ("", before))
    (world.project / "enough").touch()
    assert program.wait(timeout=30) == 0
    assert (tmp_path / "said").read_text() == "7 False .envrc\n"
