"""Deleting what a command has left behind, whatever it has made of it."""

import os
from pathlib import Path

import pytest

from localllm.sandbox.launcher.removal import delete_tree, delete_tree_at


def test_a_tree_of_files_folders_and_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept", "utf-8")
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "file.txt").write_text("x", "utf-8")
    (tree / "a" / "b" / "0").mkdir()
    (tree / "0").write_text("a file where a folder would be moved to", "utf-8")
    (tree / "a" / "link").symlink_to(outside)
    os.mkfifo(tree / "a" / "pipe")
    delete_tree(str(tree))
    assert not tree.exists()
    assert (outside / "kept.txt").read_text("utf-8") == "kept"


def test_a_tree_deeper_than_any_path_may_be_long(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    fd = os.open(tree, os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("deep", dir_fd=fd)
        below = os.open("deep", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    delete_tree(str(tree))
    assert not tree.exists()


def test_folders_closed_to_their_owner(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b" / "file").touch()
    for folder in (tree / "a" / "b", tree / "a", tree):
        folder.chmod(0)
    delete_tree(str(tree))
    assert not tree.exists()


def test_what_is_not_there_or_a_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "target").chmod(0o755)
    delete_tree(str(tmp_path / "link"))
    delete_tree(str(tmp_path / "nowhere"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o755


def test_deleting_ends_when_its_time_is_over(tmp_path: Path) -> None:
    (tmp_path / "tree" / "a").mkdir(parents=True)
    above = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(OSError, match="not empty"):
        delete_tree_at("tree", above, seconds=-1)
    delete_tree_at("tree", above)
    os.close(above)
    assert list(tmp_path.iterdir()) == []


def test_a_link_laid_meanwhile_lets_nobody_into_its_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command puts it in place of a folder between the look at that and its opening."""
    target = tmp_path / "target"
    target.mkdir(mode=0o500)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(target)
    monkeypatch.setattr("localllm.sandbox.launcher.removal._is_folder", lambda name, above: True)
    delete_tree(str(tmp_path / "tree"))
    assert target.stat().st_mode & 0o777 == 0o500
