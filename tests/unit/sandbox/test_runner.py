"""The runner where there is no sandbox, and what importing it costs. With one: tests/integration/sandbox."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import localllm
from localllm.base import offline
from localllm.base.errors import LocalLLMError, SafetyViolationError
from localllm.sandbox import process
from localllm.sandbox.project_surroundings import folders_above
from localllm.sandbox.runner import SandboxRunner


def run_python(program: str, *arguments: object, interpreter: str = sys.executable) -> str:
    done = subprocess.run(
        [interpreter, "-c", program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHOME": sys.base_prefix},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_it_is_cheap() -> None:
    loaded = run_python("import sys; import localllm.sandbox.runner; print(*sys.modules)").split()
    assert "localllm.sandbox.runner" in loaded
    assert not {"ctypes", "shutil", "tempfile", "rich", "httpx"} & set(loaded)


PROGRAM = """
import asyncio, sys
from pathlib import Path
from localllm.base.errors import SafetyViolationError
from localllm.sandbox.runner import SandboxRunner
root = Path(sys.argv[1])

async def main():
    refusing = SandboxRunner(root)
    print(refusing.level, refusing.reason)
    try:
        await refusing.run("touch refused", cwd=root, timeout=10)
    except SafetyViolationError as error:
        print(error.key)
    accepting = SandboxRunner(root, accept_no_sandbox=True)
    done = await accepting.run("echo $OPENAI_API_KEY; touch ran; echo evil > .envrc; exit 4", cwd=root, timeout=10)
    print(done.level, done.return_code, done.reverted, repr(done.stdout))
    done = await accepting.run("sleep 31415926 & sleep 31415926", cwd=root, timeout=0.2)
    print(done.timed_out, done.return_code)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_without_a_sandbox_it_runs_only_what_was_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter inside the project could be rewritten by commands: no sandbox then."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    interpreter = tmp_path / "python"
    shutil.copy(os.path.realpath(getattr(sys, "_base_executable", sys.executable)), interpreter)
    assert Path(localllm.__file__).exists()
    printed = run_python(PROGRAM, tmp_path, interpreter=str(interpreter)).splitlines()
    assert printed[0].startswith("none the Python")
    assert printed[1:] == ["command_no_sandbox", "none 4 ('.envrc',) '\\n'", "True -15"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["python", "ran"]
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"31415926" in _read(path)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[SandboxRunner]:
    (tmp_path / "sub").mkdir()
    runner = SandboxRunner(tmp_path, accept_no_sandbox=True, output_cap=100, levels=(), longest_background=0.2)
    yield runner
    runner.close()


@pytest.mark.anyio
async def test_what_is_told_of_a_command(runner: SandboxRunner, tmp_path: Path) -> None:
    done = await runner.run(
        'cat "$TMPDIR/in"; pwd; false | exit 3', cwd=Path("sub"), timeout=20, files={"in": b"given\n"}, statuses=True
    )
    assert (done.stdout, done.return_code, done.statuses) == (f"given\n{tmp_path.resolve()}/sub\n", 3, (1, 3))
    assert (done.level, done.network, done.excess, done.truncated, done.timed_out) == ("none", "all", "", False, False)
    assert 0 < done.execution_time < 20
    done = await runner.run("printf %0150d 1 >&2", cwd=tmp_path, timeout=20)
    assert (done.truncated, done.stdout, done.excess, done.statuses) == (True, "", "", ())
    done = await runner.run("yes", cwd=tmp_path, timeout=20)
    assert (done.excess, done.return_code) == ("output", -9)


@pytest.mark.anyio
async def test_a_command_runs_in_a_folder_of_the_project(runner: SandboxRunner, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "out").symlink_to("/")
    for folder, key in (("..", "path_outside"), ("out", "path_outside"), ("none", "command_failed_to_start")):
        with pytest.raises(LocalLLMError) as raised:
            await runner.run("touch ran", cwd=Path(folder), timeout=20)
        assert raised.value.key == key
    with pytest.raises(LocalLLMError, match="there is no folder file"):
        await runner.run("touch ran", cwd=Path("file"), timeout=20)
    assert not list(tmp_path.rglob("ran"))


@pytest.mark.anyio
async def test_without_a_sandbox_nothing_runs_that_was_not_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for accepted, is_offline, key in (
        (False, False, "command_no_sandbox"),
        (False, True, "command_offline"),
        (True, True, "command_offline"),
    ):
        monkeypatch.setattr(offline, "is_on", lambda is_offline=is_offline: is_offline)
        runner = SandboxRunner(tmp_path, accept_no_sandbox=accepted, levels=())
        with pytest.raises(SafetyViolationError) as raised:
            await runner.begin("touch ran", cwd=tmp_path)
        assert raised.value.key == key
    assert list(tmp_path.iterdir()) == []


@pytest.mark.anyio
async def test_who_cancels_a_command_waits_for_its_end(runner: SandboxRunner, tmp_path: Path) -> None:
    task = asyncio.ensure_future(runner.run("touch begun; sleep 30; touch ended", cwd=tmp_path, timeout=60))
    while not (tmp_path / "begun").exists():
        await asyncio.sleep(0.01)
    pid = next(path.parent for path in Path("/proc").glob("[0-9]*/cmdline") if b"touch ended" in _read(path))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert b"touch ended" not in _read(pid / "cmdline")


@pytest.mark.anyio
async def test_a_command_that_was_begun_ends_by_itself_when_asked_or_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_GRACE", 0.05)
    runner = SandboxRunner(tmp_path, accept_no_sandbox=True, levels=())
    by_itself = await runner.begin("echo out; echo err >&2; echo > .envrc; exit 3", cwd=tmp_path)
    ended = await by_itself.ended()
    assert (ended.return_code, ended.excess, by_itself.reverted) == (3, "", (".envrc",))
    assert by_itself.output.text() == "out\nerr\n"
    stubborn = await runner.begin("trap '' TERM; echo on; while :; do sleep 5; done", cwd=tmp_path)
    while not stubborn.output.total:
        await asyncio.sleep(0.01)
    stubborn.ask_to_end()
    assert (await stubborn.ended()).return_code == -9
    late = SandboxRunner(tmp_path, accept_no_sandbox=True, levels=(), longest_background=0.1)
    assert (await (await late.begin("sleep 30", cwd=tmp_path)).ended()).excess == "time"
    killed = await runner.begin("echo on; sleep 30", cwd=tmp_path)
    while not killed.output.total:
        await asyncio.sleep(0.01)
    killed.stop()
    assert (await killed.ended()).return_code == -9


def test_the_folders_above_are_those_within_the_root() -> None:
    paths = ["/p/a/b/c", "/p/a/d", "/p/x", "/other/y", "/p"]
    assert folders_above(Path("/p"), paths) == ("/p/a/b", "/p/a")
