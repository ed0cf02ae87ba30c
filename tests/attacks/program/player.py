"""Plays one case at one level: builds a world, starts the real program in it, and has the oracles look."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from tests.attacks.oracle import Answer, Oracle
from tests.attacks.program.case import HERE, Case, Run
from tests.attacks.program.loopback import Loopback
from tests.attacks.program.oracles import events, standing
from tests.attacks.world import World, base_folder

REPOSITORY = HERE.parents[2]
IDENTITY = "[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n"


LONG = {
    "commas": "{" + "," * 200_000,
    "longpassage": ("abcdefghij " * 11 + "bcdefghijk\n") * 45,
    "blanks": " " * 150_000,
    "pipes": "a|" * 29_900,
    "declarations": "<!" * 400_000 + "</" * 100_000 + "<a " * 100_000,
}
"""Arguments too long to be written down in a case."""


@dataclass(frozen=True)
class Verdict:
    """`found`: what the oracles saw; `answer`: what the program printed, and how it ended."""

    found: list[str]
    answer: Answer
    seconds: float


class Stage:
    """The world of one case, with its servers."""

    def __init__(self, case: Case, level: str) -> None:
        self.case = case
        self.level = level
        self.world = World(base_folder() / "w")
        self.servers = [Loopback({}), Loopback({})]
        self._furnish()

    def _furnish(self) -> None:
        world, names = self.world, self.world.names
        names |= {
            "proxy": self.servers[0].place,
            "other": self.servers[1].place,
            "other_port": str(self.servers[1].server_port),
            "secret": world.secrets["file"],
            "repository": str(REPOSITORY),
            "python": sys.executable,
            "packages": str(next(path for path in map(os.path.abspath, sys.path) if path.endswith("site-packages"))),
            "config": str(world.base / "home/.config/localllm"),
            "private": f"git init -q {world.base}/home/private; cd {world.base}/home/private; "
            + "echo {0} > plan.txt; git add .; git commit -q -m {0}".format(world.secrets["file"]),
            "commit": f"cd {names['project']} && git init -q . && git add -A && git commit -q -m base",
        }
        names |= LONG
        shutil.rmtree(world.base / "project/kit")
        self.servers[0].pages |= {world.fill(url): world.fill(page) for url, page in self.case.web.items()}
        with (world.base / "home/.gitconfig").open("a") as file:
            file.write(IDENTITY)
        if self.case.settings:
            config = world.base / "home/.config/localllm/localllm.toml"
            config.parent.mkdir(parents=True)
            config.write_text(world.fill(self.case.settings))
        for name, text in self.case.files.items():
            path = world.base / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(world.fill(text))

    def shell(self, script: str) -> None:
        """Run what the user does; a mistake in it is an error."""
        environment = {**self.world.host_environment(), "LL_ATTACK_MARK": self.world.mark}
        done = subprocess.run(
            ["bash", "-ec", self.world.fill(script)], cwd=self.world.base, env=environment, timeout=30,
            capture_output=True, text=True, stdin=subprocess.DEVNULL, start_new_session=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"the user's own commands failed: {done.stderr or done.stdout}"

    def play(self) -> Answer:
        """Start the program as often as the case says."""
        answer: Answer = {"stdout": "", "stderr": "", "codes": [], "hung": False, "servers": self.servers}
        for number, run in enumerate(self.case.runs):
            if number and run.before:
                self.shell(run.before)
            self._start(run, answer)
        if self.case.user:
            self.world.shell(self.world.fill(self.case.user))
        return answer

    def _start(self, run: Run, answer: Answer) -> None:
        fill = self.world.fill
        typed = "".join(f"{fill(line)}\n" for line in run.chat) or fill(run.piped)
        process = subprocess.Popen(
            self._command(run), cwd=fill(run.where), env=self._environment(run), start_new_session=True, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace",
        )  # fmt: skip
        try:
            out, err = process.communicate(typed, timeout=self.case.limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            answer["hung"] = True
        answer["stdout"] += out
        answer["stderr"] += err
        answer["codes"].append(process.returncode)
        for event in events(answer, "RunStarted")[:1]:
            self.world.names["first_session"] = event["session_id"]

    def _command(self, run: Run) -> list[str]:
        fill = self.world.fill
        start = {"entry": [sys.executable, str(HERE / "start/entry.py")], "module": [sys.executable, "-m", "localllm"]}
        command = start.get(run.program) or [fill(run.program), "-m", "localllm"]
        if run.scripted:
            command += ["--script", self._script(run)]
        command += {"yes": ["--mode", "ask", *([] if run.chat else ["--yes"])], "": []}.get(
            run.mode, ["--mode", run.mode]
        )
        if self.level == "none":
            command.append("--i-accept-no-sandbox")
        command += [] if run.chat else ["-p", fill(run.prompt), "--output", "stream-json"]
        return [*command, *map(fill, run.options)]

    def _script(self, run: Run) -> str:
        """The file of what the model does, and a few times "Done." in the end."""
        turns = [self._turn(turn) for turn in run.turns]
        path = self.world.base / f"victim/script-{self.case.runs.index(run)}.toml"
        path.write_text("".join(f"[[turn]]\n{text}\n" for text in [*turns, *['text = "Done."'] * 4]))
        return str(path)

    def _turn(self, turn: dict[str, Any]) -> str:
        ((name, value),) = turn.items()
        match name:
            case "say":
                return f"text = {json.dumps(self._filled(value))}"
            case "run":
                return self._turn({"run_command": {"command": value}})
            case _:
                arguments = json.dumps(json.dumps(self._filled(value)))
                return f'calls = [{{ name = "{name}", arguments = {arguments} }}]'

    def _filled(self, value: Any) -> Any:
        match value:
            case str():
                return self.world.fill(value)
            case [*items]:
                return [self._filled(item) for item in items]
            case {**fields}:
                return {key: self._filled(item) for key, item in fields.items()}
            case _:
                return value

    def _environment(self, run: Run) -> dict[str, str]:
        base, fill = self.world.base, self.world.fill
        return {
            "HOME": str(base / "home"),
            "PATH": ":".join([*map(fill, run.path), os.environ["PATH"]]),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "LOCALLLM_STATE_DIR": str(base / "state"),
            "LOCALLLM_CACHE_DIR": str(base / "state/cache"),
            "LOCALLLM_CONFIG_DIR": str(base / "home/.config/localllm"),
            "XDG_RUNTIME_DIR": str(base / "runtime"),
            "OPENAI_API_KEY": self.world.secrets["env"],
            "GEMINI_API_KEY": self.world.secrets["env"],
            "OLLAMA_API_KEY": self.world.secrets["env"],
            "LMSTUDIO_API_KEY": self.world.secrets["env"],
            "AZURE_OPENAI_API_KEY": self.world.secrets["env"],
            "LL_ATTACK_MARK": self.world.mark,
            "LL_ATTACK_LEVEL": self.level,
            **{name: fill(value) for name, value in run.environ.items()},
            "PYTHONPATH": ":".join([str(HERE / "start"), *filter(None, [fill(run.environ.get("PYTHONPATH", ""))])]),
        }

    def close(self) -> None:
        for server in self.servers:
            server.shutdown()
            server.server_close()
        project = self.world.names["project"]  # it may nest deeper than Python takes away
        subprocess.run(["rm", "-rf", project], capture_output=True, timeout=300, check=False)
        self.world.close()
        self.world.base.parent.rmdir()


def play(case: Case, level: str) -> Verdict:
    """Play `case` at `level`, and look."""
    begun = time.monotonic()
    sys.setrecursionlimit(10_000)  # os.walk calls itself for each folder of a deep tree
    stage = Stage(case, level)
    oracles: dict[str, Oracle] = {}
    try:
        if case.before:
            stage.shell(case.before)
        oracles = standing(stage.world, case.oracle)
        for oracle in oracles.values():
            oracle.start()
        answer = stage.play()
        found = [seen for oracle in oracles.values() for seen in oracle.verdict(answer, 0)]
        return Verdict(found, answer, time.monotonic() - begun)
    finally:
        for oracle in oracles.values():
            oracle.stop()
        stage.close()
