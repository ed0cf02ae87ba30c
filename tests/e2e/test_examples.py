"""The examples do what their READMEs say."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_fix_a_bug(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shutil.copytree(EXAMPLES / "fix_a_bug", shop)
    (command,) = re.findall(r"^localllm (.*)$", (shop / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    done = subprocess.run(
        [sys.executable, "-m", "localllm", *shlex.split(command)],
        cwd=shop,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LOCALLLM_STATE_DIR": str(tmp_path / "state")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "(1 - discount)" in (shop / "prices.py").read_text(encoding="utf-8")
    tests = subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=shop, capture_output=True, check=False)
    assert tests.returncode == 0
    assert done.stdout.startswith("Fixed:")
