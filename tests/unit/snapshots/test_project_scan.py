"""The tree is known as it is, whether the system tells what is touched or it is walked each time."""

import os
import shutil
from pathlib import Path

import pytest

from localllm.snapshots.project_scan import ProjectTree
from tests.support.tools import put


@pytest.fixture
def project(tmp_path: Path) -> Path:
    put(tmp_path / "p" / "a", "1")
    put(tmp_path / "p" / "src" / "deep" / "b", "1")
    put(tmp_path / "p" / "src" / "c", "1")
    return tmp_path / "p"


def told(tree: ProjectTree) -> set[str]:
    """What may have changed. Where the tree is walked each time that is not told."""
    touched = tree.refresh()
    if touched is None:
        pytest.skip("nothing is told of this file system")
    return touched


def check(tree: ProjectTree, project: Path) -> None:
    """It is as if it were walked now."""
    tree.refresh()
    walked = ProjectTree(project, watch=False)
    walked.refresh()
    assert tree.files == walked.files


@pytest.fixture(params=[True, False], ids=["watched", "walked"])
def tree(request: pytest.FixtureRequest, project: Path) -> ProjectTree:
    tree = ProjectTree(project, watch=request.param)
    tree.refresh()
    assert sorted(tree.files) == ["a", "src/c", "src/deep/b"]
    return tree


def test_what_is_touched_is_told_and_nothing_else(project: Path) -> None:
    tree = ProjectTree(project)
    tree.refresh()
    assert told(tree) == set()
    put(project / "a", "2")
    (project / "src" / "c").unlink()
    put(project / "src" / "new" / "d", "1")
    assert told(tree) == {"a", "src/c", "src/new", "src/new/d"}
    assert sorted(tree.files) == ["a", "src/deep/b", "src/new/d"]


def dig(folder: Path, names: list[str]) -> None:
    """Put a file into nested folders, whatever the length of its path."""
    opened = os.open(folder, os.O_RDONLY)
    for name in names:
        os.mkdir(name, dir_fd=opened)
        inner = os.open(name, os.O_RDONLY, dir_fd=opened)
        os.close(opened)
        opened = inner
    os.close(os.open("deep", os.O_CREAT | os.O_WRONLY, dir_fd=opened))
    os.close(opened)


@pytest.mark.parametrize("watch", [True, False])
@pytest.mark.parametrize(
    ("names", "is_too_deep"),
    [
        (["x" * 250] * 14, False),
        (["x" * 250] * 17, True),
        (["あ" * 83] * 17, True),
        (["x"] * 100, False),
        (["x"] * 210, True),
    ],
)
def test_files_too_deep_to_be_opened_are_told(project: Path, names: list[str], is_too_deep: bool, watch: bool) -> None:
    tree = ProjectTree(project, watch=watch)
    tree.refresh()
    assert not tree.is_too_deep
    dig(project / "src", names)
    tree.refresh()
    assert tree.is_too_deep == is_too_deep
    assert any(path.endswith("/deep") for path in tree.files) != is_too_deep
    put(project / "src" / "c", "2")
    tree.refresh()
    assert tree.is_too_deep == is_too_deep
    assert tree.files["src/c"].sign.size == 1
    shutil.rmtree(project / "src" / names[0])
    tree.forget()
    tree.refresh()
    assert not tree.is_too_deep


def test_a_file_whose_own_path_is_too_long_is_told(project: Path) -> None:
    tree = ProjectTree(project)
    room = os.pathconf(project, "PC_PATH_MAX") - len(os.fsencode(project)) - len("/deep")
    names = ["x" * 200] * (room // 201 - 1)
    names += ["y" * 149, "z" * (room - 201 * len(names) - 151)]
    dig(project, names)
    tree.refresh()
    assert tree.is_too_deep


def test_a_folder_that_is_deleted_takes_its_files_with_it(project: Path) -> None:
    tree = ProjectTree(project)
    tree.refresh()
    shutil.rmtree(project / "src")
    assert told(tree) >= {"src/c", "src/deep/b"}
    assert list(tree.files) == ["a"]


def test_folders_that_change_places(tree: ProjectTree, project: Path) -> None:
    put(project / "other" / "deep" / "z", "1")
    check(tree, project)
    (project / "src").rename(project / "aside")
    (project / "other").rename(project / "src")
    (project / "aside").rename(project / "other")
    check(tree, project)
    put(project / "src" / "deep" / "z", "2")
    put(project / "other" / "deep" / "b", "2")
    check(tree, project)


def test_a_folder_made_again_under_its_name(tree: ProjectTree, project: Path) -> None:
    for number in range(3):
        shutil.rmtree(project / "src")
        put(project / "src" / "deep" / "b", str(number))
        check(tree, project)
        put(project / "src" / "deep" / "e", str(number))
        check(tree, project)


def test_a_moved_tree_and_its_copy(tree: ProjectTree, project: Path) -> None:
    shutil.copytree(project / "src", project / "copy")
    (project / "src" / "deep").rename(project / "copy" / "deeper")
    check(tree, project)
    put(project / "copy" / "deeper" / "b", "2")
    check(tree, project)


def test_other_things_than_files(tree: ProjectTree, project: Path) -> None:
    (project / "a").unlink()
    (project / "a").mkdir()
    put(project / "a" / "x", "1")
    (project / "src" / "c").unlink()
    (project / "src" / "c").symlink_to("deep/b")
    os.mkfifo(project / "pipe")
    check(tree, project)
    shutil.rmtree(project / "a")
    put(project / "a", "1")
    check(tree, project)


def test_hard_links_are_all_seen(tree: ProjectTree, project: Path) -> None:
    (project / "src" / "link").hardlink_to(project / "a")
    check(tree, project)
    (project / "src" / "link").write_text("2")
    check(tree, project)


def test_a_file_changed_through_a_link_that_came_and_went(tree: ProjectTree, project: Path) -> None:
    for number in range(2):
        link = project / "src" / "link"
        link.hardlink_to(project / "a")
        link.write_text(str(number))
        if number:
            link.rename(project / "link")
        (project / "link" if number else link).unlink()
        check(tree, project)


def test_what_gitignore_says_by_now_counts(tree: ProjectTree, project: Path) -> None:
    put(project / ".gitignore", "c\n")
    check(tree, project)
    assert tree.files["src/c"].ignored
    (project / ".gitignore").unlink()
    check(tree, project)
    assert not tree.files["src/c"].ignored


def test_an_ignored_folder_counts_while_it_is_small(tree: ProjectTree, project: Path) -> None:
    put(project / ".gitignore", "build/\n")
    put(project / "build" / "in" / "o", "1")
    check(tree, project)
    assert tree.files["build/in/o"].ignored
    put(project / "build" / "in" / "large", "x" * 5_000_001)
    check(tree, project)
    assert "build/in/o" not in tree.files


def test_folders_that_are_not_looked_into(tree: ProjectTree, project: Path) -> None:
    put(project / ".git" / "x", "1")
    put(project / "src" / "__pycache__" / "x", "1")
    check(tree, project)
    assert len(tree.files) == 3


def test_the_root_exchanged_for_another(tree: ProjectTree, project: Path) -> None:
    project.rename(project.parent / "aside")
    put(project / "n", "1")
    check(tree, project)
    assert list(tree.files) == ["n"]


def test_what_is_forgotten_is_looked_at_again(project: Path) -> None:
    tree = ProjectTree(project)
    tree.refresh()
    tree.forget()
    assert tree.refresh() is None
    check(tree, project)
