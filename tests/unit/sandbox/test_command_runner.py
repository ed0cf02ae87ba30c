"""The late runner: nothing of the sandbox before the first command, and all of it from then on."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from localllm.sandbox.command_runner import LateRunner
from localllm.sandbox.runner import SandboxRunner

pytestmark = pytest.mark.anyio


class Makings:
    """Makes runners for a folder that run commands as they are, and keeps them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.made: list[SandboxRunner] = []

    def __call__(self) -> SandboxRunner:
        self.made.append(SandboxRunner(self._root, accept_no_sandbox=True, levels=()))
        return self.made[-1]


async def test_the_runner_is_made_once_and_for_the_first_command(tmp_path: Path) -> None:
    make = Makings(tmp_path)
    runner = LateRunner(make)
    runner.close()
    assert make.made == []
    for _ in range(2):
        assert (await runner.run("echo $((6 * 7))", cwd=tmp_path, timeout=20)).stdout == "42\n"
    assert len(make.made) == 1
    assert (runner.level, runner.reason) == (make.made[0].level, make.made[0].reason)
    runner.close()


def test_threads_that_need_it_at_once_get_the_same(tmp_path: Path) -> None:
    make = Makings(tmp_path)

    def slowly() -> SandboxRunner:
        time.sleep(0.05)  # so that the other asks meanwhile
        return make()

    runner = LateRunner(slowly)
    with ThreadPoolExecutor(2) as threads:
        for level in [threads.submit(lambda: runner.level) for _ in range(2)]:
            assert level.result() == "none"
    assert len(make.made) == 1
    runner.close()
