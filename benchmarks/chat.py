#!/usr/bin/env python3
"""The chat on a pseudo-terminal: when its first line is painted, when it takes keys, and its memory; in a folder of
10 files, there in the mode auto as well, and in one of 100,000, with nothing listening. Medians of one run beside the
budgets.

.venv/bin/python benchmarks/chat.py [ROUNDS]
"""

import fcntl
import os
import pty
import re
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.bytecode import with_own_bytecode

PROGRAM = str(Path(sys.executable).with_name("localllm"))
ASKS_POSITION = b"\x1b[6n"
PATIENCE_SECONDS = 20.0


class Start(NamedTuple):
    """Seconds to the first byte on the screen and to the echo of a key typed at the prompt; resident kB then."""

    painted: float
    ready: float
    memory: int


def main() -> None:
    with_own_bytecode(os.environ)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    print(f"{'median of ' + str(rounds):28} {'painted':>9} {'ready':>9} {'resident':>9}")
    print(f"{'budget':28} {'0.10 s':>9} {'0.25 s':>9} {'80 MB':>9}")
    for files, options in ((10, ()), (10, ("--mode", "auto")), (100_000, ())):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            fill(folder / "project", files)
            starts = [start(folder, *options) for _ in range(rounds + 1)][1:]
        painted, ready, memory = (statistics.median(column) for column in zip(*starts, strict=True))
        named = " ".join((f"{files:,} files", *options))
        print(f"{named:28} {painted:7.3f} s {ready:7.3f} s {memory / 1024:6.0f} MB")


def fill(project: Path, files: int) -> None:
    """Small files, a hundred to a folder."""
    for number in range(files):
        if number % 100 == 0:
            folder = project / f"part{number // 10_000}" / f"p{number // 100}"
            folder.mkdir(parents=True)
        (folder / f"m{number}.py").write_text(f"x = {number}\n", "ascii")


def start(folder: Path, *options: str) -> Start:
    """One start of the chat."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "HOME": str(folder), "TERM": "xterm-256color"}
    environment |= {f"XDG_{kind}_HOME": str(folder) for kind in ("STATE", "CONFIG")}
    for name in ("LMSTUDIO", "OLLAMA", "OPENAI"):
        environment[f"LOCALLLM_LLM_{name}_BASE_URL"] = "http://127.0.0.1:9"  # the discard port: nobody is there
    began = time.perf_counter()
    process = subprocess.Popen(
        [PROGRAM, *options], cwd=folder / "project", env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    try:
        painted, ready = watch(ours, began)
        status = Path(f"/proc/{process.pid}/status").read_text("ascii")
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return Start(painted, ready, int(found[1]) if found else 0)


def watch(terminal: int, began: float) -> tuple[float, float]:
    """Seconds to the first byte, and to the echo of a key that was typed as soon as that was there."""
    shown = b""
    painted = 0.0
    while time.perf_counter() - began < PATIENCE_SECONDS:
        if not select.select([terminal], [], [], 0.5)[0]:
            continue
        piece = os.read(terminal, 65_536)
        now = time.perf_counter() - began
        if not painted:
            painted = now
            os.write(terminal, b"Q")
        if ASKS_POSITION in piece:
            os.write(terminal, b"\x1b[1;1R")
        shown += piece
        if re.search("› .*Q".encode(), shown, re.DOTALL):
            return painted, now
    sys.exit(f"the chat did not take keys in {PATIENCE_SECONDS} s; it showed:\n{shown.decode(errors='replace')}")


if __name__ == "__main__":
    main()
