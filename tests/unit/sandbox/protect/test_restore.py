"""Putting back, with links laid on the way."""

import errno
import os
import time
from pathlib import Path

import pytest

from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.sandbox.protect.restore import Restorer
from localllm.sandbox.protect.revert import ProtectedFiles


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, Path]:
    root, outside, quarantine = tmp_path / "root", tmp_path / "outside", tmp_path / "quarantine"
    root.mkdir()
    outside.mkdir()
    (outside / "file").write_text("kept")
    return root, outside, quarantine


def test_a_file_gets_content_and_mode_and_the_other_is_kept(places: tuple[Path, Path, Path]) -> None:
    root, _, quarantine = places
    (root / "a").write_text("changed")
    with Restorer(root, quarantine) as restorer:
        restorer.put_file("a", b"old", 0o750)
    assert (root / "a").read_bytes() == b"old"
    assert (root / "a").stat().st_mode & 0o777 == 0o750
    assert (quarantine / "a").read_text() == "changed"


def test_missing_folders_are_made(places: tuple[Path, Path, Path]) -> None:
    root, _, _ = places
    with Restorer(root, None) as restorer:
        restorer.put_file("a/b/c", b"old", 0o600)
        restorer.put_link("a/link", b"b/c")
    assert (root / "a/link").read_bytes() == b"old"


def test_a_link_to_outside_is_replaced_not_followed(places: tuple[Path, Path, Path]) -> None:
    root, outside, quarantine = places
    (root / "folder").symlink_to(outside)
    (root / "leaf").symlink_to(outside / "file")
    with Restorer(root, quarantine) as restorer:
        restorer.put_file("folder/file", b"old", 0o600)
        restorer.put_file("leaf", b"old", 0o600)
        restorer.remove("folder/other")
    assert (root / "folder/file").read_bytes() == (root / "leaf").read_bytes() == b"old"
    assert (outside / "file").read_text() == "kept"
    assert (quarantine / "folder").readlink() == outside


def test_removing_through_a_link_removes_nothing(places: tuple[Path, Path, Path]) -> None:
    root, outside, _ = places
    (root / "folder").symlink_to(outside)
    with Restorer(root, None) as restorer:
        restorer.remove("folder/file")
    assert (outside / "file").exists()


def test_a_folder_in_place_of_a_file_goes_as_a_whole(places: tuple[Path, Path, Path]) -> None:
    root, _, _ = places
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/c").touch()
    with Restorer(root, None) as restorer:
        restorer.put_file("a", b"old", 0o600)
        restorer.remove("a/b/c")
        restorer.remove("never/there")
    assert (root / "a").read_bytes() == b"old"


def test_only_an_empty_folder_is_removed(places: tuple[Path, Path, Path]) -> None:
    root, _, _ = places
    (root / "full").mkdir()
    (root / "full/x").touch()
    (root / "empty").mkdir()
    with Restorer(root, None) as restorer:
        assert restorer.remove_if_empty("empty")
        assert not restorer.remove_if_empty("full")
    assert [path.name for path in root.iterdir()] == ["full"]


def test_what_a_command_may_hold_open_is_copied_not_moved(places: tuple[Path, Path, Path]) -> None:
    root, outside, quarantine = places
    (root / "a/b/c").mkdir(parents=True)
    (root / "a/b/file").write_text("put there")
    (root / "a/link").symlink_to(outside)
    (root / "single").write_text("alone")
    folder = os.open(root / "a/b/c", os.O_RDONLY)
    file = os.open(root / "a/b/file", os.O_WRONLY | os.O_APPEND)
    single = os.open(root / "single", os.O_WRONLY | os.O_APPEND)
    with Restorer(root, quarantine, is_held=True) as restorer:
        restorer.remove("a")
        restorer.remove("single")
    os.write(file, b" later")
    os.write(single, b" later")
    with pytest.raises(FileNotFoundError):
        os.mkdir("new", dir_fd=folder)
    for held in (folder, file, single):
        os.close(held)
    assert list(root.iterdir()) == []
    assert (quarantine / "a/b/file").read_text() == "put there"
    assert (quarantine / "single").read_text() == "alone"
    assert (quarantine / "a/link").readlink() == outside
    assert (quarantine / "a/b/c").is_dir()
    assert (outside / "file").read_text() == "kept"


def test_copies_are_bounded(places: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    root, _, quarantine = places
    monkeypatch.setattr("localllm.sandbox.protect.restore._MOST_COPIED", 10)
    monkeypatch.setattr("localllm.sandbox.protect.restore._MOST_ENTRIES", 5)
    monkeypatch.setattr("localllm.sandbox.protect.restore._DEEPEST", 2)
    (root / "deep/a/b/c").mkdir(parents=True)
    for number in range(9):
        (root / f"deep/{number}").write_text("123456")
    with Restorer(root, quarantine, is_held=True) as restorer:
        restorer.remove("deep")
    assert list(root.iterdir()) == []
    kept = [path for path in quarantine.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in kept) <= 10
    assert not (quarantine / "deep/a/b").exists()


def no_link(*_: object, **__: object) -> None:
    raise PermissionError(errno.EPERM, "")


@pytest.mark.parametrize("has_links", [True, False])
def test_what_was_there_before_and_is_too_large_to_copy_gets_another_name(
    places: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    root, _, quarantine = places
    if not has_links:  # as on disks of Windows
        monkeypatch.setattr("localllm.sandbox.protect.restore.os.link", no_link)
    monkeypatch.setattr("localllm.sandbox.protect.restore._MOST_KEPT", 10)
    (root / ".vscode/sub").mkdir(parents=True)
    for name, text in {
        "a.db": "12345678901",
        "sub/a.db": "abcdefghijkl",
        "n" * 250: "a long name that",
        "sub/small": "x",
        "made": "123456789012",
    }.items():
        (root / ".vscode" / name).write_text(text)
        os.utime(root / ".vscode" / name, ns=(0, 10 if name == "made" else 5))
    (root / ".envrc").write_text("moved there, too")
    os.utime(root / ".envrc", ns=(0, 5))
    (root / "a.db.aside1").write_text("another")
    with Restorer(root, quarantine, is_held=True, started=10) as restorer:
        restorer.remove(".vscode")
        restorer.put_file(".envrc", b"old", 0o600)
    there = {path.name: path.read_text() for path in root.iterdir()}
    assert {there.pop("a.db.aside2"), there.pop("a.db.aside3")} == {"12345678901", "abcdefghijkl"}
    assert there == {".envrc": "old", "a.db.aside1": "another", ".envrc.aside1": "moved there, too"} | {
        "file.aside1": "a long name that"
    }
    assert (quarantine / ".vscode/sub/small").read_text() == "x"
    assert sorted(restorer.aside) == [".envrc.aside1", "a.db.aside2", "a.db.aside3", "file.aside1"]


def test_a_large_file_moved_to_a_protected_name_is_kept_whole_while_commands_run(tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    root.mkdir()
    (root / "big.bin").write_bytes(b"x" * 17_000_000)
    os.utime(root / "big.bin", ns=(0, time.time_ns() - 10**12))
    files = ProtectedFiles(root, state / "quarantine")
    files.begin()
    (root / "big.bin").rename(root / ".envrc")
    assert files.check() == (".envrc",)
    assert [path.name for path in root.iterdir()] == [".envrc.aside1"]
    assert (root / ".envrc.aside1").stat().st_size == 17_000_000
    assert files.take_aside() == [".envrc.aside1"]
    assert files.take_aside() == []
    files.end()
    assert [path.name for path in root.iterdir()] == [".envrc.aside1"]


def test_a_folder_is_copied_where_another_program_has_commands(tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    root.mkdir()
    ours, theirs = (ProtectedFiles(root, state / "quarantine") for _ in range(2))
    theirs.begin()
    ours.begin()
    (root / ".vscode").mkdir()
    (root / ".vscode/tasks.json").touch()
    with (root / ".vscode/tasks.json").open("w") as held:
        assert ours.end() == (".vscode/tasks.json",)
        held.write("later")
    theirs.end()
    assert [path.read_text() for path in state.rglob("tasks.json")] == [""]


def test_a_project_above_which_a_link_was_put_is_not_touched(places: tuple[Path, Path, Path]) -> None:
    root, outside, _ = places
    (root / "sub/app").mkdir(parents=True)
    (outside / "app").mkdir()
    files = ProtectedFiles(root / "sub/app", None)
    (root / "sub/app/.envrc").write_text("old")
    files.begin()
    (root / "sub/app/.envrc").write_text("evil")
    (root / "sub").rename(root / "was")
    (root / "sub").symlink_to(outside)
    (outside / "app/.envrc").write_text("kept")
    for change in (files.end, files.begin):
        with pytest.raises(SafetyViolationError):
            change()
    with pytest.raises(SafetyViolationError), Restorer(root / "sub/app", None):
        pass
    assert (outside / "app/.envrc").read_text() == "kept"
    (root / "sub").unlink()
    (root / "was").rename(root / "sub")
    files.begin()
    assert (root / "sub/app/.envrc").read_text() == "old", "put back once it can be"
    files.end()


def test_no_command_begins_where_a_link_leads(places: tuple[Path, Path, Path]) -> None:
    root, outside, _ = places
    (outside / "app").mkdir()
    (root / "sub").symlink_to(outside)
    with pytest.raises(ToolExecutionError):
        ProtectedFiles(root / "sub/app", None).begin()
