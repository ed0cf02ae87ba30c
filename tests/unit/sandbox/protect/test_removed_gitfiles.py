"""What becomes of the file by which git finds a submodule or a linked work tree, if a command removes it."""

import subprocess
from pathlib import Path

import pytest

from localllm.sandbox.protect.revert import ProtectedFiles

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")


def git(root: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    for repository in (tmp_path / "lib", root):
        git(tmp_path, "init", "-q", str(repository))
        (repository / "a").write_text("a\n")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", "one")
    git(root, "submodule", "--quiet", "add", str(tmp_path / "lib"), "mod")
    git(root, "commit", "-qm", "two")
    git(root, "worktree", "add", "-q", "trees/x")
    return root


@pytest.mark.parametrize(
    ("command", "back"),
    [
        ("rm mod/.git", ("mod/.git",)),
        ("rm mod/.git mod/a; touch mod/b", ("mod/.git",)),
        ("rm trees/x/.git", ("trees/x/.git",)),
        ("git submodule --quiet deinit -f mod", ()),
        ("git rm -qf mod", ()),
        ("rm -rf mod", ()),
        ("rm -rf mod/.git .git/modules/mod; git rm -q --cached mod; git add mod", ()),
        ("git worktree remove trees/x", ()),
        ("git worktree move trees/x trees/y", ()),
        ("rm -rf trees/x", ()),
    ],
)
def test_it_comes_back_where_the_files_and_the_data_are_still_there(
    root: Path, command: str, back: tuple[str, ...]
) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    subprocess.run(command, shell=True, cwd=root, check=True, capture_output=True)
    assert [path for path in files.end() if path.endswith("/.git")] == list(back)
    assert all((root / path).is_file() for path in back)


def test_a_folder_may_be_removed_bit_by_bit(root: Path) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    (root / "mod/.git").unlink()
    assert files.check() == ()
    (root / "mod/a").unlink()
    (root / "mod").rmdir()
    assert files.end() == ()
