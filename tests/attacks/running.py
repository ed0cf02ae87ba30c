"""Runs one case at one level and gives what the oracles saw."""

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from tests.attacks.oracle import Answer, Oracle
from tests.attacks.oracles import standing
from tests.attacks.world import HERE, World, base_folder, start_victim

LEVELS = ("off", "namespaces", "bubblewrap", "landlock")
REPOSITORY = HERE.parents[1]


@dataclass(frozen=True)
class Case:
    """One attack, as it stands in cases/*.toml (README.md says what each field means)."""

    name: str
    family: str
    promise: str
    command: str
    oracle: dict[str, Any]
    before: str = ""
    timeout: float = 10
    quick: bool = False
    needs: list[str] = field(default_factory=list[str])
    off: str = ""
    limits: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Verdict:
    """`own`: what the case's own oracles saw; `others`: what the standing ones saw besides."""

    own: list[str]
    others: list[str]
    answer: Answer

    @property
    def through(self) -> list[str]:
        return self.own + self.others


@functools.cache
def load_cases() -> tuple[Case, ...]:
    found: list[Case] = []
    for path in sorted((HERE / "cases").glob("*.toml")):
        entries: list[dict[str, Any]] = tomllib.loads(path.read_text())["case"]
        found += [Case(family=path.stem, **entry) for entry in entries]
    names = [case.name for case in found]
    assert len(names) == len(set(names)), "two cases of one name"
    return tuple(found)


@functools.cache
def compiled_kit() -> Path | None:
    """The C helpers, compiled once; None without a compiler."""
    if not shutil.which("gcc"):
        return None
    folder = tempfile.mkdtemp(prefix="localllm-kit-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = Path(folder) / "ckit"
    subprocess.run(["gcc", "-O1", "-w", "-o", str(target), str(HERE / "kit/ckit.c")], check=True, timeout=60)
    return target


def missing(needs: list[str]) -> str:
    """Why a case cannot run on this machine, or nothing."""
    for need in needs:
        match need:
            case "root" if os.geteuid() != 0:
                return "needs root"
            case "ckit" if compiled_kit() is None:
                return "needs a C compiler"
            case "root" | "ckit":
                continue
            case program if not shutil.which(program):
                return f"needs {program}"
            case _:
                continue
    return ""


@dataclass
class Agent:
    """The assistant's process (agent.py) around one command."""

    process: subprocess.Popen[bytes]
    lines: "Queue[bytes]"

    @classmethod
    def start(cls, world: World, case: Case, level: str) -> "Agent":
        job: dict[str, Any] = {
            "project": world.names["project"],
            "state": world.names["state"],
            "command": world.fill(case.command),
            "timeout": case.timeout,
            "level": level,
            "log": str(world.base / "victim/agent.log"),
        }
        path = world.base / "victim/job.json"
        path.write_text(json.dumps(job))
        command = [sys.executable, str(HERE / "agent.py"), str(path), world.secrets["argv"]]
        with (world.base / "victim/agent.err").open("wb") as errors:
            process = subprocess.Popen(
                command, env=world.agent_environment(REPOSITORY), cwd=world.names["project"], start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        world.processes.append(process)
        lines: Queue[bytes] = Queue()

        def read() -> None:
            assert process.stdout
            with process.stdout:
                for line in process.stdout:
                    lines.put(line)
            lines.put(b"")

        threading.Thread(target=read, daemon=True).start()
        return cls(process, lines)

    def go(self, secret: str) -> None:
        self.process.stdin.write(secret.encode() + b"\n")  # type: ignore[union-attr]  # it is a pipe
        self.process.stdin.flush()  # type: ignore[union-attr]
        assert self.lines.get(timeout=20) == b"ready\n"

    def let_go(self) -> None:
        try:
            self.process.stdin.close()  # type: ignore[union-attr]
            self.process.wait(5)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self.process.kill()
            self.process.wait()


def watch(agent: Agent, oracles: dict[str, Oracle], limit: float) -> Answer:
    """Wait for the answer while the oracles look on; an agent that dies or never answers says so in "error"."""
    begun = time.monotonic()
    while time.monotonic() - begun < limit + 20:
        for oracle in oracles.values():
            oracle.sample(agent.process.pid)
        try:
            line = agent.lines.get(timeout=0.1)
        except Empty:
            continue
        answer: Answer = json.loads(line) if line else {"dead": "the agent died"}
        return answer | {"seconds": time.monotonic() - begun, "limit": limit}
    return {"dead": "the agent never answered", "seconds": time.monotonic() - begun, "limit": limit}


def run_case(case: Case, level: str) -> Verdict:
    """Build a world, let the case loose at `level`, look, and take the world away."""
    world = World(base_folder() / "w")
    kit = compiled_kit()
    if kit:
        shutil.copy(kit, world.base / "project/kit/ckit")
    oracles: dict[str, Oracle] = {}
    try:
        start_victim(world)
        oracles = standing(world, case.oracle)
        for name in [n for n in oracles if n in ("contacted", "terminal", "kernel_objects")]:
            oracles[name].start()
        if case.before:
            world.shell(world.fill(case.before))
        return _judge(world, case, level, oracles)
    finally:
        for oracle in oracles.values():
            oracle.stop()
        world.close()
        world.base.parent.rmdir()


def _judge(world: World, case: Case, level: str, oracles: dict[str, Oracle]) -> Verdict:
    for name, oracle in oracles.items():
        if name not in ("contacted", "terminal", "kernel_objects"):
            oracle.start()
    agent = Agent.start(world, case, level)
    agent.go(world.secrets["memory"])
    answer = watch(agent, oracles, case.timeout)
    own: list[str] = []
    others: list[str] = [answer["dead"]] if "dead" in answer else []
    # What lives or grows is looked at first; what acts outside (trap) last.
    order = sorted(oracles, key=lambda name: (name == "trap", name not in ("alive", "beats")))
    for name in order:
        seen = oracles[name].verdict(answer, agent.process.pid)
        (own if name in case.oracle else others).extend(seen)
    agent.let_go()
    return Verdict(own, others, answer)


# The attacker's tools must run at a level: else every case would hold there for the wrong reason.
PROBE = "@kit@ hammer kit-works here 0.1 && [ $(cat kit-works) = here ] && echo here-$((6*7))"


@functools.cache
def offered(level: str) -> str:
    """Nothing when the machine offers `level`, else why not."""
    if level == "off":
        return ""
    verdict = run_case(Case("probe", "probe", "P9", PROBE, {"says": "here-42"}), level)
    if verdict.answer.get("level") == level and "here-42" in verdict.answer.get("stdout", ""):
        return ""
    return f"this machine does not offer {level}: {verdict.answer.get('error', verdict.answer)}"
