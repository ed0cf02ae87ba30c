"""The chat's first lines are on the screen before anything heavy is loaded."""

import subprocess
import sys

PROBE = """
import sys
import localllm.tui.repl
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme
Screen(sys.stdout, Theme(plain=False)).print(("bold", "localllm"), ("dim", " 日本語"))
print(*sorted(sys.modules), file=sys.stderr)
"""


def test_the_first_lines_load_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=30, check=True)
    loaded = {module.partition(".")[0] for module in done.stderr.split()}
    assert "日本語" in done.stdout
    assert "localllm" in loaded
    assert loaded & {"rich", "prompt_toolkit", "pygments", "markdown_it", "wcwidth", "httpx", "git", "click"} == set()
