"""What commands put at protected names is kept for a while, and not without end."""

import os
import time
from pathlib import Path

import pytest

from localllm.sandbox.protect import quarantine
from localllm.sandbox.protect.quarantine import MAX_AGE, prune
from localllm.sandbox.protect.revert import ProtectedFiles


def put(folder: Path, name: str, age: float, files: int = 1, size: int = 10_000) -> None:
    (folder / name / "deep").mkdir(parents=True)
    for number in range(files):
        (folder / name / "deep" / str(number)).write_bytes(b"x" * size)
    os.utime(folder / name, (time.time() - age, time.time() - age))


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_what_is_too_old_or_too_much_goes_the_oldest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quarantine, "MOST_BYTES", 100_000)
    monkeypatch.setattr(quarantine, "MOST_FILES", 40)
    for age, name in enumerate("abcd"):
        put(tmp_path, name, age, size=20_000)
    put(tmp_path, "old", MAX_AGE + 10)
    prune(tmp_path)
    assert names(tmp_path) == set("abcd")
    put(tmp_path, "many", 0.5, files=45, size=1)
    prune(tmp_path)
    assert names(tmp_path) == {"a"}
    put(tmp_path, "large", -1, size=200_000)
    prune(tmp_path)
    assert names(tmp_path) == {"large"}
    prune(tmp_path / "none")


def test_a_closed_folder_hides_nothing(tmp_path: Path) -> None:
    put(tmp_path, "a", 0)
    put(tmp_path, "b", 1)
    if os.geteuid():  # to root nothing is closed
        (tmp_path / "b" / "deep").chmod(0)
        prune(tmp_path)
        assert names(tmp_path) == {"a"}
    else:
        prune(tmp_path)
        assert names(tmp_path) == {"a", "b"}


def test_an_empty_one_is_fine(tmp_path: Path) -> None:
    prune(tmp_path)


def test_no_link_in_it_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    put(outside, "kept", 0)
    folder = tmp_path / "quarantine"
    put(folder, "old", MAX_AGE + 10)
    (folder / "old" / "deep" / "link").symlink_to(outside)
    (folder / "link").symlink_to(outside)
    os.utime(folder / "link", (0, 0), follow_symlinks=False)
    os.utime(folder / "old", (0, 0))
    put(folder, "new", 0)
    prune(folder)
    assert names(folder) == {"new", "link"}
    assert names(outside) == {"kept"}


def test_it_is_bounded_whenever_something_is_put_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quarantine, "MOST_BYTES", 100_000)
    root = tmp_path / "root"
    root.mkdir()
    files = ProtectedFiles(root, tmp_path / "quarantine")
    for _ in range(4):
        files.begin()
        (root / ".envrc").write_bytes(b"x" * 80_000)
        assert files.end() == (".envrc",)
    assert len(names(tmp_path / "quarantine")) == 1
