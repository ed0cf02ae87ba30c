"""Lines so plain that it is certain what they do, and what they remove."""

import pytest

from localllm.safety.plain_commands import plain_commands, removed


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ls -la src", [["ls", "-la", "src"]]),
        ("cat 'a b' \"c d\" e\\ f", [["cat", "a b", "c d", "e f"]]),
        ('grep "a\\.b\\"c" x', [["grep", 'a\\.b"c', "x"]]),
        ("git diff HEAD~1 HEAD^", [["git", "diff", "HEAD~1", "HEAD^"]]),
        ("cat a | sort && echo x || ls; pwd", [["cat", "a"], ["sort"], ["echo", "x"], ["ls"], ["pwd"]]),
        ("ls\ncat a\n", [["ls"], ["cat", "a"]]),
        ("ls x 2>/dev/null", [["ls", "x"]]),
        ("ls x 2>&1 | head", [["ls", "x"], ["head"]]),
        ("cat 日本語.txt", [["cat", "日本語.txt"]]),
        ("find . -name '*.py' \\( -type f \\)", [["find", ".", "-name", "*.py", "(", "-type", "f", ")"]]),
    ],
)
def test_what_is_plain(line: str, words: list[list[str]]) -> None:
    assert [list(command.texts) for command in plain_commands(line)] == words


@pytest.mark.parametrize(
    "line",
    [
        "ls $HOME",
        'ls "$HOME"',
        "ls `x`",
        "ls ~",
        "ls ~root/x",
        "ls {a,b}",
        "ls a{1..3}",
        "ls > x",
        "ls 2>x",
        "cat < x",
        "ls &",
        "(ls)",
        "{ ls; }",
        "! ls",
        "ls # x",
        "ls <<E\nE",
        "cat <(ls)",
        "f() ls",
        "ls 'x",
        "ls \\\nx",
        "ls &&",
        "ls |& cat",
        "ls\rcat",
        "a=~/x ls",
        "ls $'x'",
        'ls "a`b`"',
        "",
        " ",
        ";",
        "ls;;ls",
        "ls\u00a0/etc",
        "ls 2>&1x",
    ],
)
def test_what_is_not(line: str) -> None:
    assert plain_commands(line) == []


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("rm -rf build", ["build"]),
        ("rm -r -f -- build dist/x", ["build", "dist/x"]),
        ("rm --recursive --force build && mkdir build", ["build"]),
        ("cd sub && rm -rf build", ["sub/build"]),
        ("rm -rf a; rm -rf b", ["a", "b"]),
        ("mkdir -p x; echo y; rm -rf x", ["x"]),
        ("rm -rf build && python build.py", ["build"]),
        # what another command may have put there before is not what was seen
        ("python make.py && rm -rf build", []),
        ("mv .git build; rm -rf build", []),
        ("rm -rf build; mv .git build; rm -rf build", []),
        ("ln -s .git build; rm -rf build", []),
        ("git checkout x && rm -rf build", []),
        ("rm -rf build & mv .git build", []),
        ("for x in 1 2; do rm -rf build; mv .git build; done", []),
        ("cd sub; rm -rf build", []),
        ("cd .. && cd x && rm -rf build", []),
        ("cd - && rm -rf build", []),
        ("cd /x && rm -rf build", []),
        ("rm -rf build/*", []),
        ("rm -rf $X", []),
        ("rm -rf --no-preserve-root build", []),
        ("sudo rm -rf build", []),
        ("rm -rf build > log", []),
    ],
)
def test_what_is_removed(line: str, paths: list[str]) -> None:
    assert [path for found in removed(line).values() for path in found] == paths
