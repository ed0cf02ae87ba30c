#!/usr/bin/env python3
"""One-shot runs over an instant server: when the first request arrives and how large it is, how long the whole run
takes, what passes between two requests of a loop of tools, and the memory. Medians of one run beside the budgets.

.venv/bin/python benchmarks/requests.py [ROUNDS]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.bytecode import with_own_bytecode
from tests.support.wire_server import Reply, WireServer, calls, says

PROGRAM = str(Path(sys.executable).with_name("localllm"))
LOOP_STEPS = 30


class Server(WireServer):
    """Notes when each chat request has arrived."""

    def __init__(self, replies: list[Reply]) -> None:
        super().__init__(replies)
        self.arrivals: list[float] = []

    def next_reply(self, body: bytes) -> Reply:
        self.arrivals.append(time.perf_counter())
        return super().next_reply(body)


def main() -> None:
    with_own_bytecode(os.environ)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "project")
        folder.mkdir()
        (folder / "hello.py").write_text("print('hello')\n" * 200, "utf-8")
        bare = statistics.median(timed([sys.executable, "-c", "pass"], folder)[0] for _ in range(rounds))
        first, whole, size, memory = one_shot(folder, rounds)
        rows = [
            ("bare Python", f"{bare:.3f} s", ""),
            ("start → first request arrived", f"{first:.3f} s", "0.20 s"),
            ("whole one-shot run", f"{whole:.3f} s", "0.30 s"),
            ("first request", f"{size:,} bytes", "6,000 bytes"),
            ("one-shot, resident at most", f"{memory / 1024:.0f} MB", "60 MB"),
            ("between two requests, read_file", f"{1000 * loop(folder, reading):.1f} ms", "12 ms"),
            ("between two requests, run_command", f"{1000 * loop(folder, running):.1f} ms", "35 ms"),
        ]
    print(f"{'median of ' + str(rounds):36} {'measured':>13} {'budget':>12}")
    for row in rows:
        print("{:36} {:>13} {:>12}".format(*row))


def one_shot(folder: Path, rounds: int) -> tuple[float, float, int, int]:
    """Seconds to the first request and of the whole run, bytes of the request, resident memory in kB."""
    with Server([says("Hello.")]) as server:
        runs: list[tuple[float, float, int]] = []
        for _ in range(rounds + 1):
            began = time.perf_counter()
            whole, memory = timed(command(server), folder)
            runs.append((server.arrivals[-1] - began, whole, memory))
        size = len(server.requests[-1])
    firsts, wholes, memories = zip(*runs[1:], strict=True)
    return statistics.median(firsts), statistics.median(wholes), size, max(memories)


def reading(step: int) -> tuple[str, dict[str, Any]]:
    return "read_file", {"file_path": "hello.py", "max_lines": step + 1}


def running(step: int) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": f"echo {step}"}


def loop(folder: Path, call: Callable[[int], tuple[str, dict[str, Any]]]) -> float:
    """Seconds from one request's arrival to the next's, each answered at once with a call: the median."""
    with Server([*(calls(call(step)) for step in range(LOOP_STEPS)), says("Done.")]) as server:
        timed([*command(server), "--yes"], folder)
        return statistics.median(after - before for before, after in pairwise(server.arrivals))


def command(server: WireServer) -> list[str]:
    return [PROGRAM, "-p", "What is here?", "--base-url", server.url, "-m", "m"]


def timed(command: list[str], folder: Path) -> tuple[float, int]:
    """Seconds a command takes, and its resident memory at most, in kB. Leaves where it fails."""
    home = str(folder.parent / "home")
    environment = {**os.environ, "HOME": home, "XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}
    began = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} left with {process.returncode}:\n{process.communicate()[1].decode()}")
    process.communicate()
    return seconds, used.ru_maxrss


if __name__ == "__main__":
    main()
