"""A project that was renamed or moved keeps what can be taken back in it."""

import os
import shutil
from pathlib import Path

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.base.paths import ensure_project_folder
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.store import Snapshots


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which an edit was made by a program that is gone."""
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path / "state"))
    root = tmp_path / "project"
    root.mkdir()
    ensure_project_folder(root)
    (root / "a").write_text("old")
    edited(root)
    return root


def edited(root: Path) -> None:
    store = Snapshots.of_project(root)
    with store.around(ProjectRoot(root), ["a"], tool="edit_file"):
        ProjectRoot(root).write_bytes("a", b"new")


def undo(root: Path) -> str:
    Snapshots.of_project(root).undo(ProjectRoot(root))
    return (root / "a").read_text()


def test_a_renamed_project_is_undone_as_before(root: Path) -> None:
    assert undo(root.rename(root.with_name("other"))) == "old"


def test_and_renamed_again_and_back(root: Path) -> None:
    other = root.rename(root.with_name("other"))
    Snapshots.of_project(other)
    assert undo(other.rename(root)) == "old"


@pytest.mark.parametrize("is_kept", [True, False])
def test_one_that_gets_the_name_of_another_is_undone_and_so_is_the_other(root: Path, *, is_kept: bool) -> None:
    new, aside = root.with_name("rewrite"), root.with_name("aside")
    new.mkdir()
    ensure_project_folder(new)
    (new / "a").write_text("older")
    edited(new)
    if is_kept:
        root.rename(aside)
    else:
        shutil.rmtree(root)
    new.rename(root)
    assert undo(root) == "older"
    if is_kept:
        assert undo(aside) == "old"


def test_a_copy_has_no_part_in_the_changes_of_the_other(root: Path) -> None:
    copy = root.with_name("copy")
    shutil.copytree(root, copy)
    with pytest.raises(ToolExecutionError, match="nothing to undo"):
        undo(copy)
    shutil.rmtree(root)
    with pytest.raises(ToolExecutionError, match="nothing to undo"):
        undo(copy)


def test_nor_has_a_copy_of_hard_links_while_the_other_is_there(root: Path) -> None:
    copy = root.with_name("copy")
    shutil.copytree(root, copy, copy_function=os.link)
    with pytest.raises(ToolExecutionError, match="nothing to undo"):
        undo(copy)


def test_while_a_program_is_at_work_in_the_old_place_they_stay_there(root: Path) -> None:
    at_work = Snapshots.of_project(root)
    with at_work.around(ProjectRoot(root), ["a"], tool="edit_file"):
        ProjectRoot(root).write_bytes("a", b"newer")
        other = root.rename(root.with_name("other"))
        with pytest.raises(ToolExecutionError, match="nothing to undo"):
            undo(other)
        os.rename(other, root)  # noqa: PTH104 - back, for the program that is at work
