#!/usr/bin/env python3
"""What the sandbox costs a command, against starting bash without one: one run, since only ratios travel.

.venv/bin/python benchmarks/sandbox.py [ROUNDS [FILES …]]

Every level this machine has runs `true` in projects of so many files, taking turns with `bash -c true`. Beside the
median and the 95th percentile, what the median is above that of bash; for the default level, the first, it is to stay
below 15 ms in an ordinary project. Then what one command costs when several run at once.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from localllm.sandbox.backend import LEVELS
from localllm.sandbox.runner import SandboxRunner

AT_ONCE = 10
IN_A_FOLDER = 20
WARM_UP = 3
SETTLING_SECONDS = 3.5  # a folder younger than three seconds is looked at anew for every command

Run = Callable[[], Awaitable[object]]


async def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    sizes = [int(files) for files in sys.argv[2:]] or [10, 1_000, 100_000]
    print(f"{'milliseconds, of ' + str(rounds):32} {'median':>8} {'p95':>8} {'above bash':>11}")
    for files in sizes:
        with tempfile.TemporaryDirectory() as folder:
            await measure_project(Path(folder), files, rounds)


async def measure_project(folder: Path, files: int, rounds: int) -> None:
    project = folder / "project"
    fill(project, files)
    os.sync()  # else whoever makes a folder waits for the disk, which is still busy with the new files
    await asyncio.sleep(SETTLING_SECONDS)
    runners = [SandboxRunner(project, state_folder=folder / "state", levels=(level,)) for level in LEVELS]
    runners = [runner for runner in runners if runner.level != "none"]
    cases: dict[str, Run] = {"bash": bare}
    for runner in runners:
        cases[runner.level] = sandboxed(runner, project)
    taken = await measure(cases, rounds)
    for name, seconds in taken.items():
        report(f"{files:,} files, {name}", seconds, taken["bash"])
    await several_at_once(runners[0], project, rounds)
    for runner in runners:
        runner.close()


def fill(project: Path, files: int) -> None:
    for number in range(files):
        folder = project / f"part{number // (50 * IN_A_FOLDER)}" / f"folder{number // IN_A_FOLDER}"
        if not number % IN_A_FOLDER:
            folder.mkdir(parents=True)
        (folder / f"file{number}.py").touch()


async def bare() -> None:
    process = await asyncio.create_subprocess_exec("bash", "-c", "true")
    await process.wait()


def sandboxed(runner: SandboxRunner, project: Path) -> Run:
    async def run() -> None:
        done = await runner.run("true", cwd=project, timeout=30)
        assert done.return_code == 0, done

    return run


async def measure(cases: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Seconds for each case; they take turns, so that a slow moment of the machine strikes all of them."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(rounds + WARM_UP):
        for name, run in cases.items():
            begun = time.perf_counter()
            await run()
            if number >= WARM_UP:
                taken[name].append(time.perf_counter() - begun)
    return taken


async def several_at_once(runner: SandboxRunner, project: Path, rounds: int) -> None:
    run = sandboxed(runner, project)
    taken: list[float] = []
    for _ in range(max(1, rounds // AT_ONCE)):
        begun = time.perf_counter()
        await asyncio.gather(*(run() for _ in range(AT_ONCE)))
        taken.append((time.perf_counter() - begun) / AT_ONCE)
    report(f"  {AT_ONCE} at once, each", taken, None)


def report(name: str, seconds: list[float], bare_seconds: list[float] | None) -> None:
    median, worst = statistics.median(seconds), sorted(seconds)[int(len(seconds) * 0.95)]
    above = "" if bare_seconds is None else f"{(median - statistics.median(bare_seconds)) * 1000:+11.1f}"
    print(f"{name:32} {median * 1000:8.1f} {worst * 1000:8.1f} {above}")


if __name__ == "__main__":
    asyncio.run(main())
