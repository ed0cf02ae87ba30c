"""The fork server by itself: what hangs is ended, what cannot be forked is executed."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from localllm.sandbox.linux.bundle import Bundle
from localllm.sandbox.linux.confinement import ConfinedLaunch
from localllm.sandbox.linux.fork_client import ForkServer
from localllm.sandbox.process import Ending, Process
from tests.support.launching import order

pytestmark = [
    pytest.mark.on_disk,
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is for Linux so far"),
]


async def run(server: ForkServer, folder: Path, command: str) -> tuple[Ending, str]:
    launch = ConfinedLaunch(Bundle(), order(folder, command), server)
    try:
        outcome = await Process(launch, 10_000).run(30)
        return launch.ending(outcome.exit_status), outcome.stdout
    finally:
        launch.close()


async def test_it_forks(tmp_path: Path) -> None:
    server = ForkServer(Bundle())
    try:
        assert server.pid == 0
        assert await run(server, tmp_path, "echo works; exit 3") == (Ending(3), "works\n")
        pid = server.pid
        assert pid
        assert await run(server, tmp_path, "echo works") == (Ending(0), "works\n")
        assert server.pid == pid
    finally:
        server.close()
    assert server.pid == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_one_that_hangs_is_replaced_and_the_command_is_run_once(tmp_path: Path) -> None:
    server = ForkServer(Bundle(), patience=2)
    try:
        server.start()
        hanging = server.pid
        assert hanging  # 0 would be all of us
        os.kill(hanging, signal.SIGSTOP)
        assert await run(server, tmp_path, "echo x >> times; echo works") == (Ending(0), "works\n")
        assert (tmp_path / "times").read_text() == "x\n"
        assert await run(server, tmp_path, "echo works") == (Ending(0), "works\n")
        assert server.pid not in (0, hanging)
    finally:
        server.close()


async def test_one_that_hangs_while_a_command_runs_does_not_hold_up_its_end(tmp_path: Path) -> None:
    server = ForkServer(Bundle(), patience=2)
    try:
        running = asyncio.ensure_future(run(server, tmp_path, "touch begun; sleep 0.3; exit 5"))
        while not (tmp_path / "begun").exists():
            await asyncio.sleep(0.01)
        hanging = server.pid
        assert hanging
        os.kill(hanging, signal.SIGSTOP)
        assert await running == (Ending(5), "")
    finally:
        server.close()


class NoServer(Bundle):
    """What the server is to run is no code."""

    def open_server(self) -> int:
        return os.memfd_create("nothing")


async def test_where_it_cannot_start_commands_are_executed(tmp_path: Path) -> None:
    server = ForkServer(NoServer())
    try:
        for _ in range(2):
            assert await run(server, tmp_path, "echo works") == (Ending(0), "works\n")
    finally:
        server.close()


async def test_who_has_told_the_outcome_is_not_waited_for(tmp_path: Path) -> None:
    """What is still taken down then is namespaces in which nothing runs."""
    server = ForkServer(Bundle())
    status, theirs = os.pipe()
    spec = order(tmp_path, "sleep 30")
    spec.status_fd, (spec.live_fd, live) = theirs, os.pipe()
    null = os.open(os.devnull, os.O_WRONLY)
    forked = await server.fork(spec, null, null, status)
    assert forked
    os.kill(forked.pid, signal.SIGSTOP)
    try:
        os.write(theirs, b"ended 0 \n")
        async with asyncio.timeout(10):
            assert await forked.wait() == 0
    finally:
        os.kill(forked.pid, signal.SIGKILL)
        for fd in (status, theirs, spec.live_fd, live, null):
            os.close(fd)
        forked.close()
        server.close()
