"""The commands found in a line of shell."""

import random

import pytest

from localllm.safety.command_line import Line, commands_in
from tests.support.each import each


def texts(line: str) -> list[list[str]]:
    return [[word.text for word in words] for words in commands_in(line)]


@each(
    ("line", "commands"),
    [
        ("", []),
        ("a 'b c' d\\ e", [["a", "b c", "d e"]]),
        ("a; b && c || d & e | f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a ';' b", [["a", ";", "b"]]),
        ("a 2>&1 >b <c >>d &>e f", [["a", "f"]]),
        ("a $(b)", [["a", "$"], ["b"]]),
        ("{ a; }", [["a"], ["}"]]),
        ("bash -c 'a; b'", [["bash", "-c", "a; b"], ["-c", "a"], ["b"]]),
        ("a <<< 'b c'", [["a"], ["b", "c"]]),
        ("a # b", [["a"], ["b"]]),
    ],
)
def test_a_line_is_taken_apart(line: str, commands: list[list[str]]) -> None:
    assert texts(line) == commands


@pytest.mark.parametrize("word", ["$a", "${a}", '"$a"', "a*", "a?", "[ab]", "{a,b}", "$'a'", '"`a`"'])
def test_what_the_shell_would_replace_is_known(word: str) -> None:
    assert commands_in(word)[0][0].computed


@pytest.mark.parametrize("word", ["'$a'", "\\$a", "'a*'", '"a*"', "[", "[[", "{}", "a"])
def test_what_the_shell_leaves_as_it_is_is_not_computed(word: str) -> None:
    assert not commands_in(word)[0][0].computed


def test_anything_can_be_read() -> None:
    chance = random.Random(1)
    for _ in range(2_000):
        line = "".join(chance.choices("ab '\"\\`$(){}[]<>&|;#\n\t\r!*é\u3000\0", k=30))
        assert all(words for words in commands_in(line))


def test_a_line_too_deep_to_read_ends_with_a_computed_command() -> None:
    assert commands_in('echo "$(' * 1_000)[-1][0].computed


def test_commands_within_commands_are_compared_once() -> None:
    assert len(Line("find -exec " * 27).commands) < 100


def test_more_than_can_be_compared_may_be_what_a_rule_names() -> None:
    line, plain = Line("env " * 300 + "x"), Line("x " * 300)
    wanted = [["git", str(number)] for number in range(100)]
    assert [line.may_run(wanted[0]), line.may_run(wanted[-1])] == [False, False]
    assert any(map(line.may_run, wanted))
    assert not any(map(plain.may_run, wanted))
    entries = [f"git {number}" for number in range(100)]
    assert (line.danger(entries[:5]), line.danger(entries) in entries, plain.danger(entries)) == ("", True, "")
