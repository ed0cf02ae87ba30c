"""Nothing outlives a command, and nothing it uses is without bounds."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from localllm.sandbox.protect import command_records
from localllm.sandbox.runner import SandboxRunner
from tests.support.sandbox_world import World, processes_with, unlike_any_other

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "command",
    [
        "sleep {seconds} & echo started",
        "setsid nohup sleep {seconds} > /dev/null 2>&1 & disown; echo started",
        "(setsid sh -c '(sleep {seconds} &) &' &); echo started",
        "python3 -c 'import os, time; os.fork() or os.setsid() or os.fork() or time.sleep({seconds})'; echo started",
        "sleep {seconds} & exec 1>&- 2>&-",
    ],
)
async def test_nothing_outlives_the_command(world: World, command: str) -> None:
    seconds = unlike_any_other()
    done = await world.run(command.format(seconds=seconds))
    assert done.return_code == 0, "it waited for what it left behind"
    assert not processes_with(seconds)


async def test_a_time_out_ends_all_of_it(world: World) -> None:
    seconds = unlike_any_other()
    done = await world.run(f"trap '' TERM; sleep {seconds} & (setsid sleep {seconds} &); sleep {seconds}", timeout=0.5)
    assert done.timed_out
    assert done.return_code < 0
    assert not processes_with(seconds)


async def test_a_storm_of_short_processes_does_not_hold_up_the_end(world: World) -> None:
    storm = "(while [ $SECONDS -lt 20 ]; do (true &); done; touch over) & "
    done = await world.run(f"{storm * 3} wait", timeout=0.5)
    assert done.timed_out
    assert not (world.project / "over").exists()


async def test_a_time_out_lets_it_end_in_good_order(world: World) -> None:
    done = await world.run("trap 'echo saved > state; exit 3' TERM; echo begun; sleep 300 & wait", timeout=0.5)
    assert done.timed_out
    assert done.return_code == 3
    assert done.stdout == "begun\n"
    assert (world.project / "state").read_text() == "saved\n"


async def test_cancelling_ends_all_of_it(world: World) -> None:
    seconds = unlike_any_other()
    running = asyncio.ensure_future(
        world.run(f"echo evil > .envrc; touch started; setsid sleep {seconds} & sleep {seconds}")
    )
    while not (world.project / "started").exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not processes_with(seconds)
    assert not (world.project / ".envrc").exists()
    assert not list(Path(os.environ.get("TMPDIR", "/tmp")).glob(f"localllm-*/tmp/{seconds}"))


async def test_it_ends_when_the_program_that_asked_for_it_is_killed(world: World) -> None:
    seconds = unlike_any_other()
    program = textwrap.dedent(f"""
        import asyncio
        from pathlib import Path
        from localllm.sandbox.runner import SandboxRunner
        root = Path({str(world.project)!r})
        asyncio.run(SandboxRunner(root).run("echo $TMPDIR > started; setsid -w sleep {seconds}", cwd=root, timeout=60))
    """)
    asking = subprocess.Popen([sys.executable, "-c", program])
    started = world.project / "started"
    while not (started.exists() and started.read_text()):
        await asyncio.sleep(0.02)
    asking.kill()
    asking.wait()
    scratch = Path(started.read_text().strip()).parent
    for _ in range(200):
        if not processes_with(seconds) and not scratch.exists():
            break
        await asyncio.sleep(0.02)
    assert not processes_with(seconds)
    assert not scratch.exists()


async def test_what_it_did_while_the_program_was_stopped_is_undone_after_a_kill(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    program = textwrap.dedent(f"""
        import asyncio
        from pathlib import Path
        from localllm.sandbox.runner import SandboxRunner
        root = Path({str(world.project)!r})
        runner = SandboxRunner(root, state_folder=Path({str(state)!r}), levels=({world.runner.level!r},))
        command = "touch started; sleep 1.5; echo evil > .envrc; touch planted; sleep 60"
        asyncio.run(runner.run(command, cwd=root, timeout=60))
    """)
    asking = subprocess.Popen([sys.executable, "-c", program])
    for name in ("started", "planted"):
        while not (world.project / name).exists():
            await asyncio.sleep(0.02)
        asking.send_signal(signal.SIGSTOP)
    asking.kill()
    asking.wait()
    monkeypatch.setattr(command_records, "_SLACK", 200_000_000)
    await asyncio.sleep(1)
    assert SandboxRunner(world.project, state_folder=state).recover() == (".envrc",)


async def test_a_fork_bomb_is_ended(world: World) -> None:
    name = unlike_any_other()
    done = await world.python(f"""
        import os, time
        for _ in range(3000):
            try:
                if os.fork() == 0:
                    time.sleep({name})
            except OSError:
                time.sleep(0.01)
        time.sleep({name})
    """)
    assert done.excess == "processes"
    assert done.return_code == -signal.SIGKILL
    assert not processes_with("program.py")


async def test_a_flood_of_output_is_ended_and_bounded(tmp_path: Path) -> None:
    runner = SandboxRunner(tmp_path, output_cap=10_000)
    done = await runner.run("echo first; yes", cwd=tmp_path, timeout=30)
    assert done.excess == "output"
    assert done.truncated
    assert len(done.stdout) < 10_100
    assert done.stdout.startswith("first\ny\n")


async def test_long_output_keeps_its_head_and_its_tail(tmp_path: Path) -> None:
    runner = SandboxRunner(tmp_path, output_cap=1_000)
    done = await runner.run("echo begin; seq 10000; echo end >&2; echo end", cwd=tmp_path, timeout=30)
    assert done.return_code == 0
    assert done.truncated
    assert done.stdout.startswith("begin\n1\n2\n")
    assert done.stdout.endswith("\n9999\n10000\nend\n")
    assert done.stderr == "end\n"


async def test_a_file_cannot_grow_without_end(world: World) -> None:
    await world.run("touch big; truncate -s 100G big")
    assert (world.project / "big").stat().st_size < 10 << 30
