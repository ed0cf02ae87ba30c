"""What is touched in a watched folder is told, however it was touched; what cannot be told is said to be so."""

import mmap
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.base.file_watch import Touched, Watcher
from tests.support.tools import put

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is Linux's")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path / "a", "one")
    (tmp_path / "inner").mkdir()
    return tmp_path


@pytest.fixture
def watcher(folder: Path) -> Watcher:
    try:
        watcher = Watcher(folder)
    except OSError as error:
        pytest.skip(f"not on this file system: {error}")
    watcher.add(str(folder), "")
    watcher.add(str(folder / "inner"), "inner/")
    return watcher


def map_and_change(folder: Path) -> None:
    with (folder / "a").open("r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        view[0:1] = b"O"


def touch_by_name(folder: Path) -> None:
    facts = (folder / "a").stat()
    (folder / "a").write_text("two")
    os.utime(folder / "a", ns=(facts.st_atime_ns, facts.st_mtime_ns))


def come_and_go(folder: Path) -> None:
    put(folder / "x", "x").rename(folder / "inner" / "y").unlink()


def come_and_leave(folder: Path) -> None:
    put(folder / "x", "x").rename(folder.parent / "x")


def come_and_be_replaced(folder: Path) -> None:
    put(folder / "x", "x")
    (folder / "a").rename(folder / "x")


@pytest.mark.parametrize(
    ("change", "entries", "passing"),
    [
        (touch_by_name, {("", "a")}, set()),
        (map_and_change, {("", "a")}, set()),
        (lambda folder: (folder / "a").chmod(0o600), {("", "a")}, set()),
        (lambda folder: (folder / "a").rename(folder / "inner" / "b"), {("", "a"), ("inner/", "b")}, set()),
        (lambda folder: (folder / "a").unlink(), {("", "a")}, set()),
        (lambda folder: (folder / "a").rename(folder.parent / "a"), {("", "a")}, set()),
        (lambda folder: (folder / "new").mkdir(), {("", "new")}, set()),
        (lambda folder: (folder / "link").hardlink_to(folder / "a"), {("", "link")}, set()),
        (come_and_go, {("", "x"), ("inner/", "y")}, {("inner/", "y")}),
        (come_and_leave, {("", "x")}, {("", "x")}),
        (come_and_be_replaced, {("", "a"), ("", "x")}, {("", "x")}),
        (lambda folder: (folder / "a").read_text(), set(), set()),
    ],
)
def test_each_kind_of_change(
    folder: Path,
    watcher: Watcher,
    change: Callable[[Path], object],
    entries: set[tuple[str, str]],
    passing: set[tuple[str, str]],
) -> None:
    change(folder)
    assert watcher.touched() == Touched(entries, set(), passing)
    assert watcher.touched() == Touched(set(), set(), set())


def test_a_deleted_folder_is_lost(folder: Path, watcher: Watcher) -> None:
    (folder / "inner").rmdir()
    assert watcher.touched() == Touched({("", "inner")}, {"inner/"}, set())


def test_a_folder_that_was_moved_is_told_under_its_new_name(folder: Path, watcher: Watcher) -> None:
    (folder / "inner").rename(folder / "moved")
    watcher.add(str(folder / "moved"), "moved/")
    watcher.remove("inner/")
    watcher.touched()
    put(folder / "moved" / "x", "x")
    assert watcher.touched() == Touched({("moved/", "x")}, set(), set())


def test_a_folder_that_is_removed_is_told_of_no_more(folder: Path, watcher: Watcher) -> None:
    watcher.remove("inner/")
    put(folder / "inner" / "x", "x")
    assert watcher.touched() == Touched(set(), set(), set())


def test_too_much_is_not_told_in_part(folder: Path, watcher: Watcher) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 20_000:
        pytest.skip("the queue is too long here to be filled quickly")
    for number in range(most + 2):
        (folder / "a").chmod(0o600 if number % 2 else 0o644)
        (folder / "inner").chmod(0o700 if number % 2 else 0o755)
    assert watcher.touched() is None
    (folder / "a").unlink()
    assert watcher.touched() == Touched({("", "a")}, set(), set())


def test_what_the_kernel_makes_up_cannot_be_watched() -> None:
    with pytest.raises(OSError, match="cannot be watched"):
        Watcher(Path("/proc"))
