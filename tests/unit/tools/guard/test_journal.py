"""Every call leaves one line."""

import json
import stat
from pathlib import Path

from localllm.tools.guard.journal import Journal, JournalEntry, digest


def test_a_line_for_each_call(tmp_path: Path) -> None:
    file = tmp_path / "state" / "journal.jsonl"
    for session in ("one", "two"):
        entry = JournalEntry(
            tool="edit_file", arguments="d1", outcome="ok", approval="user", paths={"a.py": ("x:644", "y:644")}
        )
        Journal(file, session).write(entry)
    first, second = (json.loads(line) for line in file.read_text().splitlines())
    assert first.pop("time").endswith("Z")
    assert first == {
        "tool": "edit_file",
        "arguments": "d1",
        "outcome": "ok",
        "approval": "user",
        "paths": {"a.py": ["x:644", "y:644"]},
        "session": "one",
    }
    assert second["session"] == "two"


def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "state" / "journal.jsonl"
    Journal(file, "s").write(JournalEntry(tool="t", arguments="", outcome="ok"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_digest_tells_calls_apart_and_holds_no_content() -> None:
    one = digest({"file_path": "a", "content": "secret"})
    assert one == digest({"content": "secret", "file_path": "a"})
    assert one != digest({"file_path": "a", "content": "other"})
    assert "secret" not in one
