"""Code that might never end, in a process of its own that can be killed."""

import json
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

LIMIT = 60.0
"""Seconds: what is tried takes one or two, so that only what hangs reaches it."""


def ends(code: str, *arguments: str, cwd: Path | None = None) -> str:
    """What the code prints, run by itself with `sys.argv[1:]`. TimeoutExpired where it does not end."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


_IN_TURN = """
    import json, sys, traceback
    for name, code in json.loads(sys.argv[1]).items():
        try:
            exec(code, {})
            fault = ""
        except Exception:
            fault = traceback.format_exc()
        print(json.dumps([name, fault]), flush=True)
"""


def faults(codes: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with each of the codes, "" where nothing is. They share a process, as its imports take longest."""
    given = json.dumps({name: textwrap.dedent(code) for name, code in codes.items()})
    command = [sys.executable, "-c", textwrap.dedent(_IN_TURN), given]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False).stdout
    except subprocess.TimeoutExpired as error:
        printed = (error.stdout or b"").decode()
    return dict.fromkeys(codes, "it did not end, or one before it") | dict(map(json.loads, printed.splitlines()))
