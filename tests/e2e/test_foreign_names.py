"""A model that knows only other assistants' tools does a job in as many answers as one that knows ours."""

import json
from pathlib import Path

import pytest

from tests.e2e.test_oneshot import BUG, FIXED, TEST, configure, localllm
from tests.support.wire_server import WireServer, calls, says

PATCH = (
    "*** Begin Patch\n*** Update File: prices.py\n@@ def total(prices, discount=0.0):\n"
    "-    return sum(prices) * discount\n+    return sum(prices) * (1 - discount)\n*** End Patch"
)
RUNS = {
    "cline": [
        says("I'll look at the file.\n\n<read_file>\n<path>prices.py</path>\n</read_file>"),
        says(
            "<replace_in_file>\n<path>prices.py</path>\n<diff>\n------- SEARCH\n    return sum(prices) * discount\n"
            "=======\n    return sum(prices) * (1 - discount)\n+++++++ REPLACE\n</diff>\n</replace_in_file>"
        ),
        says("<execute_command>\n<command>python3 -m unittest -q</command>\n</execute_command>"),
        says("<attempt_completion>\n<result>\nFixed the discount.\n</result>\n</attempt_completion>"),
    ],
    "codex": [
        calls(("shell", {"command": ["bash", "-lc", "cat prices.py"], "timeout_ms": 10_000})),
        calls(("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"]})),
        calls(("update_plan", {"plan": [{"step": "Run the tests", "status": "in_progress"}]}),
              ("shell", {"command": ["python3", "-m", "unittest", "-q"]})),
        says("Fixed the discount."),
    ],
    "claude": [
        calls(("Grep", {"pattern": "discount", "output_mode": "content", "-n": True, "glob": "*.py"})),
        calls(("Edit", {"file_path": "prices.py", "old_string": "* discount", "new_string": "* (1 - discount)"})),
        calls(("Bash", {"command": "python3 -m unittest -q", "description": "Run tests", "timeout": 60_000})),
        calls(("finish", {"result": "Fixed the discount."})),
    ],
}  # fmt: skip


@pytest.mark.parametrize("assistant", RUNS)
def test_no_answer_is_wasted(tmp_path: Path, assistant: str) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "prices.py").write_text(BUG)
    (root / "test_prices.py").write_text(TEST)
    with WireServer(RUNS[assistant]) as server:
        configure(root, server.url)
        ended = localllm(root, "-p", "Fix the discount.", "--yes", "--output", "json")
        bodies = server.bodies()
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["answer"].endswith("Fixed the discount.")
    assert (root / "prices.py").read_text() == FIXED
    assert len(bodies) == 4
    results = [message["content"] for message in bodies[-1]["messages"] if message["role"] == "tool"]
    assert "OK" in results[-1]
    assert not [text for text in results if "There is no" in text or "Bad arguments" in text]
