"""What an answer says of a merge that has not ended."""

import pytest

from localllm.agent.checks.git_checks import says_that_it_is_open


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
