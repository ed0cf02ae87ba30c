"""Files and folders are locked between processes."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.base.file_lock import FileLock


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_it_holds_against_others_until_the_end_of_the_block(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "lock" if kind == "file" else tmp_path
    with FileLock(path):
        other = os.open(path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)


def test_a_link_is_not_taken_for_a_lock(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("elsewhere")
    with pytest.raises(OSError, match="symbolic links"), FileLock(tmp_path / "lock"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_two_processes_take_turns(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from localllm.base.file_lock import FileLock
from localllm.base.files import atomic_write
folder = Path(sys.argv[1])
for _ in range(50):
    with FileLock(folder / "lock"):
        count = int((folder / "count").read_text())
        atomic_write(folder / "count", str(count + 1).encode())
"""
    (tmp_path / "count").write_text("0")
    both_at_once = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(2)]
    assert [process.wait(timeout=30) for process in both_at_once] == [0, 0]
    assert (tmp_path / "count").read_text() == "100"
