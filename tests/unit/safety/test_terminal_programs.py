"""Programs that would wait for a terminal, told by the parsed line and not by their names in it."""

import pytest

from localllm.safety.rules import line_of
from localllm.safety.terminal_programs import waiting


def found(line: str, *, background: bool = False) -> str:
    waits = waiting(line_of(line).script, background=background)
    return waits.program if waits else ""


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("vim a.py", "vim"),
        ("vi +10 a.py", "vi"),
        ("cd src && nano a.py", "nano"),
        ("emacs -nw a.py", "emacs"),
        ('bash -c "vim a.py"', "vim"),
        ("sudo vim a.py", "vim"),
        ("timeout 60 vim a.py", "vim"),
        ("true; { vim a.py; }", "vim"),
        ("top", "top"),
        ("htop", "htop"),
        ("watch -n 1 ls", "watch"),
        ("watch ls | head -3", "watch"),
        ("tail -f log", "tail"),
        ("tail -n 20 -F log", "tail"),
        ("tail -20f log", "tail"),
        ("tail --follow=name log", "tail"),
        ("git add -p", "git add -p"),
        ("git add -i", "git add -i"),
        ("git -C sub checkout --patch", "git checkout --patch"),
        ("git stash push -p", "git stash -p"),
        ("git commit -vp", "git commit -vp"),
        ("git rebase -i HEAD~3", "git rebase -i"),
        ("crontab -e", "crontab"),
    ],
)
def test_what_waits(line: str, program: str) -> None:
    assert found(line) == program


@pytest.mark.parametrize(
    "line",
    [
        "vim -es -c '%s/a/b/' -c wq a.py",
        "vim -c ':%s/a/b/g' -c ':wq' a.py",
        "vim +'%s/a/b/g' +wq a.py",
        "ex -s a.py < script",
        "nvim --headless +qa",
        "emacs --batch -l x.el",
        "vim --version",
        "echo :q | vim a.py",
        "vim a.py <<< :q",
        "command -v vim",
        "which vim nano",
        "git config core.editor vim",
        "grep vim README.md",
        "echo 'use vim'",
        "python -c 'vim()'",
        "top -b -n 1",
        "top -bn1 | head",
        "tail -5 log",
        "tail -n +5 log",
        "timeout 5 tail -f log",
        "tail -f log | head -3",
        "tail -f log > copy &",
        "tail -f --pid=12 log",
        "cat log | tail -f",
        "less README.md",
        "git log -p | less",
        "man ls",
        "git add -A",
        "git add -- -p",
        "yes | git add -p",
        "printf 'y\\nn\\n' | git checkout -p",
        "git commit -m '-p'",
        "git log -p",
        "git rebase main",
        "GIT_SEQUENCE_EDITOR='sed -i s/pick/squash/' git rebase -i HEAD~3",
        "git -c sequence.editor=true rebase -i HEAD~3",
        "export GIT_EDITOR=true; git rebase -i HEAD~3",
        "crontab -l",
        "watch --version",
        "alias v=vim",
    ],
)
def test_what_does_not(line: str) -> None:
    assert found(line) == ""


def test_what_may_go_on_in_the_background() -> None:
    assert found("tail -f log", background=True) == ""
    assert found("vim a.py", background=True) == "vim"


def test_what_never_ends_is_no_wait_in_the_background_alone() -> None:
    script = line_of("tail -f log").script
    assert waiting(script) == waiting(script, background=False) is not None
    assert waiting(script, background=True) is None
