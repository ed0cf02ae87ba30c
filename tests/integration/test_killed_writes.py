"""Kill -9 at every step of a write: the old file or the new one, the journal knows which, undo works, nothing stays."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base.errors import ToolExecutionError
from tests.support.agents import make_tools
from tests.support.killed_writer import NEW, OLD

_MOST_STEPS = 200


@pytest.fixture(scope="module")
def writer() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.support.killed_writer"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def run(writer: subprocess.Popen[str], project: Path, operation: str, step: int) -> str:
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdin.write(f"{project} {operation} {step}\n")
    writer.stdin.flush()
    return writer.stdout.readline().strip()


def check(project: Path, operation: str) -> None:
    """What the next start finds."""
    file = project / ("new/b.txt" if operation == "create" else "a.txt")
    before = "" if operation == "create" else OLD
    there = file.read_text() if file.exists() else ""
    assert there in (before, NEW)
    tools = make_tools(project)
    tools.changes.recover()
    state = project.parent / f"{project.name}-state"
    assert not [path for top in (project, state) for path in top.rglob("*.tmp")]
    assert (file.read_text() if file.exists() else "") == there
    if there == NEW:
        assert len(tools.changes.undo()) == 1
        assert (file.read_text() if file.exists() else "") == before
    else:
        with pytest.raises(ToolExecutionError) as caught:
            tools.changes.undo()
        assert caught.value.key == "undo_nothing"


@pytest.mark.parametrize("operation", ["write", "create", "edit", "undo"])
def test_at_every_step(tmp_path: Path, writer: subprocess.Popen[str], operation: str) -> None:
    seen: set[str] = set()
    for step in range(1, _MOST_STEPS):
        project = tmp_path / f"p{step}"
        project.mkdir()
        (project / "a.txt").write_text(OLD)
        ended = run(writer, project, operation, step)
        seen.add((project / "a.txt").read_text())
        if ended == "done":
            assert step > 10
            assert seen == ({OLD} if operation == "create" else {OLD, NEW})
            return
        assert ended == "killed"
        check(project, operation)
    pytest.fail("it never ended")
