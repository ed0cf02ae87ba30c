"""A project, or the temporary files of a command, may lie in /dev/shm, of which commands have one of their own."""

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base import regular_files
from localllm.sandbox.backend import SandboxLevel
from localllm.sandbox.launcher.bwrap_program import find_bwrap
from localllm.sandbox.launcher.mounts import SHARED_MEMORY
from localllm.sandbox.runner import SandboxRunner

pytestmark = pytest.mark.skipif(not os.access(SHARED_MEMORY, os.W_OK), reason="there is no shared memory")


@pytest.fixture(autouse=True)
def nothing_of_the_unit_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that ran before these have their files there, and count it as a disk."""
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(regular_files, "IN_MEMORY", ("tmpfs",))


@pytest.fixture
def shared() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY) as folder:
        yield Path(folder)


def run(root: Path, level: SandboxLevel, command: str) -> str:
    if level == "bubblewrap" and not find_bwrap():
        pytest.skip("bubblewrap is not installed")
    runner = SandboxRunner(root, levels=(level,))
    try:
        done = asyncio.run(runner.run(command, cwd=root, timeout=10))
    finally:
        runner.close()
    assert runner.level == level, runner.reason
    return done.stdout


@pytest.mark.parametrize("level", ["namespaces", "bubblewrap"])
def test_commands_work_in_a_project_there_and_see_nothing_beside_it(shared: Path, level: SandboxLevel) -> None:
    root = shared / "project"
    root.mkdir()
    (shared / "secret").write_text("secret")
    said = run(root, level, f"echo made > made; cat made {shared}/secret 2>/dev/null; ls {shared} {SHARED_MEMORY}")
    assert said.split() == ["made", f"{SHARED_MEMORY}:", shared.name, f"{shared}:", "project"]
    assert (root / "made").read_text() == "made\n"


_MAPPED = """python3 -c '
import mmap
with open(".git/config", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
    mapped[:] = mapped[:].replace(b"#", b" ")
'"""


def test_what_is_written_through_a_mapping_there_is_put_back_though_its_times_stay(shared: Path) -> None:
    root = shared / "project"
    subprocess.run(["git", "init", "--quiet", root], check=True)
    settings = root / ".git/config"
    closed = "[core]\n# fsmonitor = ./evil\n"
    settings.write_text(closed)
    runner = SandboxRunner(root, levels=("landlock",))
    try:
        before = settings.stat()
        done = asyncio.run(runner.run(f"{_MAPPED}; stat -c %z .git/config; cat .git/config", cwd=root, timeout=10))
    finally:
        runner.close()
    assert runner.level == "landlock", runner.reason
    assert "\n  fsmonitor" in done.stdout
    assert f".{before.st_ctime_ns % 10**9:09} " in done.stdout  # else the test shows nothing
    assert done.reverted == (".git/config",)
    assert settings.read_text() == closed


@pytest.mark.parametrize("level", ["namespaces", "bubblewrap"])
def test_temporary_files_may_lie_there(
    tmp_path: Path, shared: Path, level: SandboxLevel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(shared))
    assert run(tmp_path, level, "echo kept > $TMPDIR/a && cat $TMPDIR/a") == "kept\n"


@pytest.mark.parametrize("level", ["namespaces", "bubblewrap"])
def test_all_of_it_may_be_the_place_of_temporary_files(
    tmp_path: Path, level: SandboxLevel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", SHARED_MEMORY)
    lock = "python3 -c 'import multiprocessing; multiprocessing.Lock()'"
    assert run(tmp_path, level, f"echo kept > $TMPDIR/a && cat $TMPDIR/a && {lock} && echo locked") == "kept\nlocked\n"
