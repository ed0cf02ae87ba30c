"""Lines so plain that it is certain what they do."""

import pytest

from localllm.safety.plain_commands import plain_commands


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
