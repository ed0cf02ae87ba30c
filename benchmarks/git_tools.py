#!/usr/bin/env python3
"""What the sandbox costs git_status and git_log, against git outside it: one run, since only ratios travel.

.venv/bin/python benchmarks/git_tools.py [ROUNDS [FILES …]]

Each tool is called in a repository of so many files with the sandbox of this machine and without one, in turns; beside
the medians, what the sandbox adds. It is to stay below 15 ms.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from localllm.config.schema import Settings
from localllm.safety.paths import ProjectRoot
from localllm.safety.tool_definition import Tool
from localllm.sandbox.backend import LEVELS
from localllm.sandbox.runner import SandboxRunner
from localllm.tools.context import ToolContext
from localllm.tools.git import git_log, git_status

IN_A_FOLDER = 200
SETTLING_SECONDS = 3.5  # a folder younger than three seconds is looked at anew


async def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    sizes = [int(files) for files in sys.argv[2:]] or [10, 100_000]
    print(f"{'milliseconds, of ' + str(rounds):32} {'sandbox':>8} {'outside':>8} {'more':>6}")
    for files in sizes:
        with tempfile.TemporaryDirectory() as folder:
            await measure_repository(Path(folder), files, rounds)


async def measure_repository(folder: Path, files: int, rounds: int) -> None:
    project = folder / "project"
    make_repository(project, files)
    os.sync()  # else the disk is still busy with the new files, and whoever makes a folder on it waits
    await asyncio.sleep(SETTLING_SECONDS)
    runners = [SandboxRunner(project, state_folder=folder / "state", levels=levels) for levels in (LEVELS, ())]
    for tool in (git_status, git_log):
        inside, outside = await measure(tool, [context(project, runner) for runner in runners], rounds)
        print(f"{f'{files:,} files, {tool.name}':32} {inside:8.1f} {outside:8.1f} {inside - outside:+6.1f}")
    for runner in runners:
        runner.close()


def make_repository(project: Path, files: int) -> None:
    for number in range(files):
        folder = project / f"folder{number // IN_A_FOLDER}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{number}.py").write_text(str(number))
    script = (
        "git init -q . && git add . && git -c gc.auto=0 -c user.name=a -c user.email=a@b commit -qm one && git gc -q"
    )
    subprocess.run(script, shell=True, cwd=project, check=True)


def context(project: Path, runner: SandboxRunner) -> ToolContext:
    folder = project.parent / "output"
    return ToolContext(
        root=ProjectRoot(project), settings=Settings(), runner=runner, output_limit=5_000, overflow_folder=folder
    )


async def measure(tool: Tool, contexts: list[ToolContext], rounds: int) -> list[float]:
    """The median of each; they take turns, so that a slow moment of the machine strikes all of them."""
    taken: list[list[float]] = [[] for _ in contexts]
    for number in range(rounds + 2):
        for one, times in zip(contexts, taken, strict=True):
            begun = time.perf_counter()
            await tool.function(one, **tool.parse({}))
            if number >= 2:
                times.append((time.perf_counter() - begun) * 1_000)
    return [statistics.median(times) for times in taken]


if __name__ == "__main__":
    asyncio.run(main())
