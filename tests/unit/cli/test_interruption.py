"""Commands end when they are told to, whatever a thread of theirs is at."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import localllm.cli

HANGS = """
import sys, time
from localllm.rag import file_blocks

def hang(*_):
    print("hangs", flush=True)
    time.sleep(600)

file_blocks.blocks_of = hang
from localllm.cli.main import run
sys.exit(run(["rag", "ingest", "a.md", "-c", "a"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl+C ends the program")
def test_an_ingest_ends_though_a_thread_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "a.md").write_text("# A\n\nText.\n")
    begun = subprocess.Popen([sys.executable, "-c", HANGS], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    with begun:
        try:
            assert begun.stdout
            assert begun.stdout.readline() == "hangs\n"
            begun.send_signal(signal.SIGINT)
            time.sleep(0.5)
            begun.send_signal(signal.SIGINT)
            assert begun.wait(40) == 128 + signal.SIGINT
        finally:
            begun.kill()


def test_every_event_loop_of_a_command_can_be_ended() -> None:
    """Ctrl+C only cancels what `asyncio.run` runs, which then waits for its threads without end."""
    for file in Path(localllm.cli.__path__[0]).rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        assert not re.search(r"asyncio\.(?:run|Runner)\(", source) or "ForcedEnd()" in source, file.name
