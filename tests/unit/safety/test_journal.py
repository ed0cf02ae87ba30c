"""Every call leaves one line."""

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from localllm.safety.journal import Checked, Journal, JournalEntry, check, digest


def test_a_line_for_each_call(tmp_path: Path) -> None:
    file = tmp_path / "state" / "journal.jsonl"
    for session in ("one", "two"):
        entry = JournalEntry(
            tool="edit_file", arguments="d1", outcome="ok", approval="user", paths={"a.py": ("x:644", "y:644")}
        )
        Journal(file, session).write(entry)
    first, second = (json.loads(line) for line in file.read_text().splitlines())
    assert first.pop("time").endswith("Z")
    assert first.pop("previous") == ""
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


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    file = tmp_path / "journal.jsonl"
    for number in range(5):
        target = "x" * (100_000 if number == 2 else 1)  # longer than what is read at a time
        Journal(file, "s").write(JournalEntry(tool=f"t{number}", arguments="", outcome="ok", target=target))
    return file


def test_a_journal_as_it_was_written_is_whole(journal: Path) -> None:
    assert check(journal) == Checked(5)
    assert check(journal.with_name("none")) == Checked(0)


@pytest.mark.parametrize(
    ("tamper", "broken"),
    [
        (lambda lines: [*lines[:1], lines[1].replace(b"t1", b"t9"), *lines[2:]], (3,)),
        (lambda lines: [*lines[:2], *lines[3:]], (3,)),
        (lambda lines: lines[1:], (1,)),
        (lambda lines: [lines[1], lines[0], *lines[2:]], (1, 2, 3)),
        (lambda lines: [*lines[:2], b"not an entry\n", *lines[2:]], (3, 4)),
    ],
)
def test_what_was_changed_afterwards_shows(journal: Path, tamper: Any, broken: tuple[int, ...]) -> None:
    journal.write_bytes(b"".join(tamper(journal.read_bytes().splitlines(keepends=True))))
    assert check(journal).broken == broken


def test_after_a_torn_line_the_next_stands_alone(journal: Path) -> None:
    journal.write_bytes(journal.read_bytes()[:-9])
    Journal(journal, "s").write(JournalEntry(tool="next", arguments="", outcome="ok"))
    assert json.loads(journal.read_text().splitlines()[-1])["tool"] == "next"
    assert check(journal) == Checked(6, (5,))


def test_programs_that_append_at_once_make_one_chain(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from localllm.safety.journal import Journal, JournalEntry\n"
        "for n in range(40): Journal(Path(sys.argv[1]), sys.argv[2]).write("
        "JournalEntry(tool='t', arguments=str(n), outcome='ok'))"
    )
    file = tmp_path / "journal.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", program, file, name]) for name in ("one", "two")]
    assert [writer.wait(30) for writer in writers] == [0, 0]
    assert check(file) == Checked(80)
