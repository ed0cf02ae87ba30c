"""The program answers --version without loading anything heavy."""

import subprocess
import sys

import localllm

HEAVY = {"asyncio", "click", "git", "httpx", "msgspec", "prompt_toolkit", "pydantic", "rich", "tomlkit", "tree_sitter"}

PROBE = """
import sys
from localllm.cli import main
sys.argv = ["localllm", "--version"]
try:
    main()
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""


def test_version_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=30, check=True)
    assert localllm.__version__ in done.stdout
    loaded = {module.partition(".")[0] for module in done.stderr.split()}
    assert "localllm" in loaded
    assert loaded & HEAVY == set()
