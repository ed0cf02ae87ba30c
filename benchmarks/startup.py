#!/usr/bin/env python3
"""How long the program takes to start, against bare Python: medians of one run, since only ratios travel.

.venv/bin/python benchmarks/startup.py [ROUNDS]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.bytecode import with_own_bytecode

PROGRAM = str(Path(sys.executable).with_name("localllm"))
CASES = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "localllm --version": [PROGRAM, "--version"],
    "localllm --help": [PROGRAM, "--help"],
    "localllm -p … (scripted, whole run)": [PROGRAM, "-p", "What is in this project?", "--provider", "scripted"],
}


def main() -> None:
    with_own_bytecode(os.environ)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hello.py").write_text("print('hello')\n", "utf-8")
        times = measure(folder, rounds)
    bare = times["python -c pass"]
    print(f"{'median of ' + str(rounds):38} {'seconds':>8} {'× bare':>7}")
    for name, seconds in times.items():
        print(f"{name:38} {seconds:8.3f} {seconds / bare:7.1f}")


def measure(folder: str, rounds: int) -> dict[str, float]:
    """Seconds for each case; the cases take turns, so that a slow moment of the machine strikes all of them."""
    taken: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(rounds + 1):
        for name, command in CASES.items():
            taken[name].append(once(command, folder))
    return {name: statistics.median(all_taken[1:]) for name, all_taken in taken.items()}


def once(command: list[str], folder: str) -> float:
    environment = {**os.environ, "HOME": folder, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder}
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(command)} left with {done.returncode}:\n{done.stderr.decode(errors='replace')}")
    return seconds


if __name__ == "__main__":
    main()
