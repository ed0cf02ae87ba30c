"""The environment the assistant runs in may lie in the project; commands must not put anything into it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.sandbox.launcher.bwrap_program import find_bwrap

PROGRAM = """
import asyncio, sys
from pathlib import Path
from localllm.sandbox.runner import SandboxRunner
root = Path(sys.argv[1])
runner = SandboxRunner(root, levels=(sys.argv[2],))

async def main():
    command = "echo evil > tools/env/evil.pth; mv tools other; mkdir -p tools/env; touch tools/beside"
    done = await runner.run(command, cwd=root, timeout=10)
    print(runner.level, done.return_code)

asyncio.run(main())
"""


@pytest.mark.parametrize("level", ["namespaces", "bubblewrap"])
def test_nothing_is_put_into_it_and_it_stays_in_its_place(tmp_path: Path, level: str) -> None:
    if level == "bubblewrap" and not find_bwrap():
        pytest.skip("bubblewrap is not installed")
    environment = tmp_path / "project/tools/env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    done = subprocess.run(
        [environment / "bin/python", "-c", PROGRAM, tmp_path / "project", level],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.stdout == f"{level} 0\n", done.stderr
    assert (environment / "pyvenv.cfg").exists()
    assert not (environment / "evil.pth").exists()
    assert (environment.parent / "beside").exists()
