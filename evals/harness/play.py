#!/usr/bin/env python3
"""Play small models with their usual faults through localllm, and count what the harness lets go to waste.

    python evals/harness/play.py [TASK …] [--verbose] [--record FILE]

Each folder beside this file is a task: `task.toml` (the request), `files/` or `make.py` (the project as it is found),
`check.py` (whether the job is really done) and `answers.toml` (what the model says). README.md has the form of each.
Every task is played twice: with the model's faults, and without them, where not one extra request may be needed.
Exit status 1 if a job is not done, a run ends "done" with its check failing, more than one answer in twenty is
wasted, or a faultless run takes an extra request.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MOST_WASTED = 0.05
SECONDS = 300  # for one run
PANEL = "[This is no step of the work"  # what a question to a member of the panel begins with
SIDE_ANSWER = "Goal: the user's request, as it stands. Done so far: see the files. Next: go on with the next step."


@dataclass
class Player:
    """Give a task's answers in order; say a step again, better, where the harness did not carry it out."""

    steps: list[dict[str, Any]]
    window: int
    step: int = 0
    attempt: int = 0
    requests: int = 0
    asked_on: int = 0  # requests after the last answer
    extra: dict[str, int] = field(default_factory=dict[str, int])  # step → answers beyond its first
    lost: list[str] = field(default_factory=list[str])
    log: list[str] = field(default_factory=list[str])
    system: str = ""
    seen: int = 0  # messages of the request before

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request: the next step's, or the same step's again if it had no effect."""
        messages = request["messages"]
        system = str(messages[0].get("content"))
        if (self.system and system != self.system) or PANEL in str(messages[-1].get("content")):
            self.log.append("[side request]")
            return {"text": SIDE_ANSWER}
        self.system = system
        self.requests += 1
        if self.requests > 1:
            self.judge(newest_words(messages, self.seen))
        self.seen = len(messages)
        if self.step >= len(self.steps):
            self.asked_on += 1
            return {"text": "That is all; see what I wrote above."}
        say = self.steps[self.step]["say"][self.attempt]
        self.log.append(f"> {json.dumps(say, ensure_ascii=False)[:300]}")
        return say

    def judge(self, words: str) -> None:
        self.log.append("< " + words[:700])
        if self.step >= len(self.steps):
            return
        step = self.steps[self.step]
        name = f"{self.step + 1}: {step.get('fault', 'no fault')}"
        if re.search(step.get("done", ""), words):
            self.step, self.attempt = self.step + 1, 0
            return
        self.extra[name] = self.extra.get(name, 0) + 1
        self.attempt += 1
        if self.attempt == len(step["say"]):
            self.lost.append(name)
            self.step, self.attempt = self.step + 1, 0

    def wasted(self) -> int:
        """Count the answers that went to waste beyond those a model's own mistake costs."""
        due = {f"{n}: {s.get('fault', 'no fault')}": s.get("due", 0) for n, s in enumerate(self.steps, 1)}
        return sum(max(0, count - due[name]) for name, count in self.extra.items())

    def waste(self) -> list[str]:
        due = {f"{n}: {s.get('fault', 'no fault')}": s.get("due", 0) for n, s in enumerate(self.steps, 1)}
        return [name for name, count in self.extra.items() if count > due[name]]


def newest_words(messages: list[dict[str, Any]], seen: int) -> str:
    """Join what was said to the model since its last answer."""
    start = max((n + 1 for n, m in enumerate(messages) if m["role"] == "assistant"), default=0)
    if seen < len(messages):
        start = max(min(start, len(messages) - 1), min(seen, len(messages) - 1))
    return "\n".join(str(m.get("content") or "") for m in messages[start:] if m["role"] != "assistant")


class Handler(BaseHTTPRequestHandler):
    """Speak as a llama.cpp server does, as far as a chat needs it."""

    protocol_version = "HTTP/1.1"
    player: Player

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        if self.path.startswith("/props"):
            self.reply({"default_generation_settings": {"n_ctx": self.player.window}, "total_slots": 1})
        elif self.path.endswith("/models"):
            self.reply({"object": "list", "data": [{"id": "small", "object": "model", "owned_by": "llamacpp"}]})
        else:
            self.reply({"error": {"message": "File Not Found", "code": 404}}, 404)

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        say = self.player.answer(request)
        calls = [
            {"index": n, "id": f"c{self.player.requests}-{n}", "type": "function", "function": {"name": c["name"],
             "arguments": a if isinstance(a := c["arguments"], str) else json.dumps(a, ensure_ascii=False)}}
            for n, c in enumerate(say.get("calls", []))
        ]  # fmt: skip
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
        if say.get("thinking"):
            deltas.append({"reasoning_content": say["thinking"]})
        if say.get("text"):
            deltas.append({"content": say["text"]})
        if calls:
            deltas.append({"tool_calls": calls})
        finish = say.get("finish", "tool_calls" if calls else "stop")
        choices = [{"index": 0, "delta": d, "finish_reason": None} for d in deltas]
        choices.append({"index": 0, "delta": {}, "finish_reason": finish})
        if not request.get("stream"):
            message = {"role": "assistant", "content": say.get("text"), "tool_calls": calls or None}
            self.reply({"choices": [{"index": 0, "message": message, "finish_reason": finish}]})
            return
        events = [json.dumps({"object": "chat.completion.chunk", "choices": [c]}, ensure_ascii=False) for c in choices]
        self.send("".join(f"data: {e}\n\n" for e in [*events, "[DONE]"]).encode(), "text/event-stream", 200)

    def reply(self, value: dict[str, Any], status: int = 200) -> None:
        self.send(json.dumps(value).encode(), "application/json", status)

    def send(self, body: bytes, kind: str, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@dataclass
class Outcome:
    """What one run of one task came to."""

    solved: bool
    exit_code: int
    player: Player
    output: str

    @property
    def believed(self) -> bool:
        return self.exit_code == 0 and not self.solved


def play(task: Path, *, faults: bool) -> Outcome:
    """Run a task's request against its player, and check the project that is left."""
    settings = tomllib.loads((task / "task.toml").read_text())
    steps = tomllib.loads((task / "answers.toml").read_text())["step"]
    if not faults:
        steps = [{**s, "say": s["say"][-1:], "fault": "no fault"} for s in steps if not s.get("only_with_fault")]
    player = Player(steps, settings.get("window", 8192))
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"player": player}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        project = Path(folder, "work", task.name)
        found(task, project)
        environment = {n: v for n, v in os.environ.items() if n in ("PATH", "PYTHONPYCACHEPREFIX", "TERM")}
        environment |= {"HOME": folder, "LANG": "ja_JP.UTF-8" if settings.get("language") == "ja" else "C.UTF-8"}
        address = f"http://127.0.0.1:{server.server_address[1]}/v1"
        line = [sys.executable, "-m", "localllm", "--provider", "openai", "--base-url", address, "--model", "small"]
        run = subprocess.run(
            [*line, "-p", settings["request"], "--yes"], cwd=project, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        server.shutdown()
        server.server_close()
        check = subprocess.run(
            [sys.executable, "-B", task / "check.py", project],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        output = f"{run.stdout}\n{run.stderr}\n--- check\n{check.stdout}{check.stderr}"
    return Outcome(check.returncode == 0, run.returncode, player, output)


def found(task: Path, project: Path) -> None:
    """Lay out the project as the model finds it, committed in a repository."""
    if (task / "files").is_dir():
        shutil.copytree(task / "files", project)
    else:
        project.mkdir(parents=True)
    if (task / "make.py").exists():
        subprocess.run([sys.executable, task / "make.py", project], check=True)
    name = ["-c", "user.name=Someone", "-c", "user.email=someone@example.invalid"]
    for words in (["init", "-q"], ["add", "-A"], [*name, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *words], cwd=project, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--verbose", action="store_true", help="print what was said and what was printed")
    parser.add_argument("--record", type=Path, help="write the table there, as JSON")
    options = parser.parse_args()
    names = options.tasks or sorted(p.parent.name for p in HERE.glob("*/task.toml"))
    rows: list[dict[str, Any]] = []
    for name in names:
        for faults in (True, False):
            outcome = play(HERE / name, faults=faults)
            player = outcome.player
            rows.append(
                {
                    "task": name, "faults": sum("fault" in s for s in player.steps) if faults else 0,
                    "solved": outcome.solved, "exit": outcome.exit_code, "believed": outcome.believed,
                    "answers": player.requests, "wasted": player.wasted() + player.asked_on,
                    "not_played": max(0, len(player.steps) - player.step - 1), "waste": player.waste(),
                }
            )  # fmt: skip
            print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
            if options.verbose:
                print("\n".join(player.log), outcome.output, sep="\n", flush=True)
    if options.record:
        options.record.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    played = [row for row in rows if row["faults"]]
    share = sum(row["wasted"] for row in played) / max(1, sum(row["answers"] for row in played))
    done, faults = sum(row["solved"] for row in played), sum(row["faults"] for row in played)
    print(f"{done} of {len(played)} jobs done, {faults} faults, {share:.1%} of the answers wasted")
    print(f"{sum(row['believed'] for row in rows)} runs that ended as done were not")
    extra = any(row["wasted"] for row in rows if not row["faults"])
    return 1 if extra or share > MOST_WASTED or not all(row["solved"] and not row["believed"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
