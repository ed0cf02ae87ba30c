"""Code that might never end, in a process of its own that can be killed."""

import subprocess
import sys
import textwrap
from pathlib import Path

LIMIT = 60.0
"""Seconds: what is tried takes one or two, so that only what hangs reaches it."""


def ends(code: str, *arguments: str, cwd: Path | None = None) -> str:
    """What the code prints, run by itself with `sys.argv[1:]`. TimeoutExpired where it does not end."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout
