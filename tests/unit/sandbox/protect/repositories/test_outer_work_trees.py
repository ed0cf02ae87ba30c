"""Which work trees outside of a project git has to see the `.git` file of."""

import subprocess
from pathlib import Path

import pytest

from localllm.sandbox.protect.revert import ProtectedFiles


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder, check=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    for repository in (root, root / "nested"):
        git(tmp_path, "init", "-q", str(repository))
        git(repository, "commit", "-q", "--allow-empty", "-m", "one")
    return root


def seen(root: Path) -> list[str]:
    files = ProtectedFiles(root, None)
    files.begin()
    found = files.gitfiles_outside()
    files.end()
    return sorted(found)


def test_those_outside_are_found_of_each_repository(root: Path) -> None:
    git(root, "worktree", "add", "-q", "../b")
    git(root, "worktree", "add", "-q", "inside")
    git(root / "nested", "worktree", "add", "-q", "../../a")
    assert seen(root) == [f"{root.parent}/a/.git", f"{root.parent}/b/.git"]


def test_a_file_that_does_not_lead_back_is_not_shown(root: Path) -> None:
    """What the data names is written by commands."""
    for name in ("gone", "other", "link", "secret"):
        git(root, "worktree", "add", "-q", f"../{name}")
    outside = root.parent
    (outside / "gone/.git").unlink()
    (outside / "other/.git").write_text(f"gitdir: {root}/.git/worktrees/gone\n")
    (outside / "key").write_text("secret")
    (root / ".git/worktrees/secret/gitdir").write_text(f"{outside}/key\n")
    assert seen(root) == [f"{outside}/link/.git"]
