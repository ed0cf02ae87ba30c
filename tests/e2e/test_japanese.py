"""In Japanese: the person reads Japanese, the model English."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.wire_server import WireServer, calls, says

JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
SENTENCE = re.compile(r"(?:[A-Za-z]{2,} ){3}[A-Za-z]{2,}")
"""Four English words in a row, which no name or path is."""

WRITTEN = "def total(prices):\n    return sum(prices)\n"
REPLIES = [
    calls(("read_file", {"file_path": "prices.py"}), ("read_file", {"file_path": "none.py"})),
    calls(("list_files", {"path": "."}), ("list_files", {"path": ".", "pattern": "*.zz"})),
    calls(("search_files", {"pattern": "total"}), ("search_files", {"pattern": "nowhere"})),
    calls(("edit_file", {"file_path": "prices.py", "old_string": "absent", "new_string": "x"})),
    calls(("edit_file", {"file_path": "prices.py", "old_string": "sum(p)", "new_string": "sum(prices)"})),
    calls(("create_file", {"file_path": "new.py", "content": WRITTEN})),
    calls(("create_file", {"file_path": "new.py", "content": WRITTEN})),
    calls(("write_file", {"file_path": "big.py", "content": "def f(:\n"})),
    calls(("run_command", {"command": "false"}), ("run_command", {"command": "exit 3"})),
    calls(("run_command", {"command": "touch .git/hooks/pre-commit; echo x > .envrc"})),
    calls(("analyze_code", {"path": "prices.py"}), ("analyze_code", {"path": "."})),
    calls(("git_status", {}), ("git_diff", {}), ("git_log", {})),
    calls(("git_commit", {"message": "Add new.py", "files": ["new.py"]})),
    calls(("todo", {"action": "add", "text": "write tests"}), ("todo", {"action": "finish", "text": "write"})),
    calls(("todo", {"action": "list"}), ("recall", {"query": "tests"}), ("todo", {"action": "fly"})),
    calls(("no_such_tool", {}), ("read_file", '{"file_path": '), ("read_file", {"file": 3})),
    calls(("run_command", {"command": "sudo rm -rf /"})),
    says("終わりました。"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "prices.py").write_text("def total(prices):\n    return sum(p)\n")
    for command in (
        ["git", "init", "-q"],
        ["git", "add", "."],
        ["git", "-c", "user.name=t", "-c", "user.email=t@t.example", "commit", "-qm", "start"],
    ):
        subprocess.run(command, cwd=root, check=True)
    return root


def test_the_model_reads_english_and_the_screen_is_japanese(project: Path) -> None:
    home = project.parent / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = t\nemail = t@t.example\n")
    command = [sys.executable, "-m", "localllm", "-p", "直して", "--yes", "--provider", "openai"]
    with WireServer(REPLIES) as server:
        done = subprocess.run(
            [*command, "--base-url", server.url, "--model", "m"],
            cwd=project,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "ja_JP.UTF-8", "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert server.requests, done.stderr
        sent = server.bodies()[-1]["messages"]
    results = [str(message["content"]) for message in sent if message["role"] == "tool"]
    assert len(results) == 29, done.stderr
    assert not [text for text in results if JAPANESE.search(text)]
    assert not JAPANESE.search(sent[0]["content"])
    assert len([line for line in done.stderr.splitlines() if JAPANESE.search(line)]) > 20
    english = [line for line in done.stderr.splitlines() if SENTENCE.search(line)]
    assert not english, english
