"""A session that is killed at any moment goes on: with a valid conversation, whose bytes a server has read already, and
with a word about what was lost."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from localllm.base.events import RunFinished, RunStarted
from localllm.llm.messages import AssistantMessage
from localllm.sessions.entries import Entry, Kept
from localllm.sessions.log import read_session
from tests.e2e.test_oneshot import EDIT, configure, localllm, start
from tests.e2e.test_sessions import goes_on, is_valid, logs
from tests.support.wire_server import Reply, WireServer, calls, says

pytestmark = pytest.mark.long

KILLS = 20
BUG = "def total(prices, discount=0.0):\n    return sum(prices) * discount\n"
NEW = ("write_file", {"file_path": "notes.txt", "content": "値引き\n" * 200})
SHELL = ("run_command", {"command": "echo one > made.txt; sleep 0.02; echo two"})
WORK: Sequence[Reply] = [
    calls(("read_file", {"file_path": "prices.py"}), ("list_files", {}), text="I will look."),
    calls(EDIT),
    calls(NEW, SHELL),
    says("The discount is subtracted now. 割引を引くようにしました。"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    return root


def make_anew(root: Path, url: str) -> None:
    """The project as it was before any session."""
    shutil.rmtree(root.parent / "home" / "state" / "sessions", ignore_errors=True)
    for there in root.iterdir():
        shutil.rmtree(there) if there.is_dir() else there.unlink()
    (root / "prices.py").write_text(BUG)
    (root / "LOCALLLM.md").write_text("# Notes\n\nBy hand.\n")
    configure(root, url)


def size_of(root: Path) -> int:
    return sum(log.stat().st_size for log in logs(root))


def kill_at(process: subprocess.Popen[str], root: Path, size: int, delay: float) -> None:
    """Kill the program when its log has so many bytes, and a moment later, unless it has ended by then."""
    while process.poll() is None and size_of(root) < size:
        time.sleep(0.001)
    time.sleep(delay)
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)


def is_unfinished(entries: Sequence[Entry]) -> bool:
    """Whether something of the run is missing: all but the word that it has ended, after its answer."""
    if any(isinstance(entry, RunFinished) for entry in entries):
        return False
    kept = [entry.message for entry in entries if isinstance(entry, Kept)]
    return not (isinstance(kept[-1], AssistantMessage) and not kept[-1].tool_calls)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(10))
def test_two_hundred_kills(project: Path, seed: int) -> None:
    chance = random.Random(seed)
    outcomes: dict[str, int] = {}
    with WireServer(WORK) as server:
        make_anew(project, server.url)
        localllm(project, "-p", "Fix it", "--yes")
        whole = size_of(project)
    for number in range(KILLS):
        with WireServer(WORK) as server:
            make_anew(project, server.url)
            process = start(project, "-p", "Fix it", "--yes")
            kill_at(process, project, chance.randrange(1, whole), chance.choice((0.0, 0.001, 0.004, 0.02)))
            if not logs(project):
                continue  # killed before its first line
            (log,) = logs(project)
            before = read_session(log)
            torn = chance.random() < 0.3
            if torn:  # as if the machine had gone down with it
                log.write_bytes(log.read_bytes()[: -chance.randrange(1, 60)])
            if not any(isinstance(entry, RunStarted) for entry in read_session(log).entries):
                continue  # the first line of the run is torn: nothing was said
            asked = len(server.requests)
            server.replies = [says("Going on.")]
            done = localllm(project, "--continue", "-p", "Go on")
            assert done.returncode == 0, (number, done.stderr)
            assert done.stdout == "Going on.\n"
            check(server, asked, done.stderr, torn=torn)
            said = re.search(r"was interrupted [a-z ]*|ends in the middle", done.stderr)
            assert torn or bool(said) == is_unfinished(before.entries), (number, done.stderr)
            outcomes[said[0] if said else "nothing lost"] = outcomes.get(said[0] if said else "nothing lost", 0) + 1
            assert_record(project)
    print(outcomes)
    assert sum(outcomes.values()) >= KILLS // 2, "most kills came while there was a session"


def check(server: WireServer, asked: int, stderr: str, *, torn: bool) -> None:
    """The new request is valid, and goes on from the last one before the kill, as far as that was logged."""
    *_, last = server.requests
    messages = json.loads(last)["messages"]
    assert is_valid(messages)
    asked_now = messages[-1]["content"]
    if torn:  # the notes are sent again where the log has lost that they were
        asked_now = re.sub(r"\A<project-notes.*?</project-notes>\s*", "", asked_now, flags=re.DOTALL)
    assert asked_now.startswith("Go on")
    assert "do not fit" not in stderr
    if asked and not torn:
        assert goes_on(server.requests[asked - 1], last)


def assert_record(root: Path) -> None:
    """The notes have at most one record of the session, and what was written by hand."""
    text = (root / "LOCALLLM.md").read_text(encoding="utf-8")
    assert text.startswith("# Notes\n\nBy hand.\n")
    changed = (root / "prices.py").read_text() != BUG
    assert text.count("(20") <= 1
    assert not changed or "Fix it" in text or "(20" not in text
