"""The remotes of repositories that a command moves: each keeps its own, and no other one has them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from localllm.sandbox.protect.revert import ProtectedFiles
from tests.support.tools import put

FAR = "https://evil.example/x.git"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a bare repository and a clone, and a folder with files."""
    root = tmp_path.resolve() / "project"
    git(root, "init", "-q")
    init(root / "tests/fixtures/x.git", FAR, "--bare")
    init(root / "clone", FAR)
    put(root / "app/a.py", "a")
    return root


def git(folder: Path, *arguments: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder, check=True)


def init(folder: Path, address: str, *options: str) -> None:
    git(folder, "init", "-q", *options)
    git(folder, "remote", "add", "origin", address)


@pytest.mark.parametrize("moved", ["tests/fixtures", "clone", "clone/.git"])
def test_a_new_repository_has_no_remote_of_one_that_is_moved(root: Path, moved: str) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    (root / moved).rename(root / "elsewhere")
    init(root / "app", FAR)
    assert "app/.git/config" in files.end()
    assert moved != "clone" or FAR in (root / "elsewhere/.git/config").read_text()


@pytest.mark.parametrize("how", ["moved", "copied", "in a submodule"])
def test_a_bare_repository_becomes_none_with_a_work_tree_and_its_remote(root: Path, how: str) -> None:
    bare = root / "tests/fixtures/x.git"
    (bare / "config").write_text((bare / "config").read_text().replace("bare = true", ""))
    files = ProtectedFiles(root, None)
    files.begin()
    place = root / (".git/modules/app" if how == "in a submodule" else "app/.git")
    place.parent.mkdir(exist_ok=True)
    shutil.copytree(bare, place) if how == "copied" else bare.rename(place)
    shutil.rmtree(bare, ignore_errors=True)
    if how == "in a submodule":
        with (place / "config").open("a") as settings:
            settings.write("[core]\n\tworktree = ../../../app\n")
        put(root / "app/.git", "gitdir: ../.git/modules/app\n")
    assert place.joinpath("config").relative_to(root).as_posix() in files.end()


def test_the_files_of_a_folder_get_no_repository_of_another_one(root: Path) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    (root / "clone/.git").rename(root / "app/.git")
    assert "app/.git/config" in files.end()


def test_a_repository_keeps_its_remote_where_it_is_moved_and_worked_in(root: Path) -> None:
    init(root / "other", "https://mine.example/x")
    files = ProtectedFiles(root, None)
    files.begin()
    (root / "to").mkdir()
    for name in ("clone", "other"):
        (root / name).rename(root / "to" / name)
    put(root / "to/clone/a.py", "a")
    git(root / "to/clone", "config", "user.name", "n")
    git(root / "to/clone", "add", "a.py")
    git(root / "to/clone", "commit", "-qm", "a")
    assert files.end() == ()
    files.begin()
    (root / "to").rename(root / "further")
    assert files.end() == ()


@pytest.mark.parametrize("is_outside", [False, True])
def test_a_work_tree_is_not_replaced_in_two_commands(root: Path, tmp_path: Path, *, is_outside: bool) -> None:
    mine, tree = tmp_path.resolve() / "mine" if is_outside else root, root / "wt"
    git(mine, "init", "-q")
    git(mine, "commit", "-q", "--allow-empty", "-m", "a")
    git(mine, "worktree", "add", "-q", str(tree))
    files = ProtectedFiles(root, None, is_listed=lambda _host: True)
    files.begin()
    (tree / ".git").unlink()
    if not is_outside:
        shutil.rmtree(root / ".git/worktrees/wt")
    files.end()
    (tree / ".git").unlink(missing_ok=True)  # or the user does
    files.begin()
    files.end()
    files.begin()
    init(tree, FAR)
    assert "wt/.git/config" in files.end()
    files.begin()
    git(mine, "worktree", "add", "-qf", "--detach", str(tree / "other"))
    assert is_outside or files.end() == ()


def test_a_repository_moves_with_its_work_trees(root: Path) -> None:
    git(root / "clone", "commit", "-q", "--allow-empty", "-m", "a")
    git(root / "clone", "worktree", "add", "-q", "--detach", "tree")
    files = ProtectedFiles(root, None)
    files.begin()
    (root / "clone").rename(root / "to")
    git(root / "to", "worktree", "repair", "tree")
    assert files.end() == ()
    git(root / "to/tree", "status", "-s")
