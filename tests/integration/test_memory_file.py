"""LOCALLLM.md changed by several programs at once, by an editor, and by programs that are killed at it."""

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from localllm.memory import todos
from localllm.memory.memory_file import MemoryFile
from tests.support import memory_crowd
from tests.support.memory_killed import SAVED

_MOST_STEPS = 100


def test_killed_at_every_step(tmp_path: Path) -> None:
    """The old file or the new one, the lock is free, and what was left beside it goes with the next change."""
    before, after = memory_crowd.START.encode(), b"- [ ] new +2026-11-22\r\n"
    command = [sys.executable, "-m", "tests.support.memory_killed"]
    path = tmp_path / "LOCALLLM.md"
    seen: set[bool] = set()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for step in range(1, _MOST_STEPS):
            path.write_bytes(before)
            process.stdin.write(f"{tmp_path} {step}\n")
            process.stdin.flush()
            ended = process.stdout.readline().strip()
            there = path.read_bytes()
            assert there in (before, before.replace(b"  - nested\r\n", b"  - nested\r\n" + after))
            seen.add(there == before)
            if ended == "done":
                break
            assert ended == "killed"
        process.stdin.close()
    assert ended == "done"
    assert step > 5
    assert seen == {True, False}
    for leftover in tmp_path.glob("*.tmp"):
        os.utime(leftover, (0, 0))
    MemoryFile(tmp_path).edit(lambda document: todos.add(document, "next", today=date(2026, 11, 22)))
    assert [entry.name for entry in tmp_path.iterdir()] == ["LOCALLLM.md"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere two files cannot be exchanged at once")
def test_saved_at_every_step(tmp_path: Path) -> None:
    """An editor had the file open: what it saves is kept, even into what was replaced, until that was looked at."""
    command = [sys.executable, "-m", "tests.support.memory_killed", "saved"]
    path = tmp_path / "LOCALLLM.md"
    kept: list[str] = []
    lost: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for step in range(1, _MOST_STEPS):
            path.write_bytes(memory_crowd.START.encode())
            process.stdin.write(f"{tmp_path} {step}\n")
            process.stdin.flush()
            if (about := process.stdout.readline().strip()) == "done":
                break
            there = path.read_bytes()
            assert there.count(b"- [ ] new +2026-11-22") == 1
            (kept if there.count(SAVED) == 1 else lost).append(about)
        process.stdin.close()
    assert about == "done"
    assert "unlink" in kept  # of what was replaced
    assert set(lost) == {"close"}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("editor", [0, 5])
def test_several_at_once(tmp_path: Path, editor: int) -> None:
    root = tmp_path / "project"
    root.mkdir()
    said = memory_crowd.run(root, workers=2, count=15, kills=1, seed=7, editor=editor)
    memory_crowd.check(root, said)
