#!/usr/bin/env python3
"""What keeping a project costs each command: milliseconds before it and after it together (median and worst), once the
project was read. "told": the system tells what is touched; "walked": the tree is walked twice, as where it does not.

.venv/bin/python benchmarks/command_snapshots.py [FILES…]
"""

import asyncio
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from localllm.safety.paths import ProjectRoot
from localllm.snapshots.recorder import CommandSnapshots
from localllm.snapshots.store import Snapshots

ROUNDS = 15
A_FOLDER = 50


def main() -> None:
    for count in map(int, sys.argv[1:] or ["1000", "100000"]):
        with tempfile.TemporaryDirectory() as name:
            project = Path(name, "project")
            generate(project, count)
            asyncio.run(compare(ProjectRoot(project), Path(name, "state")))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def generate(root: Path, count: int) -> None:
    for number in range(count):
        folder = root / f"d{number // A_FOLDER // 20}" / f"e{number // A_FOLDER % 20}"
        if number % A_FOLDER == 0:
            folder.mkdir(parents=True)
        (folder / f"f{number}.py").write_text(f"x = {number}\n")


async def compare(root: ProjectRoot, state: Path) -> None:
    began = time.perf_counter()
    commands = CommandSnapshots(Snapshots(state))
    while commands.keep(root):
        pass
    print(f"{root.path}: read in {time.perf_counter() - began:.1f} s")
    files = sorted(root.path.rglob("*.py"))
    works: dict[str, Callable[[int], object]] = {
        "nothing changed": lambda _: None,
        "a file changed": lambda number: files[number % len(files)].write_text(f"changed {time.time_ns()}"),
        "20 files changed": lambda number: [file.write_text(str(time.time_ns())) for file in files[:20]] and number,
    }
    for how, kept in (("told", commands), ("walked", CommandSnapshots(Snapshots(state), watch=False))):
        for work, change in works.items():
            taken = [await once(kept, root, change, number) for number in range(ROUNDS)][1:]
            print(f"  {how:8}{work:18}{statistics.median(taken):8.1f}{max(taken):8.1f}", flush=True)


async def once(commands: CommandSnapshots, root: ProjectRoot, change: Callable[[int], object], number: int) -> float:
    began = time.perf_counter()
    async with commands.around(root, tool="run_command"):
        before = time.perf_counter() - began
        change(number)
        began = time.perf_counter()
    return (before + time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
