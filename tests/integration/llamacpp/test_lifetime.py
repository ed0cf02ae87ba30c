"""The child process of the gguf provider: it is gone when we are, however we went, and nobody else can use it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from localllm.llm.gguf import child_program
from localllm.llm.gguf.child_process import ModelProcess, Order
from tests.integration.llamacpp.conftest import ModelFile
from tests.support.llama import Served

ROOT = Path(__file__).parents[3]

OWNER = """
import asyncio, os, sys
from localllm.llm.gguf.child_process import ModelProcess, Order

process = ModelProcess(Order(file=sys.argv[1], name="tiny", window=1024), os.environ)
if sys.argv[2] == "ready":
    asyncio.run(process.address())
print(process.pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def owner(file: Path, moment: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A program with a child process, and the child's id."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(file), moment],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout
        yield process, int(process.stdout.readline())


def wait_until_gone(pid: int) -> None:
    """As long as the test may take."""
    while is_there(pid):
        time.sleep(0.01)


def is_there(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not yet taken note of does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.parametrize("moment", ["loading", "ready"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_it_is_gone_when_its_parent_was_killed(model_file: ModelFile, moment: str, number: signal.Signals) -> None:
    with owner(model_file("plain"), moment) as (parent, pid):
        parent.send_signal(number)
        parent.wait()
        wait_until_gone(pid)


def test_it_is_gone_when_its_parent_ends_without_a_word(model_file: ModelFile) -> None:
    with owner(model_file("plain"), "ready") as (parent, pid):
        assert parent.stdin
        parent.stdin.close()
        wait_until_gone(pid)
    assert parent.returncode == 0


def test_it_ends_with_its_input_alone_where_the_system_would_not_see_to_it(model_file: ModelFile) -> None:
    with started_by_hand(model_file("plain"), parent=os.getpid()) as process:
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline().startswith('{"address"')
        process.stdin.close()
        assert process.wait() == 0


def test_it_does_not_begin_where_its_parent_has_gone_already(model_file: ModelFile) -> None:
    with started_by_hand(model_file("plain"), parent=1) as process:
        assert process.stdout
        assert process.stdout.readline() == ""
        assert process.wait() == 0


@contextmanager
def started_by_hand(file: Path, parent: int) -> Iterator[subprocess.Popen[str]]:
    order = {"file": str(file), "name": "tiny", "window": 512, "parallel": 1, "threads": 1, "gpu_layers": -1}
    process = subprocess.Popen(
        [sys.executable, "-P", child_program.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdin
        process.stdin.write(json.dumps(order | {"api_key": "k", "parent": parent}) + "\n")
        process.stdin.flush()
        yield process


def test_ctrl_c_is_for_the_program_which_takes_the_child_along(model_file: ModelFile, tmp_path: Path) -> None:
    """A whole group of processes gets the signal, as from a terminal."""
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    (tmp_path / "project").mkdir()
    command = [
        "-m",
        "localllm",
        "-p",
        "Talk without end",
        "--model",
        str(model_file("plain")),
        "--output",
        "stream-json",
    ]
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=tmp_path / "project",
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout
        while b"TextDelta" not in (line := process.stdout.readline()):
            assert line, "it ended by itself"
        [pid] = children(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate()  # what it still says is read, or it could not end
        assert process.returncode == 130
    wait_until_gone(pid)


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text("ascii").split()]


def test_closing_it_ends_it_also_while_it_is_loading(model_file: ModelFile) -> None:
    process = ModelProcess(Order(file=str(model_file("plain")), name="tiny", window=512), os.environ)
    asyncio.run(process.aclose())
    assert not process.is_running


def test_the_key_and_those_of_other_servers_are_not_to_be_seen(
    small: Served, model_file: ModelFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(small.process.api_key) >= 32
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody")
    process = ModelProcess(Order(file=str(model_file("plain")), name="tiny", window=512), os.environ)
    try:
        seen = [Path(f"/proc/{process.pid}/{what}").read_bytes() for what in ("cmdline", "environ")]
    finally:
        asyncio.run(process.aclose())
    assert process.api_key.encode() not in b"".join(seen)
    assert b"sk-of-somebody" not in b"".join(seen)


def test_nobody_but_this_machine_is_served(small: Served) -> None:
    assert small.address.startswith("http://127.0.0.1:")
