"""The assistant in the suite: runs one command at one level, says what came back, then waits to be let go.

Arguments: the job (a JSON file), then a secret that must not be read off this process's command line.
"""

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any


def watch_signals(log: Path) -> None:
    def note(number: int, _frame: object) -> None:
        with log.open("a") as file:
            file.write(f"signal {number}\n")

    for name in ("TERM", "HUP", "INT", "QUIT", "USR1", "USR2", "CONT", "ALRM", "WINCH"):
        signal.signal(getattr(signal, "SIG" + name), note)


def bare(command: str, cwd: str, timeout: float) -> dict[str, Any]:
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    late = False
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        late = True
        process.kill()
        out, err = process.communicate()
    texts = {"stdout": out.decode(errors="replace"), "stderr": err.decode(errors="replace")}
    return {**texts, "timed_out": late, "level": "off"}


async def sandboxed(job: dict[str, Any], command: str) -> dict[str, Any]:
    from localllm.sandbox.runner import SandboxRunner

    runner = SandboxRunner(Path(job["project"]), state_folder=Path(job["state"]), levels=(job["level"],))
    result = await runner.run(command, cwd=Path(job["project"]), timeout=job["timeout"])
    names = ("stdout", "stderr", "timed_out", "level", "truncated", "excess", "reverted", "return_code")
    return {name: str(value) if dataclasses.is_dataclass(value := getattr(result, name)) else value for name in names}


def main() -> None:
    job: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[1]).unlink()
    kept = sys.stdin.readline()  # the secret in memory, alive until the end
    watch_signals(Path(job["log"]))
    print("ready", flush=True)
    command = job["command"].replace("@agent_pid@", str(os.getpid()))
    try:
        off = job["level"] == "off"
        answer = bare(command, job["project"], job["timeout"]) if off else asyncio.run(sandboxed(job, command))
    except Exception as error:  # noqa: BLE001 - the report must reach the suite, whatever it is
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer, default=str), flush=True)
    sys.stdin.readline()
    del kept


main()
