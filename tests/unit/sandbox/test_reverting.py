"""What of a project is put back after a command, and what is left as it was."""

import subprocess
import time
from pathlib import Path

import pytest

from localllm.sandbox.reverting import ProtectedFiles

EVIL = "[core]\n\tfsmonitor = evil\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path / "project"], check=True)
    return (tmp_path / "project").resolve()


def put(file: Path, text: str = EVIL) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_of_packages_only_what_is_new_is_taken_away(root: Path) -> None:
    put(root / "node_modules/old/.git/config")
    time.sleep(0.1)
    files = ProtectedFiles(root, None, coarse=50_000_000)
    files.begin()
    put(root / "node_modules/new/.git/config")
    assert files.end() == ("node_modules/new/.git/config",)
    assert (root / "node_modules/old/.git/config").read_text() == EVIL


def test_a_planted_step_of_a_rebase_goes_and_the_others_stay(root: Path) -> None:
    todo = root / ".git/rebase-merge/git-rebase-todo"
    put(todo, "pick 1 a\nexec make\n")
    files = ProtectedFiles(root, None)
    files.begin()
    assert str(todo) not in files.pins()[0]
    todo.write_text("exec evil\npick 2 b\nexec make\n")
    assert files.end() == (".git/rebase-merge/git-rebase-todo",)
    assert todo.read_text() == "pick 2 b\nexec make\n"
    files.begin()
    todo.unlink()
    assert files.end() == ()


def test_what_a_protected_link_leads_to_is_put_back(root: Path) -> None:
    put(root / "env/dev.sh", "export A=1\n")
    (root / ".envrc").symlink_to("env/dev.sh")
    files = ProtectedFiles(root, None)
    files.begin()
    assert str(root / "env/dev.sh") in files.pins()[0]
    put(root / "env/dev.sh", "evil")
    assert files.end() == ("env/dev.sh",)
    assert (root / "env/dev.sh").read_text() == "export A=1\n"


def test_settings_included_by_included_settings(root: Path) -> None:
    subprocess.run(["git", "-C", root, "config", "include.path", "../conf/team"], check=True)
    put(root / "conf/team", "[include]\n\tpath = more\n")
    files = ProtectedFiles(root, None)
    files.begin()
    put(root / "conf/more")
    assert files.end() == ("conf/more",)
