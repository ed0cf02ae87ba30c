#!/usr/bin/env python3
"""How much of the prompt a server with one slot reads anew in a run that gets stuck and asks the panel, in each way of
calling tools. Such a server keeps what it has read last, as far as the next request begins with it. `kept`: how much
there was still of the agent's own request before.

.venv/bin/python benchmarks/prefix_reuse.py
"""

import json
import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.bytecode import with_own_bytecode
from tests.support.wire_server import Reply, WireServer, calls, says

PROGRAM = str(Path(sys.executable).with_name("localllm"))
QUERY = "Set the value in a.py to 3"
MISS: dict[str, Any] = {"file_path": "a.py", "old_string": "y = 2", "new_string": "y = 3"}
MEND: dict[str, Any] = {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 3"}
ADVICE = {"verdict": "there is no y", "next_action": "edit x", "avoid": "y", "check": "read a.py", "confidence": 0.9}
MISSES = 5
MEMBERS = ("conservative", "progressive", "judge")
AFTER = "after the panel"


def main() -> None:
    with_own_bytecode(os.environ)
    for dialect in ("native", "structured", "text"):
        prompts = [prompt(request) for request in run(dialect)]
        if len(prompts) != len(names()):
            sys.exit(f"{dialect}: {len(prompts)} requests, not {len(names())}")
        print(f"{dialect:24} {'bytes':>8} {'read anew':>10} {'kept':>8}")
        for (before, after), name in zip(pairwise(prompts), names()[1:], strict=True):
            kept = common(before, after)
            of_the_agent = prompts[MISSES - 1] if name in (*MEMBERS, AFTER) else before
            share = min(1.0, kept / len(of_the_agent))
            print(f"{name:24} {len(after):8,} {len(after) - kept:10,} {share:8.1%}")


def names() -> list[str]:
    return [f"edit {number}" for number in range(1, MISSES + 1)] + [*MEMBERS, AFTER, "answer"]


def replies(dialect: str) -> list[Reply]:
    step = {"native": calls, "structured": structured, "text": text}[dialect]
    opinions = [says(f"{member}: look at the file.") for member in MEMBERS[:2]]
    return [*[step(("edit_file", MISS))] * MISSES, *opinions, says(json.dumps(ADVICE)), step(("edit_file", MEND))]


def structured(call: tuple[str, dict[str, Any]]) -> Reply:
    return says(json.dumps({"thought": "I edit.", "action": {"name": call[0], "arguments": call[1]}}))


def text(call: tuple[str, dict[str, Any]]) -> Reply:
    return says(f"Thought: I edit.\nAction: {call[0]}\nAction Input: {json.dumps(call[1])}")


def run(dialect: str) -> list[bytes]:
    """The requests of a run that fails to edit a file until it was advised. Leaves where it fails."""
    with tempfile.TemporaryDirectory() as name, WireServer([*replies(dialect), says("x is 3 now.")]) as server:
        home, project = Path(name, "home"), Path(name, "project")
        project.mkdir()
        Path(project, "a.py").write_text("x = 1\n", "utf-8")
        environment = {
            **os.environ,
            **dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"), str(home)),
            "LOCALLLM_LLM_DIALECT": dialect,
            "LOCALLLM_LLM_CONTEXT_WINDOW": "32768",
        }
        command = [PROGRAM, "-p", QUERY, "--base-url", server.url, "-m", "m", "--yes"]
        done = subprocess.run(
            command, cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if done.returncode:
            sys.exit(f"{' '.join(command)} left with {done.returncode}:\n{done.stderr.decode()}")
        return server.requests


def prompt(request: bytes) -> bytes:
    """What of a request its server makes the prompt of, the tools and the messages, each without the end of its JSON:
    a message that goes on begins with what it was."""
    body: dict[str, Any] = json.loads(request)
    parts = [*body.get("tools", ()), *body["messages"]]
    return b"\n".join(json.dumps(part, ensure_ascii=False).encode().rstrip(b'"}') for part in parts)


def common(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


if __name__ == "__main__":
    main()
