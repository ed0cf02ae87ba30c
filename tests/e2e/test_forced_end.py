"""A thread that hangs for good does not keep the program from ending."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.test_oneshot import environment
from tests.support.in_time import LIMIT

HANGS = """
import sys, threading
from pathlib import Path
from localllm.safety import paths

real = paths.ProjectRoot.{method}

def hang(self, *arguments, **options):
    Path("hangs").touch()
    threading.Event().wait()

paths.ProjectRoot.{method} = hang
from localllm.cli import main
main()
"""
SCRIPT = """
[[turn]]
calls = [{ name = "edit_file", arguments = { file_path = "kept.txt", old_string = "a", new_string = "b" } }]
[[turn]]
text = "Done."
"""


def start(root: Path, method: str) -> "subprocess.Popen[str]":
    """The program, with an edit in a thread that never ends."""
    (root / "kept.txt").write_text("a\n")
    script = root / "script.toml"
    script.write_text(SCRIPT)
    arguments = ["--provider", "scripted", "--script", str(script), "--yes", "-p", "go"]
    return subprocess.Popen(
        [sys.executable, "-c", HANGS.format(method=method), *arguments],
        cwd=root,
        env=environment(root),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("method", ["read_bytes", "write_bytes"])
@pytest.mark.parametrize("signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,)])
def test_signals_end_it(tmp_path: Path, method: str, signals: tuple[signal.Signals, ...]) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    process = start(root, method)
    try:
        wait_for(root / "hangs", process)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.2)  # two signals at once are one
        process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode in (130, 143)
    assert (root / "kept.txt").read_text() == "a\n"


def wait_for(file: Path, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + LIMIT
    while not file.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_session_that_was_ended_so_is_closed_by_the_next_start(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    process = start(root, "write_bytes")
    try:
        wait_for(root / "hangs", process)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    listed = subprocess.run(
        [sys.executable, "-m", "localllm", "history", "list"],
        cwd=root, env=environment(root), capture_output=True, text=True, timeout=LIMIT, check=True,
    )  # fmt: skip
    assert "go" in listed.stdout


def test_it_can_be_called_off() -> None:
    code = "from localllm.tui.signals import ForcedEnd; f = ForcedEnd(); f.begin(7, 0.01); f.call_off(); print('ends')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (run.returncode, run.stdout) == (0, "ends\n")


def test_what_is_done_before_may_hang_as_well() -> None:
    code = """
import threading
from localllm.tui.signals import ForcedEnd
ForcedEnd(threading.Event().wait).begin(7, 0.01)
threading.Event().wait()
"""
    run = subprocess.run([sys.executable, "-c", code], timeout=LIMIT, check=False, env=dict(os.environ))
    assert run.returncode == 7


def test_what_must_not_be_left_half_done_is_finished_before() -> None:
    code = """
import threading, time
from localllm.base.unfinished_work import unfinished
from localllm.tui.signals import ForcedEnd

def work():
    with unfinished():
        begun.set()
        time.sleep(7)  # longer than the end waits for anything else
        print("done", flush=True)

begun = threading.Event()
threading.Thread(target=work, daemon=True).start()
begun.wait()
ForcedEnd().begin(7, 0.01)
threading.Event().wait()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (run.returncode, run.stdout) == (7, "done\n")


SEARCH = "import re; re.search('(?:a|a)*b', 'a' * 100)"
SOON = "from localllm.tui import signals; signals._LAST_WORDS = signals._SPARE = 0.1"
"""Else the search would be calculated for three seconds before it is ended."""


def test_a_search_that_holds_the_interpreter_is_ended_as_well() -> None:
    code = f"""
{SOON}
from localllm.tui.signals import ForcedEnd
ForcedEnd().begin(7, 0.01)
{SEARCH}
"""
    run = subprocess.run([sys.executable, "-c", code], timeout=LIMIT, check=False, env=dict(os.environ))
    assert run.returncode == 1


@pytest.mark.parametrize("pressed", [["SIGTERM"], ["SIGINT", "SIGINT"]])
def test_signals_are_heard_during_a_search_that_holds_the_interpreter(pressed: list[str]) -> None:
    code = f"""
{SOON}
import asyncio, os, signal
from localllm.tui.signals import ForcedEnd
from localllm.tui.signals import signal_handlers

async def main():
    heard = lambda: None
    with signal_handlers({{"SIGTERM": heard, "SIGINT": heard}}, lambda: ForcedEnd().arm(0.01)):
        for name in {pressed}:
            os.kill(os.getpid(), signal.Signals[name])
        {SEARCH}

asyncio.run(main())
"""
    run = subprocess.run([sys.executable, "-c", code], timeout=LIMIT, check=False, env=dict(os.environ))
    assert run.returncode == 1


@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)])
def test_signals_are_heard_while_a_system_call_waits(tmp_path: Path, signals: tuple[signal.Signals, ...]) -> None:
    os.mkfifo(tmp_path / "pipe")
    code = """
import asyncio
from localllm.tui.signals import ForcedEnd, signal_handlers

async def main():
    heard = lambda: None
    with signal_handlers({"SIGTERM": heard, "SIGINT": heard}, lambda: ForcedEnd().arm(0.01)):
        print("waits", flush=True)
        open("pipe")

asyncio.run(main())
"""
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, env=dict(os.environ))
    try:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.5)  # it opens the pipe
        for number in signals:
            process.send_signal(number)
            time.sleep(0.2)  # two signals at once are one
        process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode == 1


def test_interrupts_that_are_heard_end_nothing() -> None:
    code = """
import asyncio, os, signal
from localllm.tui.signals import ForcedEnd
from localllm.tui.signals import signal_handlers

async def main():
    heard = asyncio.Queue()
    with signal_handlers({"SIGINT": lambda: heard.put_nowait(1)}, lambda: os._exit(9)):
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
            await heard.get()

asyncio.run(main())
"""
    run = subprocess.run([sys.executable, "-c", code], timeout=LIMIT, check=False, env=dict(os.environ))
    assert run.returncode == 0


def test_signals_that_come_again_while_the_program_closes_end_nothing() -> None:
    code = """
import asyncio, os, signal
from localllm.tui.signals import signal_handlers

async def main():
    heard = asyncio.Event()
    with signal_handlers({name: heard.set for name in ("SIGHUP", "SIGTERM", "SIGINT", "SIGCONT")}, lambda: None):
        os.kill(os.getpid(), signal.SIGHUP)
        await heard.wait()
    for name in ("SIGHUP", "SIGTERM", "SIGINT", "SIGHUP"):
        os.kill(os.getpid(), signal.Signals[name])
        await asyncio.sleep(0)
    print("closed")

asyncio.run(main())
"""
    run = subprocess.run([sys.executable, "-c", code], timeout=LIMIT, check=False, env=dict(os.environ), stdout=-1)
    assert (run.returncode, run.stdout) == (0, b"closed\n")


LINGERS = """
import sys, threading, time
from localllm.cli import main
import localllm.cli.main

def run(*_):
    threading.Thread(target=time.sleep, args=(600,)).start()
    print("ended", flush=True)
    return 130

sys.modules["localllm.cli.main"].run = run
sys.argv = ["localllm", "rag", "list"]
main()
"""


def test_ctrl_c_that_comes_again_at_the_end_leaves_no_traceback(tmp_path: Path) -> None:
    """Python waits for threads then, and would print where it was interrupted."""
    command = [sys.executable, "-c", LINGERS]
    with subprocess.Popen(
        command, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ended\n"
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)
        _out, said = program.communicate(timeout=LIMIT)
    assert (program.returncode, said) == (130, "")
