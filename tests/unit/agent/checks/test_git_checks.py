"""What an answer says of a merge that has not ended, and which commits are new."""

import os
from pathlib import Path

import pytest

from localllm.agent.checks.git_checks import CommitLog, says_that_it_is_open


@pytest.mark.parametrize(
    "answer",
    [
        "The rebase stopped at a conflict in notes.md.",
        "I resolved calc.py. Run git rebase --continue when you have looked at it.",
        "The merge is not committed yet.",
        "There are conflicts in a.py and b.py.",
        "Conflicts: a.py, b.py",
        "notes.md needs to be resolved by hand.",
        "The rebase is still in progress.",
        "リベースは notes.md の競合で止まっています。",
        "マージはまだ完了していません。",
        "a.py に競合があります。",
    ],
)
def test_it_is_admitted(answer: str) -> None:
    assert says_that_it_is_open(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "The rebase is complete. I resolved the conflicts in calc.py.",
        "Done: the branch is rebased onto main, without conflicts.",
        "All merge conflicts have been resolved and the merge is done.",
        "リベースが完了しました。calc.py の競合を解決しました。",
        "マージしました。競合はありません。",
    ],
)
def test_it_is_denied(answer: str) -> None:
    assert not says_that_it_is_open(answer)


def test_the_new_commits_are_those_of_the_log_alone(tmp_path: Path) -> None:
    """A command may write anything into the log; git would take `--output=FILE` for an option."""
    folder = tmp_path / ".git"
    for name in ("objects", "refs", "logs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    file = folder / "logs/HEAD"
    one, two, three = (digit * 40 for digit in "123")
    by = "A <a@example.org> 1700000000 +0000"
    file.write_text(f"{'0' * 40} {one} {by}\tcommit (initial): x\n")
    log = CommitLog(tmp_path)
    assert log.committed_between() == ("", "")
    with file.open("a") as more:
        more.write(f"--output=/tmp/x {two} {by}\tcommit: x\n{one} --output=/tmp/x {by}\tcommit: x\n")
    assert log.committed_between() == ("", "")
    with file.open("a") as more:
        more.write(f"{one} {two} {by}\tcommit: x\n{two} {three} {by}\treset: moving to HEAD\n")
    assert log.committed_between() == (one, three)


def test_a_log_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / ".git"
    for name in ("objects", "refs", "logs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    log = CommitLog(tmp_path)
    os.mkfifo(folder / "logs/HEAD")
    assert log.committed_between() == ("", "")
    assert not log.has_new()
