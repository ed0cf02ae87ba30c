"""What may stay of an interrupted rebase."""

import pytest

from localllm.sandbox.protect.git_state import NAMES, harmless_part, is_unfinished_work
from localllm.sandbox.protect.protected_paths import PROTECTED_NAMES

TODO = ".git/rebase-merge/git-rebase-todo"


def test_the_names_are_protected() -> None:
    assert {f".git/{name}" for name in NAMES} <= set(PROTECTED_NAMES)
    assert is_unfinished_work(".git/worktrees/x/REBASE-MERGE/git-rebase-todo")
    assert not is_unfinished_work("docs/todo")


def test_steps_stay_and_programs_go() -> None:
    steps = b"pick 1 a\n\nf 2 b\n# exec remark\nlabel x\nmerge -C 3 x\nbreak\n"
    assert harmless_part(TODO, b"", steps) == steps
    assert harmless_part(TODO, b"", steps + b"  exec touch x\nx y\nexec\tz\n") == steps


def test_a_program_of_the_user_stays() -> None:
    assert harmless_part(TODO, b"pick 1\nexec make\n", b"exec make\nexec evil\n") == b"exec make\n"


@pytest.mark.parametrize(("said", "may_stay"), [(b"ort\n", True), (b"evil/x", False)])
def test_strategies(said: bytes, may_stay: bool) -> None:
    assert (harmless_part(".git/rebase-merge/strategy", b"", said) == said) == may_stay
    opts = b"[options]\n\tstrategy = " + said
    assert (harmless_part(".git/sequencer/opts", b"", opts) == opts) == may_stay
