"""What a command hides where nobody looks for what programs trust is taken away, and so is what leads there."""

import os
import subprocess
from pathlib import Path

import pytest

from localllm.sandbox.protect.repository import linked_data
from localllm.sandbox.protect.revert import ProtectedFiles
from tests.support.each import each
from tests.support.tools import put

EVIL = "[core]\n\tfsmonitor = ./evil\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    subprocess.run(["git", "init", "-q", root], check=True)
    put(root / "src/a.py")
    return root


@pytest.fixture
def files(root: Path, tmp_path: Path) -> ProtectedFiles:
    return ProtectedFiles(root, tmp_path / "quarantine")


def make_repository(data: Path, settings: str = EVIL) -> None:
    for name in ("objects", "refs"):
        (data / name).mkdir(parents=True)
    put(data / "HEAD", "ref: refs/heads/main\n")
    put(data / "config", settings)


DEEP = "/".join(["d"] * 60)


@each(
    ("hidden", "gone"),
    [
        (".GIT/pkg/.envrc", ".GIT/pkg/.envrc"),
        (".g\N{ZERO WIDTH JOINER}it/x/localllm.toml", ".g\N{ZERO WIDTH JOINER}it/x/localllm.toml"),
        (".Git/x/.vscode/tasks.json", ".Git/x/.vscode/tasks.json"),
        (f".zed/{DEEP}/.envrc", f".zed/{'/'.join(['d'] * 51)}"),
        (f".git/modules/{DEEP}/a/.envrc", f".git/modules/{'/'.join(['d'] * 51)}"),
        (".git/logs/x/.envrc", ".git/logs/x/.envrc"),
        (".git/refs/heads/x/.vscode/tasks.json", ".git/refs/heads/x/.vscode"),
        (".git/objects/ab/.git/commondir", ".git/objects/ab/.git"),
        (".git/lfs/tmp/.Config/mise.toml", ".git/lfs/tmp/.Config"),
        (".git/modules/config", ".git/modules/config"),
    ],
)
def test_what_programs_trust_is_found(tmp_path: Path, hidden: str, gone: str) -> None:
    root = tmp_path.resolve() / "project"
    if not (root / ".git").exists():
        subprocess.run(["git", "init", "-q", root], check=True)
    files = ProtectedFiles(root, None)
    files.begin()
    put(root / hidden, EVIL)
    assert gone in files.end()
    assert not os.path.lexists(root / hidden)


def test_a_repository_in_a_folder_that_only_other_systems_take_for_git_is_found(
    root: Path, files: ProtectedFiles
) -> None:
    files.begin()
    make_repository(root / ".GIT/pkg/.git")
    make_repository(root / ".GIT/.git/modules/evil")
    assert {".GIT/pkg/.git/config", ".GIT/.git/modules/evil/config"} <= set(files.end())


@each(
    "data",
    [
        ".git/logs/.git/modules/evil",
        ".git/logs/x/modules/evil",
        ".GIT/.git/modules/evil",
        ".git/modules",
        ".git/annex/x/modules/a",
        "lib/.git/modules/evil",
    ],
)
def test_a_work_tree_belongs_to_no_submodule_where_git_keeps_none(tmp_path: Path, data: str) -> None:
    root = tmp_path.resolve() / data.replace("/", "-")
    subprocess.run(["git", "init", "-q", root], check=True)
    make_repository(root / data, f"[core]\n\tworktree = {root}/src\n")
    put(root / "src/.git", f"gitdir: {root}/{data}\n")
    assert linked_data(root, root / "src/.git") is None


@each("data", [".git/modules/libs/a", ".git/modules/a/modules/b", ".git/worktrees/w/modules/a"])
def test_a_work_tree_may_belong_to_a_submodule(tmp_path: Path, data: str) -> None:
    root = tmp_path.resolve() / data.replace("/", "-")
    subprocess.run(["git", "init", "-q", root], check=True)
    make_repository(root / data, f"[core]\n\tworktree = {root}/src\n")
    put(root / "src/.git", f"gitdir: {root}/{data}\n")
    assert linked_data(root, root / "src/.git") == root / data


@each("common", [".git/logs/zuul.d/x", ".git/refs/x", ".GIT/x"])
def test_no_work_tree_belongs_to_a_repository_within_the_data_of_another_one(tmp_path: Path, common: str) -> None:
    root = tmp_path.resolve() / common.replace("/", "-")
    subprocess.run(["git", "init", "-q", root], check=True)
    make_repository(root / common)
    data = root / common / "worktrees/w"
    put(data / "commondir", "../..\n")
    put(data / "gitdir", f"{root}/src/.git\n")
    put(data / "HEAD", "ref: refs/heads/main\n")
    put(root / "src/.git", f"gitdir: {data}\n")
    assert linked_data(root, root / "src/.git") is None


def test_a_link_into_the_data_of_a_repository_is_taken_away(root: Path, files: ProtectedFiles) -> None:
    put(root / ".git/logs/refs/heads/x/opencode.json")
    files.begin()
    (root / "app").symlink_to(".git/logs/refs/heads/x")
    (root / "src/b").symlink_to(root / "src/../.GIT/x")
    (root / "later").symlink_to(".git/annex/objects/a/b")
    (root / ".git/annex/objects/a/b").mkdir(parents=True)
    (root / "c").symlink_to("app")
    (root / "other").symlink_to("src")
    (root / ".gitignore.link").symlink_to(".gitignore")
    assert files.end() == ("app", "later", "src/b")


def test_links_to_what_git_annex_keeps_stay(root: Path, files: ProtectedFiles) -> None:
    key = "annex/objects/5z/vv/SHA256E-s1--a/SHA256E-s1--a"
    files.begin()
    put(root / ".git" / key, "a")
    (root / "large").symlink_to(f".git/{key}")
    (root / "src/missing").symlink_to(f"../.git/{key}b")
    put(root / ".git/modules/sub" / key, "a")
    (root / "src/of-submodule").symlink_to(f"../.git/modules/sub/{key}")
    assert files.end() == ()


def test_a_link_of_the_users_into_the_data_of_a_repository_may_be_moved(root: Path, files: ProtectedFiles) -> None:
    (root / "hooks").symlink_to(".git/hooks")
    files.begin()
    (root / "hooks").rename(root / "src/hooks")
    (root / "src/hooks").unlink()
    (root / "src/hooks").symlink_to("../.git/hooks")
    assert files.end() == ()
