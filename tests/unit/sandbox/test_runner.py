"""The runner where there is no sandbox, and what importing it costs. With one: tests/integration/sandbox."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import localllm


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
