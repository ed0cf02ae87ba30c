"""What sets variables in a line, and which of them change what runs."""

import time

from localllm.safety.shell_variables import expansion_sets, is_heeded, redirection_sets
from tests.support.each import each


@each(
    ("text", "sets"),
    [
        ("${x:0:5}", False),
        ("${x: -3}", False),
        ("${x:-5}", False),
        ("${x[@]}", False),
        ("${!x[*]}", False),
        ("${x[0]:1}", False),
        ("${x:?y:=z}", False),
        ("${x:PATH=5:1}", True),
        ("${x:1:PATH=5}", True),
        ("${x[0]:PATH=5}", True),
        ("${x[@]:$y}", True),
        ("${x[y]}", True),
        ("${x[0]=5}", True),
        ("${x:=5}", True),
        ("${x=5}", True),
    ],
)
def test_what_an_expansion_may_set(text: str, sets: bool) -> None:
    assert expansion_sets(text) is sets


@each(
    ("before", "sets"),
    [
        ("ls ", False),
        ("ls ${x}", False),
        ("ls ${x[0]}", False),
        ("{ ls; }", False),
        ("{ ls;}", False),
        ("{ (ls)}", False),
        ("ls {x}", True),
        ("ls {x\\\n}", True),
        ("ls {x[0]}", True),
        ("ls {x[${y}]}", True),
        ("ls {x[${y[0]}]}", True),
        ("ls {" + "x" * 2_000 + "}", True),
    ],
)
def test_what_a_redirection_may_set(before: str, sets: bool) -> None:
    assert redirection_sets(f"{before}>y".encode(), len(before)) is sets


def test_many_redirections_are_read_in_linear_time() -> None:
    source = b"}>a" * 20_000
    start = time.monotonic()
    assert all(redirection_sets(source, at) for at in range(1, len(source), 3))
    assert time.monotonic() - start < 1


@each("name", ["PATH", "IFS", "BASH_ENV", "LD_PRELOAD", "GIT_DIR", "PYTHONPATH", "GIT_PAGER", "CFLAGS", "PERL5OPT"])
def test_a_variable_that_programs_heed(name: str) -> None:
    assert is_heeded(name)


@each("name", ["FILE", "PY", "PKG", "NODE", "PYTHON", "PYTHON_VERSION", "OPTS", "GOAL", "TEST_PATH", "x"])
def test_a_variable_of_the_lines_own(name: str) -> None:
    assert not is_heeded(name)
