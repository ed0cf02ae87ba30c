"""What may stay of an interrupted rebase."""

import os
import subprocess
from pathlib import Path

import pytest

from localllm.sandbox.protect.interrupted_work import NAMES, TRANSACTIONS, harmless_part, is_unfinished_work
from localllm.sandbox.protect.protected_paths import PROTECTED_NAMES
from localllm.sandbox.protect.revert import ProtectedFiles

TODO = ".git/rebase-merge/git-rebase-todo"


def test_the_names_are_protected() -> None:
    assert {f".git/{name}" for name in NAMES} | set(TRANSACTIONS) <= set(PROTECTED_NAMES)
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


@pytest.mark.parametrize(
    ("opts", "may_stay"),
    [
        (b"[options]\n\tedit = true\n\tstrategy = ort\n\tstrategy-option = ours\n", True),
        (b"[options]\n\tedit = true\n[include]\n\tpath = ../evil\n", False),
        (b"[core]\n\tfsmonitor = touch x\n", False),
        (b"[options]\n\tstrategy-option = whitespace\n\tstrategy-option = --exec=x\n", False),
    ],
)
def test_only_options_stand_among_the_options_of_a_sequence(opts: bytes, may_stay: bool) -> None:
    assert (harmless_part(".git/sequencer/opts", b"", opts) == opts) == may_stay
    assert harmless_part(".git/sequencer/opts", opts, opts) == opts


@pytest.mark.parametrize(
    ("path", "said", "may_stay"),
    [
        (".git/BISECT_NAMES", b" 'src' 'it'\\''s'\n", True),
        (".git/BISECT_NAMES", b"\n", True),
        (".git/BISECT_NAMES", b" 'src'; touch x\n", False),
        (".git/BISECT_NAMES", b" $(touch x)\n", False),
        (".git/BISECT_NAMES", b" 'src'" * 1000, True),
        (".git/BISECT_NAMES", b" 'src'" * 100_000, False),
        (
            ".git/rebase-merge/author-script",
            b"GIT_AUTHOR_NAME='A'\nGIT_AUTHOR_EMAIL='a@b'\nGIT_AUTHOR_DATE='@1 +0'\n",
            True,
        ),
        (".git/worktrees/x/rebase-apply/author-script", b"GIT_AUTHOR_NAME='A'; touch x\n", False),
        (".git/rebase-merge/author-script", b"GIT_AUTHOR_NAME=$(touch x)\n", False),
    ],
)
def test_what_older_versions_run_as_shell_code(path: str, said: bytes, may_stay: bool) -> None:
    assert is_unfinished_work(path)
    assert (harmless_part(path, b"", said) == said) == may_stay
    assert harmless_part(path, said, said) == said


OF_TWO = "refs/heads/a\n{0}\n{1}\nrefs/heads/b/c\n{1}\n{0}\n".format("1" * 40, "0" * 40)


@pytest.mark.parametrize(
    ("name", "said", "may_stay"),
    [
        ("rebase-merge/update-refs", OF_TWO, True),
        ("rebase-merge/update-refs", "", True),
        ("rebase-merge/update-refs", OF_TWO.replace("heads/b/c", "replace/" + "1" * 40), False),
        ("rebase-merge/update-refs", OF_TWO.replace("heads/b/c", "heads/../replace/" + "1" * 40), False),
        ("rebase-merge/update-refs", OF_TWO.replace("heads/b/c", "remotes/origin/main"), False),
        ("rebase-merge/refs-to-delete", "refs/rewritten/onto\nrefs/rewritten/a-b\n", True),
        ("rebase-merge/refs-to-delete", "refs/heads/main\n", False),
        ("rebase-merge/refs-to-delete", "refs/rewritten/../heads/main\n", False),
        ("rebase-merge/head-name", "refs/heads/feature/x\n", True),
        ("rebase-apply/head-name", "detached HEAD\n", True),
        ("rebase-merge/head-name", "refs/replace/" + "1" * 40, False),
        ("rebase-apply/head-name", "refs/heads/../tags/v1\n", False),
    ],
)
def test_an_interrupted_rebase_writes_no_refs_but_branches(name: str, said: str, may_stay: bool) -> None:
    path = f".git/worktrees/x/{name}"
    assert is_unfinished_work(path)
    assert (harmless_part(path, b"", said.encode()) == said.encode()) == may_stay


@pytest.mark.parametrize(
    ("said", "may_stay"), [("main\n", True), ("1" * 40, True), ("-f\n", False), ("--orphan=x", False), ("a b\n", False)]
)
def test_a_bisection_ends_where_it_began(said: str, may_stay: bool) -> None:
    assert (harmless_part(".git/BISECT_START", b"", said.encode()) == said.encode()) == may_stay


def test_a_step_updates_no_ref_but_a_branch() -> None:
    honest = b"pick 1 a\nupdate-ref refs/heads/a\nu refs/heads/b/c\n"
    harmful = b"update-ref refs/replace/1\nu refs/heads/../replace/1\n update-ref\trefs/remotes/origin/main\n"
    assert harmless_part(TODO, b"", honest + harmful) == honest


@pytest.mark.parametrize("name", ["rebase-merge/msgnum", "rebase-merge/end", "rebase-apply/next", "rebase-apply/last"])
@pytest.mark.parametrize(("said", "may_stay"), [("3\n", True), ("", True), ("      12\n", True), ("$(touch x)", False)])
def test_a_prompt_shows_numbers_of_steps(name: str, said: str, may_stay: bool) -> None:
    path = f".git/worktrees/x/{name}"
    assert is_unfinished_work(path)
    assert (harmless_part(path, b"", said.encode()) == said.encode()) == may_stay


@pytest.mark.parametrize("name", ["rebase-merge/head-name", "BISECT_START", "rebase-merge/update-refs"])
@pytest.mark.parametrize("sign", ["\x1b]52;c;eA==\x07", "\x7f", "\x9b31m"])
def test_no_ref_steers_the_terminal(name: str, sign: str) -> None:
    said = OF_TWO.replace("heads/a", f"heads/a{sign}") if name.endswith("refs") else f"refs/heads/a{sign}\n"
    assert harmless_part(f".git/{name}", b"", said.encode()) is None


def test_steps_are_shown_without_control_characters() -> None:
    line = "pick 1 a\x1b]52;c;eA==\x07 \x9b31m\té\n".encode()
    for name in ("done", "git-rebase-todo"):
        path = f".git/rebase-merge/{name}"
        assert is_unfinished_work(path)
        assert harmless_part(path, b"", line) == "pick 1 a?]52;c;eA==? ?31m\té\n".encode()
        assert harmless_part(path, line, line) == line
    assert harmless_part(TODO, b"", b"update-ref refs/heads/a\x1bb\n") == b""
    assert harmless_part(".git/rebase-merge/done", b"", b"exec make\n") == b"exec make\n"


def test_what_git_itself_leaves_of_a_rebase_stays(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    files = ProtectedFiles(root, None)
    subprocess.run(["git", "init", "-q", "-b", "main", root], check=True)
    script = """
        git config user.name a; git config user.email a@b
        for n in 1 2 3; do echo $n > $n; git add .; git commit -qm $n; git branch b$n; done
        git checkout -qb side b1; echo s > s; git add .; git commit -qm s; git checkout -q main; git merge -qm m side
    """
    subprocess.run(["sh", "-ec", script], cwd=root, check=True, capture_output=True)
    files.begin()
    environment = {**os.environ, "GIT_SEQUENCE_EDITOR": "sed -i '/^update-ref/a break'"}
    rebase = ["git", "rebase", "-q", "-i", "-r", "--root", "--update-refs"]
    subprocess.run(rebase, cwd=root, env=environment, check=False, capture_output=True)
    assert (root / ".git/rebase-merge/update-refs").exists()
    before = {path: path.read_bytes() for path in (root / ".git/rebase-merge").iterdir() if path.is_file()}
    assert files.end() == ()
    assert before == {path: path.read_bytes() for path in before}


@pytest.mark.parametrize(
    ("name", "said", "may_stay"),
    [
        ("undo", "00changelog.i|391\nobsstore|0\ndata/a..b/c.i|0\n", True),
        ("journal", "", True),
        ("journal", "../../../home/.bashrc|0\n", False),
        ("journal", "data/../../hgrc|0\n", False),
        ("journal", "/etc/passwd|0\n", False),
        ("undo.backupfiles", "2\nplain|bookmarks|undo.backup.bookmarks|0\n|fncache|undo.backup.fncache|0\n", True),
        ("journal.backupfiles", "2\nplain|dirstate||0\nplain|cache/branch2||1\n", True),
        ("journal.backupfiles", "2\nplain|../../home/.bash_login|cache/evil|\n", False),
        ("journal.backupfiles", "2\nplain|hgrc|cache/evil|0\n", False),
        ("journal.backupfiles", "2\nplain|patches/.git/hooks/pre-commit|cache/evil|0\n", False),
        ("journal.backupfiles", "2\n|../hgrc|evil|0\n", False),
        ("journal.backupfiles", "2\nvcs|evil||0\n", False),
    ],
)
@pytest.mark.parametrize("data", [".hg", "sub/.HG", ".sl"])
def test_a_transaction_writes_only_its_own_data(data: str, name: str, said: str, may_stay: bool) -> None:
    path, content = f"{data}/store/{name}", said.replace("|", "\0").encode()
    assert is_unfinished_work(path)
    assert (harmless_part(path, b"", content) == content) == may_stay
    assert harmless_part(path, content, content) == content
