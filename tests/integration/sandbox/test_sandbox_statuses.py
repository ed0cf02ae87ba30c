"""How the parts of a pipeline ended is found out, and the command does what it does without."""

import sys

import pytest

from localllm.safety.rules import line_of
from tests.support.sandbox_world import World

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is for Linux so far")]

_SAME = [
    ("false | cat", (1, 0)),
    ("true | true", (0, 0)),
    ("(exit 3) | cat; ", (3, 0)),
    ("cat missing | wc -l", (1, 0)),
    ("cat missing 2>&1 | grep missing", (1, 0)),
    ("cd / && false | cat", (1, 0)),
    ("set -e; false | cat", (1, 0)),
    ("set -e; cat missing | false", (1, 1)),
    ("set -euo pipefail; false | cat", (1, 0)),
    ("set -o pipefail; (exit 7) | cat", (7, 0)),
    ("set -x; false | cat", (1, 0)),
    ("set -C; false | cat", (1, 0)),
    ("set -u; false | cat", (1, 0)),
    ("set -f; IFS=0; false | cat", (1, 0)),
    ("! false | cat", (1, 0)),
    ("echo $_; false | cat", (1, 0)),
    ("env | grep -c BASH_ENV | cat", (0, 1, 0)),
    ("bash -c 'echo $BASH_ENV; false | cat' | cat", (0, 0)),
    ("echo $$ > a; echo $PPID > b; echo $SHLVL $0 $# $LINENO; false | cat", (1, 0)),
    ("f() { false | cat; }; f | cat", (0, 0)),
    ("{ (exit 4) | cat; }", (4, 0)),
    ("if true; then (exit 5) | cat; fi", (5, 0)),
    ("while read -r x; do echo $x; done < /dev/null | cat", (0, 0)),
    ("yes | head -1", (141, 0)),
    ("seq 100000 | head -1", (141, 0)),
    ("cat <<E | sort\nb\na\nE", ()),
    ("cat <<< x | tr x y", (0, 0)),
    ("exec 2>&1; cat missing | cat", (1, 0)),
    ("exec 3>x; echo a >&3 | cat; ls | cat", (0, 0)),
    ("trap 'echo bye' EXIT; false | cat", ()),
    ("trap 'echo bye; exit 9' EXIT; false | cat", ()),
    ("true || false | cat", ()),
    ("false | exit 6", (1, 6)),
    ("exit 3 | cat", (3, 0)),
    ("false | cat; echo ${PIPESTATUS[@]} $?", (1, 0)),
    ("false | cat && echo done", (1, 0)),
    ("(exit 4) | cat; echo $? $_ $BASH_COMMAND; exit 5", (4, 0)),
    ("true x; false | cat; echo $_", (1, 0)),
    ("set -eux; false | cat; echo $_", (1, 0)),
    ("set -T; f() { echo $_; }; false | cat; echo x", (1, 0)),
    ("IFS=' 1'; false | cat; echo ${PIPESTATUS[*]}", (1, 0)),
    ("set -C; false | cat\necho $LINENO\ntrue", (1, 0)),
    ("set -o posix; false | cat; [ -e x ] && echo y", (1, 0)),
    ("exec 1>&-; false | cat; true", (1, 1)),
    ("false | cat; kill -9 $$; echo no", ()),
    ("f() { false | cat; echo $_; }; f; echo $_", ()),
    ("kill -9 $BASHPID | cat", (137, 0)),
    ("sleep 0.01 | false", (0, 1)),
    ("nonexistent | cat", (127, 0)),
    ("true | b | cat", (0, 127, 0)),
    ("false | kill -TERM $$", ()),
    ("echo x | (cat; exit 2)", (0, 2)),
    ("cd $TMPDIR; ls -a . ~ | sed s,$HOME,home,", (0, 0)),
    ("printf() { echo mine; }; false | cat", (1, 0)),
    ("false | | cat", ()),
    ("shopt -s lastpipe; false | read -r x", (1, 1)),
    ("false | cat &", ()),
]


@pytest.mark.parametrize(("command", "statuses"), _SAME, ids=[line for line, _ in _SAME])
async def test_the_statuses_are_found_and_nothing_else_changes(
    world: World, command: str, statuses: tuple[int, ...]
) -> None:
    runner = world.runner
    plain = await runner.run(command, cwd=world.project, timeout=20)
    asked = await runner.run(command, cwd=world.project, timeout=20, statuses=True)
    assert (asked.stdout, asked.return_code) == (plain.stdout, plain.return_code)
    assert sorted(asked.stderr.splitlines()) == sorted(plain.stderr.splitlines())  # the parts write at the same time
    assert plain.statuses == ()
    if statuses:
        assert asked.statuses == statuses
        assert len(line_of(command).script.pipeline) == len(statuses)


def test_of_several_pipelines_none_is_mistaken_for_another() -> None:
    def parts(line: str) -> tuple[str, ...]:
        return line_of(line).script.pipeline

    assert parts("a | b; c | d; echo x") == ("c", "d")
    assert parts("cd x && a | b && echo x") == ("a", "b")
    assert parts("a | b; c") == parts("a | b && c") == parts("a | b; echo x &") == ()  # the shell becomes c
    assert parts("a | b && c | d") == parts("if x; then a | b; else c | d; fi") == ()
    assert parts("for x in 1 2; do a | b; done") == parts("while a | b; do c; done") == ()


@pytest.mark.parametrize(
    "line", ["trap | cat", "trap 'x' EXIT; a | b", "set -v; a | b", "set -o verbose; a | b", "ulimit -f 0; a | b"]
)
def test_a_line_that_would_show_how_is_left_alone(line: str) -> None:
    assert line_of(line).script.pipeline == ()


@pytest.mark.parametrize("written", ["x y", "9 " * 5_000, "-"])
async def test_what_a_command_writes_there_is_believed_as_numbers_at_most(world: World, written: str) -> None:
    line = f"trap - EXIT; printf '{written}' > ~/../statuses; true | cat"
    done = await world.runner.run(line, cwd=world.project, timeout=20, statuses=True)
    assert all(status == 9 for status in done.statuses)


async def test_what_was_left_in_the_background_is_noticed(world: World) -> None:
    async def left(command: str) -> bool:
        return (await world.run(command)).left

    assert await left("sleep 30 & echo x")
    assert await left("(sleep 30 &); sleep 0.05")
    assert not await left("sleep 0.01 & wait")
    assert not await left("echo x | cat")
    assert not await left("sleep 30 & kill $!; wait 2>/dev/null; true")
