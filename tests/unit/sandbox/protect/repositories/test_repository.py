"""The repository around a project, and the one a worktree belongs to."""

import os
import subprocess
from pathlib import Path

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.sandbox.git_config import parse
from localllm.sandbox.protect.repositories.repository import (
    RepositoryCheck,
    around,
    find_place,
    linked_data,
    with_included,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path.resolve() / "home"
    (home / "mono/packages/one").mkdir(parents=True)
    return home


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b", *arguments], cwd=folder, check=True)


def test_a_folder_of_a_repository_may_see_all_of_it(home: Path) -> None:
    git(home / "mono", "init", "-q")
    assert around(home / "mono/packages/one", [home]) == [home / "mono"]


def test_a_repository_sees_itself_anyway(home: Path) -> None:
    git(home / "mono", "init", "-q")
    assert around(home / "mono", [home]) == []


@pytest.mark.parametrize("top", [".", ".."])
def test_a_home_that_is_in_a_repository_stays_hidden(home: Path, top: str) -> None:
    git(home / top, "init", "-q")
    assert around(home / "mono/packages/one", [home]) == []


@pytest.mark.root
def test_somebody_elses_repository_stays_hidden(home: Path) -> None:
    git(home / "mono", "init", "-q")
    os.chown(home / "mono/.git", 65534, 65534)
    assert around(home / "mono/packages/one", []) == []


def test_without_a_repository_there_is_nothing_to_see(home: Path) -> None:
    assert around(home / "mono/packages/one", [home, Path("/")]) == []


def test_a_linked_worktree_sees_the_data_of_its_repository(home: Path) -> None:
    git(home / "mono", "init", "-q")
    git(home / "mono", "commit", "-q", "--allow-empty", "-m", "base")
    git(home / "mono", "worktree", "add", "-q", str(home / "tree"))
    assert around(home / "tree", [home]) == [home / "mono/.git"]


@pytest.mark.parametrize("said", ["", "gitdir: ../.ssh", "gitdir: ../.ssh/worktrees/x", "gitdir: \0"])
def test_what_a_project_says_of_itself_is_not_believed(home: Path, said: str) -> None:
    (home / ".ssh/worktrees/x").mkdir(parents=True)
    (home / ".ssh/HEAD").touch()
    (home / "mono/.git").write_text(said)
    assert around(home / "mono", [home]) == []


def test_odd_links_are_no_repository(home: Path) -> None:
    (home / "loop").symlink_to("loop")
    (home / "mono/.git").write_text("gitdir: ../loop/worktrees/x")
    assert around(home / "mono", [home]) == []
    (home / "mono/.git").unlink()
    (home / "mono/.git").symlink_to(".git")
    assert around(home / "mono/packages/one", [home]) == []


@pytest.mark.parametrize(
    ("alternates", "key"),
    [
        ('"{home}/other"\n', "git_leads_out"),
        ("#" + "x" * 70_000 + "\n{home}/other\n", "git_leads_out"),
        ("#" + "x" * (1 << 22) + "\n{home}/other\n", "git_too_large"),
    ],
)
def test_alternates_are_found_however_they_are_written(home: Path, alternates: str, key: str) -> None:
    top = home / "mono"
    git(top, "init", "-q")
    (top / ".git/objects/info/alternates").write_text(alternates.format(home=home))
    assert refused(top) == key


def test_alternates_are_found_behind_a_link(home: Path) -> None:
    top = home / "mono"
    git(top, "init", "-q")
    (top / "list").write_text(f"{home}/other\n")
    (top / ".git/objects/info/alternates").symlink_to(top / "list")
    assert refused(top) == "git_leads_out"


def refused(top: Path) -> str:
    place = find_place(top)
    assert place
    with pytest.raises(ToolExecutionError) as caught:
        RepositoryCheck().refuse_leads(place, top)
    return caught.value.key


@pytest.mark.parametrize("ruin", ["rm .git/HEAD", "echo garbage > .git/HEAD", "rm -r .git/objects", "rm -r .git/*"])
def test_a_broken_repository_is_no_part_of_the_one_around(home: Path, ruin: str) -> None:
    git(home / "mono", "init", "-q")
    one = home / "mono/packages/one"
    git(one, "init", "-q")
    subprocess.run(["sh", "-c", ruin], cwd=one, check=True)
    with pytest.raises(ToolExecutionError) as caught:
        find_place(one)
    assert caught.value.key == "git_broken"
    assert around(one, []) == []
    place = find_place(home / "mono/packages")
    assert place
    assert place.top == home / "mono"


def test_work_trees_of_repositories_in_the_project_are_known(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "lib").mkdir()
    git(root / "lib", "init", "-q", "--bare", "../.bare")
    git(root / "lib", "init", "-q")
    for repository, name in ((".bare", "one"), ("lib", "two")):
        tree = subprocess.check_output(["git", "mktree"], cwd=root / repository, input=b"")
        commit = ("commit-tree", "-m", "x", tree.decode().strip())
        made = subprocess.check_output(
            ["git", "-c", "user.name=A", "-c", "user.email=a@b", *commit], cwd=root / repository
        )
        git(root / repository, "worktree", "add", "-q", "--detach", str(root / name), made.decode().strip())
        assert linked_data(root, root / name / ".git"), name
    (root / ".bare/worktrees/one/commondir").write_text("../../../lib/.git\n")
    assert linked_data(root, root / "one/.git") is None


@pytest.mark.parametrize("missing", ["HEAD", "objects"])
def test_a_work_tree_of_what_is_no_repository_is_not_known(tmp_path: Path, missing: str) -> None:
    root = tmp_path.resolve()
    data = root / "meta/worktrees/w"
    data.mkdir(parents=True)
    (root / "w").mkdir()
    (root / "w/.git").write_text(f"gitdir: {data}")
    (data / "HEAD").write_text("ref: refs/heads/main")
    (data / "commondir").write_text("../..")
    (data / "gitdir").write_text(f"{root}/w/.git")
    for name in {"objects", "refs"} - {missing}:
        (root / "meta" / name).mkdir()
    if missing != "HEAD":
        (root / "meta/HEAD").write_text("ref: refs/heads/main")
    assert linked_data(root, root / "w/.git") is None


def test_a_project_is_no_work_tree_of_what_lies_in_it(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "lib").mkdir()
    git(root / "lib", "init", "-q")
    data = root / "lib/.git/worktrees/w"
    data.mkdir(parents=True)
    (root / ".git").write_text(f"gitdir: {data}")
    (data / "commondir").write_text("../..")
    (data / "gitdir").write_text(f"{root}/.git")
    assert linked_data(root, root / ".git") is None
    assert linked_data(root.parent, root / ".git") == data


def test_files_that_include_each_other_are_read_once(tmp_path: Path) -> None:
    circle = "[include]\n\tpath = b\n\tpath = a\n[core]\n\tpager = x\n"
    (tmp_path / "a").write_text(circle)
    (tmp_path / "b").write_text(circle)
    found = list(with_included(parse(circle.encode()), tmp_path, "/home/me"))
    assert [one.value for one in found if one.name == "pager"] == ["x"] * 3
    assert {one.value for one in found if one.name == "path"} == {str(tmp_path / "a"), str(tmp_path / "b")}
